"""Decision 16: the form of patches, where their hunks belong, and which bytes they change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbcontext import lines
from nbcontext.files.patch import Hunk, PatchError, Section, parse
from nbcontext.files.placement import PlacementError, apply


def hunk(*rows, anchors=(), at_end=False):
    return Hunk(anchors=tuple(anchors), body=tuple((row[0], row[1:]) for row in rows), at_end=at_end)


def test_all_parts():
    found = parse(
        "*** Begin Patch\n*** Update File: a b.py\n*** Move to: c.py\n@@ class A\n@@ def f\n x\n-y\n+*** End Patch\n"
        "*** End of File\n*** Add File: n\n+1\n+\n\n*** Delete File: d\n*** End Patch\n"
    )
    assert found == (
        Section(
            kind="Update",
            path="a b.py",
            move_to="c.py",
            hunks=(hunk(" x", "-y", "+*** End Patch", anchors=("class A", "def f"), at_end=True),),
        ),
        Section(kind="Add", path="n", added=("1", "")),
        Section(kind="Delete", path="d"),
    )


@pytest.mark.parametrize(
    "patch",
    [
        "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch",
        "*** Begin Patch\n*** Update File: f\n-a\n+b\n*** End Patch\n\n",
        "\n  *** Begin Patch \r\n *** Update File:  f \r\n@@ \r\n-a\r\n+b\r\n  *** End Patch  ",
        "<<'EOF'\n*** Begin Patch\n*** Update File: f\n-a\n+b\n*** End Patch\nEOF\n",
        "apply_patch <<EOF\n*** Begin Patch\n*** Update File: f\n\n@@\n-a\n+b\n\n*** End Patch\n\nEOF",
    ],
)
def test_what_is_forgiven(patch):
    assert parse(patch) == (Section(kind="Update", path="f", hunks=(hunk("-a", "+b"),)),)


@pytest.mark.parametrize(
    ("patch", "problem", "number"),
    [
        ("", "no_begin", 1),
        ("x", "no_begin", 1),
        ("*** Begin Patch", "no_end", 1),
        ("*** Begin Patch\n*** Add File: f\n+a\n*** End Patch\nmore", "no_end", 5),
        ("*** Begin Patch\n\n*** End Patch", "empty", 3),
        ("*** Begin Patch\nwhat\n*** End Patch", "no_file", 2),
        ("*** Begin Patch\n*** Add File: \n*** End Patch", "no_path", 2),
        ("*** Begin Patch\n*** Add File: f\nx\n*** End Patch", "add_line", 3),
        ("*** Begin Patch\n*** Update File: f\n*** End Patch", "empty_update", 2),
        ("*** Begin Patch\n*** Update File: f\n a\n@@ x\n*** End Patch", "empty_hunk", 4),
        ("*** Begin Patch\n*** Update File: f\n a\nx\n*** End Patch", "hunk_line", 4),
    ],
)
def test_what_is_not(patch, problem, number):
    with pytest.raises(PatchError) as caught:
        parse(patch)
    assert (caught.value.problem, caught.value.number) == (problem, number)


@given(st.text("*@+- \nabEndPatchUpdateFile:<", max_size=80), st.booleans())
def test_any_text_is_a_patch_or_a_patch_error(text, framed):
    try:
        parse(f"*** Begin Patch\n*** Update File: f\n{text}\n*** End Patch" if framed else text)
    except PatchError as error:
        assert error.number >= 1  # noqa: PT017 - some examples raise nothing


@pytest.mark.parametrize(
    ("text", "hunks", "made"),
    [
        ("a\nb\nc\n", [hunk(" a", "-b", "+x")], "a\nx\nc\n"),
        ("a\r\nb\r\n", [hunk("-b", "+x", "+y")], "a\r\nx\r\ny\r\n"),
        ("a  \n\tb\n", [hunk(" a", "-    b", "+    x")], "a  \n    x\n"),  # the line that stays keeps its bytes
        ("a\nb", [hunk("-b", "+x")], "a\nx"),
        ("a\nb", [hunk(" b", "+x")], "a\nb\nx"),
        ("a\nb", [hunk("-b")], "a\n"),
        ("a\r\nb", [hunk("+x")], "a\r\nb\r\nx"),
        ("", [hunk("+x")], "x\n"),
        ("a\n", [hunk("+x")], "a\nx\n"),
        ("a\n", [hunk("-a")], ""),
        ("a\nb\na\nb\n", [hunk("-b", "+x", at_end=True)], "a\nb\na\nx\n"),
        ("A\nf\n1\nB\nf\n1\n", [hunk("-1", "+2", anchors=("B", "f"))], "A\nf\n1\nB\nf\n2\n"),
        ("  def f():\nx\n", [hunk("+y", anchors=("def f():",))], "  def f():\ny\nx\n"),
        ("a\nb\nc\n", [hunk("-a", "+1"), hunk("-c", "+3")], "1\nb\n3\n"),
        ("x\nk\nx\nk\n", [hunk("-k", "+1", anchors=("x", "x"))], "x\nk\nx\n1\n"),
    ],
)
def test_hunks_change_only_their_lines(text, hunks, made):
    assert apply(text, hunks) == made


@pytest.mark.parametrize(
    ("text", "hunks", "problem"),
    [
        ("a\na\n", [hunk("-a")], "many"),
        ("a \na  \n", [hunk("-a")], "many"),
        ("a\n", [hunk("-b")], "missing"),
        ("a\nb\n", [hunk("-b"), hunk("-a")], "missing"),  # forward only
        ("a\nb\n", [hunk("-a", at_end=True)], "not_at_end"),
        ("f\nf\n", [hunk("+x", anchors=("f",))], "many"),
        ("f\n", [hunk("+x", anchors=("g",))], "missing"),
        ("A\nf\n1\nB\nf\n1\n", [hunk("-1", "+2", anchors=("f",))], "many"),
    ],
)
def test_no_single_place_is_an_error(text, hunks, problem):
    with pytest.raises(PlacementError) as caught:
        apply(text, hunks)
    assert caught.value.problem == problem


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", " b", ""]), st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=8),
    st.booleans(),
    st.data(),
)
def test_lines_that_no_hunk_names_keep_their_bytes(pairs, ended, data):
    text = "".join(line + end for line, end in pairs)
    text = text if ended else text + "last"
    rows = lines.split_keeping(text)
    start = data.draw(st.integers(0, len(rows) - 1))
    stop = data.draw(st.integers(start + 1, len(rows)))
    new = data.draw(st.lists(st.sampled_from(["x", "y"]), max_size=3))
    try:
        made = apply(text, [hunk(*("-" + line for line, _ in rows[start:stop]), *("+" + line for line in new))])
    except PlacementError as error:
        assert error.problem == "many"  # noqa: PT017 - most examples raise nothing
        return
    before, after = ("".join(map("".join, part)) for part in (rows[:start], rows[stop:]))
    assert made.startswith(before)
    assert made.endswith(after)
    middle = made[len(before) : len(made) - len(after)]
    assert lines.split(middle) == new
