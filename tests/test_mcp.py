"""MCP servers, real ones: they come, go, die and come back, and the tool list stays as it is."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from scripts import Play, calls, says

from nbcontext import assets
from nbcontext.errors import UsageError
from nbcontext.servers import registry
from nbcontext.servers.listing import canonical
from nbcontext.servers.tools import names

SCRIPT = Path(__file__).with_name("mcp_server.py")
CONTEXT = assets.loop().context


def command(*options: str) -> str:
    return shlex.join([sys.executable, str(SCRIPT), *options])


def is_gone(pid: int, seconds: float = 8) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def started(code: str, folder: Path, *servers: str, seed: str = "random") -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(SCRIPT.parent), str(folder), *servers],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )


def output(child: subprocess.Popen) -> str:
    out, errors = child.communicate(timeout=60)
    assert errors == ""
    return out


@pytest.fixture(autouse=True)
def _all_closed():
    yield
    registry._close_all()
    registry._in_use.clear()
    registry._connections.clear()


@contextmanager
def http_server(*options: str):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    child = subprocess.Popen(
        [sys.executable, str(SCRIPT), "--port", str(port), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.05)
        yield port, child
    finally:
        child.kill()
        child.wait()


def test_a_server_answers_dies_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret")
    pids = []
    play = Play(
        tmp_path,
        [
            calls(
                ("mcp__one__add", {"a": "3", "flip": "false"}),
                ("mcp__one__add", {"c": 1}),
                ("mcp__one__fail", {}),
                ("mcp__one__env", {"name": "SOME_API_KEY"}),
                ("mcp__one__table", {}),
                ("mcp__one__picture", {}),
                ("mcp__one__die", {}),
                ("mcp__one__add", {"a": 1}),
                ("mcp__one__pid", {}),
            ),
            says("done"),
        ],
    )
    session = play.new(mcp=[f"one={command('--instructions', 'Add with care.')}"])
    assert "Add with care." in session.history.prefix.system
    assert session.ask("go").text == "done"
    results = [sent.partition("]")[2].lstrip("\n") for sent in play.results(session)]
    assert results[0] == "5"
    assert "c: unknown argument" in results[1]
    assert "no good" in results[2] or "fail" in results[2]
    assert results[3] == "(none)"
    assert json.loads(results[4]) == {"a": 1}
    assert results[5] == f"[image/png 8x6, {len(_png())} B]"
    assert "ended while mcp__one__die ran" in results[6]
    assert results[7] == "3"
    pids.append(int(results[8]))
    kinds = list(session.results["kind"])
    assert kinds == ["full", "error", "error", "full", "full", "full", "unavailable", "full", "full"]
    assert not play.model.faults
    session.close()
    assert is_gone(pids[0])


def _png() -> bytes:
    from mcp_server import png

    return png(8, 6)


def test_a_silent_server_is_stopped_at_once_and_given_up_in_time(tmp_path: Path):
    play = Play(tmp_path, [calls(("mcp__one__sleep", {"seconds": 60})), says("later")])
    session = play.new(mcp=[f"one={command('--tools', 'sleep')}"])
    play.during = lambda event: (
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        if type(event).__name__ == "CallStarted"
        else None
    )
    started = time.monotonic()
    with pytest.raises(Exception, match="Stopped"):
        session.ask("go")
    assert time.monotonic() - started < 5
    assert play.results(session) == [f"[#0001]\n{CONTEXT.errors.calls.interrupted}"]

    (held,) = session._engine.offer.servers.connections
    held._rules = held._rules.model_copy(update={"call_s": 0.3})
    assert held.call("sleep", {"seconds": 60}, threading.Event()).kind == "no_answer"


def test_kill_in_mid_call_is_a_result_and_idle_death_is_seen(tmp_path: Path):
    play = Play(tmp_path, [])
    session = play.new(mcp=[f"one={command('--tools', 'sleep,pid')}"])
    (held,) = session._engine.offer.servers.connections
    stop = threading.Event()
    pid = int(held.call("pid", {}, stop).content[0].text)
    threading.Timer(0.2, os.kill, (pid, signal.SIGKILL)).start()
    assert held.call("sleep", {"seconds": 60}, stop).kind == "ended"
    assert not held.is_up
    assert held.call("pid", {}, stop).kind == "down"
    held.connect(10)
    assert held.wait(stop)
    again = int(held.call("pid", {}, stop).content[0].text)
    assert again != pid
    os.kill(again, signal.SIGKILL)
    assert is_gone(again)
    until = time.monotonic() + 5
    while held.is_up and time.monotonic() < until:
        time.sleep(0.01)
    assert not held.is_up
    assert session.unavailable(session.tools[-1]) == CONTEXT.unavailable.server.format(server="one")


def test_a_server_that_is_down_keeps_its_place_and_its_late_instructions_are_a_note(tmp_path: Path):
    switch = tmp_path / "on"
    switch.touch()
    wrapper = f"test -e {shlex.quote(str(switch))} && exec {command('--tools', 'add', '--instructions', 'I am late.')}"
    mcp = [f"one={shlex.join(['bash', '-c', wrapper])}"]
    play = Play(tmp_path, [])
    first = play.new("first", mcp=mcp)
    first.close()
    switch.unlink()

    play.model.script = [calls(("mcp__one__add", {"a": 1})), says("so"), calls(("mcp__one__add", {"a": 1})), says("so")]
    second = play.new("second", mcp=mcp)
    assert "The MCP server one is not there" in play.told[-1]
    assert second.history.prefix.tools == first.history.prefix.tools
    assert "I am late." not in second.history.prefix.system
    second.ask("go")
    assert play.results(second)[0] == f"[#0001]\n{CONTEXT.unavailable.server.format(server='one')}"
    switch.touch()
    second.ask("again")
    assert play.results(second)[1] == "[#0002]\n3"
    play.model.script.append(says("third"))
    second.ask("and now")
    assert "<note>\nServer one says: I am late.\n</note>" in second.history.turns[-1].messages[0].text
    tools = {json.dumps(request.tools) for request in play.model.requests}
    assert len(tools) == 1
    assert not play.model.faults


def test_one_that_is_closed_is_not_up_for_who_connects_at_once(tmp_path: Path):
    play = Play(tmp_path, [])
    mcp = [f"one={command('--tools', 'pid')}"]
    pids = set()
    for name in ("first", "second", "third"):
        session = play.new(name, mcp=mcp)
        (held,) = session._engine.offer.servers.connections
        pids.add(held.call("pid", {}, threading.Event()).content[0].text)
        session.close()
        assert not held.is_up
    assert len(pids) == 3
    assert all(is_gone(int(pid)) for pid in pids)


def test_which_server_answers_first_and_hash_seeds_change_no_byte(tmp_path: Path):
    running = []
    for seed in ("0", "1", "2"):
        delays = ("0.4", "0") if seed == "1" else ("0", "0.3")
        code = (
            "import sys, pathlib; sys.path.insert(0, sys.argv[1]); from scripts import Play\n"
            "p = Play(pathlib.Path(sys.argv[2]), [])\n"
            "s = p.new(mcp=sys.argv[3:])\n"
            "print(s.history.prefix.tools); print(s.history.prefix.system.replace(sys.argv[2], ''))\n"
        )
        folder = tmp_path / seed
        folder.mkdir()
        servers = [
            f"{name}={command('--delay', delay, '--instructions', name, '--tools', 'add,env,table')}"
            for name, delay in zip("ba", delays, strict=True)
        ]
        running.append(started(code, folder, *servers, seed=seed))
    made = {output(child) for child in running}
    assert len(made) == 1
    offered = [part.partition('"')[0] for part in made.pop().split('"function":{"name":"')[1:]]
    assert [name for name in offered if name.startswith("mcp__")] == [
        f"mcp__{server}__{tool}" for server in "ab" for tool in ("add", "env", "table")
    ]


def test_a_streamable_http_server_and_its_end(tmp_path: Path):
    with http_server("--instructions", "Over HTTP.") as (port, child):
        play = Play(
            tmp_path,
            [calls(("mcp__web__add", {"a": 1})), says("a"), calls(("mcp__web__add", {"a": 1})), says("b")],
        )
        session = play.new(mcp=[f"web=http://127.0.0.1:{port}/mcp"])
        assert "Over HTTP." in session.history.prefix.system
        session.ask("go")
        assert play.results(session) == ["[#0001]\n3"]
        child.kill()
        child.wait()
        session.ask("again")
        assert list(session.results["kind"])[1] == "unavailable"


def test_a_process_that_ends_leaves_no_server(tmp_path: Path):
    running = []
    for number, end in enumerate(
        ("pass", "raise SystemExit(1)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    ):
        code = (
            "import sys, pathlib, threading; sys.path.insert(0, sys.argv[1]); from scripts import Play\n"
            "s = Play(pathlib.Path(sys.argv[2]), []).new(mcp=[sys.argv[3]])\n"
            "(c,) = s._engine.offer.servers.connections\n"
            "print(c.call('pid', {}, threading.Event()).content[0].text, flush=True)\n" + end
        )
        folder = tmp_path / str(number)
        folder.mkdir()
        running.append(started(code, folder, f"one={command('--tools', 'pid')}"))
    for child in running:
        assert is_gone(int(output(child)))


def test_a_new_session_closes_what_it_does_not_need(tmp_path: Path):
    play = Play(tmp_path, [])
    mcp = [f"one={command('--tools', 'pid')}"]
    first = play.new("first", mcp=mcp)
    (held,) = first._engine.offer.servers.connections
    play.new("second", mcp=mcp)
    assert held.is_up
    play.new("third")
    until = time.monotonic() + 8
    while held.is_up and time.monotonic() < until:
        time.sleep(0.01)
    assert not held.is_up


def test_a_project_list_is_asked_about_once_and_never_run_without_an_answer(tmp_path: Path):
    play = Play(tmp_path, [])
    entry = {"command": sys.executable, "args": [str(SCRIPT), "--tools", "add"], "env": {"A": "${B:-c}"}}
    (play.root / ".mcp.json").write_text(json.dumps({"mcpServers": {"mine": entry}}))

    def has() -> bool:
        return any(tool.name == "mcp__mine__add" for tool in play.new(None).tools)

    assert not has()
    assert "nobody is here" in play.told[-1]
    play.answers = ["n"]
    assert not has()
    play.answers = ["y"]
    assert has()
    assert len(play.asked) == 3
    assert str(SCRIPT) in play.asked[-1]
    assert has()
    assert len(play.asked) == 3
    entry["args"].append("--delay=0")
    (play.root / ".mcp.json").write_text(json.dumps({"mcpServers": {"mine": entry}}))
    assert not has()
    assert len(play.asked) == 4


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"mcpServers": {"a": {}}}',
        '{"mcpServers": {"a": {"command": 3}}}',
        '{"mcpServers": {"a": {"type": "http", "url": "ftp://x"}}}',
        "\xff",
    ],
)
def test_a_broken_project_list_is_one_error_and_nothing_is_made(tmp_path: Path, text: str):
    play = Play(tmp_path, [])
    (play.root / ".mcp.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=r"\.mcp\.json.*mend it") as error:
        play.new()
    assert "\n" not in str(error.value)
    assert not play.setup().settings.open_store().sessions()


def test_another_transport_is_left_out_and_told(tmp_path: Path):
    play = Play(tmp_path, [])
    (play.root / ".mcp.json").write_text(json.dumps({"mcpServers": {"old": {"type": "sse", "url": "https://x"}}}))
    play.new()
    assert "reached by sse" in play.told[0]


def test_a_plan_lets_only_what_is_marked_read_only_run(tmp_path: Path):
    play = Play(tmp_path, [calls(("mcp__one__add", {"a": 1}), ("mcp__one__env", {"name": "X"})), says("a")])
    session = play.new(mcp=[f"one={command('--tools', 'add,env')}"], mode="plan", without=["mcp__one__none"])
    session.ask("go")
    assert list(session.results["kind"]) == ["full", "refused"]


def test_names_are_fit_and_do_not_depend_on_their_order():
    pairs = [("a b", "x"), ("a.b", "x"), ("a", "b__x"), ("a__b", "x"), ("s", "t" * 100), ("ü", "é")]
    made = dict(zip(pairs, names(pairs, 64), strict=True))
    assert made == dict(zip(pairs[::-1], names(pairs[::-1], 64), strict=True))
    assert len(set(made.values())) == len(pairs)
    assert all(re.fullmatch(r"mcp__[A-Za-z0-9_-]{1,59}", name) for name in made.values())
    assert names([("files", "read-it")], 64) == ["mcp__files__read-it"]


@pytest.mark.parametrize("given", ["x", "=y", "x=", "x='", "x=   "])
def test_a_wrong_entry_is_named(tmp_path: Path, given: str):
    with pytest.raises(UsageError, match="--mcp"):
        Play(tmp_path, []).new(mcp=[given])


def test_a_schema_has_one_form():
    first = {
        "$schema": "x",
        "required": ["b", "a"],
        "properties": {"b": {"type": "string"}, "a": {"default": 1.5}},
        "anyOf": [],
    }
    second = dict(reversed(list({**first, "required": ["a", "b"]}.items())))
    assert json.dumps(canonical(first)) == json.dumps(canonical(second))
    assert canonical({}) == {"type": "object", "properties": {}}
    assert canonical({"title": "a\ud800\0"})["title"] == "a\ufffd␀"


def test_nothing_of_the_sdk_is_imported_before_a_server_is_named(tmp_path: Path):
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); from scripts import Play\n"
        "Play(pathlib.Path(sys.argv[2]), []).new(); print('mcp' in sys.modules)"
    )
    assert output(started(code, tmp_path)) == "False\n"
