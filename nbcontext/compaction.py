"""The summary that replaces the history: what is asked, what is taken as one, and what stands with it (§7). Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from nbcontext.errors import ModelError
from nbcontext.hygiene.clean import sendable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbcontext.history import History, Message
    from nbcontext.loop import Context
    from nbcontext.model.reply import Completion
    from nbcontext.result import Result

SLOT = "{{transcript}}"
"""Where the prompt takes the transcript, in the separate form (decision 22)."""
_CHARS_A_TOKEN = 4
_WRITTEN_CALL = re.compile(
    r"(?s)(?:```\w*\s*)?(?:<\|?(?:tool_call|function_call|tool_use|invoke)|\[TOOL_CALLS\]|functions\.\w+\()"
)


class CompactionFailed(ModelError):  # noqa: N818 - the field's word for it
    """No summary was made; the session is as it was."""


def question(template: str, context: Context, *, guidance: str = "", transcript: str = "") -> str:
    """Return the user message that asks for the summary.

    Args:
        template: `prompts/tasks/compact.md`.
        context: the texts.
        guidance: what the person asked to mind.
        transcript: the session as text, for the separate form; empty: the model has the conversation itself.
    """
    said = template.replace(SLOT, transcript)
    return sendable(said + context.compaction.guidance.format(text=guidance) if guidance else said)


def summary(reply: Completion, before_calls: str) -> str:
    """Return the summary that a reply holds: its text before any call.

    Args:
        reply: the reply.
        before_calls: its text up to the first call.

    Raises:
        CompactionFailed: there is none, it was cut off, or it is a call written out as text.
    """
    text = before_calls.strip()
    if not text:
        what = "only a tool call" if reply.calls else "only reasoning" if reply.reasoning else "nothing"
        raise CompactionFailed(f"The model answered the request for a summary with {what}; the session is as it was.")
    if reply.finish_reason == "length":
        raise CompactionFailed("The summary was cut off at the model's limit; the session is as it was.")
    if _is_written_call(text):
        raise CompactionFailed("The summary is a tool call written out as text; the session is as it was.")
    return text


def table(history: History, context: Context) -> str:
    """Return the table of the reads that the summary covers (§7, decision 23); empty where there are none."""
    newest: dict[str, Result] = {}
    for turn in history.turns:
        for result in turn.results:
            if _is_read(result):
                newest.pop(result.resolved or "", None)  # newest last
                newest[result.resolved or ""] = result
    rows = [_row(result, context) for result in newest.values()][-context.compaction.rows :]
    return context.compaction.table.format(rows="\n".join(rows)) if rows else ""


def content(text: str, reads: str) -> str:
    """Return the assistant message after a compaction: the summary, a blank line, the table (decision 22a)."""
    return f"{text}\n\n{reads}" if reads else text


def threshold(window: int, context: Context) -> int:
    """Return the tokens of a request at which a summary is asked for (decision 22)."""
    rule = context.compaction
    return int(window * rule.at) - min(rule.room, window // 8)


def estimated_tokens(messages: Iterable[Message]) -> int:
    """Return roughly the tokens of messages: four characters each."""
    return sum(len(message.sent) for message in messages) // _CHARS_A_TOKEN


def transcript(messages: Sequence[Message], most_chars: int, context: Context) -> str:
    """Return messages as text of at most `most_chars` characters, the middle left out where they are more."""
    form = context.compaction.message
    whole = "\n\n".join(form.format(role=message.role, text=_said(message, context)) for message in messages)
    if len(whole) <= most_chars:
        return whole
    half = max(most_chars - len(context.compaction.elided), 0) // 2
    return f"{whole[:half]}{context.compaction.elided}{whole[len(whole) - half :]}"


def _said(message: Message, context: Context) -> str:
    form = context.compaction.call
    calls = "\n".join(form.format(tool=call.name, arguments=call.arguments) for call in message.calls)
    return "\n".join(filter(None, (message.text, calls)))


def _is_read(result: Result) -> bool:
    """Whether the result is a read answered with its text (decision 8), an empty file's included."""
    is_empty = result.kind == "full" and result.span is None and result.resolved is not None and not result.images
    return result.is_full_read or is_empty


def _row(result: Result, context: Context) -> str:
    rule, span = context.compaction, result.span
    shown = rule.lines.format(first=span.first, last=span.last, total=span.total) if span else rule.empty
    path = (result.path or "").replace("|", "\\|")
    sha = context.sha(result.sha256 or "")
    return rule.row.format(path=path, lines=shown, sha=sha, id=context.id(result.number))


def _is_written_call(text: str) -> bool:
    if _WRITTEN_CALL.match(text):
        return True
    bare = text.removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        value = json.loads(bare)
    except ValueError:
        return False
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and "name" in first and ("arguments" in first or "parameters" in first)
