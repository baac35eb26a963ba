"""The tools of one session: what a new prefix offers, and what runs a call of what the kept one offers (§10.4).

Only what is fixed leaves a tool out of a new list: the kind of session, a model that sees no images, a subagent's
narrowing, what the person switched off. A kept list stays as it is, whatever became of the tools since: one that is
gone answers that it cannot be used, one that came later is offered from the next list on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict

from nbcontext.errors import ToolError
from nbcontext.servers.registry import Servers
from nbcontext.servers.tools import PREFIX
from nbcontext.toolbox import ours, toolbox
from nbcontext.tools.own import OWN
from nbcontext.tools.tool import Arguments, Effect, Tool

if TYPE_CHECKING:
    from nbcontext.history import Kind
    from nbcontext.loop import Context
    from nbcontext.outcome import Outcome
    from nbcontext.settings import Options
    from nbcontext.world import World


@dataclass(kw_only=True, slots=True)
class Offer:
    """The tools of one session."""

    context: Context
    kind: Kind
    options: Options
    servers: Servers = field(default_factory=Servers)
    _ours: Mapping[str, Tool] | None = field(default=None)

    def fresh(self, has_vision: Callable[[], bool]) -> Mapping[str, Tool]:
        """Return what a list that is made now offers, by name, in order.

        Args:
            has_vision: tells whether the model sees images; asked only where a tool depends on it.
        """
        found = toolbox(self._own().values(), servers=self.servers.tools(self.context))
        return {
            name: tool
            for name, tool in found.items()
            if self._may_have(tool) and not (tool.vision and not has_vision())
        }

    def kept(self, tools: str) -> Mapping[str, Tool]:
        """Return what runs a call of each tool of a kept list, by name, in the list's order.

        Args:
            tools: the list as it is kept, as JSON.
        """
        now = {**self._own(), **self._of_servers(), **self._built_in()}
        return {name: now[name] if name in now else _gone(name) for name in _names(tools)}

    def later(self, tools: str) -> tuple[str, ...]:
        """Return the tools that came since a list was made and that the next one offers, a model's sight left aside."""
        known = frozenset(_names(tools))
        came = {**self._own(), **self._of_servers()}
        return tuple(name for name, tool in came.items() if name not in known and self._may_have(tool))

    def _may_have(self, tool: Tool) -> bool:
        only = self.options.only
        is_left_out = tool.name in self.options.without or (only is not None and tool.name not in only)
        return not is_left_out and self.kind in tool.sessions

    def _built_in(self) -> Mapping[str, Tool]:
        if self._ours is None:
            self._ours = {tool.name: tool for tool in ours()}
        return self._ours

    def _own(self) -> Mapping[str, Tool]:
        """Return the person's own tools, less those with a name of ours: a session that runs is not ended for one."""
        taken = self._built_in()
        return {name: OWN[name] for name in sorted(OWN) if name not in taken and not name.startswith(PREFIX)}

    def _of_servers(self) -> Mapping[str, Tool]:
        return {tool.name: tool for tool in self.servers.tools(self.context)}

    def text_of(self, tool: Tool) -> str:
        """Return what a call of a tool is told while its condition is not met."""
        texts = self.context.unavailable
        named = {"plan": texts.plan, "display": texts.display, "page": texts.page, "forge": texts.forge}
        condition = tool.requires
        form = named[condition] if isinstance(condition, str) else texts.own
        return tool.unavailable or form.format(tool=tool.name)


@lru_cache(maxsize=8)
def _names(tools: str) -> tuple[str, ...]:
    listed: list[dict[str, Any]] = json.loads(tools)
    return tuple(tool["function"]["name"] for tool in listed)


class _GoneArguments(Arguments):
    """Arguments of a tool that is gone: whatever the call gave."""

    model_config = ConfigDict(extra="allow", frozen=True)


def _gone(name: str) -> Tool:
    """Return what stands for a tool that is offered and is no more."""

    def run(_: Arguments, world: World) -> Outcome:
        raise ToolError(world.context.unavailable.own.format(tool=name), kind="unavailable")

    # It changes nothing, so no person is asked about it.
    return Tool(
        name=name, description="", arguments=_GoneArguments, run=run, effect=Effect.READ, requires=lambda: False
    )
