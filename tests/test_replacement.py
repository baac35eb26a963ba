"""Decisions 3 and 14: what is replaced, and that not a byte changes around it."""

import re

from hypothesis import given
from hypothesis import strategies as st

from nbcontext import lines
from nbcontext.files.replacement import replace, rewrite

TEXTS = st.lists(st.sampled_from(["a", "b", "\r", "\n", "\r\n", "\\1"]), max_size=14).map("".join)


@given(TEXTS, TEXTS.filter(bool), TEXTS, st.booleans())
def test_nothing_changes_outside_the_matches(text, old, new, every):
    made = replace(text, old, new, replace_all=every)
    # The oracle: every place that the text's own pattern finds. A terminator is never entered in its middle.
    tokens = [re.escape(t) if t != "\n" else r"\r?\n" for t in re.findall(r"[^\n]|\n", old.replace("\r\n", "\n"))]
    tokens = [
        r"\r(?!\n)" if t == re.escape("\r") and n != r"\r?\n" else t
        for t, n in zip(tokens, [*tokens[1:], ""], strict=True)
    ]
    if made.text is None:
        assert not made.places or (len(made.places) > 1 and not every)
        return
    assert re.search("".join(tokens), text)
    if not every:
        fed = new.replace("\r\n", "\n")
        found = [
            (i, j)
            for i in range(len(text) + 1)
            for j in range(i, len(text) + 1)
            if any(text[:i] + fed.replace("\n", end) + text[j:] == made.text for end in ("\n", "\r\n"))
            and text[i:j].replace("\r\n", "\n") == old.replace("\r\n", "\n")
        ]
        assert found


def test_line_feeds_match_and_become_the_terminator_where_the_match_starts():
    assert replace("a\r\nb\r\nc\n", "a\nb", "x\ny", replace_all=False).text == "x\r\ny\r\nc\n"
    assert replace("a\nb\r\nc", "a\nb", "x\ny", replace_all=False).text == "x\ny\r\nc"
    assert replace("a\r\nb", "b", "x\r\ny", replace_all=False).text == "a\r\nx\r\ny"
    assert replace("b", "b", "x\r\ny", replace_all=False).text == "x\ny"
    assert replace("a\r\nb\n", "\n", "\n\n", replace_all=True).text == "a\r\n\r\nb\n\n"


def test_a_carriage_return_of_a_terminator_is_no_text():
    assert replace("a\r\nb", "a\r", "x", replace_all=False).text is None
    assert replace("a\rb\r\n", "\r", "x", replace_all=False).text == "axb\r\n"


def test_a_pair_is_looked_for_as_it_stands_first():
    assert replace("a\na\r\n", "a\r\n", "x\n", replace_all=False).text == "a\nx\r\n"
    assert replace("a\n", "a\r\n", "x\n", replace_all=False).text == "x\n"


def test_places_are_lines_and_overlap():
    assert replace("aaa\nb\naa", "aa", "c", replace_all=False).places == (1, 1, 3)
    assert replace("aaa\nb\naa", "aa", r"\1", replace_all=True).text == "\\1a\nb\n\\1"


@given(TEXTS.filter(lambda text: "\r\r\n" not in text))  # "\r" before a line feed is shown as a line feed is sent
def test_rewriting_what_a_read_shows_changes_nothing(text):
    shown = "".join(line + ("\n" if end else "") for line, end in lines.split_keeping(text))
    assert rewrite(text, shown) == text


def test_rewrite_keeps_terminators():
    assert rewrite("a\r\nb\r\n", "x\ny\n") == "x\r\ny\r\n"
    assert rewrite("a\n", "x\r\ny\r\n") == "x\ny\n"
    assert rewrite("a\r\nb\nc\r\n", "a\nb\nX\nc\n") == "a\r\nb\nX\nc\r\n"
    assert rewrite("a", "x\r\ny\n") == "x\r\ny\n"
