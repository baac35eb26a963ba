"""`grep` against an oracle in Python, and every trap of ripgrep's that decision 26 knows."""

import os
import re
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_world import fill, world, write

from nbcontext import lines
from nbcontext.errors import ToolError
from nbcontext.files.encoding import NotTextError, decode
from nbcontext.outcome import Failure
from nbcontext.tools import grep


def ask(folder, **arguments):
    return grep.run(grep.GrepArguments(**arguments), world(folder)).text


contents = st.one_of(
    st.text("ab \r\n\x0c\x1c\u0085\u2028\ufeffé", max_size=30).map(str.encode),
    st.text("ab \r\né", max_size=30).map(lambda t: t.encode("latin-1")),
    st.text("ab \r\né漢", max_size=30).map(lambda t: t.encode("utf-16")),
    st.text("ab\n\0", max_size=12).map(lambda t: b"x" * 9000 + b"\n" + t.encode()),
    st.text("ab\n\0", max_size=12).map(str.encode),
    st.binary(max_size=20),
)
PATTERNS = ("a", "ab", "b$", "^a", "a.b", "é", r"a\s", r"a\b", "[^x]b", ".", "^$")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(contents, min_size=1, max_size=4), st.sampled_from(PATTERNS))
def test_agrees_with_an_oracle_over_decoded_text(tmp_path_factory, files, pattern):
    folder = tmp_path_factory.mktemp("tree")
    expected = []
    # Python's `\s` takes four separators that Unicode's White_Space, which ripgrep asks, does not.
    told = pattern.replace(r"\s", r"[^\S\x1c-\x1f]")
    for index, data in enumerate(files):
        path = folder / f"f{index}"
        path.write_bytes(data)
        try:
            text = decode(data).text
        except NotTextError:
            continue
        expected += [
            f"{path}:{number}:{grep.clip(line, found.start(), world(folder))}"
            for number, line in enumerate(lines.split(text), 1)
            if (found := re.search(told.replace("$", r"\Z"), line, re.DOTALL))
        ]
    assert ask(folder, pattern=pattern) == ("\n".join(expected) or "(none)")


def test_paths_are_sorted_by_their_bytes_and_escaped(tmp_path):
    for name in ("b", "a/z", "a-b", "new\nline", "é", os.fsdecode(b"\xff")):
        write(tmp_path, name, "needle\n")
    names = [line.removeprefix(f"{tmp_path}/") for line in ask(tmp_path, pattern="needle").split("\n")]
    assert names == [
        "a-b:1:needle",
        "a/z:1:needle",
        "b:1:needle",
        "new\\nline:1:needle",
        "é:1:needle",
        "\ufffd:1:needle",
    ]


def test_ignore_rules_hold_outside_a_repository_and_include_does_not_undo_them(tmp_path):
    fill(tmp_path, a_py="x\n", build__b_py="x\n", **{"c.log": "x\n"})
    write(tmp_path, ".gitignore", "*.log\nbuild/\n")
    assert ask(tmp_path, pattern="x") == f"{tmp_path}/a.py:1:x\n(ignored files left out)"
    assert ask(tmp_path, pattern="x", include="*.log") == "(none)\n(ignored files left out)"
    assert ask(tmp_path, pattern="x", include="*.md") == "(none)"
    assert ask(tmp_path, pattern="x", include="*.py", path="a.py") == f"{tmp_path}/a.py:1:x"


def test_context_is_parted_and_the_limit_counts_matching_lines(tmp_path):
    fill(tmp_path, a="1\nx\n3\n4\n5\nx\n", b="x\n")
    a, b = tmp_path / "a", tmp_path / "b"
    whole = f"{a}-1-1\n{a}:2:x\n{a}-3-3\n--\n{a}-5-5\n{a}:6:x\n--\n{b}:1:x"
    assert ask(tmp_path, pattern="x", context=1) == whole
    assert ask(tmp_path, pattern="x", limit=1) == f"{a}:2:x\n(2 more)"


def test_many_matches_in_a_file_are_all_counted(tmp_path):
    fill(tmp_path, a="x\n" * 3000)
    assert ask(tmp_path, pattern="x", limit=10).endswith("(2990 more)")
    assert ask(tmp_path, pattern="x+", limit=10).endswith("(2990 more)")


def test_a_long_line_is_shown_around_its_match(tmp_path):
    fill(tmp_path, a="é" * 5000 + "needle" + "b" * 5000 + "\n")
    text = ask(tmp_path, pattern="needle").removeprefix(f"{tmp_path}/a:1:")
    assert len(text) == 502
    assert text[0] == text[-1] == "…"
    assert "needle" in text


def test_patterns_that_begin_with_a_hyphen_and_broken_ones(tmp_path):
    fill(tmp_path, a="--x\n")
    assert ask(tmp_path, pattern="--x") == f"{tmp_path}/a:1:--x"
    for pattern in ("a(", "a\nb", "\\"):
        with pytest.raises(ToolError, match=re.escape(str(tmp_path))):
            ask(tmp_path, pattern=pattern)
    with pytest.raises(ToolError):
        ask(tmp_path, pattern="x", path="../")


def test_links_are_not_followed_and_a_dangling_one_is_noted(tmp_path):
    fill(tmp_path, d__a="x\n")
    (tmp_path / "link").symlink_to("d")
    (tmp_path / "loose").symlink_to("gone")
    assert ask(tmp_path, pattern="x") == f"{tmp_path}/d/a:1:x\n(unreadable: {tmp_path}/loose)"


def test_a_stop_ends_it(tmp_path):
    stop = threading.Event()
    stop.set()
    for index in range(2000):
        write(tmp_path, f"f{index}", "x" * 20000)
    outcome = grep.run(grep.GrepArguments(pattern="(a|x)+y{1,200}z"), world(tmp_path, stop=stop))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "interrupted"
