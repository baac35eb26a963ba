"""Sessions for the views' tests, written straight into a store: large ones in a second."""

import json
from pathlib import Path

from nbcontext import assets
from nbcontext.entry import Inserted, ModeSet, PrefixMade, Replied, TurnBegan
from nbcontext.hygiene.hashes import text_sha256
from nbcontext.result import Report, Result, Span
from nbcontext.store import Store, codec
from nbcontext.store.schema import REQUESTS

CONTEXT = assets.loop().context
AT = "2026-12-01T12:00:00.000+01:00"
TOOLS = ("read", "bash", "grep", "edit")


def lines_of(count, word="line"):
    return "\n".join(f"{word} {number}" for number in range(1, count + 1))


def made_result(number, root):
    """A result of a kind that goes with its number: full reads, stubs of them, capped output, diffs, errors."""
    tool = TOOLS[number % 4]
    path = f"src/module_{number % 37}.py"
    resolved = str(Path(root) / path)
    common = {"number": number, "call_id": f"c{number}", "tool": tool, "images": ()}
    name = CONTEXT.id(number)
    if number % 20 == 4:
        text = "It does not exist."
        return Result(**common, kind="error", sent=f"[{name}]\n{text}", stored_sha256=text_sha256(text), stored_lines=1,
                      stored_chars=len(text)), text, ()  # fmt: skip
    if tool == "read":
        text = "\n".join(f"{n}: x = {n * number}" for n in range(1, 41))
        span, sha = Span(first=1, last=40, total=40), f"{number % 37:064x}"
        stub = number > 148 and number % 8 == 0
        stands = number - 148 if stub else None
        said = f" Unchanged since {CONTEXT.id(stands)}, which already shows lines 1-40." if stub else f"\n{text}"
        sent = f"[{name} {path} lines 1-40 of 40 sha {sha[:8]}]{said}"
        return Result(**common, kind="stub" if stub else "full", sent=sent, stored_sha256=text_sha256(text), stored_lines=40,
                      stored_chars=len(text), path=path, resolved=resolved, span=span, sha256=sha, stands_for=stands), text, ()  # fmt: skip
    if tool == "bash":
        text = lines_of(1000, f"output {number}")
        kept = text.split("\n")
        sent = "\n".join((f"[{name}]", *kept[:200], f"[700 lines elided, full output {name}]", *kept[-100:]))
        report = Report(
            step="cap",
            kind="capped",
            lines_kept=300,
            lines_elided=700,
            chars_kept=len(sent),
            chars_elided=len(text) - len(sent),
        )
        return Result(**common, kind="capped", sent=sent, stored_sha256=text_sha256(text), stored_lines=1000,
                      stored_chars=len(text)), text, (report,)  # fmt: skip
    text = (
        f"@@ -1,2 +1,2 @@\n a = 1\n-b = {number}\n+b = {number + 1}"
        if tool == "edit"
        else f"{root}/a.py:{number}:match"
    )
    bracket = f"[{name} {path} sha {number:08x}]" if tool == "edit" else f"[{name}]"
    return Result(**common, kind="diff" if tool == "edit" else "full", sent=f"{bracket}\n{text}", stored_sha256=text_sha256(text),
                  stored_lines=text.count("\n") + 1, stored_chars=len(text), path=path if tool == "edit" else None,
                  resolved=resolved if tool == "edit" else None, sha256=f"{number:064x}" if tool == "edit" else None), text, ()  # fmt: skip


def made_request(number, entry, *, known=True, model="openai/x", purpose=None):
    """A request's row; every 50th begins a turn, every 331st is a compaction."""
    purpose = purpose or ("compaction" if number % 331 == 0 else "turn" if number % 50 == 1 else "step")
    prompt = 2000 + number % 331 * 90
    cached = 0 if number % 97 == 0 or number == 1 else prompt - 300
    usage = {"prompt_tokens": prompt, "cached_tokens": cached, "cache_write_tokens": 200 if known and cached else None,
             "completion_tokens": 120 + number % 7 * 20, "reasoning_tokens": None}  # fmt: skip
    row = {column.name: None for column in REQUESTS.c if column.name != "session"}
    row |= {"request": number, "entry": entry, "turn": 1 + (number - 1) // 50, "step": 1 + (number - 1) % 50, "purpose": purpose,
            "model": model, "provider": "openai", "body_sha256": "0" * 64, "sent_at": AT,
            "cause": "provider" if number % 97 == 0 else "first request" if number == 1 else "",
            "usage": json.dumps({"simulated": True}), "cost": 0.0001 * (number % 13 + 1), "ttft_ms": 300.0 + number % 40 * 25,
            "ms": 2000.0, "finish_reason": "stop"}  # fmt: skip
    return row | (usage if known else dict.fromkeys(usage))


def add_session(store, name, root, *, results=0, requests=0, texts=()):
    """Add a session with that many results of all kinds and that many requests; `texts` are results of `bash` in front."""
    entries = [
        ModeSet(mode="auto"),
        PrefixMade(
            model="openai/x", api_base=None, system="The system prompt.", tools="[]", mode="auto", cause="start"
        ),
    ]
    lines = []
    number = 0
    total = len(texts) + results

    def add(entry, **more):
        at = len(lines) + 1
        row = {"entry": at, "kind": type(entry).__name__, "turn": getattr(entry, "turn", None), "at": AT}
        lines.append({"entry": {**row, "payload": codec.entry_payload(entry)}, **more})
        return at

    for entry in entries:
        add(entry)
    for number in range(1, total + 1):
        turn = 1 + (number - 1) // 50
        if number % 50 == 1:
            add(TurnBegan(turn=turn, words=f"Question {turn}", notes=(), content=f"Question {turn}", at=AT))
        calls = [{"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]
        body = {"role": "assistant", "content": f"Step {number}.", "tool_calls": calls}
        add(Replied(turn=turn, step=number, body=json.dumps(body), origin="openai"))
        if number <= len(texts):
            text = texts[number - 1]
            sent = f"[{CONTEXT.id(number)}]\n{text[:500]}"
            result = Result(number=number, call_id=f"c{number}", tool="bash", kind="full", sent=sent, stored_sha256=text_sha256(text),
                            stored_lines=text.count("\n") + 1, stored_chars=len(text))  # fmt: skip
            reports = ()
        else:
            result, text, reports = made_result(number, root)
        inserted = Inserted(turn=turn, step=number, result=result, ms=12.0)
        add(inserted, result={"entry": len(lines) + 1, **codec.result_row(inserted, reports)}, text=text)
    if not total:
        add(TurnBegan(turn=1, words="Question 1", notes=(), content="Question 1", at=AT))
    lines += [{"request": made_request(n, len(lines), known=n % 83 != 0)} for n in range(1, requests + 1)]
    options = json.dumps({"without": [], "max_steps": 100, "window": None})
    store.add_rows({"name": name, "kind": "agent", "root": str(root), "made_at": AT}, options, lines)


def add_request(store, session, number, **more):
    """Add one more request, as a turn that runs does."""
    row = made_request(number, 3, **more)
    row.pop("request")
    store.begin_request(session, row)


def opened_store(home):
    return Store(Path(home))
