"""One-line summaries: of a result, of a call, of an answer; the same words in HTML and in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbcontext.plain import clipped

if TYPE_CHECKING:
    from nbcontext.call import Call
    from nbcontext.reply import Reply
    from nbcontext.result import Result

_LINE_CHARS = 120
_CALL_CHARS = 80


def call_line(call: Call) -> str:
    """Return a call as one line: the tool and the start of its main argument."""
    arguments = call.parsed() or {}
    first = next((value for value in arguments.values() if isinstance(value, str)), "")
    return f"{clipped(call.name, 40)} {clipped(first, _CALL_CHARS)}".rstrip()


def answer_line(call: Call | None, result: Result) -> str:
    """Return a call and its result as one line; None: the call is not known."""
    asked = result.tool if call is None else call_line(call)
    return f"{asked} → {result_line(result)}"


def result_line(result: Result) -> str:
    """Return a result as one line: its bracket, or its id and how much it has."""
    head, _, rest = result.sent.partition("\n")
    bracket, _, said = head.partition("] ")
    shown = f"{bracket}]" if said else head
    if result.kind == "capped":
        said = f"{result.stored_lines:,} lines, head and tail sent"
    elif result.kind in ("error", "refused", "unavailable", "interrupted"):
        said = f"{result.kind}: {said or rest}"
    elif result.path is None and not said and result.kind in ("full", "diff"):
        said = f"{result.stored_lines:,} lines"
    return clipped(f"{shown} {said}".rstrip(), _LINE_CHARS)


def closing_line(reply: Reply) -> str:
    """Return the line below an answer: steps, results, tokens, cost, seconds; what is unknown is `?`."""
    usage = reply.usage
    parts = [
        _counted(reply.steps, "step"),
        _counted(len(reply.results), "result"),
        f"{number(usage.prompt_tokens)} input tokens ({number(usage.cached_tokens)} cached)",
        f"{number(usage.completion_tokens)} output tokens",
        "cost " + money(reply.cost),
        f"{reply.seconds:.1f} s",
    ]
    if reply.simulated:
        parts.append("token counts simulated")
    return " · ".join(parts)


def number(value: float | None) -> str:
    """Return a count for a person's eyes, `?` where it is unknown."""
    return "?" if value is None else f"{value:,}"


def money(value: float | None) -> str:
    """Return US dollars, `?` where they are unknown."""
    return "?" if value is None else f"${value:.4f}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
