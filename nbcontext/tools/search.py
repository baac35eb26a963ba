"""`search`: the passages that fit some words best, by BM25 (decision 26)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress

from pydantic import Field

from nbcontext import lines
from nbcontext.assets import read
from nbcontext.errors import ToolError
from nbcontext.hygiene.clean import shown_path
from nbcontext.outcome import Outcome
from nbcontext.search import passages, ripgrep
from nbcontext.search.words import words
from nbcontext.tools.grep import clip
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class SearchArguments(Arguments):
    """Arguments of `search`."""

    query: str = Field(description="Words that occur in what you look for, in any order.")
    path: str | None = Field(default=None, description="Folder or file to search; the root where left out.")
    limit: int | None = Field(default=None, ge=1, description="Passages to show at most.")


def run(arguments: SearchArguments, world: World) -> Outcome:
    """Rank the passages of the text files that ripgrep lists.

    Raises:
        ToolError: the query has no word, or reading the files took longer than the time limit.
    """
    place = ripgrep.locate(world, arguments.path)
    rules, errors = world.context.search, world.context.errors.search
    if next(words(arguments.query), None) is None:
        raise ToolError(errors.no_words.format(path=shown_path(place.shown)))
    listing = ripgrep.Ripgrep(world, place)
    limits = passages.Limits(
        passage_lines=rules.passage_lines,
        max_file_bytes=rules.max_file_bytes,
        deadline=time.monotonic() + rules.seconds,
    )
    try:
        files, notes = listing.files()
        ignored = listing.left_out(notes, lambda _: True)
        ranked = passages.search(
            arguments.query,
            os.path.dirname(place.real) if place.is_file else place.real,  # noqa: PTH120 - plain strings all along
            files,
            cache=None if place.is_file else world.cache_folder,
            count=arguments.limit or rules.passages,
            limits=limits,
            stop=world.stop,
        )
    except (ripgrep.Interrupted, passages.StoppedError):
        return ripgrep.interrupted(world)
    except passages.TooSlowError:
        raise ToolError(errors.too_slow.format(path=shown_path(place.shown), seconds=rules.seconds)) from None
    shown = "\n\n".join(_shown(hit, place, world) for hit in ranked.hits)
    unread = (*notes.unreadable, *_too_large(files, place, rules.max_file_bytes))
    return ripgrep.answer(world, place, shown, more=ranked.more, ignored=ignored, unreadable=unread)


def _too_large(files: list[str], place: ripgrep.Place, most: int) -> Iterator[str]:
    """Yield the files that are too large to be ranked: nothing is left out without a word (decision 26)."""
    for file in files:
        real = place.real if place.is_file else os.path.join(place.real, file)  # noqa: PTH118 - plain strings all along
        with suppress(OSError):
            if os.stat(real).st_size > most:  # noqa: PTH116
                yield real


def _shown(hit: passages.Hit, place: ripgrep.Place, world: World) -> str:
    body = "\n".join(clip(line, 0, world) for line in lines.split(hit.text))
    return f"{shown_path(place.absolute(hit.path))}:{hit.first}-{hit.last}\n{body}"


def tool() -> Tool:
    """Return the tool `search`."""
    description = read("prompts", "tools", "search.md")
    return Tool(name="search", description=description, arguments=SearchArguments, run=run, effect=Effect.READ)
