"""The extension in a real kernel, against servers that refuse what real ones refuse."""

import itertools
import json
import os
import queue
import signal
import sys
import threading
import time

import pytest
from jupyter_client.manager import KernelManager

from nbcontext.call import Call
from nbcontext.store import Store
from nbcontext.store.verify import verify
from nbcontext.testing import AnthropicServer, Scripted, ScriptedServer

pytestmark = pytest.mark.filterwarnings("default")  # jupyter_client's own: sockets left to the collector

HEAVY = (
    "litellm",
    "openai",
    "pandas",
    "sqlalchemy",
    "pydantic",
    "pygit2",
    "ipywidgets",
    "anywidget",
    "markdown_it",
    "nh3",
)
_IDS = itertools.count(1)


def call(name, **arguments):
    return Call(id=f"call_{next(_IDS)}", name=name, arguments=json.dumps(arguments))


class Ran:
    """What running a cell gave."""

    def __init__(self, status, error, outputs, seconds):
        self.status, self.error, self.outputs, self.seconds = status, error, outputs, seconds

    @property
    def text(self):
        """All text that stands in the cell at the end."""
        return "\n".join(o.get("text/plain", o.get("stream", "")) for o in self.outputs)

    @property
    def line(self):
        return self.error["traceback"][0] if self.error else ""


class Kernel:
    """A kernel with the extension loaded in a folder."""

    def __init__(self, root, home, **environment):
        self._displays = {}  # of all cells: a later cell may replace an earlier one's output
        self.manager = KernelManager(kernel_name="python3")
        env = {**os.environ, "NBCONTEXT_HOME": str(home), **environment}
        self.manager.start_kernel(cwd=str(root), env=env)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()

    def start(self, code, *, stdin=False):
        """Begin a cell; `wait` gives what came of it."""
        self._began, self._outputs = time.monotonic(), []
        return self.client.execute(code, allow_stdin=stdin)

    def wait(self, message, *, answer=None, until=None, timeout=30):
        """Take the cell's messages up to its end, or up to the first output that `until` accepts."""
        outputs, error = self._outputs, None
        deadline = time.monotonic() + timeout
        while True:
            assert time.monotonic() < deadline, "the cell does not end"
            if answer is not None and self.client.stdin_channel.msg_ready():
                answer(self, self.client.get_stdin_msg(timeout=1)["content"]["prompt"])
            try:
                found = self.client.get_iopub_msg(timeout=0.05)
            except queue.Empty:
                continue
            if found["parent_header"].get("msg_id") != message:
                continue
            kind, content = found["msg_type"], found["content"]
            if kind == "stream":
                outputs.append({"stream": content["text"]})
            elif kind in ("display_data", "execute_result"):
                outputs.append(content["data"])
                self._displays[content.get("transient", {}).get("display_id")] = outputs, len(outputs) - 1
            elif kind == "update_display_data":
                shown, place = self._displays[content["transient"]["display_id"]]
                shown[place] = content["data"]
            elif kind == "error":
                error = content
            elif kind == "status" and content["execution_state"] == "idle":
                break
            if until is not None and outputs and until(outputs):
                return Ran("running", None, outputs, time.monotonic() - self._began)
        reply = self.client.get_shell_msg(timeout=10)
        return Ran(reply["content"]["status"], error, outputs, time.monotonic() - self._began)

    def run(self, code, **options):
        return self.wait(self.start(code, stdin="answer" in options), **options)

    def good(self, code, **options):
        ran = self.run(code, **options)
        assert ran.status == "ok", ran.error
        return ran

    def kill(self):
        os.kill(self.manager.provisioner.pid, signal.SIGKILL)
        self.client.stop_channels()
        self.manager.cleanup_resources()


class Place:
    """A folder with a file in it, a store, and kernels that are ended."""

    def __init__(self, folder):
        self.root, self.home, self.made = folder / "root", folder / "home", []
        self.root.mkdir()
        (self.root / "a.txt").write_text("one\ntwo\n")

    def __call__(self):
        self.made.append(Kernel(self.root, self.home, ANTHROPIC_API_KEY="sk-ant-0123456789"))
        self.made[-1].good("%load_ext nbcontext")
        return self.made[-1]

    def close(self):
        for each in self.made:
            each.close()


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A place with one kernel, for all tests that leave it as it was."""
    made = Place(tmp_path_factory.mktemp("kernel"))
    made.kernel = made()
    yield made
    made.close()


def opened(kernel, server, model="openai/gpt-x", more="--mode auto", name=""):
    name = name or f"n{next(_IDS)}"
    kernel.good(f"%llm new {name} --model {model} --api-base {server.api_base} {more}")


def last_words(server):
    content = server.requests[-1]["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return text.split("\n\n<note>")[0]


def test_loading_does_no_work(tmp_path):
    kernel = Kernel(tmp_path, tmp_path / "home")
    try:
        ran = kernel.good(
            "import sys, time, threading\nbefore = set(sys.modules); threads = threading.active_count(); t = time.process_time()\n"
            "%load_ext nbcontext\nt = time.process_time() - t\n"
            f"print([m for m in {HEAVY} if m in sys.modules and m not in before], threading.active_count() - threads)"
        )
        assert ran.text.strip() == "[] 0"
        assert float(kernel.good("print(t)").text) < 0.2
        assert list(tmp_path.iterdir()) == []
        ran = kernel.good(
            "%unload_ext nbcontext\n"
            "s = get_ipython()\n"
            "print(['llm' in s.magics_manager.magics[k] for k in ('line', 'cell')], 'LLMMagics' in s.magics_manager.registry,\n"
            "      [f for f in s.input_transformers_cleanup if 'nbcontext' in f.__module__],\n"
            "      [c for c in s.configurables if 'nbcontext' in type(c).__module__],\n"
            "      [k for k in s.strdispatchers['complete_command'].strs if 'llm' in k],\n"
            "      [f for fs in s.events.callbacks.values() for f in fs if 'nbcontext' in getattr(f, '__module__', '')])"
        )
        assert ran.text.strip() == "[False, False] False [] [] [] []"
        assert kernel.run("%llm").status == "error"
        kernel.good("%load_ext nbcontext\n%reload_ext nbcontext\n%llm help")
        assert list(tmp_path.iterdir()) == []
    finally:
        kernel.close()


BODIES = [
    "{x} $x {{x}} `code` ${y}", "!ls", "what?", "?", ">>> a\n... b", "In [1]: a", "    indented\n        more", "# a comment\nand words",
    "%llm status", "%%time", "a\\nb\\", "'\"\"\"'''", "tab\there", "é 𝄞 \u2028 x", " lead and trail  ", '{"a": [1, -2]}', "\nblank first\n\n",
]  # fmt: skip


@pytest.mark.parametrize(("kind", "model"), [(ScriptedServer, "openai/gpt-x"), (AnthropicServer, "anthropic/claude-x")])
def test_a_session_from_cell_to_server(shared, kind, model):
    script = [
        Scripted(text="Let **me** look.", calls=(call("read", path="a.txt"), call("python", code="x = 41\nx + 1"))),
        Scripted(text="Two lines."),
        Scripted(text="Yes."),
    ]
    with kind(script) as server:
        kernel = shared.kernel
        opened(kernel, server, model)
        ran = kernel.good("%%llm --to answer\nLook at a.txt")
        assert [len(output) >= 2 for output in ran.outputs] == [True] * len(ran.outputs)
        assert "Let **me** look." in ran.text
        assert "Two lines." in ran.text
        assert "2 steps · 2 results" in ran.text
        assert kernel.good("print(repr(answer), x)").text.strip() == "'Let **me** look.\\n\\nTwo lines.' 41"
        for body in BODIES:
            kernel.good(f"%%llm --quiet\n{body}")
            assert last_words(server) == body.removesuffix("\n")
        kernel.good("# a comment\n\n%%llm --quiet\nbelow a comment")
        assert last_words(server) == "below a comment"
        kernel.good("%%llm --quiet\n$`x + 1` and $$`x` and\n```\n$`x`\n```")
        assert last_words(server) == "42 and $`x` and\n```\n$`x`\n```"
        before = len(server.requests)
        for bad, said in [("%%llm\n", "empty"), ("%%llm", "empty"), ("%%llm\n$`1/0`", "1/0"), ("%%llm --bogus\nx", "bogus"),
                          ("%llm nope", "nope"), ("%%llm --to 1x\nx", "1x"), ("%llm undo 'x", "quote"), ("%llm undo 99", "99")]:  # fmt: skip
            ran = kernel.run(bad)
            assert (ran.status, len(ran.error["traceback"])) == ("error", 1), bad
            assert said in ran.line
            assert "\n" not in ran.line
        assert len(server.requests) == before
        kernel.good("%llm note what now?")
        kernel.good("%%llm --quiet\nHello")
        assert "<note>\nwhat now?\n</note>" in json.dumps(server.requests[-1], ensure_ascii=False).replace("\\n", "\n")
        for command in ("", "results", "requests", "cache", "tools", "sessions", "recall 1", "request 1", "mode", "model", "plan",
                        "personality", "help", "help new"):  # fmt: skip
            ran = kernel.good(f"%llm {command}")
            assert ran.outputs[0]["text/plain"]
        assert server.violations == []


def test_the_most_steps_and_going_on(shared):
    script = [Scripted(calls=(call("list"),)), Scripted(calls=(call("list"),)), Scripted(text="Whole.")]
    with ScriptedServer(script) as server:
        kernel = shared.kernel
        opened(kernel, server)
        assert "%llm continue" in kernel.good("%%llm --max-steps 2\nLook").text
        assert "Whole." in kernel.good("%llm continue").text
        assert kernel.run("%llm continue").status == "error"
        assert server.violations == []


@pytest.mark.slow
def test_run_all_twice_does_not_pay_twice(place):
    cells = ["%%llm --keep\nfirst", "%%llm --keep\nsecond", "%%llm --keep --to v\nthird"]
    with ScriptedServer([Scripted(text=f"Answer {n}.") for n in (1, 2, 3, 4, 5)]) as server:
        kernel = place()
        opened(kernel, server, name="s")
        for cell in cells:
            kernel.good(cell)
        assert len(server.requests) == 3
        kernel.close()
        kernel = place()
        kernel.good("%llm resume s")
        for number, cell in enumerate(cells, 1):
            text = kernel.good(cell).text
            assert f"Answer {number}." in text
            assert "Stored answer" in text
        assert kernel.good("print(v)").text.strip() == "Answer 3."
        kernel.good("%llm resume s")
        assert "Stored answer" in kernel.good(cells[0]).text
        assert len(server.requests) == 3
        assert "Answer 4." in kernel.good("%%llm --keep\nchanged").text
        assert len(server.requests) == 4
        assert server.violations == []


def interrupted(kernel, message, **options):
    """Interrupt the cell as a front end does; return what came of it, and that it ended soon."""
    began = time.monotonic()
    kernel.manager.interrupt_kernel()
    ran = kernel.wait(message, **options)
    took = time.monotonic() - began
    assert ran.status == "error"
    assert len(ran.error["traceback"]) == 1
    assert "TurnInterrupted" in ran.line
    assert took < 2
    return ran


def running_python(place):
    """Wait until the model's Python runs: it makes a file."""
    deadline = time.monotonic() + 20
    while not (place.root / "runs").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (place.root / "runs").unlink()


@pytest.mark.parametrize("kind", [ScriptedServer, AnthropicServer])
def test_an_interrupt_at_any_moment(shared, kind):
    model = {"ScriptedServer": "openai/gpt-x", "AnthropicServer": "anthropic/claude-x"}[kind.__name__]
    loop = "import pathlib\npathlib.Path('runs').touch()\nprint('so far')\nwhile True: pass"
    script = [
        Scripted(text="Hello."),
        Scripted(text="streams " * 400, delay_s=0.02), Scripted(text="After one."),
        Scripted(text="Quiet.", hang_after=-1), Scripted(text="After two."),
        Scripted(text="Run.", calls=(call("bash", command="touch runs; sleep 60"), call("bash", command="echo never"))), Scripted(text="After three."),
        Scripted(text="Run.", calls=(call("python", code=loop), call("read", path="a.txt"))), Scripted(text="After four."),
        Scripted(text="Ask.", calls=(call("bash", command="echo asked"),)), Scripted(text="After five."),
    ]  # fmt: skip
    with kind(script) as server:
        kernel = shared.kernel
        opened(kernel, server, model)
        kernel.good("%%llm\nhi")
        message = kernel.start("%%llm\nstream")
        shown = kernel.wait(message, until=lambda outputs: "streams" in json.dumps(outputs))
        assert "streams" in shown.text
        interrupted(kernel, message)
        assert "After one." in kernel.good("%%llm\nnext").text
        message = kernel.start("%%llm\nsilence")
        deadline = time.monotonic() + 10
        while len(server.requests) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        interrupted(kernel, message)
        assert server.hung_up.wait(2)
        assert "After two." in kernel.good("%llm continue").text
        for after in ("After three.", "After four."):
            message = kernel.start("%%llm\nrun it")
            running_python(shared)
            interrupted(kernel, message)
            assert after in kernel.good("%%llm\nnext").text
        kernel.good("%llm mode ask")
        asked = threading.Event()

        def interrupt(kernel, prompt):
            assert "bash" in prompt
            asked.set()
            kernel.manager.interrupt_kernel()

        ran = kernel.run("%%llm\nask me", answer=interrupt)
        assert asked.is_set()
        assert (ran.status, "TurnInterrupted" in ran.line) == ("error", True)
        assert "After five." in kernel.good("%%llm\nnext").text
        kinds = kernel.good("import nbcontext; print(list(nbcontext.current().results['kind']))").text.strip()
        assert kinds == str(["interrupted"] * 5)
        assert "so far" in kernel.good("print(nbcontext.current().recall('3'))").text
        assert server.violations == []


def test_an_interrupt_before_the_first_request(place):
    """litellm is still being imported then."""
    with ScriptedServer([Scripted(text="Hello.")]) as server:
        kernel = place()
        opened(kernel, server)
        message = kernel.start("%%llm\nhi")
        time.sleep(0.3)
        interrupted(kernel, message)
        assert "Hello." in kernel.good("%%llm\nhi").text
        assert server.violations == []


def test_the_person_is_asked(shared):
    script = [Scripted(calls=(call("bash", command="echo ran"), call("write", path="n.txt", content="x\n"), call("bash", command="echo no"))),
              Scripted(text="So.")]  # fmt: skip
    with ScriptedServer(script) as server:
        kernel = shared.kernel
        opened(kernel, server, more="--mode ask")
        answers = iter(["y", "use another name", "no"])
        kernel.good("%%llm\ngo", answer=lambda kernel, _: kernel.client.input(next(answers)))
        said = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
        assert said[0].endswith("]\nran")
        assert "use another name" in said[1]
        assert "said no" in said[2]
        assert not (shared.root / "n.txt").exists()
        assert server.violations == []


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["tool", "stream"])
def test_a_kernel_that_dies(place, moment):
    first = {"tool": Scripted(text="Run.", calls=(call("bash", command="touch runs; sleep 60"), call("list"))),
             "stream": Scripted(text="words " * 500, delay_s=0.02)}[moment]  # fmt: skip
    with ScriptedServer([Scripted(text="Hello."), first, Scripted(text="Back."), Scripted(text="More.")]) as server:
        kernel = place()
        opened(kernel, server, name="s")
        kernel.good("%%llm\nhi")
        message = kernel.start("%%llm\ndie")
        if moment == "tool":
            running_python(place)
        else:
            kernel.wait(message, until=lambda outputs: "words" in json.dumps(outputs))
        kernel.kill()
        kernel = place()
        assert "Session s" in kernel.good("%llm resume").text
        assert "Back." in kernel.good("%llm continue").text
        assert "More." in kernel.good("%%llm\nand on").text
        assert server.violations == []
        store = Store(place.home)
        assert verify(store).faults == ()
        store.close()


@pytest.mark.slow
def test_two_kernels_on_one_session(place):
    with ScriptedServer([Scripted(text="Hello."), Scripted(text="Second."), Scripted(text="Third.")]) as server:
        one, two = place(), place()
        opened(one, server, name="s")
        one.good("%%llm\nhi")
        ran = two.run("%llm resume s")
        assert ran.status == "error"
        assert f"process {one.manager.provisioner.pid}" in ran.line
        assert "--take" in ran.line
        two.good("%llm resume s --read-only")
        assert "read-only" in two.run("%%llm\nhi").line
        two.good("%llm results")
        two.good("%llm resume s --take")
        assert "Second." in two.good("%%llm\nmine").text
        ran = one.run("%%llm\nno")
        assert ran.status == "error"
        assert f"process {two.manager.provisioner.pid}" in ran.line
        one.good("%llm resume s --take")
        assert "Third." in one.good("%%llm\nback").text
        assert server.violations == []


@pytest.mark.slow
def test_a_saved_notebook_can_be_read_anywhere(place, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    with ScriptedServer(
        [Scripted(text="Some **words**.\n\n- a\n- b", calls=(call("list"),)), Scripted(text="The end.")]
    ) as server:
        cells = [
            "%load_ext nbcontext",
            f"%llm new n --model openai/gpt-x --api-base {server.api_base}",
            "%%llm\nhi",
            "%llm results",
        ]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        environment = {**os.environ, "NBCONTEXT_HOME": str(place.home)}
        NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(place.root)}}).execute(env=environment)
    assert all(output.data["text/plain"] for output in notebook.cells[3].outputs)
    outputs = [output for cell in notebook.cells[:3] for output in cell.outputs]
    assert {output.output_type for output in outputs} == {"display_data"}
    for output in outputs:
        assert {"text/plain", "text/html"} <= set(output.data) <= {"text/plain", "text/html", "text/markdown"}
    assert any("text/markdown" in output.data for output in outputs)
    texts = [output.data["text/plain"] for output in notebook.cells[2].outputs]
    assert texts[0] == "Some **words**.\n\n- a\n- b"
    assert len(texts) == 4


def test_a_terminal_prints_everything_once(place):
    import pexpect

    script = [
        Scripted(text="Words \x1b[31mred\x1b[0m here. " * 20, calls=(call("list"),), delay_s=0.005),
        Scripted(text="The end."),
    ]
    with ScriptedServer(script) as server:
        environment = {
            **os.environ,
            "NBCONTEXT_HOME": str(place.home),
            "TERM": "dumb",
            "IPYTHONDIR": str(place.home / "ipython"),
        }
        arguments = ["--simple-prompt", "--no-banner", "--no-confirm-exit", "--colors=NoColor"]
        child = pexpect.spawn(
            sys.executable,
            ["-m", "IPython", *arguments],
            env=environment,
            cwd=str(place.root),
            encoding="utf-8",
            timeout=30,
            echo=False,
        )
        child.expect("In \\[1\\]: ")
        child.sendline("%load_ext nbcontext")
        child.expect("In \\[2\\]: ")
        assert child.before.strip() == ""
        child.sendline(f"%llm new t --model openai/gpt-x --api-base {server.api_base}")
        child.expect("In \\[3\\]: ")
        assert child.before.count("New session t") == 1
        child.sendline("%%llm")
        child.sendline("hi there")
        child.sendline("")
        child.sendline("")
        child.expect("In \\[4\\]: ")
        shown = child.before
        child.sendline("exit")
        child.expect(pexpect.EOF)
    assert server.requests[0]["messages"][-1]["content"].startswith("hi there\n")
    assert shown.count("Words ␛[31mred␛[0m here.") == 20
    assert shown.count("The end.") == 1
    assert "\x1b[31m" not in shown
    assert shown.count("2 steps") == 1


def test_tab_completes(shared):
    kernel = shared.kernel

    def complete(code):
        message = kernel.client.complete(code, len(code))
        while (reply := kernel.client.get_shell_msg(timeout=10))["parent_header"]["msg_id"] != message:
            pass
        return reply["content"]["matches"]

    assert complete("%llm re") == ["resume", "rewind", "retry", "results", "recall", "requests", "request"]
    assert "--model" in complete("%llm new --m")
    assert complete("%llm mode p") == ["plan"]
    assert "--keep" in complete("%%llm --k")
