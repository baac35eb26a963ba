"""`search`: ranks, the kept index, and that it never tells of what is no longer there."""

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_world import fill, world

from nbcontext.errors import ToolError
from nbcontext.search.words import passages, words
from nbcontext.tools import search


def ask(folder, query, **arguments):
    return search.run(search.SearchArguments(query=query, **arguments), world(folder)).text


@pytest.fixture
def tree(tmp_path):
    return fill(tmp_path / "root", a="the red fox\n", b="a fox, a fox and a red fox\n", c="nothing here\n")


def test_best_first_with_lines_and_blank_between(tree):
    text = ask(tree, "red fox", limit=1)
    assert text.endswith("(1 more)")
    assert ask(tree, "nothing") == f"{tree}/c:1-1\nnothing here"
    assert ask(tree, "zebra") == "(none)"


def test_ties_are_broken_by_path_and_line(tmp_path):
    root = fill(tmp_path / "root", **dict.fromkeys("dbca", "same words\n"))
    assert ask(root, "words").count("same words") == 4
    assert [part.split(":")[0][-1] for part in ask(root, "words").split("\n\n")] == list("abcd")


def test_changed_and_vanished_files(tree):
    assert "a:1-1" in ask(tree, "red")
    before = (tree / "a").stat()
    (tree / "a").write_text("the bad fox\n")
    os.utime(tree / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "/a:" not in ask(tree, "red")
    (tree / "b").unlink()
    assert ask(tree, "red") == "(none)"


def test_a_broken_index_is_made_again(tree):
    ask(tree, "red")
    kept = [path for path in (tree.parent / "cache").iterdir() if path.suffix == ".sqlite"]
    assert len(kept) == 1
    assert kept[0].stat().st_mode & 0o077 == 0
    whole = kept[0].read_bytes()
    for broken in (b"no database" * 1000, whole[:5000], whole[:4096] + os.urandom(len(whole) - 4096)):
        kept[0].write_bytes(broken)
        assert "a:1-1" in ask(tree, "red")


def test_a_cache_that_cannot_be_kept_costs_only_time(tree):
    (tree.parent / "cache").write_text("a file where the folder should be")
    assert "a:1-1" in ask(tree, "red")


@pytest.mark.parametrize("query", ['NEAR(red fox, 2) "', "red AND OR NOT", "words: red*", "red^2 -fox", "^red"])
def test_no_query_is_syntax(tree, query):
    assert "fox" in ask(tree, query)


def test_a_query_without_words_is_an_error(tree):
    with pytest.raises(ToolError, match="no word"):
        ask(tree, "*** ---")


def test_two_at_once(tree):
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(ask(tree, "red"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 6
    assert len(set(answers)) == 1


def test_words_of_identifiers_and_other_scripts():
    assert set(words("parseHTTPHeader max_size Café 東京都")) >= {
        *("parsehttpheader", "parse", "http", "header", "max_size", "max", "size", "cafe", "東京", "京都"),
    }


@given(st.text())
def test_every_word_is_one_token_of_the_index(text):
    assert all(word.replace("_", "a").isalnum() or not word.isascii() for word in words(text))


@given(st.lists(st.sampled_from(["", "a", "  ", "b c"]), max_size=60), st.integers(1, 12))
def test_passages_hold_every_line_that_is_not_blank_once(lines, most):
    found = list(passages(lines, most))
    held = [number for passage in found for number in range(passage.first, passage.last + 1)]
    assert held == sorted(set(held))
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= set(held)
    assert all(passage.last - passage.first < most for passage in found)


def test_a_file_too_large_to_be_ranked_is_named(tmp_path):
    root = fill(tmp_path / "root", small="the fox\n")
    (root / "large").write_bytes(b"the fox\n" * 2_600_000)
    assert ask(root, "fox") == f"{root}/small:1-1\nthe fox\n(unreadable: {root}/large)"
    (root / "middle").write_bytes(b"other words\n" * 200_000 + b"the fox\n")
    assert f"{root}/middle:" in ask(root, "fox")
