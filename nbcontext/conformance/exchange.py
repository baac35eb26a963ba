"""One exchange with the model as a case writes it: the request, the reply, and what comes of the reply's calls."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from nbcontext.conformance.expression import Form, Text
from nbcontext.conformance.files import Change

Id = Annotated[str, Field(pattern="^#[0-9a-f]{4,}$")]


class Call(Form):
    """A call that the model makes."""

    extras: dict[str, Any] = Field(default={}, description="Its keys that the provider wants back word for word.")
    id: str | None = Field(default=None, description="None: `c` and the call's number in the case, from 1.")
    tool: str
    arguments: Text | dict[str, Any] = Field(
        description="The exact argument text; or an object, sent as compact JSON, text expressions in it expanded."
    )


class Reply(Form):
    """What the model answers: text, calls, or both; or the request breaks off, and the text is what had come."""

    text: Text = Field(default="", description="What comes before the calls.")
    calls: tuple[Call, ...] = ()
    after: Text = Field(default="", description="Text that comes after the calls.")
    reasoning: Text = ""
    extras: dict[str, Any] = Field(default={}, description="Keys of the message that its provider wants back.")
    finish: str | None = Field(default=None, description="The finish reason; null: `tool_calls` or `stop`.")
    usage: dict[str, Any] | None = Field(default=None, description="Token counts as the provider reports them.")
    fails: str | None = Field(default=None, description="The request fails with these words.")
    too_long: bool = Field(default=False, description="Whether it fails because it does not fit the model's window.")
    stops: Literal["interrupt", "crash"] | None = Field(
        default=None, description="The person interrupts while it comes, or the program ends at once."
    )


class AllOf(Form):
    """All messages of an earlier request of this case, by its number from 1."""

    all_of: int = Field(ge=1)


class UserMessage(Form):
    """The person's message: its content, or texts that stand in it in this order."""

    role: Literal["user"]
    content: Text | None = None
    holds: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.content is None) == (not self.holds):
            raise ValueError("a user message has either content or holds")
        return self


class Function(Form):
    """The function of a call in a message."""

    name: str
    arguments: Text


class MessageCall(Form):
    """A call in a message."""

    id: str
    type: Literal["function"]
    function: Function
    extras: dict[str, Any] = Field(default={}, description="Its other keys.")


class AssistantMessage(Form):
    """The model's message."""

    role: Literal["assistant"]
    content: Text | None
    tool_calls: tuple[MessageCall, ...] | None = None
    extras: dict[str, Any] = Field(default={}, description="Its other keys.")


class ToolMessage(Form):
    """A result's message: its text, or the id of the result of this case whose text it is."""

    role: Literal["tool"]
    tool_call_id: str
    content: Text | None = None
    result: Id | None = None

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.content is None) == (self.result is None):
            raise ValueError("a tool message has either content or result")
        return self


Message = AllOf | UserMessage | AssistantMessage | ToolMessage


class SystemPrompt(Form):
    """Texts that stand in a system prompt, and texts that do not."""

    holds: tuple[Text, ...] = ()
    lacks: tuple[Text, ...] = ()


class ToolNames(Form):
    """Tools that a request offers, and tools that it does not."""

    holds: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


class Exchange(Form):
    """One request, the model's reply to it, and the results of the reply's calls."""

    system: SystemPrompt | None = None
    tools: ToolNames | None = None
    prefix_of: int | None = Field(
        default=None, ge=1, description="The request whose system prompt and tool list these are, byte for byte."
    )
    apart: bool = Field(default=False, description="Whether it is a subagent's, whose session has its own prefix.")
    compacts: bool = Field(default=False, description="Whether the reply is a summary that replaces the history.")
    request: tuple[Message, ...] = Field(min_length=1, description="All messages after the system prompt.")
    meanwhile: tuple[Change, ...] = Field(default=(), description="Outside changes before the reply arrives.")
    reply: Reply
    results: tuple[Text, ...] = Field(default=(), description="The exact text of each call's result, in order.")
