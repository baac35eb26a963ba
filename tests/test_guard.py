"""A request that does not go on from the one before is found, at the right message and character (§10.5)."""

import copy
import json
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from session_world import NOON, call, new, says, setup

from nbcontext import assets
from nbcontext.call import Call
from nbcontext.errors import PrefixBroken
from nbcontext.guard import Break, first_break, form
from nbcontext.history import user_message
from nbcontext.model.reply import Finished
from nbcontext.model.transport import LiteLLM
from nbcontext.notebook import reports
from nbcontext.opening import Setup
from nbcontext.request import Request, marked
from nbcontext.session import Session
from nbcontext.settings import Settings
from nbcontext.testing import AnthropicServer, Scripted, ScriptedServer, wellformed

TEXTS = st.text(min_size=1, max_size=12)
CALLS = st.fixed_dictionaries({"id": TEXTS, "type": st.just("function"),
                               "function": st.fixed_dictionaries({"name": TEXTS, "arguments": TEXTS})})  # fmt: skip
MESSAGES = st.one_of(
    st.fixed_dictionaries({"role": st.just("user"), "content": TEXTS}),
    st.fixed_dictionaries({"role": st.just("assistant"), "content": st.none(),
                           "tool_calls": st.lists(CALLS, min_size=1, max_size=2)}),
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": TEXTS, "content": TEXTS}),
)  # fmt: skip
BODIES = st.builds(
    lambda system, messages: {
        "model": "m", "tools": [{"type": "function", "function": {"name": "a"}}],
        "messages": [{"role": "system", "content": system}, *messages],
    },
    TEXTS, st.lists(MESSAGES, min_size=1, max_size=5),
)  # fmt: skip


class Watched(LiteLLM):
    """litellm, and every body that it put on the wire."""

    def __init__(self):
        super().__init__(assets.loop())
        self.wires = []

    def stream(self, request, stop):
        for piece in super().stream(request, stop):
            if isinstance(piece, Finished):
                self.wires.append(piece.wire)
            yield piece


@pytest.fixture(scope="module", params=[(ScriptedServer, "openai/gpt-x"), (AnthropicServer, "anthropic/claude-x")],
                ids=["openai", "anthropic"])  # fmt: skip
def wires(request, tmp_path_factory):
    """The bodies of a session as they went over the wire, in the shape of each provider."""
    kind, model = request.param
    folder = tmp_path_factory.mktemp("wires")
    (folder / "root").mkdir()
    (folder / "root" / "a.txt").write_text("one\ntwo\n")
    script = [
        Scripted(reasoning="Hm, “so”.", text="Look.", calls=(
            Call(id="c1", name="read", arguments='{"path": "a.txt"}'),
            Call(id="c2", name="write", arguments='{"path": "b.txt", "content": "{\\"cache_control\\": [\\"x\\"]}"}'))),
        Scripted(text="", calls=(Call(id="c3", name="multiedit", arguments=json.dumps(
            {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "1 é"}]})),)),
        Scripted(text="Done."),
    ]  # fmt: skip
    client = Watched()
    with (
        kind([*script, Scripted(text="More."), Scripted(text="End.")]) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("OPENAI_API_KEY", "x")
        patch.setenv("ANTHROPIC_API_KEY", "x")
        made = Setup(settings=Settings(home=folder / "home", is_strict=True), client=client, clock=lambda: NOON)
        session = Session.new("s", root=folder / "root", model=model, api_base=server.api_base, mode="auto", setup=made)
        for words in ("Do it", "More", "And the end"):
            session.ask(words)
        assert server.violations == []
    session.close()
    assert len(client.wires) == 5
    for body, came in zip(client.wires, server.requests, strict=True):
        assert all(json.dumps(body.get(part)) == json.dumps(came.get(part)) for part in ("system", "tools", "messages"))
    return client.wires


# -- an extension


@given(BODIES, st.lists(MESSAGES, max_size=3))
def test_an_extension_never_breaks(body, more):
    longer = {**copy.deepcopy(body), "messages": [*copy.deepcopy(body["messages"]), *more]}
    assert first_break(body, longer) is None
    assert first_break(body, body) is None


def test_nor_does_one_on_the_wire(wires):
    for number, before in enumerate(wires):
        for now in wires[number:]:
            assert first_break(before, now) is None
            assert first_break(json.loads(json.dumps(before)), json.loads(json.dumps(now))) is None


def test_cache_marks_are_aside(wires):
    found = [wellformed.marks(body) for body in wires]
    if "system" in wires[0]:
        assert all(found)
        assert found[0] != found[-1]
    for body, places in zip(wires, found, strict=True):
        bare = json.loads(json.dumps(body))
        for place in places:
            part = bare
            for key in place.split("."):
                part = part[int(key) if key.isdigit() else key]
            del part["cache_control"]
        assert not wellformed.marks(bare)
        assert first_break(body, bare) is None
        assert first_break(bare, body) is None


@given(BODIES)
def test_cache_marks_of_a_copy_are_aside(body):
    request = Request(model="anthropic/claude-x", messages=tuple(body["messages"]), tools=tuple(body["tools"]))
    messages, tools = marked(request, "anthropic")
    assert first_break(form(request), {"model": request.model, "messages": messages, "tools": tools}) is None


# -- a break


def leaves(value, path=()):
    """Every place in a message that can be changed; marks are none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "cache_control" or "input" in path:
                yield from leaves(inner, (*path, key))
        yield path
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(inner, (*path, number))
        yield path
    else:
        yield path


def changed(data, value):
    """A value with one change."""
    if isinstance(value, str):
        place = data.draw(st.integers(0, len(value)))
        new = data.draw(st.sampled_from(["x", "", "é", "\n", "𝄞"]))
        return value[:place] + new + value[place + data.draw(st.integers(0, 1)) :]
    if isinstance(value, dict):
        items = list(value.items())
        if len(items) > 1 and data.draw(st.booleans()):
            return dict(reversed(items))
        return {**value, "more": 1} if data.draw(st.booleans()) else dict(items[1:])
    if isinstance(value, list):
        return [*value, "more"] if data.draw(st.booleans()) else value[1:]
    return data.draw(st.sampled_from([None, True, 1, 0, "1", [], {}]))


def with_change(data, message):
    """A copy of a message with one change somewhere in it."""
    own = copy.deepcopy(message)
    path = data.draw(st.sampled_from(list(leaves(own))))
    part = own
    for key in path[:-1]:
        part = part[key]
    value = part[path[-1]] if path else own
    new = changed(data, value)
    assume(json.dumps(new) != json.dumps(value))
    if not path:
        return new
    part[path[-1]] = new
    return own


def check(before, now, messages, place):
    """The break between two bodies is at this place, and its character is the first that differs."""
    broken = first_break(before, now)
    assert broken is not None
    is_first_system = messages[0].get("role") == "system"
    number = place + (0 if is_first_system else 1)
    assert (
        broken == Break(what="messages", message=number, character=broken.character)
        if number
        else broken.what == "system"
    )
    one, two = (json.dumps(body["messages"][place], ensure_ascii=False) for body in (before, now))
    same = 0
    while same < min(len(one), len(two)) and one[same] == two[same]:
        same += 1
    return broken, same


@given(BODIES, st.data())
def test_a_change_is_found_at_its_message_and_character(body, data):
    place = data.draw(st.integers(0, len(body["messages"]) - 1))
    now = copy.deepcopy(body)
    now["messages"][place] = with_change(data, now["messages"][place])
    now["messages"] += data.draw(st.lists(MESSAGES, max_size=2))
    broken, same = check(body, now, body["messages"], place)
    assert broken.character == same
    assert broken.shown.endswith(f"character {same + 1}")


@given(data=st.data())
def test_a_change_on_the_wire_is_found_at_its_message(wires, data):
    number = data.draw(st.integers(0, len(wires) - 1))
    before, now = wires[number], copy.deepcopy(data.draw(st.sampled_from(wires[number:])))
    place = data.draw(st.integers(0, len(before["messages"]) - 1))
    now["messages"][place] = with_change(data, now["messages"][place])
    assume(wellformed.prefix_fault(now, before))  # a text and a list of that text are the same to the server
    check(before, now, before["messages"], place)


@given(BODIES, st.data())
def test_messages_that_are_gone_come_between_or_change_places(body, data):
    messages = body["messages"]
    place = data.draw(st.integers(1, len(messages) - 1))
    gone = {**body, "messages": messages[:place]}
    assert first_break(body, gone).message == place
    more = data.draw(MESSAGES)
    assume(json.dumps(more) != json.dumps(messages[place]))
    assert first_break(body, {**body, "messages": [*messages[:place], more, *messages[place:]]}).message == place
    other = data.draw(st.integers(place, len(messages) - 1))
    swapped = list(messages)
    swapped[place], swapped[other] = swapped[other], swapped[place]
    assume(json.dumps(swapped[place]) != json.dumps(messages[place]))
    assert first_break(body, {**body, "messages": swapped}).message == place


@pytest.mark.parametrize(("part", "what"), [("model", "model"), ("tools", "tools"), ("system", "system")])
def test_a_changed_part_before_the_messages_is_named(wires, part, what):
    before, now = wires[0], copy.deepcopy(wires[1])
    if part == "system" and "system" not in now:
        now["messages"][0]["content"] += "!"
    elif part == "model":
        now["model"] += "!"
    elif part == "system":
        now["system"][0]["text"] += "!"
    else:
        now["tools"] = [*now["tools"][1:], now["tools"][0]]
    assert first_break(before, now).cause == f"{what} changed"


def test_what_a_model_wrote_is_compared_as_it_stands(wires):
    """A call's arguments may look like a mark, or like a list that a mark made of a text."""
    if "system" not in wires[0]:
        return
    for own, other in ((["x"], "x"), ({"type": "text", "text": "x"}, "x"), ({"cache_control": 1}, {})):
        bodies = []
        for value in (own, other):
            body = copy.deepcopy(wires[1])
            (block,) = (
                b for m in body["messages"] for b in m["content"] if isinstance(b, dict) and b.get("id") == "c1"
            )
            block["input"] = {"value": value}
            bodies.append(body)
        assert first_break(*bodies).message == 2


# -- in a session


def rewritten(session):
    """Change what was sent, as nothing in the package ever does."""
    history = session.log.history
    first = history.turns[0]
    other = user_message(first.messages[0].text.replace("Hello", "Hallo"))
    turns = (replace(first, messages=(other, *first.messages[1:])), *history.turns[1:])
    session.log.history = replace(history, turns=turns)


def test_a_strict_session_raises_before_it_sends(tmp_path):
    session, model = new(tmp_path, [says("Yes.")])
    session.close()
    made = setup(tmp_path, model)
    made = replace(made, settings=replace(made.settings, is_strict=True))
    session = Session.resume("s", setup=made)
    session.ask("Hello")
    rewritten(session)
    with pytest.raises(PrefixBroken, match=r"history changed at message 1, character 31\b"):
        session.ask("Again")
    assert len(model.requests) == 1
    assert len(session.requests) == 1
    # The stored session was not touched: it goes on.
    again = Session.resume("s", setup=made)
    assert again.go_on().text == "Yes."
    assert again.breaks == []


def test_another_session_tells_it_as_the_cause(tmp_path):
    usage = {"prompt_tokens": 9000, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 10}}
    session, model = new(tmp_path, [says("Yes.", usage=usage)])
    session.ask("Hello")
    assert session.breaks == []
    assert "broken" not in reports.status(session).text
    rewritten(session)
    session.ask("Again")
    assert len(model.requests) == 2
    assert list(session.requests["cause"])[1] == "history changed at message 1"
    assert session.breaks == [(2, "history changed at message 1, character 31")]
    assert "request 2: history changed at message 1, character 31" in reports.status(session).text
    session.ask("And again")
    assert len(session.breaks) == 1


def test_a_deliberate_break_is_none(tmp_path):
    script = [says("", call("list")), says("So."), says("B."), says("A summary."), says("C."), says("D.")]
    session, _ = new(tmp_path, script)
    session.ask("Hello")
    session.ask("More")
    session.undo()
    session.compact()
    session.ask("After")
    session.model = "test/other"
    session.ask("Moved")
    assert session.breaks == []
