"""Sessions of 60 requests in which everything changes that can: outside the deliberate breaks each request repeats the
one before it whole, on the strictest servers of both shapes, through litellm, with real tools and a real MCP server."""

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from nbcontext import assets
from nbcontext.call import Call
from nbcontext.errors import ModelError
from nbcontext.opening import Setup
from nbcontext.plan import PlanItem
from nbcontext.request import common
from nbcontext.servers import registry
from nbcontext.session import Session
from nbcontext.settings import Settings, _open
from nbcontext.store.verify import verify
from nbcontext.testing import AnthropicServer, Scripted, ScriptedServer, wellformed

CONTEXT = assets.loop().context
SHAPES = {"openai": (ScriptedServer, "openai/gpt-x"), "anthropic": (AnthropicServer, "anthropic/claude-x")}
REQUESTS = 60
RULES = "Mind the first rule.\n" * 30


def server_command():
    return shlex.join([sys.executable, str(Path(__file__).with_name("mcp_server.py")), "--tools", "add,die,pid"])


class Run:
    """One long session: its servers, its clock, and for each request the one that it must repeat whole."""

    def __init__(self, folder, kind, shape, servers):
        self.kind, self.shape, self.servers = kind, shape, servers
        self.root, self.home = folder / "root", folder / "home"
        self.root.mkdir()
        self.server = servers[shape]
        self.now = datetime.fromisoformat("2026-12-01T09:00:00+01:00")
        self.ids = itertools.count(1)
        self.sent = []
        """(the server, its request's body) in the order they came."""
        self.base = None
        """Which request, from 0, the next one must repeat whole; None: none, a deliberate break came before it."""
        self.free = 0
        """Requests that a deliberate break came before."""
        self.turns = []
        """Of each live turn, in order: its first request, and the last one before it."""
        for number in range(4):
            (self.root / f"f{number}.txt").write_text("".join(f"{number} line {n}\n" for n in range(40)))
        (self.root / "AGENTS.md").write_text(RULES)
        self.session = Session.new(
            "long", root=self.root, kind=kind, mode="auto", model=SHAPES[shape][1], api_base=self.server.api_base,
            mcp=[f"one={server_command()}"], setup=self.setup(),
        )  # fmt: skip

    def setup(self):
        return Setup(settings=Settings(home=self.home, is_strict=True), clock=lambda: self.now)

    def call(self, name, **arguments):
        return Call(id=f"call_{next(self.ids)}", name=name, arguments=json.dumps(arguments))

    # -- what happens

    def ask(self, words, *replies, job=None):
        """Ask, or do another job that sends requests, with the replies that the model gives."""
        self.begin()
        self.server.script += replies
        before = len(self.sent)
        answer = (job or (lambda: self.session.ask(words)))()
        self.came()
        assert len(self.sent) - before == len(replies)
        return answer

    def begin(self):
        """A turn begins: a chat's request repeats the one that began the turn before; what came of that is dropped."""
        last = len(self.sent) - 1
        if self.kind == "chat" and self.base is not None:
            self.base = self.turns[-1][0] if self.turns else None
        if self.kind == "chat" or self.base != last:
            self.server.new_epoch()
        self.turns.append((len(self.sent), self.base))

    def came(self):
        """Check the requests that came since."""
        for body in self.server.requests[sum(server is self.server for server, _ in self.sent) :]:
            self.free += self.base is None
            if self.base is not None:
                server, before = self.sent[self.base]
                assert server is self.server
                one, two = wellformed.prompt(before), wellformed.prompt(body)
                assert common(one, two) == len(one), (
                    f"request {len(self.sent)} repeats {common(one, two) / len(one):.2%}"
                )
            check_stubs(body)
            self.base = len(self.sent)
            self.sent.append((self.server, body))

    def work(self, number):
        """A turn with every kind of call, some of them repeated."""
        file = f"f{number % 4}.txt"
        return (
            Scripted(reasoning="Let me look.", text="I look.", calls=(self.call("read", path=file),
                     self.call("read", path=file, offset=5, limit=3), self.call("grep", pattern="line 7"))),
            Scripted(calls=(self.call("grep", pattern="line 7"), self.call("bash", command="seq 600"),
                            self.call("mcp__one__add", a=number))),
            Scripted(text="And now.", calls=(self.call("edit", path=file, old_string=f"{number % 4} line {number % 40}\n",
                     new_string=f"{number % 4} line {number % 40}\n+\n"), self.call("nope"), self.call("read", path=file))),
            Scripted(text=f"Turn {number} is done."),
        )  # fmt: skip

    def undo(self, turns=1):
        self.session.undo(turns)
        self.base = self.turns[-turns][1]
        del self.turns[-turns:]

    def compact(self, *replies):
        self.server.script += replies
        self.session.compact("Mind the files.")
        self.came_compaction()
        self.base, self.turns = None, []

    def came_compaction(self):
        """The request for a summary goes on from the last one; the next of the session goes on from that one too."""
        last, self.base = self.base, len(self.sent) - 1
        self.came()
        self.base = last

    def restart(self):
        """Another process, as far as this one can be: nothing is left of the session but what is stored."""
        self.session.close()
        self.session.log.store.close()
        _open.cache_clear()
        registry._close_all()
        self.session = Session.resume("long", setup=self.setup())

    def move(self, shape, model):
        self.server = self.servers[shape]
        self.session.move(model, self.server.api_base)
        self.base = None


def check_stubs(body):
    """A stub names only a result that the same request carries with its text (§2)."""
    carried = set()
    for text in results(body):
        for named in re.findall(r"(?:Unchanged since|Same result as) (#[0-9a-f]{4,})", text.partition("\n")[0]):
            assert named in carried, text
        if "Unchanged since" not in text and "Same result as" not in text:
            carried.add(re.match(r"\[(#[0-9a-f]{4,})", text)[1])


def results(body):
    """The texts of all results that a request carries, of either shape."""
    for message in body["messages"]:
        content = message.get("content")
        if message["role"] == "tool":
            yield content
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_result":
                inner = block["content"]
                yield inner if isinstance(inner, str) else "".join(part["text"] for part in inner)


def told(body):
    """The person's messages of a request, of either shape."""
    for message in body["messages"]:
        if message["role"] == "user":
            content = message["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            yield "".join(part["text"] for part in parts if part.get("type") == "text")


def system(body):
    return json.dumps(body["system"] if "system" in body else body["messages"][0])


@pytest.fixture(autouse=True)
def _all_closed(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-test-key-of-nobody")
    yield
    registry._close_all()
    registry._in_use.clear()
    registry._connections.clear()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["agent", "chat"])
def test_sixty_requests(tmp_path, kind, shape):
    other = next(name for name in SHAPES if name != shape)
    with ScriptedServer([]) as openai, AnthropicServer([]) as anthropic:
        run = Run(tmp_path, kind, shape, {"openai": openai, "anthropic": anthropic})
        first_days(run)
        time_travel(run)
        later(run, other)
        assert len(run.sent) >= REQUESTS
        assert run.free == 4  # the first, and those after the summary and the two moves
        assert openai.violations == anthropic.violations == []
        check(run)
        run.session.close()


def first_days(run):
    """Everything that changes beside the history: modes, plan, personality, the date, a file, a server."""
    session = run.session
    run.ask("One", *run.work(1))
    run.ask("Two", *run.work(2))
    session.mode = "plan"
    refused = run.ask("Plan it", Scripted(calls=(run.call("write", path="n.txt", content="x"),
                      run.call("plan_write", items=["a", "b"]), run.call("plan_submit"))), Scripted(text="Planned."))  # fmt: skip
    assert [result.kind for result in refused.results] == ["refused", "full", "full"]
    session.mode = "auto"
    session.plan = [*session.plan, PlanItem(text="c")]
    session.personality = "concise"
    session.note("Mind  this.\n")
    run.ask("Go", *run.work(3))

    run.now += timedelta(hours=16)  # midnight
    run.ask("Morning", *run.work(4))
    run.now -= timedelta(hours=3)  # the clock goes back
    run.ask("Evening?", Scripted(text="It seems so."))
    run.now += timedelta(hours=3)
    (run.root / "AGENTS.md").write_text(RULES + "And the second.\n")
    run.ask("Five", *run.work(5))

    died = run.ask("End it", Scripted(calls=(run.call("mcp__one__die"),)), Scripted(text="It is gone."))
    assert [result.kind for result in died.results] == ["unavailable"]
    back = run.ask("And back", Scripted(calls=(run.call("mcp__one__add", a=40),)), Scripted(text="It is back."))
    assert back.results[0].sent.endswith("\n42")


def time_travel(run):
    """A restart, turns taken back, a turn cut short and gone on with, a summary that fails and one that does not."""
    run.restart()
    run.ask("Six", *run.work(6))
    run.undo()
    run.ask("Six again", *run.work(6))
    run.undo(2)
    (run.root / "f3.txt").write_text("changed from outside\n")
    run.ask("Seven", *run.work(7)[:2], Scripted(text="Enough."))

    stopped = run.ask("Long", run.work(8)[0], job=lambda: run.session.ask("Long", max_steps=1))
    assert stopped.stopped == "max_steps"
    run.server.script += run.work(8)[1:]
    run.session.go_on()
    run.came()

    run.server.script.append(Scripted(calls=(run.call("read", path="f0.txt"),)))
    with pytest.raises(ModelError):
        run.session.compact()  # a call is no summary
    run.came_compaction()
    run.ask("Nine", *run.work(9))
    run.ask("Ten", *run.work(10)[:1], Scripted(text="Ten."))

    run.compact(Scripted(text="We did much.", calls=(run.call("bash", command="touch never"),)))
    assert not (run.root / "never").exists()


def later(run, other):
    """After the summary: another restart, another day, another provider, and back to another model."""
    run.ask("After", *run.work(11))
    run.ask("More", *run.work(12))
    run.restart()
    run.now += timedelta(days=1)
    run.ask("Another day", *run.work(13)[:1], Scripted(text="Well."))

    run.move(other, SHAPES[other][1])
    run.ask("Moved", *run.work(14))
    run.session.mode = "plan"
    run.ask("And on", Scripted(calls=(run.call("read", path="f1.txt"),)), Scripted(text="So."))
    run.move(run.shape, SHAPES[run.shape][1] + "-2")
    run.ask("Moved again", *run.work(15)[:1], Scripted(text="The end."))


def check(run):
    session = run.session
    assert session.breaks == []
    assert verify(session.log.store).faults == ()
    numbers = [int(value[1:], 16) for value in session.results["id"]]
    assert numbers == list(range(1, len(numbers) + 1))
    kinds = set(session.results["kind"])
    assert {"full", "capped", "diff", "error", "refused", "unavailable", "stub"} <= kinds

    # The prefix is made at the start, by the summary and by the two moves, and is the same bytes in between.
    prefixes = [json.dumps([system(body), body["tools"], body["model"]]) for _, body in run.sent]
    assert len([key for key, _ in itertools.groupby(prefixes)]) == 4
    assert "And the second" not in prefixes[0]
    assert "And the second" in prefixes[-1]

    # Each change is told once, at the end.
    before = next(
        body
        for _, body in reversed(run.sent)
        if "We did much" not in json.dumps(body) and body["model"] in run.session.history.before.prefix.model
    )
    said = list(told(before))
    for text, times in (
        ("Today is 2026-12-01.", 2), ("Today is 2026-12-02.", 2), ("The permission mode is now plan: ", 1),
        ("The permission mode is now auto: ", 1), ("The personality is now concise: ", 1), ("The plan is now:", 1),
        ("<note>\nMind  this.\n\n</note>", 1), ("AGENTS.md changed:", 1), ("AGENTS.md is now:", 0),
    ):  # fmt: skip
        assert sum(message.count(text) for message in said) == times, text
    last = "".join(told(run.sent[-1][1]))
    assert last.count("Today is 2026-12-02.") == 1
    assert last.count("Today is 2026-12-03.") == 1
    assert "personality is now" not in last


CHILD = """
    import sys
    from pathlib import Path
    from nbcontext.opening import Setup
    from nbcontext.session import Session
    from nbcontext.settings import Settings
    session = Session.resume("s", setup=Setup(settings=Settings(home=Path(sys.argv[1]), is_strict=True)))
    session.ask("From another process")
    session.close()
"""


def test_another_process_sends_what_was_kept(tmp_path):
    """Also with another hash seed, another working folder, another home of the person, and changed files."""
    kind, model = SHAPES["anthropic"]
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "AGENTS.md").write_text("One.\n")
    call = Call(id="c1", name="list", arguments="{}")
    script = [Scripted(text="Look.", reasoning="Hm.", calls=(call,)), *[Scripted(text=f"{n}.") for n in range(3)]]
    with kind(script) as server:
        made = Setup(settings=Settings(home=tmp_path / "home", is_strict=True))
        session = Session.new("s", root=tmp_path / "root", model=model, api_base=server.api_base, setup=made)
        session.ask("Look")
        session.close()
        (tmp_path / "root" / "AGENTS.md").write_text("Two.\n")
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(CHILD), str(tmp_path / "home")],
            env={**os.environ, "PYTHONHASHSEED": "77", "HOME": str(tmp_path), "TZ": "Asia/Tokyo"},
            cwd=tmp_path, check=True,
        )  # fmt: skip
        again = Session.resume("s", setup=made)
        again.ask("And back")
        assert server.violations == []
        prompts = [wellformed.prompt(body) for body in server.requests]
        assert len(prompts) == 4
        for before, after in itertools.pairwise(prompts):
            assert after.startswith(before)
        assert again.breaks == []
        assert again.history.turns[1].words == "From another process"
        again.close()
