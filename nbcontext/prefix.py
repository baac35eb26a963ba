"""The system prompt and the tool list: made once, kept as bytes, sent as those bytes (§10.1, §10.4, decision 20)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nbcontext.call import Json
from nbcontext.hygiene.clean import sendable
from nbcontext.notes import one_less_newline

if TYPE_CHECKING:
    from nbcontext.entry import Told
    from nbcontext.plan import Mode
    from nbcontext.tools.tool import Tool

Cause = Literal["start", "model", "compaction"]
"""Why a prefix was made."""

FIELDS = ("root", "mode", "mode_line", "context", "personality", "instructions", "servers")
"""The slots that `prompts/system.md` may have."""
_SLOT = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompts:
    """The files that a system prompt is made from."""

    system: str
    """`prompts/system.md`."""
    context: str
    """`prompts/blocks/context.md` (§9); empty where the session has no `recall`."""
    personality: str
    """`prompts/blocks/personality.md`."""
    instructions: str
    """`prompts/blocks/instructions.md`."""
    server: str
    """`prompts/blocks/server.md`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Telling:
    """What a system prompt tells of the session as it is when it is made; nothing of it is a clock (§10.2)."""

    root: str
    mode: Mode
    mode_text: str
    """The mode's prompt, of which the first line is told (decision 18)."""
    personality: str = ""
    personality_text: str = ""
    instructions: tuple[Told, ...] = ()
    servers: tuple[Told, ...] = ()


def system_prompt(prompts: Prompts, told: Telling) -> str:
    """Return the system prompt of a session that starts, or is made anew, now."""
    personality = {"name": told.personality, "text": one_less_newline(told.personality_text)}
    fields = {
        "root": told.root,
        "mode": told.mode,
        "mode_line": told.mode_text.split("\n", 1)[0],
        "context": prompts.context,
        "personality": filled(prompts.personality, personality) if told.personality else "",
        "instructions": _blocks(prompts.instructions, told.instructions),
        "servers": _blocks(prompts.server, told.servers),
    }
    return sendable(filled(prompts.system, fields).rstrip("\n"))


def filled(template: str, fields: Mapping[str, str]) -> str:
    """Return a prompt with `{{name}}` replaced by each field, once: what a field holds is not looked into.

    Raises:
        KeyError: the template names a field that there is not.
    """
    return _SLOT.sub(lambda slot: fields[slot[1]], template)


def slots(template: str) -> set[str]:
    """Return the names of the slots that a template has."""
    return set(_SLOT.findall(template))


def tool_list(tools: Iterable[Tool]) -> str:
    """Return the tool list as JSON, in the order given: the same bytes in every process."""
    return json.dumps([_offered(tool) for tool in tools], ensure_ascii=False, separators=(",", ":"))


def _blocks(template: str, texts: Iterable[Told]) -> str:
    return "".join(filled(template, {"name": told.name, "text": one_less_newline(told.text)}) for told in texts)


def _offered(tool: Tool) -> Json:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema()},
    }
