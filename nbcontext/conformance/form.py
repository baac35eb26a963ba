"""The form of a file of cases: what `conformance/README.md` describes, checked, and its JSON Schema made from it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from nbcontext.conformance.exchange import Exchange, Id
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
Mode = Literal["plan", "ask", "edit", "auto"]


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
    mcp: tuple[str, ...] = Field(default=(), description="MCP servers, each as NAME=COMMAND, run in the workspace.")
    max_steps: int = Field(default=100, ge=1)
    consent: tuple[str, ...] = Field(
        default=(), description="The person's answers where they are asked, in order; after them nobody can be asked."
    )
    environment: dict[str, Text] = Field(default={}, description="Environment variables while the case runs.")


class Case(Form):
    """One case."""

    name: str = Field(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")
    proves: tuple[str, ...] = Field(min_length=1, description="Ids of `sentences.json`.")
    needs: tuple[Literal["bash", "ripgrep", "links", "python3"], ...] = ()
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
