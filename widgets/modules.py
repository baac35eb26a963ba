"""The ES module of a view as one text: a widget's module cannot import its neighbours, so they are put in front of it.

The text is sent and saved with every view, so comment lines, indentation and spaces that mean nothing go. No bundler:
the files in `static/` are the source, and run as they are in node's tests.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z_]+\.js)";$', re.MULTILINE)
_COMMENT = re.compile(r"^\s*(//.*|/\*\*.*\*/)$")
_STRING = re.compile(r'("(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)')
"""Strings of the modules, which have no single quotes, no regular expressions and no template in a template."""
_SPACES = re.compile(r" *(=>|[=!]==|[-+*/<>]=|&&|\|\||[{}()\[\];,:?=<>*/%]) *")


def joined(name: str) -> str:
    """Return a module of `static/` with all that it imports in front, each once and in order.

    Shared modules lose their imports, and `export` before what they declare, so all of it is one scope.
    """
    parts: dict[str, str] = {}

    def add(module: str) -> None:
        source = _read(module)
        for needed in _IMPORT.findall(source):
            if needed not in parts:
                add(needed)
        parts[module] = _IMPORT.sub("", source)

    add(name)
    own = parts.pop(name)
    shared = (re.sub(r"^export (?!default)", "", part, flags=re.MULTILINE) for part in parts.values())
    return _squeezed("\n".join((*shared, own)))


def style(kind: str) -> str:
    """Return a view's style sheet: what all share, and its own."""
    own = f"{kind}.css"
    sheets = ["views.css", *([own] if (files(__package__) / "static" / own).is_file() else [])]
    return re.sub(r" ?([{};,]) ?", r"\1", "\n".join(_lines("\n".join(map(_read, sheets)))))


def _squeezed(source: str) -> str:
    """Return JavaScript without comment lines, indentation and spaces that mean nothing; line ends stay."""
    pieces = _STRING.split("\n".join(_lines(source)))
    return "".join(piece if at % 2 else _SPACES.sub(r"\1", piece) for at, piece in enumerate(pieces))


def _lines(source: str) -> list[str]:
    return [line.strip() for line in source.split("\n") if line.strip() and not _COMMENT.match(line)]


@cache
def _read(name: str) -> str:
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")
