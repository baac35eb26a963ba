"""`task`: a subagent has its own session and history, no more tools than it was given, and answers its final text."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import Play, calls, says

from nbcontext import assets
from nbcontext.errors import SessionError
from nbcontext.model.failures import RequestFailed

CONTEXT = assets.loop().context


def test_it_works_in_its_own_session_with_its_own_ids(tmp_path: Path):
    play = Play(
        tmp_path,
        [
            calls(("read", {"path": "a.txt"}), ("task", {"prompt": "Read a.txt.", "tools": ["read"]})),
            calls(("read", {"path": "a.txt"}), ("bash", {"command": "true"}), ("task", {"prompt": "x"})),
            says("It says hello."),
            says("done"),
        ],
    )
    (play.root / "a.txt").write_text("hello\n")
    session = play.new("main", mode="edit")
    assert session.ask("go").text == "done"
    assert play.results(session)[1] == "[#0002]\nIt says hello."
    store = play.setup().settings.open_store()
    child = store.session("main/task-1")
    inner = [row["sent"] for row in store.result_rows(child.id)]
    assert inner[0].endswith("sha 5891b5b5]\n1: hello")
    assert inner[0].startswith("[#0001 a.txt")
    assert "There is no tool bash. The tools of this session are: read." in inner[1]
    assert "There is no tool task." in inner[2]
    assert len(store.requests(child.id)) == 2
    assert len(store.requests(session.row.id)) == 2
    sent = play.model.requests[1]
    assert [tool["function"]["name"] for tool in sent.tools] == ["read"]
    assert "The permission mode is edit" in sent.messages[0]["content"]
    assert sent.messages[1]["content"].startswith("Read a.txt.")
    assert sent.cache_key != play.model.requests[0].cache_key
    assert not play.model.faults


def test_its_tools_are_those_of_its_session_less_itself_and_the_plan(tmp_path: Path):
    play = Play(tmp_path, [calls(("task", {"prompt": "x"})), says("in"), says("out")])
    play.new(without=["bash"]).ask("go")
    outer = [tool["function"]["name"] for tool in play.model.requests[0].tools]
    inner = [tool["function"]["name"] for tool in play.model.requests[1].tools]
    assert inner == [name for name in outer if name != "task" and not name.startswith("plan_")]


@pytest.mark.parametrize(
    "arguments", [{"prompt": " "}, {"prompt": "x", "tools": ["task"]}, {"prompt": "x", "tools": ["no"]}]
)
def test_what_cannot_be_is_an_error_and_no_session(tmp_path: Path, arguments: dict):
    play = Play(tmp_path, [calls(("task", arguments)), says("out")])
    session = play.new()
    session.ask("go")
    assert list(session.results["kind"]) == ["error"]
    assert len(play.setup().settings.open_store().sessions()) == 1


def test_a_failure_and_no_end_are_failures_of_the_call(tmp_path: Path):
    play = Play(
        tmp_path,
        [
            calls(("task", {"prompt": "x"}), ("task", {"prompt": "y"})),
            RequestFailed("The server is on fire."),
            *[calls(("list", {}))] * 3,
            says("out"),
        ],
    )
    session = play.new(max_steps=3)
    session.ask("go")
    failed, endless = play.results(session)
    assert "The subagent s/task-1 failed: The server is on fire." in failed
    assert "The subagent s/task-2 came to no end within 3 steps." in endless
    assert list(session.results["kind"]) == ["error", "error"]


def test_its_calls_ask_the_person_in_its_name_and_its_interrupt_is_the_turns(tmp_path: Path):
    play = Play(
        tmp_path, [calls(("task", {"prompt": "x"})), calls(("bash", {"command": "echo hi"})), says("in"), says("out")]
    )
    play.answers = ["y"]
    session = play.new(mode="ask")
    session.ask("go")
    assert len(play.asked) == 1
    assert play.asked[0].startswith("s/task-1: ")
    assert play.results(session) == ["[#0001]\nin"]


def test_a_subagent_is_no_session_to_go_on_with(tmp_path: Path):
    play = Play(tmp_path, [calls(("task", {"prompt": "x"})), RequestFailed("no"), says("out")])
    session = play.new()
    session.ask("go")
    session.close()
    assert play.resume(None).name == "s"
    play.model.script = [says("more")]
    child = play.resume("s/task-1")
    child.ask("again")
    assert "task" not in play.offered()
    with pytest.raises(SessionError):
        play.resume("s/task-9")
