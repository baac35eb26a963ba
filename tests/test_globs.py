"""Globs against a slow oracle that tries every way a star can match."""

import time
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbcontext.search.globs import matcher


def oracle(pattern: str, path: str) -> bool:
    """`**` as a component, `*` and `?`; nothing else."""

    @cache
    def parts(p: tuple[str, ...], s: tuple[str, ...]) -> bool:
        if not p:
            return not s
        if p[0] == "**":
            if len(p) == 1:
                return len(s) > 0
            return parts(p[1:], s) or (len(s) > 0 and parts(p, s[1:]))
        return len(s) > 0 and one(p[0], s[0]) and parts(p[1:], s[1:])

    @cache
    def one(p: str, s: str) -> bool:
        if not p:
            return not s
        if p[0] == "*":
            return one(p[1:], s) or (s != "" and one(p, s[1:]))
        return s != "" and p[0] in ("?", s[0]) and one(p[1:], s[1:])

    return parts(tuple(pattern.split("/")), tuple(path.split("/")))


names = st.text("ab.", min_size=1, max_size=4)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
patterns = st.lists(st.one_of(st.just("**"), st.text("ab.*?", min_size=1, max_size=5)), min_size=1, max_size=4).map(
    "/".join
)


@settings(max_examples=1500, deadline=None)
@given(patterns, paths)
def test_agrees_with_the_oracle(pattern, path):
    assert bool(matcher(pattern)(path)) == oracle(pattern.removeprefix("./"), path)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.{py,txt}", "a.py", True),
        ("*.{py,txt}", "a.md", False),
        ("{a,b/{c,d}}/x", "b/d/x", True),
        ("a{", "a{", True),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[z-a]x", "bx", False),
        ("a[/]b", "a/b", False),
        ("[", "[", True),
        ("\\*", "*", True),
        ("\\*", "a", False),
        ("*", ".hidden", True),
        ("**", "a/b/c", True),
        ("**/c", "c", True),
        ("src/**", "src", False),
        ("*", "a/b", False),
        ("a.b", "axb", False),
        ("*", "new\nline", True),
        ("/a", "a", True),
    ],
)
def test_cases(pattern, path, expected):
    assert bool(matcher(pattern)(path)) is expected


def test_a_name_pattern_matches_in_every_folder_and_a_path_pattern_only_there():
    assert matcher("*.py", names=True)("a/b/c.py")
    assert not matcher("a/*.py", names=True)("x/a/c.py")
    assert matcher("a/*.py", names=True)("a/c.py")


def test_hostile_patterns_end_soon():
    begun = time.monotonic()
    matcher("*a" * 60)("a" * 250 + "b")
    matcher("**/" * 40 + "x")("a/" * 60 + "y")
    matcher("{a,b}" * 30)("ab" * 15)
    assert time.monotonic() - begun < 5
