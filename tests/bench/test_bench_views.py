"""The live views and the stream of an answer: kernel time, bytes on the wire, browser time (issue: views, marks of point 1).

Run with `pytest tests/bench -s`; needs Chromium for the last two.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "browser"))

from conftest import lacking
from front_end import ARGUMENTS, CHROMIUM, Front, Server
from nbcontext.widgets.cache import CacheModel
from nbcontext.widgets.live import live
from nbcontext.widgets.model import Look
from nbcontext.widgets.results import ResultsModel
from view_world import add_request, add_session, opened_store

from nbcontext import assets
from nbcontext.display.progress import NotebookView
from nbcontext.events import TextArrived, TurnStarted, Waited
from nbcontext.opened import current
from nbcontext.opening import Setup
from nbcontext.session import Session
from nbcontext.settings import Settings

ENVELOPE = 593
"""Bytes of a comm message around its content, as JupyterLab receives it."""


def told(what: str, value: float, limit: float, unit: str) -> None:
    print(f"\n{what}: {value:.3g} {unit} (limit {limit:g})")
    assert value <= limit


@pytest.fixture
def session(tmp_path: Path) -> Session:
    store = opened_store(tmp_path / "home")
    add_session(store, "big", tmp_path, results=10_000, requests=100)
    store.close()
    return Session.resume("big", setup=Setup(settings=Settings(home=tmp_path / "home")))


def test_a_live_update_of_the_chart(session: Session) -> None:
    widget = live(CacheModel(Look(session, current)))
    sent: list[int] = []
    widget.send = lambda content, buffers=None: sent.append(len(json.dumps(content)))
    spent = 0.0
    for number in range(101, 151):
        add_request(session.log.store, session.row.id, number)
        start = time.process_time()
        widget.push()
        spent += time.process_time() - start
    told("chart, one update", ENVELOPE + sum(sent) / len(sent), 680, "bytes")
    told("chart, one update in the kernel", spent / 50 * 1e3, 15, "ms")


def test_the_table_of_10000_results(session: Session) -> None:
    start = time.perf_counter()
    model = ResultsModel(Look(session, current))
    told("table of 10,000, made", time.perf_counter() - start, 0.6, "s")
    told("table of 10,000, saved state", len(json.dumps(live(model).get_state())) / 1e3, 38, "kB")
    start = time.perf_counter()
    for sort in ("saved", "path", "id"):
        model.answer({"ask": "rows", "first": 0, "count": 60, "query": {"sort": sort, "descending": True}})
    told("table of 10,000, one sort", (time.perf_counter() - start) / 3 * 1e3, 80, "ms")


def test_streaming_5000_tokens() -> None:
    """24,225 characters in 5,000 pieces, 2 ms apart, at a clock that is told: bytes and CPU."""
    now, sent = [0.0], [0, 0]

    class Output:
        def update(self, bundle: dict[str, str]) -> None:
            sent[0] += 650 + len(json.dumps(bundle, ensure_ascii=False).encode())
            sent[1] += 1

    def display(bundle: dict[str, str]) -> Output:
        output = Output()
        output.update(bundle)
        return output

    view = NotebookView(assets.loop().context, display, clock=lambda: now[0])
    start = time.process_time()
    view.show(TurnStarted(turn=1, notes=()))
    for number in range(5000):
        now[0] += 0.002
        view.show(TextArrived(text="word\n\n" if number % 60 == 59 else "word "))
    view.show(Waited())
    view.end("closing")
    told("5,000 tokens, kernel CPU", time.process_time() - start, 1.5, "s")
    told("5,000 tokens, messages", sent[1], 265, "")
    told("5,000 tokens, received", sent[0] / 1e6, 0.37 * 1.5, "MB")


LIVE = f"""
import sys, nbcontext
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from view_world import add_request
s = nbcontext.current()
widget = get_ipython().magics_manager.registry["LLMMagics"].views._open["cache"].widget
for n in range(201, 401):
    add_request(s.log.store, s.row.id, n)
    widget.push()
"""


def test_in_the_browser(tmp_path_factory: pytest.TempPathFactory) -> None:
    if CHROMIUM is None:
        lacking("Chromium shows the views")
    from playwright.sync_api import sync_playwright

    server = Server(tmp_path_factory.mktemp("bench"))
    store = opened_store(server.home)
    add_session(store, "chart", server.folder, results=10, requests=200)
    add_session(store, "table", server.folder, results=10_000)
    store.close()
    cells = (
        "import litellm\n%load_ext nbcontext",
        "%llm resume chart",
        "%llm cache",
        LIVE,
        "%llm resume table",
        "%llm results",
    )
    server.write("bench.ipynb", *cells)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        front = Front(browser, server, "bench.ipynb", "lab")
        try:
            front.run(0, 1)
            told("chart of 200, shown", shown(front, 2, ".nb-cache [role=option]"), 0.6, "s")
            watch = watching(front)
            before, cpu = front.bytes, spent(watch)
            front.run(3)
            front.page.wait_for_function(
                "() => document.querySelector('.nb-cache .nb-range').textContent.includes('400')"
            )
            told("chart, 200 updates, browser CPU each", (spent(watch) - cpu) / 200 * 1e3, 6, "ms")
            told("chart, 200 updates, bytes each", (front.bytes - before) / 200, 1200, "")
            front.run(4)
            told("table of 10,000, shown", shown(front, 5, ".nb-results .nb-row[aria-rowindex='5']"), 1.5, "s")
        finally:
            front.end()
            browser.close()
            server.close()


def shown(front: Front, cell: int, selector: str) -> float:
    start = time.perf_counter()
    front.start(cell)
    front.page.wait_for_selector(selector, state="attached")
    found = time.perf_counter() - start
    front.wait(cell)
    return found


def watching(front: Front) -> Any:
    session: Any = front.context.new_cdp_session(front.page)
    session.send("Performance.enable")
    return session


def spent(session: Any) -> float:
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])
