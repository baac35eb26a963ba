"""The views' models and widgets without a front end: windows, deltas, sequence numbers, freezing, what is saved."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest
from conftest import lacking
from nbcontext.widgets.cache import CacheModel
from nbcontext.widgets.disk import Disk
from nbcontext.widgets.finding import MOST_HITS, Pattern, Search
from nbcontext.widgets.live import live
from nbcontext.widgets.model import Look
from nbcontext.widgets.modules import joined, style
from nbcontext.widgets.reader import LINE_CHARS, message_text
from nbcontext.widgets.recall import RecallModel
from nbcontext.widgets.results import SAVED_ROWS, ResultsModel
from session_world import call, new, says
from view_world import add_request, add_session, lines_of, opened_store

from nbcontext.errors import SessionError, UsageError
from nbcontext.events import RequestEnded, Waited
from nbcontext.notebook.views import PAUSE_S, Views, Watched, form
from nbcontext.opened import current
from nbcontext.opening import Setup
from nbcontext.session import Session
from nbcontext.settings import Settings
from nbcontext.usage import Usage

KINDS = ("results", "recall", "cache")


@pytest.fixture
def big(tmp_path):
    """A session of 3,000 results and 500 requests."""
    root = tmp_path / "root"
    root.mkdir()
    store = opened_store(tmp_path / "home")
    add_session(store, "big", root, results=3000, requests=500)
    store.close()
    return Session.resume("big", setup=Setup(settings=Settings(home=tmp_path / "home")))


@pytest.fixture
def small(tmp_path):
    """A session that read a file twice, ran a long command, and changed the file."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.py").write_text(lines_of(30))
    script = [
        says("", call("read", '{"path":"a.py"}'), call("read", '{"path":"a.py"}'), call("bash", '{"command":"seq 1 1000"}')),
        says("", call("edit", '{"path":"a.py","old_string":"line 3\\n","new_string":"LINE 3\\n"}')),
        says("Done."),
        says("Again.", call("read", '{"path":"a.py"}')),
        says("Done."),
    ]  # fmt: skip
    made, _ = new(tmp_path, script)
    made.ask("Look.")
    return made


def look(session):
    return Look(session, current)


def model_of(kind, session):
    return {"results": ResultsModel, "cache": CacheModel}.get(kind, lambda seen: RecallModel(seen, 3))(look(session))


def text_of(answer):
    return answer.buffer.decode().split("\n")


# -- the result table


def test_only_windows_travel(big):
    model = ResultsModel(look(big))
    assert len(model.state()["rows"]) == SAVED_ROWS
    answer = model.answer({"ask": "rows", "first": 2900, "count": 60, "query": {}})
    assert [row[0] for row in answer.content["rows"]][:2] == ["#0b55", "#0b56"]
    assert len(model.answer({"ask": "rows", "first": 0, "count": 10**9, "query": {}}).content["rows"]) == 200
    assert model.answer({"ask": "rows", "first": -5, "count": "x", "query": None}).content["at"] == 0


def test_sorting_filtering_and_finding(big):
    model = ResultsModel(look(big))
    query = {"kind": "stub", "sort": "saved", "descending": True}
    answer = model.answer({"ask": "rows", "first": 0, "count": 200, "query": query})
    assert {row[3] for row in answer.content["rows"]} == {"stub"}
    saved = [row[9] for row in answer.content["rows"]]
    assert saved == sorted(saved, reverse=True)
    number = answer.content["rows"][7][-2]
    assert model.answer({"ask": "rows", "number": number, "query": query}).content == {"found": 7}
    assert model.answer({"ask": "rows", "number": 1, "query": query}).content == {"found": -1}
    path = model.answer({"ask": "rows", "first": 0, "count": 9, "query": {"path": "module_12"}})
    assert {row[4] for row in path.content["rows"]} == {"src/module_12.py"}


def test_a_read_says_whether_its_file_changed_on_disk(small):
    model = ResultsModel(look(small))
    states = [row[12] for row in model.state()["rows"]]
    assert states == ["changed", "changed", "", "same"]
    (small.root / "a.py").unlink()
    assert [row[12] for row in model.state()["rows"]] == ["gone", "gone", "", "gone"]


def test_disk_states(tmp_path):
    disk, file = Disk(), tmp_path / "f"
    file.write_bytes(b"one")
    sha = hashlib.sha256(b"one").hexdigest()
    assert disk.state(str(file), sha) == disk.state(str(file), sha) == "same"
    file.write_bytes(b"two")
    assert disk.state(str(file), sha) == "changed"
    assert disk.state(str(tmp_path), sha) == "changed"
    assert disk.state(str(file / "x"), sha) == disk.state(str(tmp_path / "no"), sha) == "gone"
    assert disk.state("a\0b", sha) == "?"
    assert disk.state(None, sha) == disk.state("f", None) == ""
    os.mkfifo(tmp_path / "pipe")
    assert disk.state(str(tmp_path / "pipe"), sha) == "changed"


def test_what_moves_is_told(small):
    results, cache, recall = (model_of(kind, small) for kind in ("results", "cache", "recall"))
    small.ask("Again.")
    assert [row[0] for row in results.update()["rows"]] == ["#0005"]
    assert cache.update()["head"][0] == 5
    assert recall.update() is None
    small.undo()
    assert results.update()["reset"]
    assert results.state()["rows"][-1][11] == "taken back"
    assert "Taken back: turn 2" in cache.update()["about"]["note"]
    small.undo()
    assert recall.update()["where"] == "taken back"


def test_a_view_stays_with_its_session(small, tmp_path):
    models = [model_of(kind, small) for kind in KINDS]
    new(tmp_path, [], name="second")
    for model in models:
        told = json.dumps(model.update())
        assert "This is session s; the open one is second." in told
        assert "session s" in told.lower()
        assert "second" in model.twin().text
    again = Session.resume("s", setup=Setup(settings=Settings(home=tmp_path / "home")))
    again.name  # noqa: B018
    assert all('"note": ""' in json.dumps(model.update()) for model in models)


# -- reading


def test_a_result_opens_with_what_was_not_sent_and_its_neighbours(small):
    model = RecallModel(look(small), 3)
    answer = model.answer({"ask": "open", "source": {"result": 3}, "first": 1})
    assert text_of(answer) == [str(n) for n in range(1, 1001)]
    assert answer.content["gone"][:2] == [201, 900]
    assert (answer.content["before"], answer.content["after"]) == (2, 4)
    same = model.answer({"ask": "open", "source": {"result": 1}}).content
    assert [name for _, name in same["same"]] == ["#0001", "#0002", "#0004"]
    assert model.answer({"ask": "open", "source": {"result": 4}}).content["diff"]


def test_hits_of_a_window_are_where_the_text_is_shown(tmp_path):
    made, _ = new(
        tmp_path, [says("", call("bash", json.dumps({"command": "printf 'a\\033b 😀 fox\\nFOX\\n'"}))), says("Done.")]
    )
    made.ask("Go.")
    model = RecallModel(look(made), 1)
    answer = model.answer({"ask": "window", "source": {"result": 1}, "first": 1, "find": {"pattern": "fox"}})
    shown = text_of(answer)
    for at, start, end in answer.content["spans"]:
        units = shown[at].encode("utf-16-le")[start * 2 : end * 2]
        assert units.decode("utf-16-le").lower() == "fox"
    assert len(answer.content["spans"]) == 2


def test_long_lines_are_cut_and_go_on(tmp_path):
    store = opened_store(tmp_path / "home")
    add_session(store, "long", tmp_path, texts=["x" * 50_000 + "\nshort"])
    store.close()
    session = Session.resume("long", setup=Setup(settings=Settings(home=tmp_path / "home")))
    model = RecallModel(look(session), 1)
    answer = model.answer({"ask": "open", "source": {"result": 1}})
    assert answer.content["cut"] == [[0, 50_000 - LINE_CHARS]]
    got, start = LINE_CHARS, LINE_CHARS
    while True:
        more = model.answer({"ask": "line", "source": {"result": 1}, "line": 1, "start": start}).content
        got, start = got + len(more["text"]), start + 20_000
        if not more["left"]:
            break
    assert got == 50_000


def test_what_is_not_there_is_an_error_that_says_so(small):
    with pytest.raises(SessionError, match="No stored result #00ff"):
        RecallModel(look(small), 255)
    model = CacheModel(look(small))
    for source in ({}, {"request": 99, "message": 0}, {"result": "x"}, None, [], {"request": {}}):
        with pytest.raises(SessionError):
            model.answer({"ask": "open", "source": source})


# -- searching


def test_search_counts_every_hit_by_line():
    search = Search(Pattern(text="o"))
    assert list(search.hits(["one t", "wo\nthree\r\nfoo"]).lines) == [1, 1, 3, 3]
    assert list(Search(Pattern(text="e$", is_regex=True)).hits(["one\r\ntwo\nthree"]).lines) == [1, 3]
    assert list(Search(Pattern(text="E", by_case=True)).hits(["one"]).lines) == []
    assert list(Search(Pattern(text="-v")).hits(["a -v\n"]).lines) == [1]
    assert list(Search(Pattern(text="ü.")).hits(["\ufeffü.\n\0 ü."]).lines) == [1, 2]


def test_no_pattern_hangs_and_a_wrong_one_is_said():
    start = time.monotonic()
    found = Search(Pattern(text="(a+)+$", is_regex=True)).hits(["a" * 100_000 + "!"] * 20)
    assert not found.lines
    assert time.monotonic() - start < 5
    for pattern in ("(", "(?<=a)b", "a\nb", "a\0b"):
        with pytest.raises(UsageError, match="pattern"):
            Search(Pattern(text=pattern, is_regex=True)).hits(["text"])
    many = Search(Pattern(text="x")).hits(["x" * 500_000])
    assert (len(many.lines), many.is_all) == (MOST_HITS, False)


def test_a_newer_search_ends_the_older():
    search = Search(Pattern(text="never"))
    parts = iter(lambda: time.sleep(0.01) or "x\n" * 1000, None)
    threading.Timer(0.3, search.stop).start()
    start = time.monotonic()

    def some():
        for part in parts:
            if time.monotonic() - start > 10:
                return
            yield part

    assert not search.hits(some()).is_all
    assert time.monotonic() - start < 5


# -- the chart


def test_a_range_of_requests_and_what_one_was(big):
    model = CacheModel(look(big))
    assert model.state()["width"] == 4
    answer = model.answer({"ask": "range", "first": 90, "last": 100})
    assert [bar[0] for bar in answer.content["bars"]] == list(range(91, 101))
    detail = dict(model.answer({"ask": "detail", "request": 97}).content["facts"])
    assert detail["cause"] == "provider"
    assert model.answer({"ask": "detail", "request": 10_000}).content["facts"] == []
    for first, last in ((-9, -3), (10**9, 10**10), (5, 5), ("x", None)):
        got = model.answer({"ask": "range", "first": first, "last": last}).content
        assert 0 <= got["first"] < got["last"] <= 500


def test_where_a_prefix_goes_on_and_where_it_broke(small):
    model = CacheModel(look(small))
    small.ask("Again.")
    model.update()
    went_on = model.answer({"ask": "detail", "request": 2}).content
    assert (went_on["broke"], went_on["at"]) == (False, 2)
    small.undo(2)
    small.ask("Something else.")
    model.update()
    broke = model.answer({"ask": "detail", "request": 6}).content
    assert (broke["broke"], broke["at"]) == (True, 1)
    change = model.answer({"ask": "open", "source": {"request": 6, "change": 1}})
    assert change.content["diff"]
    assert any(line.startswith("-") and "Look." in line for line in text_of(change))
    assert "Something else." in text_of(model.answer({"ask": "open", "source": {"request": 6, "message": 1}}))[1]


def test_a_message_as_text():
    assert message_text({"role": "user", "content": "a\nb"}) == "user:\na\nb"
    assert (
        message_text({"role": "assistant", "content": None, "tool_calls": [1]})
        == 'assistant:\n{\n "tool_calls": [\n  1\n ]\n}'
    )


@pytest.mark.parametrize("chosen", [None, (0, 40), (40, 500)])
def test_a_page_that_takes_every_update_has_the_state(big, chosen):
    model = CacheModel(look(big))
    if chosen:
        model.answer({"ask": "range", "first": chosen[0], "last": chosen[1]})
    page, total, last = list(model.state()["bars"]), 500, model.state()["last"]
    for number in range(501, 700):
        add_request(big.log.store, big.row.id, number)
        update = model.update()
        if isinstance(update, list):
            page.append(update)
        elif update.get("reset"):
            page = list(update["bars"])
        elif "bars" in update:
            page[update["at"] :] = update["bars"]
        total += 1
    assert (page, total) == (model.state()["bars"], model.state()["total"])
    assert (last == model.state()["last"]) == (chosen == (0, 40))


# -- widgets


class Wire:
    """What a widget sends."""

    def __init__(self, widget):
        self.sent, self.states = [], 0
        widget.send = lambda content, buffers=None: self.sent.append((content, buffers))
        widget.send_state = self._state

    def _state(self, key=None):
        self.states += 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_is_saved_in_60_kb(big, kind):
    model = model_of(kind, big)
    widget = live(model)
    made = [dict(model.twin().folded(model.name)), widget.get_state(), widget.data()]
    assert sum(len(json.dumps(each, indent=1, ensure_ascii=False, default=str).encode()) for each in made) <= 60_000
    assert "output 9" not in json.dumps(widget.get_state())
    widget.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_answered_or_told_what_is_wrong(small, kind):
    widget = live(model_of(kind, small))
    wire = Wire(widget)
    asked = [
        {"ask": name, "id": name, "source": {"result": 1}}
        for name in ("rows", "range", "detail", "open", "window", "line", "x")
    ]
    for each in [*asked, {"ask": "open", "id": "bad", "source": {"result": 999}}]:
        widget._on_message(widget, each, [])
    widget._on_message(widget, "nonsense", [])
    answers = {content["answer"]: content for content, _ in wire.sent}
    assert set(answers) == {*(each["id"] for each in asked), "bad"}
    assert "No stored result" in answers["bad"]["problem"]
    assert json.dumps([content for content, _ in wire.sent])
    widget.close()


def test_a_search_is_answered_from_its_own_thread(small):
    widget = live(model_of("recall", small))
    wire = Wire(widget)
    widget._on_message(widget, {"ask": "find", "id": "f", "source": {"result": 3}, "pattern": "99"}, [])
    deadline = time.monotonic() + 10
    while not wire.sent and time.monotonic() < deadline:
        time.sleep(0.01)
    (content, buffers), *_ = wire.sent
    assert content["hits"] == 20 - 1
    assert len(buffers[0]) == 4 * 19
    widget.close()


def test_messages_are_numbered_and_the_state_has_the_last_number(small):
    widget = live(CacheModel(look(small)))
    wire = Wire(widget)
    assert not widget.push()
    for number in range(5, 8):
        add_request(small.log.store, small.row.id, number)
        assert widget.push()
    assert [content["seq"] for content, _ in wire.sent] == [1, 2, 3]
    assert json.loads(widget.get_state()["state"])["seq"] == 3
    widget.settle()
    assert wire.states == 1
    widget.close()


class Cell:
    """Outputs of cells, as they stand."""

    def __init__(self):
        self.outputs = []
        self.updates = 0

    def show(self, data, metadata):
        self.outputs.append(data)
        at = len(self.outputs) - 1

        def replace(new):
            self.updates += 1
            self.outputs[at] = new

        return replace

    @property
    def live(self):
        return sum("application/vnd.jupyter.widget-view+json" in data for data in self.outputs)


def test_a_newer_view_of_its_kind_takes_over_and_freezing_leaves_static_forms(small):
    cell = Cell()
    views = Views(cell.show)
    for kind in KINDS:
        views.open(model_of(kind, small))
    assert cell.live == 3
    views.open(model_of("cache", small))
    assert cell.live == 3
    assert "open" in cell.outputs[4]["text/html"][:60]
    assert cell.outputs[5] == {"text/html": "", "text/plain": ""}
    assert views.freeze() == 3
    assert cell.live == 0
    assert views.freeze() == 0
    assert sum(data["text/html"].startswith("<details") for data in cell.outputs) == 4


def test_while_a_turn_runs_messages_are_few_and_at_its_end_all_is_there(small):
    now, cell = [100.0], Cell()
    views = Views(cell.show, clock=lambda: now[0])
    model = CacheModel(look(small))
    views.open(model)
    wire = Wire(views._open["cache"].widget)
    for number in range(5, 105):
        add_request(small.log.store, small.row.id, number)
        now[0] += 0.05
        Watched(Silent(), views).show(RequestEnded(request=number, step=1, usage=Usage()))
    assert 5 / PAUSE_S * 0.8 <= len(wire.sent) <= 5 / PAUSE_S + 1
    now[0] += 1
    views.show(Waited())
    sent = len(wire.sent)
    views.show(Waited())
    assert len(wire.sent) == sent
    views.settle()
    assert (wire.states, cell.updates) == (1, 1)
    assert "103 requests" in cell.outputs[0]["text/html"]
    views.settle()
    assert (wire.states, cell.updates) == (1, 1)


class Silent:
    """Shows nothing."""

    def show(self, event):
        pass

    def end(self, closing):
        pass


def test_the_form_of_what_is_shown(monkeypatch):
    class Terminal:
        display_pub = type("CapturingDisplayPublisher", (), {})()

    shells = {
        "ZMQInteractiveShell": type("ZMQInteractiveShell", (Terminal,), {})(),
        "TerminalInteractiveShell": type("TerminalInteractiveShell", (Terminal,), {})(),
        "Other": type("Other", (Terminal,), {})(),
    }
    for name in ("VSCODE_PID", "VSCODE_CWD"):
        monkeypatch.delenv(name, raising=False)
    assert [form("auto", shell) for shell in shells.values()] == ["widget", "text", "html"]
    assert {form(wanted, shells["Other"]) for wanted in ("widget", "html", "text")} == {"widget", "html", "text"}
    monkeypatch.setenv("VSCODE_PID", "1")
    assert form("auto", shells["ZMQInteractiveShell"]) == "html"


# -- modules


@pytest.mark.parametrize("kind", KINDS)
def test_a_module_is_one_scope_that_fetches_nothing(kind, tmp_path):
    source = joined(f"{kind}.js")
    assert source.count("export") == source.count("export default") == 1
    assert "import" not in source
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|innerHTML|eval\(|fetch\(", source)
    assert "url(" not in style(kind)
    assert "@import" not in style(kind)
    node = shutil.which("node") or lacking("node runs the tests of the ES modules")
    file = tmp_path / "module.mjs"
    file.write_text(source + "\nexport const names = Object.keys((await import(import.meta.url)).default);\n")
    subprocess.run([node, "--check", file], check=True, capture_output=True)


def test_the_modules_own_tests():
    node = shutil.which("node") or lacking("node runs the tests of the ES modules")
    run = subprocess.run(
        [node, "--test", str(Path(__file__).parent / "js")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-3000:]
