"""Skills: folders with a `SKILL.md` that tells how something is done, under the root's folder of skills.

The form is the one that Claude Code, Codex and others share: a front matter with `name` and `description`, then text.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from nbcontext.files.encoding import NotTextError, decode

if TYPE_CHECKING:
    from nbcontext.loop_tools import Skills

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
"""Names that a new skill may have; what others made may have any."""
_HEAD_BYTES = 16_384
"""Bytes of a skill's file that are read for its description."""
_KEY = re.compile(r"description[ \t]*:[ \t]*(?P<value>.*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Skill:
    """A skill that there is."""

    name: str
    path: str
    """Of its file, relative to the root, parted by `/`."""
    description: str
    """On one line; empty where it has none."""


def found(root: Path, rules: Skills) -> tuple[Skill, ...]:
    """Return the skills under `root`, by name; of two with one name, that of the earlier folder."""
    skills: dict[str, Skill] = {}
    for folder in rules.folders:
        for name in _folders(root / folder):
            path = f"{folder}/{name}/{rules.file}"
            head = _head(root / path, root)
            if head is not None and name not in skills:
                skills[name] = Skill(name=name, path=path, description=description(head))
    return tuple(skills[name] for name in sorted(skills))


def place(name: str, root: Path, rules: Skills) -> str:
    """Return where the skill `name` lies, or where a new one of that name belongs, relative to the root."""
    there = {skill.name: skill.path for skill in found(root, rules)}
    if name in there:
        return there[name]
    used = {path.rsplit("/", 2)[0] for path in there.values()}
    folder = next((folder for folder in rules.folders if folder in used), rules.folders[0])
    return f"{folder}/{name}/{rules.file}"


def is_skill_file(resolved: str, root: Path, rules: Skills) -> bool:
    """Return whether an absolute path is that of a skill's file."""
    try:
        inside = PurePosixPath(Path(resolved).relative_to(root).as_posix())
    except ValueError:
        return False
    return inside.name == rules.file and str(inside.parent.parent) in rules.folders


def description(text: str) -> str:
    """Return what a skill's front matter tells of it, on one line; empty where it tells nothing."""
    lines = text.split("\n")
    if lines[0].strip() != "---":
        return ""
    for number, line in enumerate(lines[1:], 1):
        if line.strip() == "---":
            return ""
        if match := _KEY.match(line):
            value = match["value"].strip()
            if value[:1] in (">", "|") or not value:
                rest = []
                for after in lines[number + 1 :]:
                    if after.strip() and not after[:1].isspace():
                        break
                    rest.append(after)
                value = " ".join(rest)
            return " ".join(value.strip().strip("\"'").split())
    return ""


def _folders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir())
    except OSError:
        return []


def _head(file: Path, root: Path) -> str | None:
    """Return the start of a skill's file as text; None where there is no such file inside the root."""
    try:
        if not file.is_file() or not file.resolve().is_relative_to(root):
            return None
        with file.open("rb") as opened:
            return decode(opened.read(_HEAD_BYTES)).text
    except (OSError, NotTextError):
        return None
