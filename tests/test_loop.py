"""`loop.json` names what is wrong with it; the code holds none of its texts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbcontext import assets
from nbcontext.errors import AssetError
from nbcontext.loop import parse

SOURCE = assets.read("loop.json")


def paths(value, at=()):
    """Yield the path of every key."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*at, key)
            yield from paths(inner, (*at, key))


FREE = ("context", "commands", "environment")  # names of variables: any may stand there
ALL = [path for path in paths(json.loads(SOURCE)) if path[:3] != FREE or path == FREE]


def changed(path, change):
    value = json.loads(SOURCE)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    change(inner, path[-1])
    return json.dumps(value)


def test_the_numbers_are_the_specifications():
    context = assets.loop().context
    cap = context.cap
    assert (context.ids.digits, context.ids.sha_digits) == (4, 8)
    assert (cap.max_lines, cap.max_chars) == (400, 40_000)
    assert (cap.head_lines, cap.head_chars, cap.tail_lines, cap.tail_chars) == (200, 20_000, 100, 10_000)
    assert (context.window.max_lines, context.window.max_chars) == (2000, 200_000)
    assert context.dedupe.by_result == ("list", "glob", "grep", "search")
    assert context.compaction.rows == 50
    assert context.note.format(text="x") == "\n\n<note>\nx\n</note>"


@given(st.sampled_from(ALL))
def test_a_missing_key_names_itself(path):
    with pytest.raises(AssetError, match=re.escape(path[-1])):
        parse(changed(path, lambda inner, key: inner.pop(key)))


@given(st.sampled_from([path for path in ALL if len(path) > 1]))
def test_an_unknown_key_names_itself(path):
    def rename(inner, key):
        inner[f"{key}_misspelt"] = inner.pop(key)

    with pytest.raises(AssetError, match=f"{re.escape(path[-1])}_misspelt"):
        parse(changed(path, rename))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("context", "brackets", "plain"), "[{number}]"),
        (("context", "brackets", "plain"), "[]"),
        (("context", "brackets", "plain"), "[{id"),
        (("context", "cap", "max_lines"), "400"),
        (("context", "cap", "max_lines"), 0),
        (("context", "cap", "head_lines"), 350),
    ],
)
def test_a_value_of_the_wrong_form_names_its_group(path, value):
    with pytest.raises(AssetError, match=path[1]):
        parse(changed(path, lambda inner, key: inner.update({key: value})))


def test_no_json_is_said_to_be_none():
    with pytest.raises(AssetError, match="no JSON"):
        parse(SOURCE[:-10])


def test_the_code_has_none_of_the_texts():
    code = "\n".join(path.read_text(encoding="utf-8") for path in Path(assets.__file__).parent.rglob("*.py"))
    strings = "\n".join(re.findall(r'"[^"\n]{12,}"', code))

    def texts(value):
        if isinstance(value, dict):
            for inner in value.values():
                yield from texts(inner)
        elif isinstance(value, str) and len(value) > 20:
            yield value

    found = [text for text in texts(json.loads(SOURCE)) if text.split("{")[0].strip() and text in strings]
    assert found == []
