"""The pipeline's laws: ids, the cap against a slow oracle (decisions 5, 6), windows (7), and one law over all steps."""

import re
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbcontext import assets, lines
from nbcontext.hygiene import STEPS, DedupeTable, Draft, Surroundings, insert, sendable
from nbcontext.outcome import Change, Changes, Failure, FileRead, NotStored, Planned, Recalled, Text

CONTEXT = assets.loop().context
KEY = "sk-secret-0123456789"
SMALL = CONTEXT.model_copy(
    update={
        "cap": CONTEXT.cap.model_copy(
            update={
                "max_lines": 8,
                "max_chars": 40,
                "head_lines": 4,
                "head_chars": 20,
                "tail_lines": 2,
                "tail_chars": 9,
            }
        ),
        "window": CONTEXT.window.model_copy(update={"max_lines": 5, "max_chars": 30}),
    }
)
EMPTY = Surroundings(context=SMALL, table=DedupeTable(), secrets=(KEY,))
TEXTS = st.text(st.sampled_from("ab \r\n\n\n\x0c\u2028\x85\0\ud800é𝄞"), max_size=70)
KEYED = st.tuples(TEXTS, st.sampled_from(["", KEY]), TEXTS).map("".join)
NAMES = st.text(st.sampled_from("ab\n\r\t\x1b|[]#/\udce9 "), min_size=1, max_size=8)


def sha(text):
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def reads():
    return st.builds(
        lambda path, text, offset, limit: FileRead(
            path=path, resolved=f"/r/{path}", sha256=sha(text), text=text, offset=offset, limit=limit
        ),
        NAMES, KEYED, st.integers(1, 9), st.none() | st.integers(1, 9),
    )  # fmt: skip


def recalls():
    return st.builds(
        lambda text, offset, limit, column: Recalled(
            of=1, offset=offset, limit=limit, column=column, total=lines.count(text), lines=lines.iterate(text, offset)
        ),
        TEXTS, st.integers(1, 9), st.none() | st.integers(1, 9), st.integers(1, 5),
    )  # fmt: skip


def changes():
    one = st.builds(
        lambda path, kind, hunks: Change(
            path=path, resolved=f"/r/{path}", kind=kind, hunks=hunks if kind in ("diff", "moved") else "",
            sha256=None if kind == "deleted" else sha(path), lines=3,
            moved_from="o" if kind == "moved" else None, moved_from_resolved="/r/o" if kind == "moved" else None,
        ),
        NAMES, st.sampled_from(["created", "diff", "deleted", "moved", "unchanged", "endings"]), KEYED,
    )  # fmt: skip
    return st.builds(
        lambda files, note: Changes(files=tuple(files), note=note), st.lists(one, min_size=1, max_size=3), TEXTS
    )


OUTCOMES = st.one_of(
    reads(), recalls(), changes(), st.builds(Text, text=KEYED), st.builds(Planned, text=KEYED),
    st.builds(NotStored, asked=NAMES),
    st.builds(Failure, text=KEYED, partial=KEYED, kind=st.sampled_from(["error", "refused", "unavailable", "interrupted"])),
)  # fmt: skip


def fresh(outcome):
    """The outcome with its lines to be read again: an iterator is read once."""
    return replace(outcome, lines=list(outcome.lines)) if isinstance(outcome, Recalled) else outcome


@given(OUTCOMES, st.integers(1, 1 << 40), st.none() | st.just("grep {}"))
def test_every_step_keeps_what_is_not_its_own(outcome, number, key):
    """One law over all steps: identity stays, reports only grow, and doing it again to its own answer changes nothing."""
    draft = Draft(number=number, call_id="c", tool="t", outcome=fresh(outcome), same_key=key)
    for step in STEPS:
        after = step(draft, EMPTY)
        assert (after.number, after.call_id, after.tool) == (number, "c", "t")
        assert after.reports[: len(draft.reports)] == draft.reports
        assert after.same_key in (key, None)
        if after.stored is not None:
            assert draft.stored in (None, after.stored)
        if not isinstance(draft.outcome, Recalled) and after.stored is None:
            again = step(after, EMPTY)
            assert replace(again, reports=()) == replace(after, reports=()), step
        draft = after


@given(OUTCOMES, st.integers(1, 1 << 40))
def test_laws_of_a_result(outcome, number):
    made = insert(fresh(outcome), EMPTY, number=number, call_id="c", tool="t")
    result = made.result
    assert result.sent.startswith(f"[#{number:04x}")
    assert re.match(r"\[#[0-9a-f]{4,}[ \]]", result.sent)
    for text in (result.sent, made.stored, result.path or ""):
        assert KEY not in text
        assert "\0" not in text
        assert sendable(text) == text
    assert result.stored_sha256 == sha(made.stored)
    assert (result.stored_lines, result.stored_chars) == (lines.count(made.stored), len(made.stored))
    assert "\n" not in (result.path or "")
    bracket = result.sent.split("\n", 1)[0]
    assert bracket.count("]") >= 1
    if result.kind == "capped":
        assert lines.length(made.stored) > 40 or lines.count(made.stored) > 8
    for report in made.reports:
        assert min(report.lines_kept, report.lines_elided, report.chars_kept, report.chars_elided) >= 0
    if any(report.step == "cap" for report in made.reports):
        (report,) = (r for r in made.reports if r.step == "cap")
        assert report.lines_kept + report.lines_elided == lines.count(made.stored)


@pytest.mark.parametrize(("number", "shown"), [(1, "#0001"), (10, "#000a"), (0xFFFF, "#ffff"), (0x10000, "#10000")])
def test_ids(number, shown):
    assert CONTEXT.id(number) == shown


# -- the cap, by decisions 5 and 6, slowly


def split(text):
    """The lines of a text with their terminators."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def bare(line):
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line


def run_of(own, most_lines, most_chars):
    """How many lines from the first fit, joined by terminators that count as one."""
    best = 0
    for count in range(1, min(len(own), most_lines) + 1):
        if sum(len(bare(line)) for line in own[:count]) + count - 1 <= most_chars:
            best = count
    return best


def capped(body, number):
    rule, own = SMALL.cap, split(body)
    size = len(body.replace("\r\n", "\n"))
    if len(own) <= rule.max_lines and size <= rule.max_chars:
        return body
    if len(bare(own[0])) > rule.head_chars:
        head, taken = bare(own[0])[: rule.head_chars] + " […cut]", 1
    else:
        taken = run_of(own, rule.head_lines, rule.head_chars)
        head = "".join(own[: taken - 1]) + bare(own[taken - 1]) if taken else ""
    rest = own[taken:]
    last = run_of(rest[::-1], rule.tail_lines, rule.tail_chars)
    tail = rest[len(rest) - last :]
    between = f"[{len(own) - taken - last} lines elided, full output #{number:04x}]"
    shown = ["".join(tail[:-1]) + bare(tail[-1])] if tail else []
    return "\n".join([head, between, *shown])


@given(
    st.text(st.sampled_from("ab\r\n\n\n\x0c"), max_size=120)
    | st.lists(st.sampled_from(["\r\n", "\n", "xxxxx", "a"]), max_size=60).map("".join)
)
def test_the_cap_is_the_oracles(text):
    made = insert(Text(text=text), EMPTY, number=7, call_id="c", tool="bash")
    body = lines.without_final(text)
    assert made.stored == body
    expected = capped(body, 7)
    assert made.result.sent == (f"[#0007]\n{expected}" if body else "[#0007]")


@pytest.mark.parametrize(("text", "kind"), [
    ("x" * 40_000, "full"), ("x" * 40_001, "capped"), ("x\n" * 400, "full"), ("x\n" * 401, "capped"),
    ("x\r\n" * 400, "full"), (("y" * 99 + "\r\n") * 400, "full"), (("y" * 99 + "\r\n") * 400 + "y", "capped"),
])  # fmt: skip
def test_the_caps_limits_are_inclusive(text, kind):
    made = insert(
        Text(text=text), Surroundings(context=CONTEXT, table=DedupeTable()), number=1, call_id="c", tool="bash"
    )
    assert made.result.kind == kind
    if text == "x" * 40_001:
        assert made.result.sent == f"[#0001]\n{'x' * 20_000} […cut]\n[0 lines elided, full output #0001]"


# -- windows, by decision 7


@given(st.text(st.sampled_from("ab\r\n\n\x0c"), max_size=90), st.integers(1, 12), st.none() | st.integers(1, 9))
def test_a_reads_window(text, offset, limit):
    total = lines.count(text)
    outcome = FileRead(path="p", resolved="/p", sha256=sha(text), text=text, offset=offset, limit=limit)
    result = insert(outcome, EMPTY, number=1, call_id="c", tool="read").result
    if not text:
        assert result.sent == f"[#0001 p empty sha {sha('')[:8]}]"
        assert not result.is_full_read
        return
    if offset > total:
        assert result.kind == "error"
        assert str(total) in result.sent
        return
    shown = [f"{n}: {bare(line)}" for n, line in enumerate(split(text), 1)][offset - 1 :][: min(limit or 5, 5)]
    while len(shown) > 1 and len("\n".join(shown)) > 30:
        shown.pop()
    is_cut = len(shown[0]) > 30
    body = shown[0][:30] + " […cut]" if is_cut else "\n".join(shown)
    last = offset + len(shown) - 1
    assert result.sent == f"[#0001 p lines {offset}-{last} of {total} sha {sha(text)[:8]}]\n{body}"
    assert result.is_full_read is not is_cut


@given(st.text(st.sampled_from("abc\r\n\n"), max_size=200), st.integers(1, 6))
def test_recall_goes_on_until_all_was_shown(text, column):
    """Line by line, and inside a cut line column by column, `recall` shows the stored text, whole."""
    own = list(lines.iterate(text))
    offset, column, found, part = 1, 1, [], ""
    while offset <= len(own):
        outcome = Recalled(
            of=1, offset=offset, limit=None, column=column, total=len(own), lines=lines.iterate(text, offset)
        )
        made = insert(outcome, EMPTY, number=2, call_id="c", tool="recall")
        shown = made.result.sent.split("\n", 1)[1] if "\n" in made.result.sent else ""
        if made.result.span.cut:
            part += shown.removesuffix(" […cut]")
            column += 30
        else:
            whole = shown.split("\n")
            found += [part + whole[0], *whole[1:]]
            offset, column, part = made.result.span.last + 1, 1, ""
    assert found == own
