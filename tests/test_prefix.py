"""The system prompt and the tool list are made once, kept as bytes and sent as those bytes (§10.1, §10.4, decision 20)."""

import json
import os
import subprocess
import sys
import textwrap
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_world import broken, call, new, says, setup

from nbcontext import assets, request
from nbcontext.errors import SessionError
from nbcontext.hygiene.hashes import text_sha256
from nbcontext.prefix import filled
from nbcontext.session import Session

TELLING = """
    import sys
    from pathlib import Path
    sys.path.insert(0, {tests!r})
    from hashlib import sha256
    from session_world import new, says
    session, model = new(Path({folder!r}), [says()], {name!r}, mode="ask")
    session.ask("hello")
    sent = model.requests[0]
    import json
    print(sha256(json.dumps([sent.messages, sent.tools]).encode()).hexdigest())
"""


def test_the_same_bytes_in_every_process(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "AGENTS.md").write_text("Mind {{root}} and {x}.\n")
    found = set()
    for seed in ("0", "1", "4242"):
        code = textwrap.dedent(TELLING).format(tests=str(Path(__file__).parent), folder=str(tmp_path), name=f"s{seed}")
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout.strip())
    session, model = new(tmp_path, [says()], "here", mode="ask")
    session.ask("hello")
    sent = model.requests[0]
    assert found == {sha256(json.dumps([sent.messages, sent.tools]).encode()).hexdigest()}
    assert "Mind {{root}} and {x}." in sent.messages[0]["content"]


def test_nothing_in_it_is_a_clock(tmp_path):
    session, model = new(tmp_path, [says()])
    session.ask("hello")
    system = model.requests[0].messages[0]["content"]
    assert "2026" not in system
    assert "12:00" not in system


def test_what_changes_beside_it_changes_nothing_of_it(tmp_path):
    session, model = new(tmp_path, [lambda _: says()], mode="ask")
    session.ask("a")
    for change in ("mode", "file", "personality", "tool", "resume"):
        match change:
            case "mode":
                session.mode = "plan"
            case "file":
                (session.root / "AGENTS.md").write_text("New.\n")
            case "personality":
                session.personality = "teacher"
            case "tool":
                from nbcontext.tools.own import OWN, tool

                @tool(name="late_tool")
                def late() -> str:
                    """Come late."""
                    return ""
            case "resume":
                session = Session.resume("s", setup=setup(tmp_path, model))
        session.ask("b")
        assert broken(*model.requests[-2:]) is None
    session.move("other/model")
    session.ask("c")
    del OWN["late_tool"]
    system, tools = model.requests[-1].messages[0]["content"], model.requests[-1].tools
    assert "The permission mode is plan:" in system
    assert "New." in system
    assert "late_tool" in {tool["function"]["name"] for tool in tools}
    assert model.requests[-1].messages[1:-1] == (
        *model.requests[-2].messages[1:],
        {"role": "assistant", "content": "Done."},
    )


@pytest.mark.parametrize("kind", ["agent", "chat"])
def test_every_request_is_made_again_byte_for_byte(tmp_path, kind):
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.txt").write_text("one\n")
    read = '{ "path":  "a.txt" }'
    script = [
        says("Look.", call("read", read), extras={"reasoning_content": "hm"}), says("A."), says("B."), says("", call("read", read)), says("C."),
        says("Summary."), says("D."), says("E."),
    ]  # fmt: skip
    session, model = new(tmp_path, script, kind=kind)
    session.ask("a")
    session.ask("b")
    session.undo()
    session.mode = "ask"
    session.ask("c")
    session.compact()
    session.move("other/model", "http://localhost:1/v1")
    session.ask("d")
    session.close()
    again = Session.resume("s", setup=setup(tmp_path, model), read_only=True)
    rows = again.log.store.requests(again.row.id)
    assert len(rows) == len(model.requests) == 7
    for row, sent in zip(rows, model.requests, strict=True):
        made = again.request(row["request"])
        assert request.body(made) == request.body(sent)
        assert text_sha256(request.body(sent)) == row["body_sha256"]
        assert (made.model, made.api_base, made.cache_key) == (sent.model, sent.api_base, sent.cache_key)
    with pytest.raises(SessionError):
        again.request(99)


@given(st.dictionaries(st.sampled_from("abc"), st.text(st.sampled_from("ab{}x\n"), max_size=9), min_size=3))
def test_what_a_field_holds_is_not_looked_into(fields):
    assert filled("<{{a}}|{{b}}|{{c}}>", fields) == f"<{fields['a']}|{fields['b']}|{fields['c']}>"


def test_every_prompt_is_filled(tmp_path):
    session, model = new(tmp_path, [says()])
    session.personality = "concise"
    session.move("m/n")
    session.ask("a")
    system = model.requests[0].messages[0]["content"]
    assert "{{" not in system
    assert assets.read("prompts", "blocks", "context.md").strip().split("\n")[0] in system
    bare, model = new(tmp_path, [says()], "bare", without=("recall",))
    bare.ask("a")
    assert (
        assets.read("prompts", "blocks", "context.md").strip().split("\n")[0]
        not in model.requests[0].messages[0]["content"]
    )
