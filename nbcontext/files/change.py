"""From a path in a call to a file that may be changed, and from its new text to what the call answers (§5).

The rules that every changing tool shares stand here once: what was not seen is not changed (decision 12), what only
stands for a text is not written (decision 29), nor is a text that its file could not give back (decision 3).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nbcontext import lines
from nbcontext.errors import ToolError
from nbcontext.files import diff
from nbcontext.files.encoding import Decoded, NotTextError, decode, encode, unencodable
from nbcontext.files.nearest import clipped, nearest, visible
from nbcontext.files.root import Located
from nbcontext.files.skills import is_skill_file
from nbcontext.hygiene.clean import shown_path
from nbcontext.outcome import Change, Changes
from nbcontext.world import World


@dataclass(frozen=True, kw_only=True, slots=True)
class TextFile:
    """A text file as it was read: the bytes that were decoded are the bytes that were hashed."""

    located: Located
    data: bytes
    sha256: str
    """Full hex SHA-256 of `data`."""
    decoded: Decoded


def sha256(data: bytes) -> str:
    """Return the full hex SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def locate(path: str, world: World) -> Located:
    """Return where the file `path` is; raises `ToolError` where the path is none of a file inside the root."""
    errors = world.context.errors.files
    located = world.root.locate(path, errors)
    if path.endswith("/") and located.resolved != str(world.root.folder) and not _is_folder(located):
        raise ToolError(errors.final_slash.format(path=located.shown))
    return located


def read(located: Located, world: World) -> TextFile:
    """Return a text file; raises `ToolError` where it is missing, closed to us, too large or binary."""
    errors = world.context.errors.files
    return text_of(located, world.root.read(located, errors, world.context.files.max_bytes), world)


def seen_bytes(located: Located, world: World) -> bytes:
    """Return the bytes of a file that the model has in front of it as it is (decision 12).

    Raises:
        ToolError: it cannot be read; refused where it was not seen, or its bytes are not those last seen.
    """
    errors = world.context.errors.files
    world.root.check_file(located, errors)
    if not world.table.was_seen(located.resolved):
        raise ToolError(errors.not_seen.format(path=located.shown), kind="refused")
    data = world.root.read(located, errors, world.context.files.max_bytes)
    if sha256(data) != world.table.seen_sha256(located.resolved):
        raise ToolError(errors.changed.format(path=located.shown), kind="refused")
    return data


def read_to_change(located: Located, world: World) -> TextFile:
    """Return a text file that may be changed; raises `ToolError` as `seen_bytes`, and where it is binary."""
    return text_of(located, seen_bytes(located, world), world)


def text_of(located: Located, data: bytes, world: World) -> TextFile:
    """Return the text file that `data` is; raises `ToolError` where it is binary."""
    try:
        return TextFile(located=located, data=data, sha256=sha256(data), decoded=decode(data))
    except NotTextError as error:
        said = world.context.errors.files.binary.format(path=located.shown, size=error.size, kind=error.kind)
        raise ToolError(said) from None


def check_stand_ins(new: Iterable[str], located: Located, world: World) -> None:
    """Refuse a text of which a line only stands for a stored text (decision 29)."""
    for line in new:
        number = world.shelf.stand_in(line)
        if number is not None:
            shown = clipped(line, world.context.files.line_chars)
            said = world.context.errors.files.stand_in.format(
                path=located.shown, line=shown, id=world.context.id(number)
            )
            raise ToolError(said, kind="refused")


def encoded(text: str, new: str, like: Decoded, located: Located, world: World) -> bytes:
    """Return the bytes that `text` is in the file's encoding; `new` is the part of it that the call brought.

    Raises:
        ToolError: the encoding cannot hold a character of `new`, or the bytes would not read back as `text`.
    """
    errors = world.context.errors.files
    code = unencodable(new, like.encoding)
    if code is not None:
        raise ToolError(errors.not_encodable.format(path=located.shown, code=code, encoding=like.name))
    data = encode(text, like)
    try:
        back = decode(data).text
    except NotTextError:
        controls = (c for c in new if c < " " and c not in "\t\n\r\f\x1b")
        bad = next(controls, "\0") if like.encoding == "latin-1" else "\0"
        raise ToolError(errors.not_text.format(path=located.shown, code=f"U+{ord(bad):04X}")) from None
    if back != text:
        raise ToolError(errors.reads_back.format(path=located.shown, encoding=like.name))
    return data


def encoded_new(text: str, located: Located, world: World) -> bytes:
    """Return the bytes of a new file: UTF-8, with a byte order mark where `text` begins with one."""
    bom = text.startswith("\ufeff")
    like = Decoded(text="", encoding="utf-8", bom=bom)
    text = text[1:] if bom else text
    return encoded(text, text, like, located, world)


def changed(located: Located, before: TextFile, text: str, data: bytes) -> Change:
    """Return what became of a file that holds `text`, as the bytes `data`, now."""
    hunks = diff.hunks(before.decoded.text, text)
    return Change(
        path=located.given,
        resolved=located.resolved,
        sha256=sha256(data),
        kind="unchanged" if data == before.data else "diff" if hunks else "endings",
        hunks=hunks,
    )


def noted(changes: tuple[Change, ...], world: World) -> Changes:
    """Return what a call answers, with a note where it wrote a skill that `skill_manage` should have (§5)."""
    rules = world.context.skills
    names = [
        shown_path(change.resolved)
        for change in changes
        if change.kind not in ("deleted", "unchanged") and is_skill_file(change.resolved, world.root.folder, rules)
    ]
    noticed = "skill_manage" in world.tools
    return Changes(files=changes, note="\n".join(rules.note.format(path=name) for name in names) if noticed else "")


def place_shown(wanted: list[str], text: str, world: World) -> str:
    """Return the place of `text` that is most like `wanted`, numbered, white space visible; empty where none is."""
    rows = lines.split(text)
    start = nearest(wanted, rows)
    if start is None:
        return ""
    limits, form = world.context.files, world.context.errors.files.place_line
    shown = rows[start : start + min(max(len(wanted), 1), limits.near_lines)]
    return "\n".join(
        form.format(number=number, text=visible(clipped(row, limits.line_chars)))
        for number, row in enumerate(shown, start + 1)
    )


def places_shown(numbers: tuple[int, ...], world: World) -> str:
    """Return line numbers as a list of at most `files.shown_places`, the rest counted."""
    most = world.context.files.shown_places
    shown = ", ".join(map(str, numbers[:most]))
    if len(numbers) <= most:
        return shown
    return world.context.errors.files.more.format(items=shown, count=len(numbers) - most)


def quoted(text: str, world: World) -> str:
    """Return the start of `text` on one line, in quotes, as an error names it."""
    return f'"{clipped(shown_path(text), world.context.files.quote_chars)}"'


def _is_folder(located: Located) -> bool:
    return Path(located.resolved).is_dir()
