"""`skill_manage`: the skills under the root's folder of skills: listed, shown, written.

A skill is shown as a read shows its file and written by the rules of `write` (decision 12): stubs, diffs and the dedupe
table treat it as any file.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nbcontext import assets
from nbcontext.errors import ToolError
from nbcontext.files import change, skills
from nbcontext.hygiene.clean import shown_path
from nbcontext.outcome import Changes, FileRead, Outcome, Text
from nbcontext.tools import write
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class SkillArguments(Arguments):
    """Arguments of `skill_manage`."""

    action: Literal["list", "show", "write"] = Field(description="What to do.")
    name: str | None = Field(default=None, description="The skill, for show and write.")
    content: str | None = Field(default=None, description="The whole text of the skill, for write.")


def run(arguments: SkillArguments, world: World) -> Outcome:
    """List, show or write skills; raises `ToolError` where an argument lacks, or as `read` and `write` do."""
    if arguments.action == "list":
        return _list(world)
    errors, name = world.context.errors.skills, arguments.name
    if not name:
        raise ToolError(errors.no_name.format(action=arguments.action))
    if arguments.action == "show":
        return _show(name, world)
    if arguments.content is None:
        raise ToolError(errors.no_content.format(name=shown_path(name)))
    if not skills.NAME.fullmatch(name) and name not in _places(world):
        raise ToolError(errors.bad_name.format(name=shown_path(name)))
    path = skills.place(name, world.root.folder, world.context.skills)
    return Changes(files=(write.written(path, arguments.content, world),))


def _list(world: World) -> Text:
    rules = world.context.skills
    lines = [
        rules.line.format(
            name=shown_path(skill.name),
            path=shown_path(str(world.root.folder / skill.path)),
            description=skill.description or rules.undescribed,
        )
        for skill in skills.found(world.root.folder, rules)
    ]
    return Text(text="\n".join(lines) or rules.none)


def _show(name: str, world: World) -> FileRead:
    there = _places(world)
    if name not in there:
        folder = shown_path(str(world.root.folder))
        known = ", ".join(map(shown_path, there)) or world.context.skills.none
        raise ToolError(world.context.errors.skills.unknown.format(name=shown_path(name), folder=folder, names=known))
    file = change.read(change.locate(there[name], world), world)
    return FileRead(path=there[name], resolved=file.located.resolved, sha256=file.sha256, text=file.decoded.text)


def _places(world: World) -> dict[str, str]:
    """Return the path of each skill's file, relative to the root, by the skill's name."""
    return {skill.name: skill.path for skill in skills.found(world.root.folder, world.context.skills)}


def tool() -> Tool:
    """Return the tool."""
    return Tool(
        name="skill_manage",
        description=assets.read("prompts", "tools", "skill_manage.md"),
        arguments=SkillArguments,
        run=run,
        effect=Effect.CHANGE,
        only_reads=lambda arguments: arguments.action != "write",
    )
