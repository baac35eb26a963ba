"""The form of a file of cases: what `conformance/README.md` describes, checked, and its JSON Schema made from it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from nbcontext.conformance.expression import Form, Text
from nbcontext.conformance.files import Change, File, Path
from nbcontext.errors import UsageError


def _time(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Time = Annotated[
    str,
    Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d$", description="The person's local time."),
    AfterValidator(_time),
]
Id = Annotated[str, Field(pattern="^#[0-9a-f]{4,}$")]
Mode = Literal["plan", "ask", "edit", "auto"]


# -- an exchange with the model


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


# -- steps

Ending = Literal["answered", "max_steps", "interrupted", "failed", "crashed"]


class Exchanging(Form):
    """Base of the steps that talk with the model."""

    exchanges: tuple[Exchange, ...] = Field(description="None where nothing may be sent.")
    ends: Ending = "answered"
    answer: Text | None = Field(default=None, description="The reply's text as the person is given it.")


class Ask(Exchanging):
    """The person writes a message."""

    do: Literal["ask"]
    words: Text


class Continue(Exchanging):
    """The last turn goes on without new words."""

    do: Literal["continue"]


class Retry(Exchanging):
    """The last turn is taken back and asked again."""

    do: Literal["retry"]


class Compact(Exchanging):
    """The session is compacted: one exchange, in which the model writes the summary."""

    do: Literal["compact"]
    guidance: Text = ""


class Undo(Form):
    """The last turns are taken back."""

    do: Literal["undo"]
    turns: int = Field(default=1, ge=1)


class Rewind(Form):
    """All turns after one are taken back."""

    do: Literal["rewind"]
    turn: int = Field(ge=1, description="The turns of a case count from 1; one taken back keeps its number.")


class Resume(Form):
    """The session is opened anew from its store."""

    do: Literal["resume"]
    results: tuple[Text, ...] = Field(default=(), description="Results of the calls that a crash left without one.")


class SetMode(Form):
    """The person changes the permission mode."""

    do: Literal["mode"]
    mode: Mode


class SetPersonality(Form):
    """The person chooses a personality."""

    do: Literal["personality"]
    name: str = Field(description="Empty: none.")


class PlanItem(Form):
    """One item of a plan."""

    text: Text
    status: Literal["pending", "in_progress", "done"] = "pending"


class SetPlan(Form):
    """The person changes the plan."""

    do: Literal["plan"]
    items: tuple[PlanItem, ...]


Door = Literal["display", "page"]


class FrontEnd(Form):
    """What a front end can do is another from here on."""

    do: Literal["front_end"]
    has: tuple[Door, ...] = Field(description="`display`: it can show something; `page`: a page is open.")


class Note(Form):
    """The person writes a note of their own."""

    do: Literal["note"]
    text: Text


class Move(Form):
    """The session moves to another model: system prompt and tool list may differ from here on."""

    do: Literal["model"]
    model: str


class SetClock(Form):
    """The time is another one from here on."""

    do: Literal["clock"]
    clock: Time


class Outside(Form):
    """Outside changes between two steps."""

    do: Literal["change"]
    at: Literal["workspace", "home"] = Field(default="workspace", description="`home`: the person's own folder.")
    changes: tuple[Change, ...] = Field(min_length=1)


class Check(Form):
    """Nothing is done: files, stored texts and the session must be as named."""

    do: Literal["check"]
    files: dict[Path, File | None] = Field(default={}, description="null: there must be nothing.")
    stored: dict[Id, Text] = Field(default={}, description="The whole stored text of results.")
    turns: tuple[Text, ...] | None = Field(default=None, description="The words of every live turn, in order.")
    mode: Mode | None = None
    plan: tuple[PlanItem, ...] | None = None
    requests: dict[Annotated[str, Field(pattern="^[1-9][0-9]*$")], dict[str, Any]] = Field(
        default={}, description="Columns of the request table, by the request's number in the case."
    )


Step = Annotated[
    Ask
    | Continue
    | Retry
    | Compact
    | Undo
    | Rewind
    | Resume
    | SetMode
    | SetPersonality
    | SetPlan
    | FrontEnd
    | Note
    | Move
    | SetClock
    | Outside
    | Check,
    Field(discriminator="do"),
]


# -- cases


class Interrupt(Form):
    """The person interrupts while the call runs."""

    interrupt: Literal[True]


class Crash(Form):
    """The program ends while the call runs; what was written by then is all that is left."""

    crash: Literal[True]


Answers = tuple[Text | Interrupt | Crash, ...]


class CaseTool(Form):
    """A tool of the case, and when a session has it and it can be used."""

    answers: Answers
    requires: Literal["plan", "display", "page", "forge"] | None = None
    unavailable: Text = Field(default="", description="What a call is answered meanwhile; empty: loop.json's text.")
    sessions: tuple[Literal["agent", "chat"], ...] = ("agent", "chat")
    vision: bool = Field(default=False, description="Whether only a model that sees images has it.")


class Session(Form):
    """What the session is made with."""

    kind: Literal["agent", "chat"] = "agent"
    mode: Mode = "auto"
    model: str = "scripted/model"
    clock: Time = "2026-12-01T09:00"
    only: tuple[str, ...] | None = Field(default=None, description="Its tools; null: all.")
    without: tuple[str, ...] = Field(default=(), description="Tools that it has not.")
    window: int | None = Field(default=None, ge=1, description="Tokens of the model's window; null: unknown.")
    vision: bool = Field(default=False, description="Whether the model sees images.")
    front_end: tuple[Door, ...] = ()
    max_steps: int = Field(default=100, ge=1)
    consent: tuple[str, ...] = Field(
        default=(), description="The person's answers where they are asked, in order; after them nobody can be asked."
    )
    environment: dict[str, Text] = Field(default={}, description="Environment variables while the case runs.")


class Case(Form):
    """One case."""

    name: str = Field(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")
    proves: tuple[str, ...] = Field(min_length=1, description="Ids of `sentences.json`.")
    needs: tuple[Literal["bash", "ripgrep", "links"], ...] = ()
    session: Session = Session()
    first_number: int = Field(default=1, ge=1, description="Number of the first result; those before are taken back.")
    files: dict[Path, File] = Field(default={}, description="The workspace before the session begins.")
    home: dict[Path, File] = Field(default={}, description="The person's own folder before the session begins.")
    tools: dict[str, Answers | CaseTool] = Field(
        default={}, description="Tools of the case without arguments; the k-th call of one gives its k-th text."
    )
    steps: tuple[Step, ...] = Field(min_length=1)


class Cases(Form):
    """A file of cases."""

    schema_: str | None = Field(default=None, alias="$schema")
    form: Literal[1] = Field(description="Version of this form.")
    specification: Literal["3.1.0"]
    cases: tuple[Case, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        names = [case.name for case in self.cases]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two cases are named {twice[0]}")
        return self


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of cases (draft 2020-12), as `conformance/schema.json` has it."""
    made = _closed(Cases.model_json_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def _closed(schema: Any) -> Any:
    """Return a schema in which no key stands beside those that a pattern takes (pydantic leaves that open)."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _closed(value) for key, value in schema.items()}
    return {**made, "additionalProperties": False} if "patternProperties" in made else made


def parse(source: str, name: str) -> Cases:
    """Return the cases of a file's text.

    Args:
        source: the text.
        name: what an error calls the file.

    Raises:
        UsageError: it is no JSON, or not of the form; the message names the first place.
    """
    try:
        value = json.loads(source)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UsageError(f"{name} is no JSON ({error}): give a file of cases as conformance/README.md tells.") from None
    try:
        return Cases.model_validate(value)
    except ValidationError as error:
        found = error.errors()[0]
        place = ".".join(map(str, found["loc"])) or "the top"
        more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise UsageError(
            f"{name} is no file of cases: {place}: {found['msg']}{more}. conformance/README.md tells the form."
        ) from None
