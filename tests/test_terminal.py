"""What a terminal would leave of its output."""

from itertools import pairwise

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbcontext.execution.terminal import Cleaner, clean

hostile = st.text("ab é漢\r\n\t\x1b[]K0;7m\x07\\\x08\x9b\x9d\x9cPG(CD", max_size=40)


@settings(max_examples=1000, deadline=None)
@given(hostile, st.lists(st.integers(0, 40)))
def test_however_it_is_cut_the_outcome_is_the_same(text, cuts):
    edges = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    cleaner = Cleaner()
    got = "".join(cleaner.feed(text[a:b]) for a, b in pairwise(edges)) + cleaner.finish()
    assert got == clean(text)


@given(st.text(st.characters(exclude_characters="\x08\r\x1b\x90\x98\x9b\x9c\x9d\x9e\x9f"), max_size=200))
def test_text_without_sequences_is_unchanged(text):
    assert clean(text) == text


@given(st.lists(st.text("abc \x0c\u2028", max_size=5)))
def test_terminators_stay_as_they_came(parts):
    text = "\r\n".join(parts)
    assert clean(text) == text


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.sampled_from(["ab", "c", "\r", "\x08", "\x1b[K", "\x1b[31m", "\x1b[2D", "\x1b[3C", "\x1b[1K", "\x1b[2K"]),
        max_size=12,
    )
)
def test_one_line_is_what_a_terminal_shows(parts):
    screen = pyte.Screen(200, 2)
    pyte.Stream(screen).feed("".join(parts))
    assert clean("".join(parts)).rstrip() == screen.display[0].rstrip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10%\r20%\r100%\n", "100%\n"),
        ("hello\rJ", "Jello"),
        ("\x1b]0;title\x07hi", "hi"),
        ("\x1b]8;;u\x1b\\l\x1b]8;;\x1b\\", "l"),
        ("\x9b31mred", "red"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("\x1b]never\nnext", "never\nnext"),
        ("\x1b[999999999Cx", "x".rjust(1)),
        ("ab\r\r\n", "ab\r\n"),
        ("end\x1b", "end"),
    ],
)
def test_cases(text, expected):
    assert clean(text).strip(" ") == expected
