"""The views in JupyterLab and Notebook 7, used as a person would: by keyboard, by mouse, after the kernel is gone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import lacking
from front_end import ARGUMENTS, CHROMIUM, Front, Server
from playwright.sync_api import expect, sync_playwright
from view_world import add_session, lines_of, opened_store

expect.set_options(timeout=30_000)  # after the first cells the kernel is busy importing litellm
pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

TESTS = Path(__file__).parent.parent
LOAD = "%load_ext nbcontext\n%llm resume {}"
VIEW = "application/vnd.jupyter.widget-view+json"

# What a turn does to the live views, without a model: requests come in, a few milliseconds apart, while the cell runs.
TURN = f"""
import sys, time, nbcontext
sys.path.insert(0, {str(TESTS)!r})
from view_world import add_request
from nbcontext.events import RequestEnded, Waited
from nbcontext.usage import Usage
s = nbcontext.current()
views = get_ipython().magics_manager.registry["LLMMagics"].views
for n in range(121, 141):
    add_request(s.log.store, s.row.id, n)
    views.show(RequestEnded(request=n, step=1, usage=Usage()))
    time.sleep(0.1)
time.sleep(0.5)
views.show(Waited())
time.sleep(2)
"""


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        lacking("Chromium shows the views")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory):
    started = Server(tmp_path_factory.mktemp("server"))
    root = started.folder / "root"
    root.mkdir()
    store = opened_store(started.home)
    add_session(store, "big", root, results=10_000, requests=10_000)
    for name in ("small", "moving-lab", "moving-nb7"):
        add_session(store, name, root, results=60, requests=120)
    huge = "\n".join(f"{n} the quick brown fox jumps over the lazy dog again and again" for n in range(1, 300_000))
    add_session(store, "huge", root, texts=[lines_of(20), huge])
    store.close()
    yield started
    started.close()


@pytest.fixture
def shots(tmp_path):
    """A folder for pictures: `NBCONTEXT_SHOTS=DIR pytest tests/browser` keeps them."""
    folder = Path(os.environ.get("NBCONTEXT_SHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(params=["lab", "nb7"])
def ui(request):
    return request.param


@pytest.fixture
def opened(browser, server, ui, request):
    """Open a notebook of the given cells; at the end nothing may have been said on the console or asked of outside."""
    fronts = []

    def open_(*cells, theme=None):
        name = f"n{abs(hash(request.node.name)) % 10**8}-{len(fronts)}.ipynb"
        server.write(name, *cells)
        front = Front(browser, server, name, ui, theme=theme)
        fronts.append(front)
        return front

    yield open_
    for front in fronts:
        front.end()
    assert [error for front in fronts for error in front.errors] == []
    assert [url for front in fronts for url in front.outside] == []


def test_the_result_table_by_keyboard_and_mouse(opened, shots, ui):
    front = opened(LOAD.format("big"), "%llm results", theme="JupyterLab Dark" if ui == "nb7" else None)
    page = front.page
    front.run(0, 1)
    grid = page.get_by_role("grid", name="Results")
    expect(grid).to_have_attribute("aria-rowcount", "10001")
    assert page.locator(".nb-results .nb-space .nb-row").count() < 60
    grid.focus()
    page.keyboard.press("End")
    expect(page.get_by_text("#2710", exact=True).first).to_be_visible()
    grid.evaluate("(e) => { e.scrollTop = 8999 * 28; }")
    expect(page.get_by_text("#2328", exact=True)).to_be_visible()
    front.shot(shots / f"{ui}-results.png", ".nb-results")
    page.get_by_role("columnheader", name="saved").get_by_role("button").click()
    expect(page.get_by_role("columnheader", name="saved")).to_have_attribute("aria-sort", "ascending")
    page.get_by_label("Filter by kind").select_option("stub")
    expect(page.locator(".nb-results .nb-bar .nb-found").first).to_contain_text("of 10,000")
    grid.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".nb-results .nb-pane .nb-head")).to_contain_text("Unchanged since")
    front.shot(shots / f"{ui}-results-open.png", ".nb-results .nb-pane")
    page.keyboard.press("Escape")
    expect(grid).to_be_focused()
    page.get_by_role("button", name="Clear every filter").click()
    stub = page.locator(".nb-results .nb-k-stub").first
    grid.evaluate("(e) => { e.scrollTop = 200 * 28; }")
    page.get_by_role("columnheader", name="id").get_by_role("button").click()
    page.get_by_label("Filter by text in any column").fill("#00f8")
    expect(stub).to_be_visible()
    page.get_by_role("button", name="Clear every filter").click()
    expect(page.locator(".nb-results .nb-bar .nb-found").first).to_be_empty()
    grid.focus()
    for _ in range(22):
        page.keyboard.press("PageDown")
    assert front.axe(".nb-results") == []


def test_the_recall_browser_by_keyboard(opened, shots, ui):
    front = opened(LOAD.format("huge"), "%llm recall 2 250000", theme="JupyterLab Dark" if ui == "lab" else None)
    page = front.page
    front.run(0, 1)
    text = page.locator(".nb-recall .nb-text")
    expect(page.locator(".nb-recall .nb-range")).to_contain_text("250,000–251,999 of 299,999")
    text.focus()
    page.keyboard.press("g")
    page.keyboard.type("12345")
    page.keyboard.press("Enter")
    expect(page.locator(".nb-recall .nb-here")).to_contain_text("12345 the quick")
    page.keyboard.press("/")
    page.keyboard.type("299999 the")
    page.keyboard.press("Enter")
    found = page.locator(".nb-recall .nb-found")
    expect(found).to_have_text("hit 1 of 1")
    expect(page.locator(".nb-recall mark.nb-now")).to_have_text("299999 the")
    search = page.get_by_label("Search the text")
    search.fill("(a+)+$")
    page.get_by_label("regex").check()
    search.press("Enter")
    expect(found).to_have_text("no hits")
    search.fill("(")
    search.press("Enter")
    expect(found).to_contain_text("cannot be read")
    search.fill("29999[0-9] the")
    search.press("Enter")
    expect(found).to_have_text("hit 1 of 10")
    text.focus()
    page.keyboard.press("n")
    expect(found).to_have_text("hit 2 of 10")
    page.keyboard.press("N")
    expect(found).to_have_text("hit 1 of 10")
    page.keyboard.press("s")
    expect(page.locator(".nb-recall .nb-names")).to_contain_text("sent to the model")
    front.shot(shots / f"{ui}-recall.png", ".nb-recall")
    page.keyboard.press("c")
    expect(page.locator(".nb-recall .nb-status")).to_contain_text("copied")
    assert "299990 the quick" in page.evaluate("navigator.clipboard.readText()")
    text.focus()
    page.keyboard.press("[")
    expect(page.locator(".nb-recall .nb-head")).to_contain_text("20 lines")
    assert front.axe(".nb-recall") == []


def test_the_chart_by_keyboard(opened, shots, ui):
    front = opened(LOAD.format("big"), "%llm cache", theme="JupyterLab Dark" if ui == "nb7" else None)
    page = front.page
    front.run(0, 1)
    chart = page.get_by_role("listbox", name="Requests")
    expect(page.locator(".nb-cache .nb-range").first).to_contain_text("64 a bar")
    assert page.locator(".nb-cache [role=option]").count() == 157
    front.shot(shots / f"{ui}-cache.png", ".nb-cache")
    chart.focus()
    span = page.locator(".nb-cache .nb-range").first
    for first in (2501, 3751, 4376, 4689, 4845, 4923, 4962):
        page.keyboard.press("+")
        expect(span).to_contain_text(f"requests {first:,}–")
    page.keyboard.press("<")
    expect(span).to_contain_text("requests 4,922–")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    detail = page.get_by_role("region", name="The chosen request")
    expect(detail).to_contain_text("Request 4923")
    expect(detail).to_contain_text("messages, 0 tools")
    chart.focus()
    page.keyboard.press("End")
    page.keyboard.press("m")
    expect(page.get_by_label("cost", exact=True)).to_be_checked()
    page.keyboard.press("m")
    page.keyboard.press("m")
    expect(page.get_by_label("tokens", exact=True)).to_be_checked()
    front.shot(shots / f"{ui}-cache-near.png", ".nb-cache")
    chart.focus()
    page.keyboard.press("Enter")
    detail.get_by_role("button").first.click()
    expect(page.locator(".nb-cache .nb-pane .nb-head")).to_contain_text("request 5000")
    assert front.axe(".nb-cache") == []


def test_views_live_while_a_cell_runs_and_say_what_they_show(opened, shots, ui):
    front = opened(LOAD.format(f"moving-{ui}"), "%llm results\n%llm cache", TURN, "%llm resume big")
    page = front.page
    front.run(0, 1)
    span = page.locator(".nb-cache .nb-range").first
    expect(span).to_contain_text("of 120")
    front.start(2)
    expect(span).to_contain_text("of 140")
    assert page.evaluate("window.nbRan") == -1, "the cell still runs"
    page.get_by_role("grid", name="Results").focus()
    page.get_by_label("Filter by path").fill("module_1")
    expect(page.locator(".nb-results .nb-status")).to_contain_text("when the running cell has ended")
    front.wait(2)
    expect(page.locator(".nb-results .nb-status")).to_be_empty()
    expect(page.locator("summary", has_text="140 requests")).to_be_visible()
    front.run(3)
    for kind in ("results", "cache"):
        expect(page.locator(f".nb-{kind} .nb-note").first).to_contain_text(
            f"This is session moving-{ui}; the open one is big."
        )
    page.evaluate("window.jupyterapp.shell.currentWidget.context.sessionContext.restartKernel()")
    expect(page.locator(".nb-results .nb-status")).to_contain_text(
        f"%llm resume moving-{ui}, then %llm results brings it back"
    )
    front.shot(shots / f"{ui}-gone.png", ".nb-results")


def test_what_is_saved_reads_right_when_it_is_opened_again(opened, server, browser, shots, ui):
    front = opened(LOAD.format("small"), "%llm results", "%llm recall 1", "%llm cache", "%llm freeze")
    front.run(0, 1, 2, 3)
    book = front.save()
    for cell in book.cells[1:4]:
        twin, view = cell.outputs
        assert "<details" in twin.data["text/html"]
        assert VIEW in view.data
        assert len(json.dumps(cell.outputs)) < 60_000
    page = front.page
    page.reload()
    front.open()
    expect(page.locator("summary", has_text="60 results")).to_be_visible()
    front.errors.clear()  # the front end says itself that a model is not found
    front.run(0, 1, 2, 3, 4)
    expect(page.locator(".nbcontext")).to_have_count(0)
    expect(page.locator("details[open] img")).to_be_visible()
    book = front.save()
    assert VIEW not in json.dumps(book)
    assert "widgets" not in book.metadata
    untrusted = server.notebooks / f"untrusted-{ui}.ipynb"
    for cell in book.cells:
        cell.metadata.pop("trusted", None)
    book.cells[0].source += "\n# not run here"
    nbformat.write(book, untrusted)
    page.goto(f"{server.url}/{'lab/tree' if ui == 'lab' else 'notebooks'}/{untrusted.name}")
    image = page.locator("img[alt*='hit rate']").last
    expect(image).to_be_visible()
    assert image.evaluate("(e) => e.naturalWidth") > 100
    expect(page.locator("summary", has_text="lines 1-1,000 of 1,000").last).to_be_visible()
    page.screenshot(path=shots / f"{ui}-untrusted.png")


@pytest.mark.parametrize("ui", ["lab"])
def test_nbconvert_and_clean_with_no_network(opened, server, browser, shots, ui):
    front = opened(LOAD.format("small"), "%llm results", "%llm cache")
    front.run(0, 1, 2)
    front.save()
    file = server.notebooks / front.name
    subprocess.run([Path(sys.executable).parent / "nbcontext", "clean", file], check=True, capture_output=True)
    assert VIEW not in file.read_text(encoding="utf-8")
    convert = [sys.executable, "-m", "nbconvert", "--to", "html", file, "--output", "page.html"]
    subprocess.run(convert, check=True, capture_output=True, env=server.environment)
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto((server.notebooks / "page.html").as_uri())
    expect(page.locator("summary", has_text="60 results")).to_be_visible()
    expect(page.locator("img[alt*='hit rate']")).to_be_visible()
    expect(page.locator("td", has_text="capped").first).to_be_visible()
    page.screenshot(path=shots / "nbconvert.png", full_page=True)
    context.close()


def test_the_status_of_a_running_cell_is_gone_when_it_ends(opened, shots, ui):
    begin = "import os\nos.makedirs('w', exist_ok=True)\n%load_ext nbcontext\n%llm new slow --model test/x --root w --mode auto --replace"
    script = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
import nbcontext
from nbcontext.testing import ScriptedModel
from session_world import call, says
run = call("bash", '{{"command": "sleep 3; seq 1 5"}}')
nbcontext.current()._engine.given_client = ScriptedModel([says("Let me see.", run), says("**Done.**")])
"""
    front = opened(begin, script, "%%llm\nGo.")
    page = front.page
    front.run(0, 1)
    front.start(2)
    timer = page.get_by_role("timer")
    expect(timer).to_contain_text("step 1 · bash sleep 3; seq 1 5")
    expect(timer).to_contain_text(" 2 s")
    expect(timer).to_contain_text("interrupt the kernel")
    page.screenshot(path=shots / f"{ui}-status.png")
    front.wait(2)
    expect(timer).to_have_count(0)
    book = front.save()
    saved = json.dumps(book.cells[2].outputs)
    assert "interrupt the kernel" not in saved
    assert "2 steps" in saved
    assert not [o for o in book.cells[2].outputs if not any("".join(v).strip() for v in o.data.values())], (
        "no empty output"
    )
