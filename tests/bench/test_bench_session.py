"""The pipeline, the store and requests: what one costs, and that it does not grow with the session.

Run with `pytest tests/bench -s`; the figures and their limits stand in README.md beside this file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from nbcontext import assets, hygiene
from nbcontext.entry import Inserted, ModeSet, PrefixMade, Replied, TurnBegan
from nbcontext.history import History, Message
from nbcontext.hygiene import DedupeTable, Draft, Surroundings
from nbcontext.hygiene.cap import cap
from nbcontext.log import Log
from nbcontext.outcome import FileRead, Text
from nbcontext.outgoing import Outgoing
from nbcontext.result import Insertion
from nbcontext.store import Store

CONTEXT = assets.loop().context
TEN_KB = Text(text=("x" * 79 + "\n") * 128)
SECRET = ("sk-" + "a" * 40,)


def seconds(job: Callable[[], object], times: int = 1) -> float:
    """Return the CPU seconds of one run of `job`, over `times` runs."""
    start = time.process_time()
    for _ in range(times):
        job()
    return (time.process_time() - start) / times


def told(what: str, value: float, limit: float, unit: str) -> None:
    print(f"\n{what}: {value:.3g} {unit} (limit {limit:g})")
    assert value <= limit


def inserted(number: int, table: DedupeTable) -> Insertion:
    outcome = FileRead(path=f"f{number}.txt", resolved=f"/r/f{number}.txt", sha256=f"{number:064x}", text="line\n" * 20)
    around = Surroundings(context=CONTEXT, table=table)
    return hygiene.insert(outcome, around, number=number, call_id=f"c{number}", tool="read")


def table_of(count: int) -> DedupeTable:
    table = DedupeTable()
    for number in range(1, count + 1):
        table = table.add(inserted(number, table).result)
    return table


def test_load_ext_is_light() -> None:
    code = (
        "import sys, time\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "start = time.process_time()\n"
        "shell.run_line_magic('load_ext', 'nbcontext')\n"
        "spent = time.process_time() - start\n"
        "heavy = [m for m in ('litellm', 'openai', 'pandas', 'sqlalchemy', 'pydantic', 'ipywidgets') if m in sys.modules]\n"
        "print(spent, heavy)\n"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split(" ", 1)
        for _ in range(3)
    ]
    assert {heavy.strip() for _, heavy in runs} == {"[]"}
    told("%load_ext", min(float(spent) for spent, _ in runs), 0.05, "s CPU")


def test_the_pipeline_for_10_kb_is_quick_and_does_not_grow() -> None:
    few, many = (Surroundings(context=CONTEXT, table=table_of(n), secrets=SECRET) for n in (10, 10_000))

    def one(around: Surroundings) -> Callable[[], object]:
        return lambda: hygiene.insert(TEN_KB, around, number=20_000, call_id="c", tool="grep", same_key="grep {}")

    pairs = [(seconds(one(few), 500), seconds(one(many), 500)) for _ in range(9)]
    told("pipeline, 10 KB", median(a for a, _ in pairs) * 1e3, 0.15, "ms")
    told("pipeline, 10,000 results against 10", median(b / a for a, b in pairs), 1.2, "times")


def test_inserting_and_storing_one(tmp_path: Path) -> None:
    store, log = session(tmp_path, results=0)
    number = 0

    def one() -> None:
        nonlocal number
        number += 1
        insertion = hygiene.insert(
            Text(text=f"{number}\n{TEN_KB.text}"),
            Surroundings(context=CONTEXT, table=log.history.table),
            number=number,
            call_id=f"c{number}",
            tool="bash",
        )
        log.write(Inserted(turn=1, step=1, result=insertion.result), insertion=insertion)

    one()
    start = time.perf_counter()
    for _ in range(300):
        one()
    told("inserting and storing one", (time.perf_counter() - start) / 300 * 1e3, 1.5, "ms")
    store.close()


def test_capping_100_mb_is_a_pass_or_three() -> None:
    body = ("x" * 99 + "\n") * 1_000_000
    draft = Draft(number=1, call_id="c", tool="bash", outcome=TEN_KB, body=body)
    around = Surroundings(context=CONTEXT, table=DedupeTable())
    pairs = [(seconds(lambda: cap(draft, around)), seconds(lambda: body.count("\n"))) for _ in range(7)]
    told("capping 100 MB against one count", median(a / b for a, b in pairs), 3, "times")


def test_building_a_request_of_2000_messages() -> None:
    history = History(kind="agent", mode="auto").apply(
        PrefixMade(model="openai/x", api_base=None, system="s" * 4000, tools="[]", mode="auto", cause="start")
    )
    for turn in range(1, 501):
        history = history.apply(TurnBegan(turn=turn, words="w", notes=(), content="w" * 200, at=""))
        history = history.apply(Replied(turn=turn, step=1, body=reply(f"c{turn}"), origin="openai"))
        insertion = inserted(turn, history.table)
        result = insertion.result
        history = history.apply(Inserted(turn=turn, step=1, result=result))
        history = history.apply(Replied(turn=turn, step=2, body=reply(None), origin="openai"))
    outgoing = Outgoing(context=CONTEXT, provider="openai", cache_key="k")
    assert len(outgoing.request(history).messages) == 2001

    def fresh() -> History:
        """The same history as a resumed session has it: no message parsed yet."""
        turns = (replace_messages(turn) for turn in history.turns)
        from dataclasses import replace

        return replace(history, turns=tuple(turns))

    outgoing.request(fresh())
    pairs = []
    for _ in range(9):
        messages = outgoing.request(history).messages
        pairs.append(
            (seconds(lambda: outgoing.request(history), 3), seconds(lambda sent=messages: json.dumps(sent), 3))
        )
    cold = median(seconds(lambda: outgoing.request(fresh())) for _ in range(5))
    print(f"\nthe first request after a resume: {cold * 1e3:.3g} ms")
    told("building a request of 2,000 messages against json.dumps of it", median(a / b for a, b in pairs), 1.3, "times")


def replace_messages(turn: object) -> object:
    from dataclasses import replace

    messages = tuple(
        Message(role=m.role, kept=m.kept, origin=m.origin, result=m.result, stopped=m.stopped) for m in turn.messages
    )
    return replace(turn, messages=messages)


def test_opening_a_session_of_10000_results(tmp_path: Path) -> None:
    store, log = session(tmp_path, results=10_000)
    kept = log.history
    times = []
    for _ in range(5):
        start = time.perf_counter()
        opened = Log(store, 1, "agent")
        times.append(time.perf_counter() - start)
    assert opened.history == kept
    told("opening a session of 10,000 results", min(times), 0.3, "s")
    store.close()


def session(folder: Path, *, results: int) -> tuple[Store, Log]:
    """Return a store with one session of that many results, 25 replies of two calls a turn."""
    store = Store(folder / "home")
    row = store.add_session(name="bench", kind="agent", root="/r", options="{}")
    log = Log(store, row.id, "agent")
    log.write(
        ModeSet(mode="auto"),
        PrefixMade(model="openai/x", api_base=None, system="s", tools="[]", mode="auto", cause="start"),
        TurnBegan(turn=1, words="w", notes=(), content="w", at=""),
        Replied(turn=1, step=1, body=reply("c0"), origin="openai"),
    )
    for number in range(1, results + 1):
        if number % 50 == 0:
            log.write(TurnBegan(turn=1 + number // 50, words="w", notes=(), content="w", at=""))
        turn = log.history.turns[-1].number
        if number % 2 == 0:
            log.write(Replied(turn=turn, step=1, body=reply(f"c{number}"), origin="openai"))
        insertion = inserted(number, log.history.table)
        log.write(Inserted(turn=turn, step=1, result=insertion.result), insertion=insertion)
    return store, log


def reply(call: str | None) -> str:
    body: dict[str, object] = {"role": "assistant", "content": "words " * 20}
    if call:
        body["tool_calls"] = [
            {"id": call, "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}
        ]
    return json.dumps(body)
