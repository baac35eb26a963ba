"""Any session replays: exported or stored, with tools or without, itself a replay or not (`replay/NAME`)."""

from __future__ import annotations

import pytest

from nbcontext.call import Call
from nbcontext.errors import NbcontextError, UsageError
from nbcontext.model.reply import Completion
from nbcontext.opening import Setup
from nbcontext.session import Session
from nbcontext.store import transfer
from nbcontext.testing import ScriptedModel

SCRIPT = [
    Completion(text="Let me look.", calls=(Call(id="c1", name="read", arguments='{"path":"a.txt"}'),), complete=True),
    Completion(text="One line.", complete=True),
    Completion(text="Nothing more.", complete=True),
]


@pytest.fixture
def recorded(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    session = Session.new(
        "rec", model="openai/x", root=tmp_path, mode="auto", setup=Setup(client=ScriptedModel(SCRIPT))
    )
    session.ask("What is in a.txt?")
    session.ask("And else?")
    session.export(tmp_path / "rec.jsonl")
    return session


@pytest.mark.parametrize("name", ["rec", "rec.jsonl"])
def test_a_session_with_tools_replays(recorded, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    again = Session.new("again", model=f"replay/{name}", root=tmp_path, mode="auto")
    first = again.ask("What is in a.txt?")
    assert first.text == "Let me look.\n\nOne line."
    assert [result.sent for result in first.results] == [result.sent for result in recorded.history.turns[0].results]
    assert again.ask("And else?").text == "Nothing more."
    again.export("again.jsonl")
    third = Session.new("third", model="replay/again.jsonl", root=tmp_path, mode="auto")
    assert third.ask("What is in a.txt?").text == first.text


def test_a_turn_taken_back_is_not_played(recorded, tmp_path):
    recorded.undo()
    again = Session.new("again", model="replay/rec", root=tmp_path, mode="auto")
    again.ask("What is in a.txt?")
    assert "over" in again.ask("And else?").text


def test_the_shipped_recording_plays(tmp_path):
    session = Session.new("first", model="replay/first-session", root=tmp_path, mode="auto")
    assert "report.py" in session.ask("What is in this folder, and what does report.py do?").text


def test_a_name_that_is_none_says_so(tmp_path):
    session = Session.new("unheard", model="replay/nothing-of-the-kind", root=tmp_path, mode="auto")
    with pytest.raises(NbcontextError, match="nothing-of-the-kind"):
        session.ask("Hi.")


def test_an_export_that_was_cut_or_changed_is_refused(recorded, tmp_path):
    lines = (tmp_path / "rec.jsonl").read_text().splitlines(keepends=True)
    for damaged in (lines[:5], lines[:3] + lines[4:], [lines[0], *reversed(lines[1:])], lines[:1]):
        (tmp_path / "cut.jsonl").write_text("".join(damaged))
        with pytest.raises(UsageError, match="cut or changed"):
            transfer.import_(recorded.log.store, tmp_path / "cut.jsonl", "cut")


def test_an_export_overwrites_only_an_export(recorded, tmp_path):
    recorded.export(tmp_path / "rec.jsonl")
    (tmp_path / "precious.md").write_text("mine\n")
    with pytest.raises(UsageError, match="no exported session"):
        recorded.export(tmp_path / "precious.md")
    assert (tmp_path / "precious.md").read_text() == "mine\n"
