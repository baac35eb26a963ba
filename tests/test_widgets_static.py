"""The views' static forms, pure: rows, sums, queries, bars, what was not sent, and that nothing in them can do anything."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_world import call
from view_world import CONTEXT, made_request

from nbcontext import hygiene, lines
from nbcontext.display import chart, recalled, result_table
from nbcontext.display.bars import Bar, bar, bars, head, together, width_of
from nbcontext.display.result_rows import COLUMNS, Query, ResultRow, Sums, moved
from nbcontext.display.status import STOP, Status
from nbcontext.display.twin import MARK, Twin
from nbcontext.events import CallStarted, RequestEnded, TextArrived, TurnStarted
from nbcontext.hygiene import DedupeTable, Surroundings
from nbcontext.outcome import FileRead, Text
from nbcontext.usage import Usage

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e&amp;\"'"


class Tags(HTMLParser):
    """What tags and attributes HTML has, and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def row(number=1, **more):
    values = {"number": number, "id": CONTEXT.id(number), "turn": 1, "tool": "read", "kind": "full", "path": "a.py", "lines": "1-2 of 2",
              "sha": "12345678", "made": 10, "sent": 30, "elided": 0, "stands_for": "", "stands_for_number": None,
              "where": "in context", "resolved": None, "sha256": None}  # fmt: skip
    return ResultRow(**(values | more))


rows = st.lists(
    st.builds(
        row,
        number=st.integers(1, 1 << 20),
        turn=st.integers(1, 9),
        tool=st.sampled_from(["read", "bash", "grep"]),
        kind=st.sampled_from(["full", "stub", "capped"]),
        path=st.text(max_size=8),
        made=st.integers(0, 10**9),
        sent=st.integers(0, 10**6),
        elided=st.integers(0, 5),
    ),
    max_size=30,
)
queries = st.builds(
    Query,
    sort=st.sampled_from(COLUMNS),
    descending=st.booleans(),
    text=st.text(max_size=3),
    tool=st.sampled_from(["", "read"]),
    kind=st.sampled_from(["", "stub"]),
    path=st.text(max_size=2),
)


@given(rows, queries)
def test_a_query_gives_the_rows_it_takes_and_no_other(found, query):
    got = query.arranged(found)
    assert sorted(map(id, got)) == sorted(id(each) for each in found if query.takes(each))
    if query.sort in ("turn", "made", "sent", "saved"):
        values = [getattr(each, query.sort) for each in got]
        assert values == sorted(values, reverse=query.descending)


@given(rows, rows)
def test_sums_grow_as_rows_come(first, more):
    assert Sums().plus(first).plus(more) == Sums().plus([*first, *more])
    assert Sums().plus(first).saved == sum(each.made - each.sent for each in first)


@given(
    st.dictionaries(
        st.sampled_from(["sort", "descending", "text", "tool"]),
        st.none() | st.integers() | st.text() | st.lists(st.text()),
    )
)
def test_any_query_of_a_page_is_read(asked):
    assert Query.of(asked).arranged([row()]) in ([], [row()])


def test_rows_keep_their_identity_unless_they_moved():
    before = [row(1), row(2)]
    now = moved(before, {1: "in context"})
    assert now[0] is before[0]
    assert now[1].where == "taken back"


@pytest.mark.parametrize("count", [0, 1, 100, 101, 5000])
def test_the_table_shows_its_first_rows_and_counts_the_rest(count):
    found = [row(number, path=HOSTILE) for number in range(1, count + 1)]
    twin = result_table.twin(found, Sums().plus(found), title="Results of session s")
    html = twin.opened()["text/html"]
    shown = max(Tags(html).tags.count("tr") - 1, 0)
    assert shown == min(count, 100) or len(html) > 15_000
    told = re.search(r"([\d,]+) more rows are not shown", html)
    assert shown + (int(told[1].replace(",", "")) if told else 0) == count
    assert len(json.dumps(twin.folded("result table"), ensure_ascii=False).encode()) < 26_000


def test_no_static_form_can_do_anything():
    found = [row(path=HOSTILE, tool=HOSTILE, lines=HOSTILE)]
    text = Text(text=HOSTILE + "\n" + "x" * 3000)
    result = inserted(text).result
    made = [
        result_table.twin(found, Sums().plus(found), title=HOSTILE, note=HOSTILE),
        recalled.twin(result, lines.iterate(text.text), first=1, context=CONTEXT, title=HOSTILE, note=HOSTILE),
        chart.twin(bars([made_request(1, 1)], width=1), head([made_request(1, 1)]), title=HOSTILE, note=HOSTILE),
    ]
    for twin in made:
        for data in (twin.folded("view"), twin.opened()):
            seen = Tags(data["text/html"])
            assert set(seen.tags) <= set("details summary div table thead tbody tr th td pre span img".split())  # noqa: SIM905
            assert {name for name, _ in seen.attributes} <= {"data-nbcontext", "style", "open", "align", "alt", "src"}
            sources = [value for name, value in seen.attributes if name == "src"]
            assert all(value.startswith("data:image/svg+xml;base64,") for value in sources)
            assert "url(" not in data["text/html"]
            assert not re.search("[\x1b\u202e]", data["text/html"] + data["text/plain"])


def test_a_folded_twin_says_where_the_view_is_and_an_open_one_does_not():
    twin = Twin(summary="sums", html="<div>body</div>", text="text")
    folded, opened = twin.folded("chart")["text/html"], twin.opened()["text/html"]
    assert folded.startswith(MARK)
    assert "model not found" in folded
    assert "model not found" not in opened
    assert opened.startswith(f"{MARK} open")
    assert "sums" in folded.split("</summary>", maxsplit=1)[0]


# -- what the model was not sent


def inserted(outcome, number=1, table=None, tool="bash"):
    return hygiene.insert(
        outcome, Surroundings(context=CONTEXT, table=table or DedupeTable()), number=number, call_id="c", tool=tool
    )


@given(st.lists(st.text("ab é\t", max_size=60), min_size=1, max_size=40), st.integers(1, 40), st.booleans())
def test_lines_that_were_not_sent_are_exactly_those_that_are_not_in_what_was_sent(parts, times, is_long):
    text = "\n".join(f"{n} {line}" for n, line in enumerate(parts * times))
    text = ("x" * 25_000 + "\n" if is_long else "") + text
    made = inserted(Text(text=text))
    gone = recalled.unsent(made.result, CONTEXT)
    stored = lines.split(made.stored)
    kept = [line for number, line in enumerate(stored, 1) if not gone.covers(number)]
    body = made.result.sent.partition("\n")[2].split("\n")
    if gone.instead:
        body.remove(gone.instead)
    if gone.cut:
        assert kept[0].startswith(body[0].removesuffix(CONTEXT.cut))
        kept, body = kept[1:], body[1:]
    assert [line for line in body if line] == [line for line in kept if line]


def test_of_a_stub_nothing_was_sent_but_its_sentence():
    table = DedupeTable()
    read = FileRead(path="a.py", resolved="/r/a.py", sha256="0" * 64, text="one\ntwo\n")
    table = table.add(inserted(read, 1, table, "read").result)
    stub = inserted(read, 2, table, "read").result
    gone = recalled.unsent(stub, CONTEXT)
    assert (gone.first, gone.last, gone.instead) == (1, 2, stub.sent)


@given(st.lists(st.text(max_size=300), max_size=400), st.integers(1, 2000))
def test_a_window_fits_its_bytes_in_whole_lines(parts, limit):
    text = "\n".join(line.replace("\n", " ") for line in parts)
    made = inserted(Text(text=text or "x"))
    twin = recalled.twin(made.result, lines.iterate(made.stored), first=1, context=CONTEXT, title="s", limit=limit)
    assert len(json.dumps(twin.opened(), ensure_ascii=False).encode(errors="replace")) <= 40_000
    shown = Tags(twin.html).text
    told = re.search(r"([\d,]+) more lines of the window", twin.html)
    listed = len(re.findall(r"^ {0,5}\d+[ ┊] ", shown, re.MULTILINE)) if "<pre" in twin.html else 0
    window = min(limit, len(lines.split(made.stored)))
    assert listed >= window - (int(told[1].replace(",", "")) if told else 0)


# -- bars


@given(st.integers(0, 5000), st.integers(1, 300))
def test_bars_are_few_and_lose_nothing(count, most):
    found = [made_request(n, 1, known=n % 7 != 0) for n in range(1, count + 1)]
    width = width_of(count, most)
    made = bars(found, width=width)
    assert len(made) <= most
    assert [each.first for each in made] == list(range(1, count + 1, width))
    known = [each for each in found if each["prompt_tokens"] is not None]
    assert sum((b.read or 0) + (b.written or 0) + (b.other or 0) for b in made) == sum(
        r["prompt_tokens"] for r in known
    )


def test_unknown_is_never_nothing():
    unsplit = bar({**made_request(2, 1), "cached_tokens": None}, None)
    assert (unsplit.read, unsplit.unsplit) == (None, made_request(2, 1)["prompt_tokens"])
    nothing = bar(made_request(2, 1, known=False), None)
    assert 'fill="url(#h)"' in chart.svg([nothing])
    assert 'fill="url(#h)" stroke' in chart.svg([unsplit])
    assert together([unsplit, nothing]).unsplit == unsplit.unsplit


@given(st.lists(st.builds(made_request, st.integers(1, 900), st.just(1), known=st.booleans()), max_size=20))
def test_the_image_is_well_formed_and_the_text_too(found):
    made = bars(found, width=1)
    ET.fromstring(chart.svg(made))
    assert chart.twin(made, head(found), title="t").text.startswith("t · ")


def test_a_bar_travels_short_and_whole():
    packed = bar(made_request(7, 1), made_request(6, 1)).packed()
    assert packed == [7, 1, 2330, 200, 100, 120, 0.0008, 475]
    moved_model = bar(made_request(8, 1, model="other/y"), made_request(7, 1))
    assert moved_model.marks == "m"
    assert replace(moved_model, expected=5).packed()[-1] == 5
    assert isinstance(moved_model, Bar)


def test_the_head_counts_what_is_known_and_says_what_is_not():
    found = [made_request(1, 1), made_request(2, 1), {**made_request(3, 1), "cached_tokens": None, "cost": None}]
    made = head(found)
    assert made.unknown == made.unpriced == 1
    assert made.rate == f"{found[1]['cached_tokens'] / (found[0]['prompt_tokens'] + found[1]['prompt_tokens']):.1%}"
    assert "1 without cached tokens reported" in made.line()
    assert "simulated" in made.line()
    assert head([]).line() == "0 requests · hit rate ? · amplification ? · cost $0.0000"


# -- the status of a running cell


def test_the_status_tells_the_step_the_tool_its_seconds_and_how_to_stop():
    now = [0.0]
    status = Status(lambda: now[0])
    assert status.below({"text/html": "x", "text/plain": "x"}) == {"text/html": "x", "text/plain": "x"}
    status.show(TurnStarted(turn=1, notes=()))
    status.show(CallStarted(step=2, call=call("bash", '{"command": "<b>make"}')))
    now[0] = 12.4
    assert status.line() == f"step 2 · bash <b>make 12 s · {STOP}"
    assert "&lt;b&gt;make" in status.below({"text/html": "x"})["text/html"]
    status.show(
        RequestEnded(request=1, step=2, usage=Usage(prompt_tokens=1200, cached_tokens=1000, completion_tokens=30))
    )
    status.show(RequestEnded(request=2, step=3, usage=Usage(prompt_tokens=1300)))
    status.show(TextArrived(text="a"))
    assert status.line() == f"step 3 · writing 0 s · 2,500 input tokens (? cached) · ? output tokens · {STOP}"
