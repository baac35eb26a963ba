"""§10.4: what may leave a tool out of a list, what only makes it unavailable, and a list that stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import Play, calls, says

import nbcontext
from nbcontext import assets
from nbcontext.errors import UsageError
from nbcontext.tools.own import OWN

CONTEXT = assets.loop().context


@pytest.fixture(autouse=True)
def _own_tools():
    before = dict(OWN)
    OWN.clear()
    yield
    OWN.clear()
    OWN.update(before)


def own(name: str, **given: object) -> None:
    def function() -> str:
        """Answer."""
        return f"{name} ran"

    nbcontext.tool(name=name, read_only=True, **given)(function)


def test_a_condition_comes_and_goes_and_the_tool_is_offered_all_the_while(tmp_path: Path):
    state = {"met": False}
    own("mine", requires=lambda: state["met"], unavailable="Not on Sundays.")
    own("plain", requires=lambda: state["met"])
    own("broken", requires=lambda: 1 / 0)
    for name in ("plan", "display", "page", "forge"):
        own(f"needs_{name}", requires=name)
    names = ("mine", "plain", "broken", "needs_plan", "needs_display", "needs_page", "needs_forge")
    once = calls(*((name, {}) for name in names))
    again = calls(("mine", {}), ("plain", {}), ("needs_plan", {}))
    play = Play(tmp_path, [once, says("a"), again, says("b")])
    session = play.new()
    session.ask("go")
    said = [sent.partition("\n")[2] for sent in play.results(session)]
    texts = CONTEXT.unavailable
    assert said[0] == "Not on Sundays."
    assert said[1] == texts.own.format(tool="plain")
    assert "ZeroDivisionError" in said[2]
    assert said[3:] == [
        getattr(texts, name).format(tool=f"needs_{name}") for name in ("plan", "display", "page", "forge")
    ]
    assert list(session.results["kind"]) == ["unavailable", "unavailable", "error", *["unavailable"] * 4]
    state["met"], session.mode = True, "plan"
    session.ask("again")
    assert [sent.partition("\n")[2] for sent in play.results(session)[7:]] == [
        "mine ran",
        "plain ran",
        "needs_plan ran",
    ]
    assert len({str(request.tools) for request in play.model.requests}) == 1


def test_a_forge_is_a_repository_with_a_remote(tmp_path: Path):
    import pygit2

    own("push", requires="forge")
    play = Play(tmp_path, [])
    tool = {tool.name: tool for tool in play.new().tools}["push"]
    session = nbcontext.current()
    repository = pygit2.init_repository(str(play.root))
    assert session.unavailable(tool)
    repository.remotes.create("origin", "https://example.org/x.git")
    assert session.unavailable(tool) is None


def test_what_is_fixed_leaves_a_tool_out(tmp_path: Path):
    own("sees", vision=True)
    own("chats", sessions=("chat",))
    own("works", sessions=("agent",))

    def names(**given: object) -> set[str]:
        return {tool.name for tool in play.new(None, **given).tools} & {"sees", "chats", "works", "bash"}

    play = Play(tmp_path, [])
    assert names() == {"works", "bash"}
    assert names(kind="chat") == {"chats", "bash"}
    assert names(without=["bash"]) == {"works"}
    play.model.vision = True
    assert names() == {"sees", "works", "bash"}


def test_a_tool_registered_later_is_offered_from_the_next_list_and_the_person_told_once(tmp_path: Path):
    play = Play(tmp_path, [calls(("late", {})), says("a"), says("b"), says("summary"), calls(("late", {})), says("c")])
    session = play.new()
    own("late")
    session.ask("one")
    assert [text for text in play.told if "late" in text] == play.told[:1]
    assert "There is no tool late." in play.results(session)[0]
    session.ask("two")
    assert len(play.told) == 1
    assert "late" not in play.offered()
    session.compact()
    session.ask("three")
    assert "late" in play.offered()
    assert play.results(session)[1] == "[#0002]\nlate ran"


def test_a_move_to_another_model_offers_it_too(tmp_path: Path):
    play = Play(tmp_path, [says("a")])
    session = play.new()
    own("late")
    session.move("scripted/two")
    session.ask("go")
    assert "late" in play.offered()
    assert play.told == []


def test_a_resumed_session_sends_the_list_it_kept_whatever_became_of_its_tools(tmp_path: Path):
    own("gone")
    own("stays")
    play = Play(tmp_path, [says("a"), calls(("gone", {"x": 1}), ("stays", {}), ("new", {})), says("b")])
    session = play.new()
    session.ask("one")
    session.close()
    OWN.clear()
    own("stays")
    own("new")
    session = play.resume()
    session.ask("two")
    assert str(play.model.requests[0].tools) == str(play.model.requests[-1].tools)
    gone, stays, new = play.results(session)
    assert gone == f"[#0001]\n{CONTEXT.unavailable.own.format(tool='gone')}"
    assert stays == "[#0002]\nstays ran"
    assert new.startswith("[#0003]\nThere is no tool new. The tools of this session are: read, ")
    assert "new" not in new.partition("are: ")[2]
    assert list(session.results["kind"]) == ["unavailable", "full", "error"]


def test_after_an_undo_past_a_summary_the_earlier_list_is_back(tmp_path: Path):
    play = Play(tmp_path, [says("a"), says("summary"), says("b"), calls(("late", {})), says("c")])
    session = play.new()
    session.ask("one")
    own("late")
    session.compact()
    session.ask("two")
    assert "late" in play.offered()
    session.undo(2)
    session.ask("three")
    assert "late" not in play.offered()
    assert "There is no tool late." in play.results(session)[-1]


def test_a_session_that_runs_is_not_ended_by_a_taken_name_or_a_switched_off_tool_that_is_gone(tmp_path: Path):
    own("mine")
    play = Play(tmp_path, [says("a"), says("summary"), says("b")])
    session = play.new(without=["mine"])
    session.ask("one")
    OWN.clear()
    own("read")
    session.compact()
    session.ask("two")
    assert play.offered().count("read") == 1
    assert play.told == ["The session was summarised; earlier results stay within reach of recall."]


@pytest.mark.parametrize("given", [{"requires": "moon"}, {"requires": 3}, {"sessions": ()}, {"sessions": ("x",)}])
def test_a_wrong_declaration_is_an_error(given: dict):
    with pytest.raises(UsageError):
        own("wrong", **given)


@pytest.mark.parametrize("name", ["read", "task", "mcp__x__y"])
def test_a_name_that_is_taken_is_an_error(tmp_path: Path, name: str):
    own(name)
    with pytest.raises(UsageError, match="give it another"):
        Play(tmp_path, []).new()
