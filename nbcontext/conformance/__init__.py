"""Conformance: cases as data (`conformance/context.json`), run on the real code.

`expression`, `files`, `exchange` and `form` are what a file may hold; `texts` and `workspace` make of it what it
stands for, `stage` opens a session on it, `player` is its model, `steps` act, `comparison` finds what differs, and
`runner` takes a case from its files to its first difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from nbcontext import assets
from nbcontext.conformance.form import Case, Cases, parse, schema
from nbcontext.conformance.runner import Ran, run
from nbcontext.errors import UsageError

_NAME = "context.json"


def load(file: Path | None = None) -> Cases:
    """Return the cases of a file; None: of the one that ships.

    Raises:
        UsageError: the file is missing, no JSON, or not of the form.
    """
    if file is None:
        return parse(assets.read("conformance", _NAME), f"conformance/{_NAME}")
    try:
        source = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}): name a file of cases.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is no UTF-8 text: name a file of cases.") from None
    return parse(source, str(file))


def main(file: Path | None) -> int:
    """Run the cases of a file (None: the one that ships), print what fails and a count; return 1 where one fails."""
    count = {"passed": 0, "failed": 0, "left out": 0}
    for line, kind in _lines(map(run, load(file).cases)):
        count[kind] += 1
        if line:
            print(line, flush=True)  # noqa: T201 - what a shell command shows
    said = ", ".join(f"{number:,} {kind}" for kind, number in count.items() if number or kind == "passed")
    print(f"{sum(count.values()):,} cases: {said}.")  # noqa: T201
    return 1 if count["failed"] else 0


def _lines(runs: Iterable[Ran]) -> Iterator[tuple[str, str]]:
    """Yield of each case what is printed of it, and how it ended."""
    for ran in runs:
        name = ran.case.name
        if ran.missing:
            yield f"LEFT OUT {name}: it needs {ran.missing}", "left out"
        elif ran.difference is not None:
            yield f"FAILED {name} (proves {', '.join(ran.case.proves)})\n{ran.difference.shown}", "failed"
        else:
            yield "", "passed"


__all__ = ["Case", "Cases", "Ran", "load", "main", "parse", "run", "schema"]
