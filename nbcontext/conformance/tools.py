"""The tools and the environment of a case, there while it runs and put back after."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from nbcontext.conformance.expression import Text
from nbcontext.conformance.form import Answers, Case, CaseTool, Crash, Interrupt
from nbcontext.conformance.texts import expanded
from nbcontext.outcome import Outcome
from nbcontext.outcome import Text as Output
from nbcontext.tools.own import OWN
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class Crashed(BaseException):
    """The program of a case ended at once; nothing of it may answer that."""


class NoArguments(Arguments):
    """Arguments of a case's tool: none."""


@contextmanager
def registered(case: Case, root: str) -> Iterator[None]:
    """Have the case's tools, and no other tool of a person's own, while the block runs."""
    before = dict(OWN)
    OWN.clear()
    OWN.update({name: scripted(name, answers, root) for name, answers in case.tools.items()})
    try:
        yield
    finally:
        OWN.clear()
        OWN.update(before)


@contextmanager
def environment(variables: Mapping[str, Text], root: str) -> Iterator[None]:
    """Have environment variables while the block runs."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update({name: expanded(value, root) for name, value in variables.items()})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def scripted(name: str, made: Answers | CaseTool, root: str) -> Tool:
    """Return a tool that answers each call with the next of its answers, the last one over and over.

    It runs on the main thread, so that the calls of one reply come in their order and an interrupt is the person's.
    """
    form = made if isinstance(made, CaseTool) else CaseTool(answers=made)
    left = list(form.answers)

    def run(_: Arguments, __: World) -> Outcome:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Interrupt):
            raise KeyboardInterrupt
        if isinstance(answer, Crash):
            raise Crashed
        return Output(text=expanded(answer, root))

    return Tool(
        name=name,
        description="A tool of the case.",
        arguments=NoArguments,
        run=run,
        effect=Effect.READ,
        on_main=True,
        requires=form.requires,
        unavailable=expanded(form.unavailable, root),
        sessions=form.sessions,
        vision=form.vision,
    )
