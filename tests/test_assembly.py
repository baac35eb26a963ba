"""A reply is the same however it was cut into chunks."""

import json

from hypothesis import given
from hypothesis import strategies as st

from nbcontext.model.assembly import Assembly, merged
from nbcontext.model.reply import CallPiece, ReasoningPiece, TextPiece


def chunk(reason=None, **delta):
    return {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def assemble(chunks, taken=frozenset()):
    assembly = Assembly(taken)
    pieces = [piece for c in [*chunks, chunk("stop")] for piece in assembly.feed(c)]
    return assembly.reply(), pieces


def fragment(arguments=None, name=None, index=None, name_id=None):
    function = {k: v for k, v in {"name": name, "arguments": arguments}.items() if v is not None}
    found = {"index": index, "id": name_id, "function": function}
    return {k: v for k, v in found.items() if v is not None}


def calls_of(*fragments):
    """Assemble fragments, each in a chunk of its own; lists share one."""
    chunks = [chunk(tool_calls=f if isinstance(f, list) else [f]) for f in fragments]
    return assemble(chunks)[0].calls


def shown(calls):
    return [(c.name, c.arguments) for c in calls]


names = st.sampled_from(["read", "read_file", "bash", "mcp__x__y"])
objects = st.dictionaries(
    st.text(max_size=6), st.one_of(st.text(max_size=12), st.integers(), st.just({"a": [1]})), max_size=3
)
texts = objects.map(json.dumps)


@st.composite
def split(draw, text):
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=5)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@st.composite
def streams(draw):
    """Calls, and their fragments interleaved in any way that keeps each call's own order."""
    wanted = draw(st.lists(st.tuples(names, texts), min_size=1, max_size=4))
    queues = []
    repeated = draw(st.booleans())
    for index, (name, arguments) in enumerate(wanted):
        pieces = draw(split(arguments))
        first = fragment(pieces[0], name, index, f"id{index}")
        rest = [
            fragment(p, name if repeated else None, index, draw(st.sampled_from([None, "", f"id{index}"])))
            for p in pieces[1:]
        ]
        queues.append([first, *rest])
    order = draw(st.permutations([i for i, q in enumerate(queues) for _ in q]))
    # A call begins in its turn: the first of each comes in the order of the calls.
    mixed, places = [], [0] * len(queues)
    begun = [q.pop(0) for q in queues] if draw(st.booleans()) else []
    mixed += begun
    if not begun:
        return wanted, [f for q in queues for f in q]
    for i in order:
        if places[i] < len(queues[i]):
            mixed.append(queues[i][places[i]])
            places[i] += 1
    return wanted, mixed


@given(streams(), st.integers(1, 3))
def test_any_split_and_any_interleaving_gives_the_same_calls(stream, group):
    wanted, fragments = stream
    # Fragments of different calls may share a chunk.
    grouped, current = [], []
    for f in fragments:
        if len(current) == group or any(g["index"] == f["index"] for g in current):
            grouped.append(current)
            current = []
        current.append(f)
    found = calls_of(*grouped, current)
    assert shown(found) == wanted
    assert [c.id for c in found] == [f"id{i}" for i in range(len(wanted))]


@given(
    st.lists(st.tuples(names, texts), min_size=1, max_size=4),
    st.sampled_from(["ids", "nothing", "same index", "one id"]),
    st.data(),
)
def test_calls_one_after_the_other_need_no_index(wanted, form, data):
    fragments = []
    for n, (name, arguments) in enumerate(wanted):
        index = 0 if form == "same index" else None
        given_id = {"ids": f"id{n}", "one id": "x"}.get(form)
        pieces = data.draw(split(arguments))
        if form == "one id" or (form != "ids" and not pieces[0]):
            pieces = [arguments]
        fragments += [fragment(pieces[0], name, index, given_id), *(fragment(p, None, index) for p in pieces[1:])]
    found = calls_of(*fragments)
    assert shown(found) == wanted
    assert len({c.id for c in found}) == len(found)
    assert all(c.id for c in found)


def test_fragments_of_one_list_with_names_are_calls():
    assert shown(calls_of([fragment("", "a"), fragment("", "b")])) == [("a", ""), ("b", "")]
    assert shown(calls_of([fragment("{}", "a", 0), fragment("{}", "a", 0)])) == [("a", "{}"), ("a", "{}")]


def test_name_in_pieces_and_new_ids_in_each_chunk():
    assert shown(calls_of(fragment("", "re", 0, "a"), fragment("", "ad", 0), fragment("{}", None, 0))) == [
        ("read", "{}")
    ]
    assert shown(calls_of(fragment('{"a"', "read", 0, "a"), fragment(":1}", None, 0, "b"))) == [("read", '{"a":1}')]


def test_arguments_as_objects_are_kept_as_compact_json():
    assert shown(calls_of(fragment({"b": "ä", "a": [1, 2]}, "x", 0))) == [("x", '{"b":"ä","a":[1,2]}')]
    assert shown(calls_of(fragment({}, "x", 0), fragment({}, "x", 0))) == [("x", "{}")]


def test_ids_are_made_unique_and_always_the_same():
    parts = [
        fragment("{}", "a", 0, ""),
        fragment("{}", "b", 1, "x"),
        fragment("{}", "c", 2, "x"),
        fragment("{}", "d", 3),
    ]
    replies = [assemble([chunk(tool_calls=[p]) for p in parts], {"call_1", "x_2"})[0] for _ in range(2)]
    assert replies[0] == replies[1]
    ids = [c.id for c in replies[0].calls]
    assert len({*ids, "call_1", "x_2"}) == 6


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.data())
def test_text_is_the_same_however_cut(text, data):
    reply, pieces = assemble([chunk(content=p) for p in data.draw(split(text))])
    assert reply.text == text
    assert "".join(p.text for p in pieces) == text


@given(st.text(max_size=20), st.data())
def test_halves_of_a_pair_that_come_apart_are_one_character(text, data):
    halves = text.encode("utf-16-le", "surrogatepass")
    units = [halves[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(halves), 2)]
    reply, pieces = assemble([chunk(content=u) for u in units])
    assert reply.text == halves.decode("utf-16-le", "replace")
    reply.text.encode()
    for piece in pieces:
        piece.text.encode()


def test_thinking_is_joined_up_to_its_signature():
    blocks = [
        {"type": "thinking", "thinking": "a"},
        {"type": "thinking", "thinking": "b"},
        {"type": "thinking", "thinking": "", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "thinking", "thinking": "unsigned"},
    ]
    reply, _ = assemble([chunk(thinking_blocks=[b], provider_specific_fields={"thinking_blocks": [b]}) for b in blocks])
    assert reply.extras == {
        "thinking_blocks": [
            {"type": "thinking", "thinking": "ab", "signature": "s"},
            {"type": "redacted_thinking", "data": "d"},
        ]
    }


def test_what_providers_want_back_is_kept():
    details = [
        {"type": "reasoning.text", "index": 0, "text": "a"},
        {"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"},
    ]
    reply, pieces = assemble(
        [
            chunk(reasoning="x", reasoning_content="x", reasoning_details=[details[0]]),
            chunk(
                reasoning_details=[details[1]],
                reasoning_items=[{"id": 1}],
                provider_specific_fields={"k": 1, "citation": "c"},
            ),
            chunk(tool_calls=[{**fragment("{}", "f", 0, "a"), "extra_content": {"google": {"s": 1}}}]),
        ]
    )
    assert reply.extras == {
        "reasoning_content": "x",
        "reasoning": "x",
        "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"}],
        "reasoning_items": [{"id": 1}],
        "provider_specific_fields": {"citations": ["c"], "k": 1},
    }
    assert [p for p in pieces if isinstance(p, ReasoningPiece)] == [ReasoningPiece("x")]
    assert reply.message()["tool_calls"][0]["extra_content"] == {"google": {"s": 1}}


def test_parts_refusals_and_the_old_function_call():
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "hi"}]
    reply, pieces = assemble(
        [
            chunk(content=parts),
            chunk(refusal=" no"),
            chunk(function_call={"name": "f", "arguments": "{"}),
            chunk(function_call={"arguments": "}"}),
        ]
    )
    assert (reply.text, reply.reasoning, shown(reply.calls)) == ("hi no", "hm", [("f", "{}")])
    assert pieces == [ReasoningPiece("hm"), TextPiece("hi"), TextPiece(" no"), CallPiece("f")]


def test_usage_in_several_chunks():
    full = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}
    later = {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": None}
    reply, _ = assemble([chunk(content="a"), {"choices": [], "usage": full}, {"usage": later}, {"usage": None}])
    assert reply.usage == {**full, "completion_tokens": 5}
    in_choice = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": {"cached_tokens": 3}}]}
    assert assemble([in_choice])[0].usage == {"cached_tokens": 3}
    assert assemble([{"x_groq": {"usage": {"prompt_tokens": 3}}, "choices": []}])[0].usage == {"prompt_tokens": 3}
    assert assemble([chunk(content="a")])[0].usage is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "index",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "id",
                    "content",
                    "usage",
                    "thinking_blocks",
                    "finish_reason",
                    "message",
                    "provider_specific_fields",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(st.lists(json_values.filter(lambda v: isinstance(v, dict)), max_size=4))
def test_no_chunk_breaks_it(chunks):
    reply, _ = assemble(chunks)
    assert len({c.id for c in reply.calls}) == len(reply.calls)


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 9) | st.none()))
def test_a_report_twice_is_that_report(report):
    assert merged(report, report) == report
