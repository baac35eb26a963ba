"""A resumed session of 2,000 messages is ready to send in 0.2 s: opened, its log read, the next request built and
compared with the one before it.

Run with `pytest tests/bench -s`. Modules are imported before, as they are in a kernel that has a session.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from session_world import call, new, says, setup

from nbcontext.session import Session

MESSAGES = 2_000
LIMIT_S = 0.2


@pytest.mark.parametrize("kind", ["agent", "chat"])
def test_a_resumed_session_of_2000_messages_is_ready(tmp_path: Path, kind: str) -> None:
    session, model = new(tmp_path, [says()], kind=kind)
    (session.root / "a.txt").write_text("a line of forty characters, more or less\n" * 60)
    turn = [
        says("I look. " * 10, call("read", '{"path": "a.txt"}'), call("bash", '{"command": "echo x"}')),
        says("Done."),
    ]
    fresh = (
        says(reply.text, *(call(asked.name, asked.arguments) for asked in reply.calls))
        for _ in range(MESSAGES)
        for reply in turn
    )
    model.script = [lambda _: next(fresh)]
    for number in range(MESSAGES // 5):
        session.ask(f"Question {number}")
    session.close()

    reached: list[float] = []
    model.script = [lambda _: reached.append(time.perf_counter()) or says("Well.")]
    times = []
    for _ in range(5):
        session.log.store.close()
        start = time.perf_counter()
        opened = Session.resume("s", setup=setup(tmp_path, model))
        opened.ask("Next")
        times.append(reached[-1] - start)
        opened.undo()
        opened.close()
    assert sum(len(turn.messages) for turn in opened.history.turns) == MESSAGES
    assert len(model.requests[-1].messages) == (MESSAGES + 2 if kind == "agent" else 2 * MESSAGES // 5 + 2)
    print(f"\n{kind}: a resumed session of {MESSAGES:,} messages sends after {min(times):.3f} s (limit {LIMIT_S})")
    assert min(times) <= LIMIT_S
    session.log.store.close()
