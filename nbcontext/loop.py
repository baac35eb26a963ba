"""`loop.json` as records: every number and every text of the specification, validated once and then immutable.

The code holds none of them. A text is a `str.format` template; the placeholders it must have are declared beside its
field, so a missing, unknown or misspelt key or placeholder is named when the file is loaded.
"""

from __future__ import annotations

import json
import re
from typing import Self

from pydantic import Field, ValidationError, model_validator

from nbcontext.errors import AssetError
from nbcontext.loop_tools import (
    DisplayErrors,
    Displays,
    Images,
    Mcp,
    Model,
    ServerErrors,
    SkillErrors,
    Skills,
    TaskErrors,
    Tasks,
)
from nbcontext.template import Group, text

_ID = re.compile(r"#?([0-9a-f]+)", re.IGNORECASE)
_MOST_DIGITS = 15
"""Hex digits of the largest number that every store can hold (63 bits)."""


class Ids(Group):
    """§1: the form of ids and hashes."""

    digits: int = Field(ge=1)
    sha_digits: int = Field(ge=1, le=64)


class Brackets(Group):
    """§1, §4, §5: the first thing in a result."""

    plain: str = text("id")
    read: str = text("id", "path", "first", "last", "total", "sha")
    empty: str = text("id", "path", "sha")
    changed: str = text("id", "path", "sha")
    changed_part: str = text("path", "sha")
    deleted: str = text("id", "path")
    deleted_part: str = text("path")
    recall: str = text("id", "of", "first", "last", "total")
    recall_empty: str = text("id", "of")


class Answers(Group):
    """§4, §5: the sentences that stand on their bracket's line."""

    created: str = text("lines")
    unchanged: str = text()
    moved: str = text("path")
    endings: str = text()
    not_stored: str = text("id")


class Dedupe(Group):
    """§2, §6: which tools are compared by result, and what a stub says."""

    by_result: tuple[str, ...] = Field(strict=False)
    unchanged: str = text("id", "first", "last")
    same: str = text("id")


class Cap(Group):
    """§3: lines and characters (code points) that a result may have, and what is kept of a larger one."""

    max_lines: int = Field(ge=1)
    max_chars: int = Field(ge=1)
    head_lines: int = Field(ge=1)
    head_chars: int = Field(ge=1)
    tail_lines: int = Field(ge=0)
    tail_chars: int = Field(ge=0)
    elided: str = text("lines", "id")

    @model_validator(mode="after")
    def _check_sums(self) -> Self:
        if self.head_lines + self.tail_lines > self.max_lines or self.head_chars + self.tail_chars > self.max_chars:
            raise ValueError("head and tail together must fit max_lines and max_chars, or they would overlap")
        return self


class Window(Group):
    """§3, decision 7: what one read or recall shows at most."""

    max_lines: int = Field(ge=1)
    max_chars: int = Field(ge=1)


class Read(Group):
    """§1: a line as a read shows it."""

    line: str = text("number", "text")


class Notes(Group):
    """§10.3, decision 18: the texts of notes."""

    date: str = text("date")
    mode: str = text("mode", "text")
    personality: str = text("name", "text")
    no_personality: str = text()
    instructions: str = text("name", "text")
    changed: str = text("name", "text")
    removed: str = text("name")
    plan: str = text("items")
    no_plan: str = text()
    server: str = text("name", "text")


class Files(Group):
    """The file tools' limits: bytes of a file that is read whole, and how much of a text their errors show."""

    max_bytes: int = Field(ge=1)
    shown_places: int = Field(ge=1)
    near_lines: int = Field(ge=1)
    line_chars: int = Field(ge=1)
    quote_chars: int = Field(ge=1)


class WindowErrors(Group):
    """A read or a recall past the end."""

    offset_past_end: str = text("path", "total", "offset")
    recall_offset_past_end: str = text("id", "total", "offset")
    column_past_end: str = text("id", "line", "total", "column")


class CallErrors(Group):
    """Calls that reach no tool, or do not come back from one."""

    interrupted: str = text()
    lost: str = text()
    unknown_tool: str = text("tool", "tools")
    broken_arguments: str = text("tool", "arguments")
    wrong_arguments: str = text("tool", "problems", "known")
    mode_refused: str = text("tool", "mode")
    nobody_to_ask: str = text("tool", "mode")
    person_refused: str = text("tool")
    person_said: str = text("tool", "words")
    tool_failed: str = text("tool", "error")


class PlanErrors(Group):
    """The plan tools."""

    no_item: str = text("item", "count")


class FileErrors(Group):
    """The file tools: `read`, `edit`, `multiedit`, `apply_patch`, `write`, and where paths may lead."""

    empty_path: str = text("root")
    bad_path: str = text("path", "root")
    outside: str = text("path", "root")
    backslash: str = text("path", "given")
    link_loop: str = text("path")
    name_too_long: str = text("path")
    no_permission: str = text("path")
    not_writable: str = text("path")
    not_a_folder: str = text("path")
    is_folder: str = text("path")
    final_slash: str = text("path")
    not_regular: str = text("path", "kind")
    kind_pipe: str = text()
    kind_socket: str = text()
    kind_device: str = text()
    kind_link: str = text()
    too_large: str = text("path", "size", "most")
    failed: str = text("path", "reason")
    not_found: str = text("path", "folder")
    not_found_similar: str = text("path", "names")
    binary: str = text("path", "size", "kind")
    not_seen: str = text("path")
    changed: str = text("path")
    stand_in: str = text("path", "line", "id")
    not_encodable: str = text("path", "code", "encoding")
    not_text: str = text("path", "code")
    reads_back: str = text("path", "encoding")
    no_change: str = text("path")
    edit_at: str = text("number", "start", "problem")
    no_edits: str = text("path")
    old_empty: str = text("path")
    old_is_new: str = text("path")
    old_not_found: str = text("path")
    old_not_found_near: str = text("path", "place")
    old_ambiguous: str = text("path", "count", "lines")
    place_line: str = text("number", "text")
    more: str = text("items", "count")
    patch_form: str = text("line", "text", "problem")
    patch_no_begin: str = text()
    patch_no_end: str = text()
    patch_no_file: str = text()
    patch_no_path: str = text()
    patch_add_line: str = text()
    patch_hunk_line: str = text()
    patch_empty_hunk: str = text()
    patch_empty_update: str = text()
    patch_empty: str = text()
    patch_twice: str = text("path")
    patch_exists: str = text("path")
    patch_link: str = text("path", "target")
    hunk_not_found: str = text("path", "lines", "first")
    hunk_not_found_near: str = text("path", "lines", "first", "place")
    hunk_not_at_end: str = text("path", "lines")
    hunk_ambiguous: str = text("path", "lines", "places")


class SearchErrors(Group):
    """The search tools: `list`, `glob`, `grep`, `search`."""

    no_ripgrep: str = text("path")
    not_started: str = text("path", "why")
    too_slow: str = text("path", "seconds")
    failed: str = text("path", "why")
    bad_pattern: str = text("path", "why")
    dangling: str = text("path", "target")
    not_found: str = text("path")
    no_file: str = text("path")
    unreadable: str = text("path", "why")
    outside_glob: str = text("pattern", "path")
    no_words: str = text("path")
    no_index: str = text("path", "why")


class CommandErrors(Group):
    """`bash` and `python`."""

    not_started: str = text("path", "why")
    nul: str = text("path")
    long_timeout: str = text("seconds", "most")
    no_input: str = text()
    no_namespace: str = text()


class Errors(Group):
    """Decision 2: what a call is told that cannot be answered otherwise, by who says it."""

    window: WindowErrors
    plan: PlanErrors
    calls: CallErrors
    files: FileErrors
    search: SearchErrors
    commands: CommandErrors
    servers: ServerErrors
    skills: SkillErrors
    tasks: TaskErrors
    display: DisplayErrors


class Search(Group):
    """Decision 26: what the search tools say beside what they found, and their limits."""

    none: str = text()
    more: str = text("count")
    ignored: str = text()
    unreadable: str = text("path")
    mark: str = text()
    line_chars: int = Field(ge=20)
    seconds: float = Field(gt=0, strict=False)
    entries: int = Field(ge=1)
    matches: int = Field(ge=1)
    passages: int = Field(ge=1)
    passage_lines: int = Field(ge=1)
    max_file_bytes: int = Field(ge=1)


class Commands(Group):
    """Decision 27: what `bash` and `python` say beside the output, and their limits."""

    none: str = text()
    exit: str = text("status")
    killed: str = text("signal")
    timed_out: str = text("seconds")
    stopped_exit: str = text("status")
    image: str = text("type", "width", "height", "size")
    image_unsized: str = text("type", "size")
    seconds: int = Field(ge=1)
    max_seconds: int = Field(ge=1)
    environment: dict[str, str]


class Plan(Group):
    """Decision 30: what `plan_submit` asks and answers."""

    question: str = text("items")
    awaits: str = text()
    yes: str = text()
    no: str = text()
    words: str = text("words")


class Unavailable(Group):
    """§10.4: what a call is answered while its tool's condition is not met."""

    plan: str = text("tool")
    display: str = text("tool")
    page: str = text("tool")
    forge: str = text("tool")
    server: str = text("server")
    own: str = text("tool")


class Compaction(Group):
    """§7: when a summary is asked for, and what stands with it."""

    at: float = Field(gt=0, le=1)
    """Share of the model's window at which it is asked for."""
    room: int = Field(ge=0)
    """Tokens kept free for the summary."""
    rows: int = Field(ge=1)
    """Rows of the table at most."""
    asked: str = text()
    table: str = text("rows")
    row: str = text("path", "lines", "sha", "id")
    lines: str = text("first", "last", "total")
    empty: str = text()
    guidance: str = text("text")
    transcript: str = text("text")
    message: str = text("role", "text")
    call: str = text("tool", "arguments")
    elided: str = text()


class Context(Group):
    """The key `context` of `loop.json`."""

    ids: Ids
    brackets: Brackets
    answers: Answers
    dedupe: Dedupe
    cap: Cap
    window: Window
    read: Read
    cut: str = text()
    key: str = text()
    note: str = text("text")
    notes: Notes
    no_text: str = text()
    stopped: str = text()
    go_on: str = text()
    plan: Plan
    unavailable: Unavailable
    compaction: Compaction
    files: Files
    search: Search
    commands: Commands
    images: Images
    mcp: Mcp
    skills: Skills
    tasks: Tasks
    display: Displays
    errors: Errors

    def id(self, number: int) -> str:
        """Return result `number`'s id (§1): `#` and at least `ids.digits` lowercase hex digits."""
        return f"#{number:0{self.ids.digits}x}"

    def number(self, text: str) -> int | None:
        """Return the number of an id as it is taken: in any case, with or without `#` and leading zeros (decision 7a).

        None: it is no id, or one with more digits than any store can hold.
        """
        found = _ID.fullmatch(text.strip())
        return None if found is None or len(found[1].lstrip("0")) > _MOST_DIGITS else int(found[1], 16)

    def sha(self, sha256: str) -> str:
        """Return the digits of a full hex SHA-256 that a bracket shows (§1)."""
        return sha256[: self.ids.sha_digits]


class Loop(Group):
    """The whole of `loop.json`."""

    context: Context
    model: Model


def parse(source: str) -> Loop:
    """Return the records of `loop.json`'s text.

    Raises:
        AssetError: the text is no JSON, or a key is missing, unknown or of the wrong form; the message names it.
    """
    try:
        return Loop.model_validate(json.loads(source))
    except json.JSONDecodeError as error:
        raise AssetError(f"loop.json is no JSON: {error}. Restore it from the package.") from None
    except ValidationError as error:
        found = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise AssetError(f"loop.json: {found}. Mend these keys or restore the file from the package.") from None
