"""`bash`: output, endings, and that nothing it starts outlives it."""

import os
import sys
import threading
import time
import tracemalloc
import uuid
from pathlib import Path

import pytest
from search_world import world

from nbcontext.errors import ToolError
from nbcontext.tools import bash

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


def ask(folder, command, **arguments):
    return bash.run(bash.BashArguments(command=command, **arguments), world(folder)).text


def living(mark: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes()
        except OSError:
            continue
        if mark.encode() in line and int(process.parent.name) != os.getpid():
            found.append(process.parent.name)
    return found


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo out; echo err >&2; echo out", "out\nerr\nout\n"),
        ("exit 3", "[exit 3]"),
        ("printf x; exit 3", "x\n[exit 3]"),
        ("true", "(no output)"),
        ("kill -9 $$", "[killed by SIGKILL]"),
        ("cat; echo $PAGER", "cat\n"),
        ("printf 'a\\rb\\033[31mc\\n'", "bc\n"),
        ("printf '\\377'", "\ufffd"),
        ("printf '\\342'; printf '\\202\\254'", "€"),
    ],
)
def test_output_and_ending(tmp_path, command, expected):
    assert ask(tmp_path, command) == expected


def test_it_runs_in_the_root(tmp_path):
    assert ask(tmp_path, "pwd -P") == f"{tmp_path.resolve()}\n"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
@pytest.mark.parametrize(
    "form", ["{} & echo x", "nohup {} & echo x", "setsid {} & echo x", "(setsid setsid {} &); echo x"]
)
def test_nothing_is_left_behind_and_an_open_pipe_does_not_hold_the_call(tmp_path, form):
    mark = uuid.uuid4().hex
    begun = time.monotonic()
    assert ask(tmp_path, form.format(f"bash -c 'sleep 300; : {mark}'")).endswith("x\n")
    assert time.monotonic() - begun < 5
    assert not living(mark)


def test_the_time_limit_also_ends_what_will_not_end(tmp_path):
    begun = time.monotonic()
    assert ask(tmp_path, "trap '' TERM; echo x; sleep 300; sleep 300", timeout=1) == "x\n[timed out after 1 s]"
    assert time.monotonic() - begun < 5
    with pytest.raises(ToolError):
        ask(tmp_path, "true", timeout=10**6)


def test_a_stop_ends_it_and_keeps_the_output(tmp_path):
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    outcome = bash.run(bash.BashArguments(command="echo x; sleep 300"), world(tmp_path, stop=stop))
    assert (outcome.kind, outcome.partial) == ("interrupted", "x\n")


def test_what_no_shell_takes(tmp_path):
    for command in ("a\0b", "echo \ud800"):
        with pytest.raises(ToolError):
            ask(tmp_path, command)


def test_a_large_output_is_not_held_three_times(tmp_path):
    size = 20_000_000
    tracemalloc.start()
    try:
        text = ask(tmp_path, f"yes 0123456789abcde | head -c {size}")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(text) == size
    assert peak < 3 * size
