"""`grep`: the lines that match a pattern, as `PATH:LINE:TEXT` (decision 26)."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pydantic import Field

from nbcontext.assets import read
from nbcontext.errors import ToolError
from nbcontext.hygiene.clean import shown_path
from nbcontext.outcome import Outcome
from nbcontext.search import globs, matches, ripgrep
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class GrepArguments(Arguments):
    """Arguments of `grep`."""

    pattern: str = Field(description="Regular expression in ripgrep's syntax, matched line by line.")
    path: str | None = Field(default=None, description="Folder or file to search; the root where left out.")
    include: str | None = Field(
        default=None,
        description="Glob of the files to search: without `/` it matches the name, with one the path below path.",
    )
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are the same.")
    context: int = Field(default=0, ge=0, le=1000, description="Lines to show before and after each match.")
    limit: int | None = Field(default=None, ge=1, description="Matching lines to show at most.")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shown:
    """What is shown of what was found."""

    text: str
    more: int
    """Matching lines past the limit."""


def run(arguments: GrepArguments, world: World) -> Outcome:
    """Search, sorted by the bytes of the paths, then by line.

    Raises:
        ToolError: the pattern is no regular expression; ripgrep's own message is in it.
    """
    place = ripgrep.locate(world, arguments.path)
    search = ripgrep.Ripgrep(world, place)
    include = globs.matcher(arguments.include, names=True) if arguments.include else None
    question = matches.Question(
        pattern=arguments.pattern,
        ignore_case=arguments.ignore_case,
        context=arguments.context,
        line_bytes=world.context.search.line_chars,
    )
    try:
        _check(search, question, world)
        found = matches.find(search, question, include or _any)
        ignored = search.left_out(found.notes, include or _any)
    except ripgrep.Interrupted:
        return ripgrep.interrupted(world)
    limit = arguments.limit or world.context.search.matches
    shown = _show(found, place, limit, world, separated=arguments.context > 0)
    return ripgrep.answer(world, place, shown.text, more=shown.more, ignored=ignored, unreadable=found.notes.unreadable)


def _check(search: ripgrep.Ripgrep, question: matches.Question, world: World) -> None:
    """Refuse a pattern that ripgrep refuses, with what it says about the pattern alone."""
    if question.pattern.replace(" ", "").replace("_", "").isalnum() and question.pattern.isascii():
        return

    run = search.run(*question.options, "-e", question.pattern, paths=[os.devnull])
    if run.problem:
        said = world.context.errors.search.bad_pattern
        raise ToolError(said.format(path=shown_path(search.place.shown), why=run.problem))


def _any(_: str) -> bool:
    return True


def _show(found: matches.Found, place: ripgrep.Place, limit: int, world: World, *, separated: bool) -> _Shown:
    """Return the lines up to `limit` matching ones, groups parted by `--` where context was asked for."""
    out: list[str] = []
    left, more = limit, 0
    for relative, rows in found.rows.items():
        if left == 0:
            more += sum(row.match for row in rows)
            continue
        path = shown_path(place.absolute(relative))
        last = None
        for index, row in enumerate(rows):
            if row.match and left == 0:
                more += sum(later.match for later in rows[index:])
                break
            left -= row.match
            if separated and out and (last is None or row.line > last + 1):
                out.append("--")
            mark = ":" if row.match else "-"
            out.append(f"{path}{mark}{row.line}{mark}{clip(row.text, row.start, world)}")
            last = row.line
    return _Shown(text="\n".join(out), more=more)


def clip(line: str, start: int, world: World) -> str:
    """Return a line, of one longer than `line_chars` that many characters around the match that begins at `start`."""
    rules = world.context.search
    most = rules.line_chars
    if len(line) <= most:
        return line
    first = max(min(start - most // 3, len(line) - most), 0)
    before = rules.mark if first else ""
    after = rules.mark if first + most < len(line) else ""
    return f"{before}{line[first : first + most]}{after}"


def tool() -> Tool:
    """Return the tool `grep`."""
    description = read("prompts", "tools", "grep.md")
    return Tool(name="grep", description=description, arguments=GrepArguments, run=run, effect=Effect.READ)
