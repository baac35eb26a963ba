"""Sessions for tests: in a temporary folder, on a scripted model, at a clock that stands."""

import itertools
import os
from datetime import datetime

from nbcontext.call import Call
from nbcontext.engine import Surface
from nbcontext.model.reply import Completion
from nbcontext.opening import Setup
from nbcontext.session import Session
from nbcontext.settings import Settings
from nbcontext.testing import ScriptedModel, wellformed

NOON = datetime.fromisoformat("2026-12-01T12:00:00+01:00")
_IDS = itertools.count(1)


def says(text="Done.", *calls, **more):
    """A whole reply."""
    more.setdefault("finish_reason", "tool_calls" if calls else "stop")
    return Completion(text=text, calls=calls, complete=True, **more)


def call(name, arguments="{}", call_id=None):
    return Call(id=call_id or f"c{os.getpid()}-{next(_IDS)}", name=name, arguments=arguments)


def setup(folder, model, *, clock=lambda: NOON, surface=None, home="home"):
    settings = Settings(model="test/model", home=folder / home)
    return Setup(settings=settings, client=model, surface=surface or Surface(), clock=clock)


def new(folder, script, name="s", *, clock=lambda: NOON, surface=None, **options):
    """A session on a scripted model; `script` may be a model."""
    model = script if hasattr(script, "stream") else ScriptedModel(script)
    root = folder / "root"
    root.mkdir(exist_ok=True)
    options.setdefault("mode", "auto")
    made = Session.new(name, root=root, setup=setup(folder, model, clock=clock, surface=surface), **options)
    return made, model


def shapes(request):
    """What is wrong with a request for the strictest servers of both shapes."""
    messages = [dict(message) for message in request.messages]
    return [
        *wellformed.openai_faults({"messages": messages, "tools": list(request.tools)}),
        *wellformed.anthropic_faults({"messages": _anthropic(messages[1:])}),
    ]


def broken(before, after):
    """How a request does not go on from the one before."""
    bodies = [
        {"model": r.model, "tools": list(r.tools), "messages": [dict(m) for m in r.messages]} for r in (after, before)
    ]
    return wellformed.prefix_fault(*bodies)


def _anthropic(messages):
    """Messages in Anthropic's form, results of one reply in one user message."""
    made = []
    for message in messages:
        if message["role"] == "tool":
            block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
            if made and made[-1]["role"] == "user":
                made[-1]["content"].append(block)
            else:
                made.append({"role": "user", "content": [block]})
            continue
        blocks = [{"type": "text", "text": message["content"]}] if message.get("content") else []
        blocks += [
            {"type": "tool_use", "id": c["id"], "name": c["function"]["name"], "input": {}}
            for c in message.get("tool_calls", ())
        ]
        made.append({"role": message["role"], "content": blocks})
    return made
