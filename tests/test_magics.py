"""Magic lines and cells: what is written arrives, and what is wrong is one line (interface: In a notebook)."""

import json
import warnings

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import nbcontext
from nbcontext.errors import NbcontextError, UsageError
from nbcontext.model import library
from nbcontext.notebook.cells import take_llm
from nbcontext.notebook.commands import COMMANDS, command
from nbcontext.notebook.completion import candidates
from nbcontext.notebook.desk import Desk
from nbcontext.notebook.expansion import COLUMNS, ROWS, expanded
from nbcontext.notebook.options import Options, words
from nbcontext.settings import Settings

# -- cells


def transformed(cell):
    manager = TransformerManager()
    manager.cleanup_transforms.insert(0, take_llm)
    return manager.transform_cell(cell)


class Taken:
    """Keeps what the magics are called with."""

    def __init__(self):
        self.calls = []

    def run_cell_magic(self, name, line, cell):
        self.calls.append((name, line, cell))

    def run_line_magic(self, name, line, **_):
        self.calls.append((name, line))


def ran(cell):
    taken = Taken()
    exec(compile(transformed(cell), "<cell>", "exec"), {"get_ipython": lambda: taken})
    return taken.calls


BODY = st.text(max_size=80) | st.lists(
    st.sampled_from(['"""', "'''", "\\", "\r", "\n", "\f", "\u2028", "\x85", "\0", "{x}", "$x", ">>> ", "... ", "In [1]: ", "    ", "\t", "!", "?", "%%llm",
                     "%llm", "#", "é", "\ud800", "\x1c", "`", "'", '"']), max_size=20).map("".join)  # fmt: skip


@settings(max_examples=300)
@given(BODY, st.sampled_from(["", " --quiet", " --to x  ", "\t--keep # don't"]))
@example("", "")
@example(">>> a\n... b", "")
@example("    indented\n  less", "")
def test_a_body_arrives_as_it_was_written(body, line):
    cell = f"%%llm{line}\n{body}"
    whole = body if body.endswith("\n") else body + "\n"
    assert ran(cell) == [("llm", line.strip(), whole)]
    assert ran(f"# a comment\n\n{cell}") == [("llm", line.strip(), whole)]


@pytest.mark.parametrize(
    "line", ["note what now?", "note ?", "undo 2", "", "note {x} $x", "mode plan # don't", "note \"'", "note a\\"]
)
def test_a_line_arrives_as_it_was_written(line):
    assert ran(f"%llm {line}") == [("llm", line)]
    assert ran(f"x = 1\nif x:\n    %llm {line}\n") == [("llm", line)]
    assert ran(f"%llm {line}\n%llm help") == [("llm", line), ("llm", "help")]


@pytest.mark.parametrize("cell", [
    'x = """\n%llm note\n"""', "x = '''a\n%%llm\n  %llm b\n'''", "x = 1", "y = '%llm x'", "# %llm x\nz = 1",
    'f(\n"""\n%llm a\n""")', "x = 'a\\\n%llm b'", 'r"""\n%llm\n"""\n\n\ny = 2',
])  # fmt: skip
def test_strings_are_left_alone(cell):
    lines = cell.splitlines(keepends=True)
    assert take_llm(lines) == lines


@pytest.mark.parametrize("cell", ["%%llmx\nbody", "%llm_y", "%%llm?\n", "%llm?", "%%time\n%llm help", "%timeit 1\n"])
def test_other_magics_are_left_alone(cell):
    lines = cell.splitlines(keepends=True)
    assert take_llm(lines) == lines


def test_a_terminal_waits_for_the_blank_line():
    manager = TransformerManager()
    manager.cleanup_transforms.insert(0, take_llm)
    assert manager.check_complete("%%llm\nhello")[0] == "incomplete"
    assert manager.check_complete("%%llm\nhello\n\n")[0] == "complete"


# -- options


@pytest.mark.parametrize(("line", "expected"), [
    ("", []), ("a b", ["a", "b"]), ("a\tb", ["a", "b"]), ("'a b' \"c d\"", ["a b", "c d"]), ("a # don't", ["a"]), ("# don't", []),
    ("a#b", ["a#b"]), ("'#' x", ["#", "x"]), ("--x '{\"a\": -1}'", ["--x", '{"a": -1}']), (r"a\ b", ["a b"]), ("-1 -2.5", ["-1", "-2.5"]),
    ('"a # b"', ["a # b"]), ("a '' b", ["a", "", "b"]), ('"it\'s"', ["it's"]),
])  # fmt: skip
def test_words(line, expected):
    assert words(line) == expected


@given(st.text(max_size=40))
def test_no_line_ends_the_process(line):
    parser = Options("%llm x", "")
    parser.add_argument("n", nargs="?", type=int)
    parser.add_argument("--json")
    parser.add_argument("--flag", action="store_true")
    try:
        parser.parse(line)
    except UsageError as error:
        rendered = error._render_traceback_()
    else:
        return
    assert len(rendered) == 1
    assert "\n" not in rendered[0]


def test_numbers_and_values():
    parser = Options("%llm x", "")
    parser.add_argument("n", nargs="?", type=int)
    parser.add_argument("--json")
    assert parser.parse("-3").n == -3
    assert parser.parse("--json '[1, -2]' 4").json == "[1, -2]"
    for wrong in ("x", "1 2", "--js x", "--json", "'a", "-h", "--help"):
        with pytest.raises(UsageError, match=r"usage: %llm x|close the quote"):
            parser.parse(wrong)


# -- expansion


def value_of(expression):
    return eval(expression, {"a": "A `x` $`a`", "b": 2, "Model": Model})


class Model:
    def __init__(self, *names):
        for name in names:
            setattr(self, name, lambda name=name: f"<{name}>")

    def __str__(self):
        return "<str>"


@pytest.mark.parametrize(("body", "expected"), [
    ("$`b`", "2"), ("x$`b + 1`y", "x3y"), ("$$`b`", "$`b`"), ("$`a`", "A `x` $`a`"), ("`b` $b {b} ${b}", "`b` $b {b} ${b}"),
    ("```\n$`b`\n```\n$`b`", "```\n$`b`\n```\n2"), ("~~~ x\n$`b`\n```\n$`b`\n~~~\n$`b`", "~~~ x\n$`b`\n```\n$`b`\n~~~\n2"),
    ("```` \n```\n$`b`\n````\n$`b`", "```` \n```\n$`b`\n````\n2"), ("```x` y\n$`b`", "```x` y\n2"), ("$`b", "$`b"), ("$``", "$``"),
    ("$`Model('_repr_llm_', '_repr_markdown_')`", "<_repr_llm_>"), ("$`Model('_repr_markdown_')`", "<_repr_markdown_>"), ("$`Model()`", "<str>"),
    ("\r\n$`b`\r\n\x0c\u2028", "\r\n2\r\n\x0c\u2028"), ("   ```\n$`b`", "   ```\n$`b`"), ("$`b` $`b`\n$`b`", "2 2\n2"),
])  # fmt: skip
def test_the_one_sigil(body, expected):
    assert expanded(body, value_of) == expected


@given(st.text(st.sampled_from("ab `\n$~{}\\"), max_size=60))
def test_without_the_sigil_nothing_changes(body):
    if "$`" not in body:
        assert expanded(body, value_of) == body


@pytest.mark.parametrize("expression", ["1/0", "nope", "1 +", "import os"])
def test_a_failing_expression_names_itself(expression):
    with pytest.raises(UsageError) as caught:
        expanded(f"text $`{expression}`", value_of)
    assert f"$`{expression}`" in str(caught.value)
    assert len(caught.value._render_traceback_()) == 1


@pytest.mark.parametrize(("rows", "columns"), [(0, 1), (ROWS, COLUMNS), (ROWS + 1, COLUMNS + 3)])
def test_a_data_frame_is_a_table(rows, columns):
    frame = pd.DataFrame(
        [[f"{r}|{c}\n" for c in range(columns)] for r in range(rows)], columns=[f"c{c}" for c in range(columns)]
    )
    lines = expanded("$`frame`", lambda _: frame).split("\n")
    assert len([line for line in lines if line.startswith("|")]) == 2 + min(rows, ROWS)
    bars = {line.replace("\\|", "").count("|") for line in lines if line.startswith("|")}
    assert bars == {min(columns, COLUMNS) + 2}
    assert lines[-1] == "(1 more rows, 3 more columns)" if rows > ROWS else True


# -- commands in a shell


@pytest.fixture(scope="module")
def litellm():
    """litellm, imported before the extension does it in the background: its warnings are errors here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return library.load()


@pytest.fixture
def shell(tmp_path, monkeypatch, litellm):
    monkeypatch.setenv("NBCONTEXT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nbcontext.opened._current", None)
    made = InteractiveShell()
    made.history_manager.enabled = False
    made.run_line_magic("load_ext", "nbcontext")
    yield made
    made.run_line_magic("unload_ext", "nbcontext")
    made.history_manager.end_session()


def run(shell, cell):
    with capture_output() as captured:
        done = shell.run_cell(cell)
    error = done.error_before_exec or done.error_in_exec
    return captured.stdout, error


@pytest.mark.parametrize("cell", [
    "%llm", "%llm nope", "%llm new", "%llm undo", "%llm recall 1", "%llm new x --model", "%llm resume", "%llm mode", "%llm compact", "%llm retry",
    "%llm continue", "%llm results", "%llm export x", "%llm import nope.jsonl", "%llm note x", "%%llm\nhi", "%%llm --to 1\nx", "%%llm --to class\nx",
    "%%llm --max-steps 0\nx", "%%llm --session nope\nx", "%llm new a b", "%llm new --root nope --model m", "%llm new --mode x --model m",
    "%llm new --without nope --model m", "%llm help nope", "%llm plan nope", "%llm new --window 0 --model m", "%llm new --kind", "%llm request x",
])  # fmt: skip
def test_what_is_wrong_is_one_line(shell, cell):
    _, error = run(shell, cell)
    assert isinstance(error, NbcontextError), error
    (line,) = error._render_traceback_()
    assert "\n" not in line


def test_every_command_tells_its_options(shell):
    for each in COMMANDS:
        shown, error = run(shell, f"%llm help {each.name}")
        assert error is None
        assert each.name in shown
    assert run(shell, "%%llm --help\n")[1] is None


def test_tabs_part_a_command_from_its_text(shell):
    assert "No session" in str(run(shell, "%llm note\twhat")[1])
    assert "No session" in str(run(shell, "%llm undo\t1")[1])


def test_it_is_loaded_twice_and_taken_away_whole(shell):
    shell.run_line_magic("load_ext", "nbcontext")
    nbcontext.load_ipython_extension(shell)
    assert shell.input_transformers_cleanup.count(take_llm) == 1
    nbcontext.unload_ipython_extension(shell)
    nbcontext.unload_ipython_extension(shell)
    assert take_llm not in shell.input_transformers_cleanup
    nbcontext.load_ipython_extension(shell)


# -- completion


def desk(folder):
    return Desk(settings=lambda: Settings(home=folder), view=lambda: None, present=lambda _: None)


@pytest.mark.parametrize(("line", "symbol", "some"), [
    ("%llm ", "", "new"), ("%llm re", "re", "resume"), ("%llm mode ", "", "plan"), ("%llm help co", "co", "compact"), ("%llm new --mo", "--mo", "--model"),
    ("%llm new --kind ", "", "chat"), ("%%llm --qu", "--qu", "--quiet"), ("%llm note re", "re", None), ("%llm nope x", "x", None),
])  # fmt: skip
def test_completion(tmp_path, line, symbol, some):
    found = candidates(desk(tmp_path), line, symbol)
    assert all(value.startswith(symbol) for value in found)
    assert (some in found) if some else found == []


@given(st.text(max_size=30), st.text(max_size=5))
def test_completion_never_fails(tmp_path_factory, line, symbol):
    candidates(desk(tmp_path_factory.getbasetemp()), f"%llm {line}", symbol)


def test_a_command_that_takes_text_takes_it_as_it_stands():
    assert command("note").parse("--a 'b # c").text == "--a 'b # c"
    assert json.dumps(vars(command("undo").parse("2"))) == '{"turns": 2}'


def test_an_id_may_begin_as_a_comment_does():
    from nbcontext.notebook.commands import command

    given = command("recall").parse("#0001 5 10")
    assert (given.id, given.offset, given.limit) == ("0001", 5, 10)
    assert command("recall").parse("0001 # the first").id == "0001"


@pytest.mark.parametrize("opens", ["> ", "- ", "1. ", "  > "])
def test_a_fence_in_a_quote_or_a_list_is_a_fence(opens):
    from nbcontext.notebook.expansion import expanded

    body = f"{opens}```\n{opens}$`1/0`\n{opens}```\n$`1+1`"
    assert expanded(body, eval) == f"{opens}```\n{opens}$`1/0`\n{opens}```\n2"


def test_a_failing_expression_names_itself_whatever_it_raises():
    from nbcontext.errors import TurnInterrupted, UsageError
    from nbcontext.notebook.expansion import expanded

    def evaluate(expression):
        raise {"stop": KeyboardInterrupt, "leave": SystemExit, "fail": ValueError}[expression]

    for expression, error in (("stop", TurnInterrupted), ("leave", UsageError), ("fail", UsageError)):
        with pytest.raises(error, match=expression):
            expanded(f"$`{expression}`", evaluate)
