"""`python` in a notebook's namespace: what it answers, and what it leaves alone."""

import threading

import pytest
from IPython.core.interactiveshell import InteractiveShell
from search_world import world

from nbcontext.errors import ToolError
from nbcontext.execution.namespace import DictNamespace, NotebookNamespace
from nbcontext.tools import python

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture(scope="module")
def shell():
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


@pytest.fixture
def run(shell):
    namespace = NotebookNamespace(shell)
    return lambda code: namespace.run(code, threading.Event())


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = 1\nx + 1", "2"),
        ("print('a'); 'b'", "a\n'b'"),
        ("1;", ""),
        ("", ""),
        ("import sys; print('a'); print('b', file=sys.stderr); print('c')", "a\nb\nc"),
        ("print('\\x1b[31m10%\\r\\x1b[0m20%')", "20%"),
        ("import asyncio\nawait asyncio.sleep(0)\n7", "7"),
        ("raise SystemExit(3)", "[SystemExit: 3]"),
        ("exit()", "[SystemExit: None]"),
        ("!echo hi", "hi"),
        ("display(1); print(2); 3", "1\n2\n3"),
        (
            f"from IPython.display import Image\nimport base64\nImage(base64.b64decode('{PNG}'))",
            "[image/png 1x1, 70 B]",
        ),
        ("import sys; _ = sys.stdout.buffer.write(b'raw') if hasattr(sys.stdout, 'buffer') else None", "raw"),
    ],
)
def test_answers(run, code, expected):
    assert run(code).text == expected


def test_a_traceback_holds_the_frames_of_the_code_alone(run):
    text = run("def f():\n    return 1 / 0\nprint('before')\nf()").text
    assert text.startswith("before\nTraceback (most recent call last):\n")
    assert text.endswith("ZeroDivisionError: division by zero")
    assert text.count("File ") == 2
    assert "IPython" not in text
    assert "namespace.py" not in text
    assert "SyntaxError" in run("1 +").text
    assert "nobody can answer" in run("input()").text


def test_the_persons_own_things_are_untouched(shell, run):
    shell.run_cell("kept = 41; kept", store_history=True)
    before = {name: repr(shell.user_ns.get(name)) for name in ("In", "Out", "_", "__", "_i", "_ih", "_oh")}
    count, names = shell.execution_count, set(shell.user_ns)
    doors = shell.display_pub, shell.display_formatter, vars(shell).get("system"), vars(shell).get("ask_exit")
    assert run("added = kept + 1\nadded").text == "42"
    assert {name: repr(shell.user_ns.get(name)) for name in before} == before
    assert shell.execution_count == count
    assert set(shell.user_ns) - names == {"added"}
    after = shell.display_pub, shell.display_formatter, vars(shell).get("system"), vars(shell).get("ask_exit")
    assert after == doors


def test_nothing_reaches_the_running_cell(run, capsys):
    run("import threading\nt = threading.Thread(target=print, args=('x',)); t.start(); t.join()\nprint('y')")
    assert capsys.readouterr() == ("", "")


def test_an_interrupt_keeps_the_output(run, tmp_path):
    ran = run("print('so far')\nraise KeyboardInterrupt")
    assert (ran.text, ran.interrupted) == ("so far", True)
    names = DictNamespace({})
    outcome = python.run(python.PythonArguments(code="raise KeyboardInterrupt"), world(tmp_path, namespace=names))
    assert outcome.kind == "interrupted"


def test_a_plain_dict_and_none(tmp_path):
    names: dict[str, object] = {}
    answer = python.run(python.PythonArguments(code="a = 2\na"), world(tmp_path, namespace=DictNamespace(names)))
    assert (answer.text, names["a"]) == ("2", 2)
    quiet = python.run(python.PythonArguments(code="a"), world(tmp_path, namespace=DictNamespace({"a": None})))
    assert quiet.text == "(no output)"
    with pytest.raises(ToolError):
        python.run(python.PythonArguments(code="1"), world(tmp_path))


def test_what_fails_to_show_itself_is_answered_with_its_traceback(run, capsys):
    text = run("class Q:\n    def __repr__(self):\n        raise ValueError('no face')\nQ()").text
    assert "ValueError: no face" in text
    assert capsys.readouterr() == ("", "")
