"""Killed before any one of its writes, a session is resumed and goes on (decision 24)."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from session_world import broken, says, setup, shapes

from nbcontext.session import Session
from nbcontext.store.verify import verify
from nbcontext.testing import ScriptedModel

DAY = """
    import json, os, signal, sys
    from pathlib import Path
    sys.path.insert(0, {tests!r})
    from session_world import call, new, says
    from nbcontext.store import Store
    from nbcontext.testing import ScriptedModel
    import nbcontext.session, pygit2
    from sqlalchemy import event

    def day(session):
        session.ask("Look")
        session.mode = "plan"
        session.ask("Plan")
        session.undo()
        session.note("Mind this.")
        session.ask("Again", max_steps=1)
        session.compact()
        session.ask("After")

    def args(**given):
        return json.dumps(given)

    SCRIPT = [
        says("Look.", call("read", args(path="a.txt")), call("read", args(path="a.txt")), call("bash", args(command="seq 900"))),
        says("", call("write", args(path="a.txt", content="new\\n")), call("nope", "{{"), call("plan_write", args(items=["x"]))),
        says("So."),
        says("", call("plan_write", args(items=["y", "z"])), call("plan_submit")), says("Planned."),
        says("", call("read", args(path="a.txt")), call("list")),
        says("A summary.", call("list")),
        says("", call("read", args(path="a.txt"))), says("The end."),
    ]
    for number in range(1, 200):
        folder = Path({folder!r}) / str(number)
        folder.mkdir()
        (folder / "root").mkdir()
        (folder / "root" / "a.txt").write_text("one\\n")
        child = os.fork()
        if not child:
            session, model = new(folder, SCRIPT, kind={kind!r})
            left = [number]
            @event.listens_for(session.log.store._engine, "commit")
            def count(_):
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
            day(session)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(number, os.waitstatus_to_exitcode(status), flush=True)
        if status == 0:
            break
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test forks")
@pytest.mark.parametrize("kind", ["agent", "chat"])
def test_killed_before_any_write(tmp_path, kind):
    code = textwrap.dedent(DAY).format(tests=str(Path(__file__).parent), folder=str(tmp_path), kind=kind)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ends = [int(line.split()[1]) for line in done.stdout.splitlines()]
    assert ends == [-signal.SIGKILL] * (len(ends) - 1) + [0]
    assert len(ends) > 40
    kinds = set()
    for number in range(1, len(ends) + 1):
        kinds |= goes_on(tmp_path / str(number))
    assert {"interrupted", "full", "capped", "error"} <= kinds


def goes_on(folder):
    """The session is opened again and used; the kinds of its results."""
    model = ScriptedModel([says("Well.")])
    made = setup(folder, model)
    made = replace(made, settings=replace(made.settings, is_strict=True))
    session = Session.resume("s", setup=made)
    assert all(not turn.open_calls for turn in session.history.turns)
    kept = [session.request(number) for number in session.requests["request"]]
    results = session.results
    numbers = [int(value[1:], 16) for value in results["id"]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(set(results["id"])) == len(numbers)
    for value in results["id"]:
        session.recall(value)
    session.ask("And now?")
    sent = model.requests[-1]
    assert shapes(sent) == []
    last = session.requests[:-1].query("purpose != 'compaction'")["request"].max()
    if (
        kept
        and session.kind == "agent"
        and not session.log.deliberate(session.log.store.request(1, int(last))["entry"])
    ):
        assert broken(kept[int(last) - 1], sent) is None
    assert session.breaks == []
    assert verify(session.log.store).faults == ()
    session.undo()
    session.ask("Once more")
    assert shapes(model.requests[-1]) == []
    session.close()
    session.log.store.close()
    return set(results["kind"])


def test_a_call_that_did_not_finish_is_answered_once(tmp_path):
    """Where the process died in the middle of a reply's calls, the rest are answered when it is resumed, in their order."""
    code = textwrap.dedent(DAY).format(tests=str(Path(__file__).parent), folder=str(tmp_path), kind="agent")
    code = code.replace("range(1, 200)", "range(5, 6)")
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for _ in range(3):
        session = Session.resume("s", setup=setup(tmp_path / "5", ScriptedModel([])))
        turn = session.history.turns[-1]
        asked = [item for message in turn.messages for item in message.calls]
        assert [result.call_id for result in turn.results] == [item.id for item in asked]
        assert "interrupted" in [result.kind for result in turn.results]
        said = json.loads(json.dumps([result.sent for result in turn.results if result.kind == "interrupted"]))
        assert all(text.partition("\n")[2] == "Interrupted: the call did not finish." for text in said)
        session.close()
