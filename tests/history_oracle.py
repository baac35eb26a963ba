"""What a session must send, told from the specification alone: plain lists of turns, with no code of the package."""

import hashlib
import json
from dataclasses import dataclass, field

MODES = {"plan": "", "ask": "", "auto": ""}
"""Mode to its prompt's text; set by the tests."""


def sha(data):
    return hashlib.sha256(data).hexdigest()


@dataclass
class Known:
    """A result as the oracle remembers it."""

    number: int
    text: str
    kind: str
    path: str = ""
    sha: str = ""
    """Of the file's bytes that it tells the model; empty: it tells of none."""
    lines: tuple = ()
    """Of a read: first, last, total."""
    key: str = ""
    """Of a search: the call."""
    given: str = ""
    """The path as the call gave it."""


@dataclass
class Turn:
    number: int
    words: str
    notes: list
    """Each: kind, value, text."""
    messages: list
    """The user message, replies, and results as (`Known`, call id)."""
    plans: list = field(default_factory=list)
    stopped: bool = False
    """Whether the last message stands for a reply that was stopped."""
    failed: bool = False
    """Whether the last request was not answered."""

    @property
    def results(self):
        return [message[0] for message in self.messages if isinstance(message, tuple)]

    @property
    def is_answered(self):
        last = self.messages[-1]
        return isinstance(last, dict) and last["role"] == "assistant" and not last.get("tool_calls")

    @property
    def reply_text(self):
        return "\n\n".join(
            m["content"] for m in self.messages if isinstance(m, dict) and m["role"] == "assistant" and m["content"]
        )


@dataclass
class Live:
    """What is live: replaced by a summary, restored by an undo that goes past it."""

    prefix: dict
    """Its number, and what it tells: model, mode, personality, rules."""
    prefix_turn: int = 0
    summary: list = field(default_factory=list)
    before: "Live | None" = None
    turns: list = field(default_factory=list)

    @property
    def all_turns(self):
        return [*(self.before.all_turns if self.before else []), *self.turns]


class Oracle:
    """The history of one session, and what its next request must carry."""

    def __init__(self, kind, mode, model, rules):
        self.kind, self.mode, self.personality, self.day, self.rules = kind, mode, "", "2026-12-01", rules
        self.plans, self.waiting = [], []
        """The plan's changes as (items, turn); the person's notes that wait."""
        self.turns_ever = self.results_ever = self.prefixes = 0
        self.live = Live(prefix=self.made(model))

    def made(self, model):
        self.prefixes += 1
        told = {"model": model, "mode": self.mode, "personality": self.personality, "rules": self.rules}
        return {"number": self.prefixes, **told}

    @property
    def last(self):
        return self.live.turns[-1] if self.live.turns else None

    @property
    def plan(self):
        return self.plans[-1][0] if self.plans else ()

    # -- notes

    def told(self, kind, otherwise):
        for turn in reversed(self.live.turns):
            if kind != "date" and turn.number <= self.live.prefix_turn:
                break
            for note, value, _ in turn.notes:
                if note == kind:
                    return value
        return otherwise

    def notes(self, personalities):
        found, prefix = [], self.live.prefix
        if self.told("date", None) != self.day:
            found.append(("date", self.day, f"Today is {self.day}."))
        if self.told("mode", prefix["mode"]) != self.mode:
            said = f"The permission mode is now {self.mode}: {MODES[self.mode].removesuffix(chr(10))}"
            found.append(("mode", self.mode, said))
        if self.told("personality", prefix["personality"]) != self.personality:
            text = personalities.get(self.personality, "").removesuffix("\n")
            said = f"The personality is now {self.personality}: {text}"
            said = said if self.personality else "There is no personality any more."
            found.append(("personality", self.personality, said))
        if self.told("rules", prefix["rules"]) != self.rules:
            said = f"AGENTS.md is now:\n{(self.rules or '').removesuffix(chr(10))}"
            found.append(("rules", self.rules, "AGENTS.md was removed." if self.rules is None else said))
        if self.told_plan() != self.plan:
            items = "\n".join(f"{n}. [ ] {item}" for n, item in enumerate(self.plan, 1)) or "(no items)"
            found.append(("plan", self.plan, f"The plan is now:\n{items}"))
        return [*found, *(("own", text, text) for text in self.waiting)]

    def told_plan(self):
        for turn in reversed(self.live.turns):
            if turn.plans:
                return turn.plans[-1]
            for kind, value, _ in turn.notes:
                if kind == "plan":
                    return value
        return ()

    # -- what happens

    def begin(self, words, personalities):
        self.close()
        notes = self.notes(personalities)
        content = words + "".join(f"\n\n<note>\n{text}\n</note>" for _, _, text in notes)
        self.turns_ever += 1
        self.live.turns.append(Turn(self.turns_ever, words, notes, [{"role": "user", "content": content}]))
        self.waiting = []

    def close(self):
        """A turn that has no answer gets one, so that roles alternate; a chat carries one without text anyway."""
        turn = self.last
        if turn is None or turn.is_answered:
            return
        if self.kind == "chat" and isinstance(turn.messages[-1], tuple) and not turn.failed:
            return
        turn.messages.append({"role": "assistant", "content": "(stopped)"})
        turn.stopped = True

    def take_back(self, numbers):
        taken = [turn for turn in self.live.all_turns if turn.number in numbers]
        live, model = self.live, self.live.prefix["model"]
        while live.before is not None and {turn.number for turn in live.before.all_turns} & set(numbers):
            live = live.before
        kept = [turn for turn in live.turns if turn.number not in numbers]
        self.waiting = [text for turn in taken for kind, _, text in turn.notes if kind == "own"] + self.waiting
        self.plans = [(items, turn) for items, turn in self.plans if turn not in numbers]
        self.live = Live(live.prefix, live.prefix_turn, live.summary, live.before, kept)
        if self.live.prefix["model"] != model:
            self.move(model)

    def move(self, model):
        self.live.prefix, self.live.prefix_turn = self.made(model), self.turns_ever

    def compacted(self, text):
        rows = {}
        for turn in self.live.turns:
            for result in turn.results:
                if result.kind == "full" and result.lines:
                    rows.pop(result.path, None)
                    rows[result.path] = result
        if rows:
            head = (
                "\n\n## Files read before this summary\n\nRead a file again for its content; "
                "recall shows a result by its id.\n\n| Path | Lines | sha | Result |\n|---|---|---|---|"
            )
            text += head
        for result in rows.values():
            first, end, total = result.lines
            text += f"\n| {result.given} | {first}-{end} of {total} | {result.sha[:8]} | #{result.number:04x} |"
        asked = "Summarise this session so far, so that the work can go on from the summary alone."
        summary = [{"role": "user", "content": asked}, {"role": "assistant", "content": text}]
        self.live = Live(self.made(self.live.prefix["model"]), self.turns_ever, summary, self.live)

    # -- what is carried

    @property
    def carried(self):
        """The messages of the next request after the system prompt."""
        found = list(self.live.summary)
        for turn in self.live.turns[:-1] if self.kind == "chat" else ():
            found += [turn.messages[0], {"role": "assistant", "content": turn.reply_text or "(no text)"}]
        for turn in self.live.turns[-1:] if self.kind == "chat" else self.live.turns:
            found += (_sent(message) for message in turn.messages)
        return found

    @property
    def in_front(self):
        """The results that the next request carries (§2)."""
        turns = self.live.turns[-1:] if self.kind == "chat" else self.live.turns
        return [result for turn in turns for result in turn.results]

    # -- calls

    def answer(self, call, arguments, files, root):
        """Return the result of a call, and do to `files` what it does; of a change only the bracket is told."""
        self.results_ever += 1
        own = f"#{self.results_ever:04x}"
        given = arguments.get("path", "")
        path = given.removeprefix("./")
        match call:
            case "read":
                made = self.read(own, given, path, arguments, files)
            case "grep":
                made = self.grep(own, path, arguments, files, root)
            case "write":
                made = self.write(own, given, path, arguments["content"], files)
            case "plan_write":
                items = tuple(arguments["items"])
                self.plans.append((items, self.last.number))
                self.last.plans.append(items)
                shown = "\n".join(f"{n}. [ ] {item}" for n, item in enumerate(items, 1)) or "(no items)"
                made = Known(self.results_ever, f"[{own}]\n{shown}", "full")
            case _:
                made = Known(self.results_ever, f"[{own}]\nThere is no tool nope.", "error")
        self.last.messages.append((made, arguments["id"]))
        return made

    def read(self, own, given, path, arguments, files):
        lines = files[path].split("\n")
        first = arguments.get("offset", 1)
        end = min(first + arguments.get("limit", 2000) - 1, len(lines))
        digest = sha(files[path].encode())
        bracket = f"[{own} {given} lines {first}-{end} of {len(lines)} sha {digest[:8]}]"
        for old in reversed(self.in_front):
            is_same = old.kind == "full" and old.lines and old.path == path and old.sha == digest
            if is_same and old.lines[0] <= first and end <= old.lines[1]:
                said = f"Unchanged since #{old.number:04x}, which already shows lines {old.lines[0]}-{old.lines[1]}."
                return Known(self.results_ever, f"{bracket} {said}", "stub", path, digest)
        shown = "\n".join(f"{n}: {lines[n - 1]}" for n in range(first, end + 1))
        return Known(
            self.results_ever, f"{bracket}\n{shown}", "full", path, digest, (first, end, len(lines)), given=given
        )

    def grep(self, own, path, arguments, files, root):
        found = [
            f"{root / path}:{n}:{line}"
            for n, line in enumerate(files[path].split("\n"), 1)
            if arguments["pattern"] in line
        ]
        text = "\n".join(found) or "(none)"
        key = json.dumps({name: value for name, value in arguments.items() if name != "id"}, sort_keys=True)
        for old in reversed(self.in_front):
            if old.kind == "full" and old.key == key and old.text.partition("\n")[2] == text:
                return Known(self.results_ever, f"[{own}] Same result as #{old.number:04x}.", "stub")
        return Known(self.results_ever, f"[{own}]\n{text}", "full", key=key)

    def write(self, own, given, path, content, files):
        if self.mode in ("plan", "ask"):
            return Known(self.results_ever, f"[{own}]\nNot done: ", "refused")
        seen = next((old.sha for old in reversed(self.in_front) if old.path == path and old.sha), None)
        if seen != sha(files[path].encode()):
            return Known(self.results_ever, f"[{own}]\n{root_of(files)}/{path} ", "refused")
        is_same, files[path] = files[path] == content, content
        digest = sha(content.encode())
        if is_same:
            return Known(self.results_ever, f"[{own} {given} sha {digest[:8]}] Unchanged.", "unchanged", path, digest)
        return Known(self.results_ever, f"[{own} {given} sha {digest[:8]}]\n@@ ", "diff", path, digest)


def _sent(message):
    if isinstance(message, tuple):
        result, call = message
        return {"role": "tool", "tool_call_id": call, "content": result.text}
    return message


def root_of(files):
    return files["/"]
