"""`glob` and `list`: what is shown, what is left out, and what is said about it."""

import os
import shutil
import subprocess
import sys

import pytest
from search_world import fill, world, write

from nbcontext.errors import ToolError
from nbcontext.tools import glob, listing


def ask(folder, pattern, **arguments):
    return glob.run(glob.GlobArguments(pattern=pattern, **arguments), world(folder)).text


def entries(folder, **arguments):
    return listing.run(listing.ListArguments(**arguments), world(folder)).text


@pytest.fixture
def tree(tmp_path):
    fill(tmp_path, a_py="", src__b_py="", src__deep__c_py="", src__d="", build__e_py="")
    write(tmp_path, ".gitignore", "build\n")
    write(tmp_path, ".hidden/f.py", "")
    (tmp_path / "empty").mkdir()
    return tmp_path


def test_the_pattern_is_anchored_and_double_stars_cross_folders(tree):
    assert ask(tree, "*.py") == f"{tree}/a.py"
    assert ask(tree, "src/*.py") == f"{tree}/src/b.py"
    found = f"{tree}/a.py\n{tree}/src/b.py\n{tree}/src/deep/c.py\n(ignored files left out)"
    assert ask(tree, "**/*.py") == found
    assert ask(tree, "*.py", path="src") == f"{tree}/src/b.py"
    assert ask(tree, "*.md") == "(none)"
    assert ask(tree, f"{tree}/src/*.py") == f"{tree}/src/b.py"


def test_a_pattern_that_leads_out_is_an_error(tree):
    for pattern in ("../*", "/etc/*"):
        with pytest.raises(ToolError, match="leads out"):
            ask(tree, pattern)


def test_a_list_is_one_level(tree):
    assert entries(tree) == f"{tree}/a.py\n{tree}/empty/\n{tree}/src/\n(ignored files left out)"
    assert entries(tree, path="src") == f"{tree}/src/b.py\n{tree}/src/d\n{tree}/src/deep/"
    assert entries(tree, path="empty") == "(none)"
    assert entries(tree, path="a.py") == f"{tree}/a.py"


def test_links_are_entries_and_a_dangling_one_is_noted(tmp_path):
    fill(tmp_path, d__a="")
    (tmp_path / "to").symlink_to("d")
    (tmp_path / "loose").symlink_to("gone")
    assert entries(tmp_path) == f"{tmp_path}/d/\n{tmp_path}/loose\n{tmp_path}/to\n(unreadable: {tmp_path}/loose)"
    assert ask(tmp_path, "**") == f"{tmp_path}/d/a\n(unreadable: {tmp_path}/loose)"
    for path in ("loose", "none"):
        with pytest.raises(ToolError, match=str(tmp_path)):
            entries(tmp_path, path=path)


def test_a_name_with_a_line_feed_stays_on_its_line(tmp_path):
    write(tmp_path, "a\nrg: b", "")
    write(tmp_path, "x\ny.log", "")
    write(tmp_path, ".ignore", "*.log\n")
    assert ask(tmp_path, "**") == f"{tmp_path}/a\\nrg: b\n(ignored files left out)"
    assert entries(tmp_path) == f"{tmp_path}/a\\nrg: b\n(ignored files left out)"


def test_names_that_are_no_utf_8(tmp_path):
    write(tmp_path, os.fsdecode(b"\xfe"), "")
    write(tmp_path, os.fsdecode(b"\xfd.log"), "")
    write(tmp_path, ".gitignore", "*.log\n")
    assert entries(tmp_path) == f"{tmp_path}/\ufffd\n(ignored files left out)"
    assert ask(tmp_path, "*.log") == "(none)\n(ignored files left out)"


@pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("setpriv") is None or os.geteuid() != 0, reason="needs root"
)
def test_an_unreadable_folder_is_noted(tmp_path):
    fill(tmp_path, d__a="x\n", b="x\n")
    (tmp_path / "d").chmod(0)
    code = (
        "import sys; sys.path.insert(0, 'tests'); from pathlib import Path; from search_world import world;"
        "from nbcontext.tools import glob;"
        f"w = world(Path({str(tmp_path)!r}));"
        "print(glob.run(glob.GlobArguments(pattern='**'), w).text)"
    )
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    command = ["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip("another user cannot run the interpreter here")
    assert ran.stdout == f"{tmp_path}/b\n(unreadable: {tmp_path}/d)\n"
