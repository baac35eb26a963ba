"""Decision 15: git's unified form over lines as a read shows them."""

import re

from hypothesis import given
from hypothesis import strategies as st

from nbcontext import lines
from nbcontext.files import diff
from nbcontext.files.diff import hunks

TEXTS = st.lists(
    st.tuples(
        st.sampled_from(["", "a", "b", "é\r", "@@ -1 +1 @@", "\0", "\x85\u2028\f", "\ud800"]),
        st.sampled_from(["\n", "\r\n"]),
    ),
    max_size=12,
).map(lambda pairs: "".join(line + end for line, end in pairs)) | st.text("ab\n\r", max_size=30)


def patched(old, shown):
    """Apply hunks by their numbers; a line is kept without its terminator, the last with a mark where it has none."""
    made, at, open_rows, mark = [], 0, 0, ""
    rows = shown.split("\n") if shown else []
    for row in rows:
        header = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", row)
        if header and not open_rows:
            start = int(header[1]) - (0 if header[2] == "0" else 1)
            made += old[at:start]
            at = start
            assert len(made) == int(header[3]) - (0 if header[4] == "0" else 1)
            open_rows = int(header[2] or 1) + int(header[4] or 1)
        elif row.startswith("\\"):
            assert row == "\\ No newline at end of file"
            if mark in " +":
                made[-1] = (made[-1][0], False)
            if mark in " -":
                assert old[at - 1][1] is False
        else:
            mark = row[0]
            if mark in " -":
                assert old[at][0] == row[1:]
                at, open_rows = at + 1, open_rows - 1
            if mark in " +":
                made.append((row[1:], True))
                open_rows -= 1
    return made + old[at:]


def shape(text):
    return [(line, end != "") for line, end in lines.split_keeping(text)]


@given(TEXTS, TEXTS)
def test_hunks_lead_from_old_to_new(old, new):
    assert patched(shape(old), hunks(old, new)) == shape(new)
    assert (hunks(old, new) == "") == (shape(old) == shape(new))


@given(TEXTS, TEXTS)
def test_kept_lines_are_equal_and_go_forward(old, new):
    before, after = lines.split(old), lines.split(new)
    at = (0, 0)
    for first, second, count in diff.kept(old, new):
        assert first >= at[0]
        assert second >= at[1]
        assert before[first : first + count] == after[second : second + count]
        at = (first + count, second + count)


def test_terminators_alone_are_no_change_even_inside_a_hunk():
    assert hunks("a\r\nb\n", "a\nb\r\n") == ""
    assert hunks("a\r\nb\r\nc\r\n", "a\nB\nc\n") == "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"


def test_forms_that_git_gives():
    assert hunks("", "x\n") == "@@ -0,0 +1 @@\n+x"
    assert hunks("x\n", "") == "@@ -1 +0,0 @@\n-x"
    assert hunks("a\n", "a") == "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file"


def test_nothing_after_the_second_mark():
    old = "def f():\n" + "    pass\n" * 9 + "    x = 1\n"
    assert hunks(old, old.replace("1", "2")).split("\n")[0] == "@@ -8,4 +8,4 @@"


def test_a_large_diff_is_whole():
    old = "".join(f"line {i}\n" for i in range(6000))
    new = "".join(f"line {i}{'!' if i % 2 else ''}\n" for i in range(6000))
    assert patched(shape(old), hunks(old, new)) == shape(new)
