"""No key is ever in what is shown."""

import _thread
import json
import threading
import time

import pytest

from nbcontext import assets
from nbcontext.model.failures import Stopped, scrubbed, secrets
from nbcontext.model.transport import LiteLLM
from nbcontext.request import Request
from nbcontext.testing import Scripted, ScriptedServer


def test_secrets_are_the_values_of_key_variables():
    environment = {"OPENAI_API_KEY": "abcdef123", "MY_TOKEN": "abcdef123456", "X_KEY": "short", "PATH": "/usr/bin:/bin"}
    assert secrets(environment) == ["abcdef123456", "abcdef123"]


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-abc123DEF456",
        "sk-abc***xyz",
        "Bearer abc.def",
        "AIzaSyA1234567890abcdef",
        "gsk_abcdefghijk",
        "AKIAABCDEFGHIJKLMNOP",
    ],
)
def test_shapes_of_keys(text):
    found = scrubbed(f"Bad key: {text}, sorry", [], "[key]")
    assert "[key]" in found
    assert text.split()[-1] not in found
    assert found.endswith(", sorry") or "Bearer" in text


def test_values_of_any_shape():
    assert scrubbed("a hunter2hunter2 b", ["hunter2hunter2"], "[key]") == "a [key] b"
    assert scrubbed("The task-force asks a risky-question", [], "[key]") == "The task-force asks a risky-question"


def test_an_interrupt_is_a_stop():
    with ScriptedServer([Scripted(text="one two three", hang_after=2)]) as server:
        messages = ({"role": "system", "content": "s"}, {"role": "user", "content": "q"})
        request = Request(model="openai/x", messages=messages, api_base=server.api_base)
        stop = threading.Event()
        stream = LiteLLM(assets.loop()).stream(request, stop)
        first = next(stream)
        threading.Timer(0.2, _thread.interrupt_main).start()
        started = time.monotonic()
        with pytest.raises(Stopped) as caught:
            next(stream)
        assert time.monotonic() - started < 0.7
        assert caught.value.partial.text == first.text
        assert server.hung_up.wait(1)
    assert json.dumps(str(caught.value)).isascii()
