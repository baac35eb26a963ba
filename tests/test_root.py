"""Where paths lead, what is read, and that files change all together or not at all (decisions 13 and 31)."""

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbcontext import assets
from nbcontext.errors import ToolError
from nbcontext.files.root import FileChange, Root

ERRORS = assets.loop().context.errors.files


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A root with links of every sort, beside a folder that must never be touched."""
    top = tmp_path_factory.mktemp("tree")
    outside, root = top / "outside", top / "root"
    (outside / "d").mkdir(parents=True)
    (outside / "secret").write_text("secret")
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "f").write_text("f")
    (root / "out").symlink_to(outside)
    (root / "a" / "up").symlink_to("..")
    (root / "a" / "out2").symlink_to("../../outside/d")
    (root / "dangling").symlink_to("../outside/new")
    (root / "loop").symlink_to("loop2")
    (root / "loop2").symlink_to("loop")
    (root / "self").symlink_to(root)
    (root / "inner").symlink_to("a/f")
    (root / "rootlike").mkdir()
    (top / "root2").mkdir()
    return root


NAMES = st.sampled_from(
    [
        "a",
        "b",
        "f",
        "..",
        ".",
        "",
        "out",
        "up",
        "out2",
        "dangling",
        "loop",
        "self",
        "secret",
        "d",
        "new",
        "inner",
        "~",
        "\\",
    ]
)


@given(st.lists(NAMES, min_size=1, max_size=7).map("/".join), st.booleans())
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_outside_is_ever_read_or_written(tree, path, absolute):
    root = Root(tree)
    given_path = f"{tree}/{path}" if absolute else path
    before = sorted((str(p), p.read_bytes() if p.is_file() else None) for p in (tree.parent / "outside").rglob("*"))
    try:
        located = root.locate(given_path, ERRORS)
    except ToolError:
        return
    assert located.resolved == str(tree) or located.resolved.startswith(f"{tree}/")
    assert os.path.realpath(located.absolute) == located.resolved
    with suppress(ToolError):
        assert root.read(located, ERRORS) != b"secret"
    with suppress(ToolError):
        if not root.exists(located, ERRORS):
            root.replace(located, b"new", ERRORS, before=None)
            root.apply([FileChange(located=located, before=b"new", after=None)], ERRORS)
    after = sorted((str(p), p.read_bytes() if p.is_file() else None) for p in (tree.parent / "outside").rglob("*"))
    assert after == before


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../root2/x",
        "/etc/passwd",
        "out/secret",
        "out/new/x",
        "dangling",
        "a/../../outside/secret",
        "~",
        "~root/x",
        "a/up/../x",
    ],
)
def test_outside_is_refused_and_named(tree, path):
    with pytest.raises(ToolError) as caught:
        Root(tree).locate(path, ERRORS)
    assert caught.value.kind == "refused"
    assert "/" in caught.value.text


@pytest.mark.parametrize(
    "path", ["", "  ", "a\0b", "loop", "loop/x", "x" * 5000, "y" * 300, "a/f/x", "\ud800", "a\\f", "~nobodyhere\\x"]
)
def test_what_is_no_path_is_an_error(tree, path):
    root = Root(tree)
    with pytest.raises(ToolError) as caught:
        root.read(root.locate(path, ERRORS), ERRORS)
    assert caught.value.kind == "error"


def test_a_backslash_shows_the_other_form_but_names_a_file_that_has_it(tmp_path):
    with pytest.raises(ToolError, match=r"try src/app\.py"):
        Root(tmp_path).locate("src\\app.py", ERRORS)
    (tmp_path / "a\\b").write_text("x")
    root = Root(tmp_path)
    assert root.read(root.locate("a\\b", ERRORS), ERRORS) == b"x"


def test_absolute_names_the_file_that_links_and_dots_lead_to(tree):
    root = Root(tree)
    assert root.locate("a/./b/../f", ERRORS).absolute == f"{tree}/a/f"
    assert root.locate("self/a/f", ERRORS).resolved == f"{tree}/a/f"
    assert root.locate("inner", ERRORS).absolute == f"{tree}/inner"


def test_only_regular_files_are_read_and_nothing_blocks(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(tmp_path)  # a socket's path must be short
        try:
            made.bind("sock")
        finally:
            os.chdir(here)
    root = Root(tmp_path)
    for name, said in (("fifo", "a pipe"), ("sock", "a socket"), (".", "is a folder")):
        with pytest.raises(ToolError, match=said):
            root.read(root.locate(name, ERRORS), ERRORS)


def test_a_missing_file_names_its_like(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "readme.md").touch()
    root = Root(tmp_path)
    with pytest.raises(ToolError, match=r"Like it there are: .*/docs/readme\.md\."):
        root.read(root.locate("docs/readme.txt", ERRORS), ERRORS)
    with pytest.raises(ToolError, match=f"List {tmp_path}/docs for"):
        root.read(root.locate("docs/zzz", ERRORS), ERRORS)


def test_a_large_file_is_turned_down(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    root = Root(tmp_path)
    with pytest.raises(ToolError, match=str(1 << 40)):
        root.read(root.locate("sparse", ERRORS), ERRORS, 1000)


def test_a_link_put_in_after_locating_leads_nowhere(tree, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("inside")
    root = Root(tmp_path)
    located = root.locate("d/f", ERRORS)
    new = root.locate("d/g", ERRORS)
    (tmp_path / "d").rename(tmp_path / "e")
    (tmp_path / "d").symlink_to(tree.parent / "outside")
    for attempt in (lambda: root.read(located, ERRORS), lambda: root.replace(new, b"x", ERRORS, before=None)):
        with pytest.raises(ToolError):
            attempt()
    assert not (tree.parent / "outside" / "g").exists()


def files(folder):
    return {str(p.relative_to(folder)): (p.read_bytes() if p.is_file() else None) for p in folder.rglob("*")}


def test_replacing_keeps_mode_and_link(tmp_path):
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "f").chmod(0o754)
    (tmp_path / "link").symlink_to("f")
    root = Root(tmp_path)
    root.replace(root.locate("link", ERRORS), b"new", ERRORS, before=b"old")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "f").read_bytes() == b"new"
    assert (tmp_path / "f").stat().st_mode & 0o7777 == 0o754
    assert sorted(files(tmp_path)) == ["f", "link"]


def test_a_new_file_gets_folders_and_the_umask(tmp_path):
    root = Root(tmp_path)
    old = os.umask(0o027)
    try:
        root.replace(root.locate("x/y/f", ERRORS), b"new", ERRORS, before=None)
    finally:
        os.umask(old)
    assert files(tmp_path) == {"x": None, "x/y": None, "x/y/f": b"new"}
    assert (tmp_path / "x/y/f").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("broken", ["changed", "taken", "blocked", "vanished", "long"])
@given(order=st.permutations(range(5)))
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_all_files_change_or_none(tmp_path_factory, broken, order):
    top = tmp_path_factory.mktemp("all")
    for name in ("edit", "gone", "other"):
        (top / name).write_bytes(name.encode())
    root = Root(top)

    def change(path, before, after):
        return FileChange(located=root.locate(path, ERRORS), before=before, after=after)

    bad = {
        "changed": change("other", b"another", b"x"),
        "taken": change("other", None, b"x"),
        "vanished": change("missing", b"x", b"y"),
        # Both are fine until their names are given: only then does the second find a file where it needs a folder.
        "blocked": change("new/deep/f/below", None, b"x"),
        "long": change("q/" + "n" * 300, None, b"x"),
    }[broken]
    good = [
        change("edit", b"edit", b"EDIT"),
        change("gone", b"gone", None),
        change("new/deep/f", None, b"f"),
        change("also", None, b"a"),
    ]
    before = files(top)
    with pytest.raises(ToolError):
        root.apply([[*good, bad][i] for i in order], ERRORS)
    assert files(top) == before
    root.apply(good, ERRORS)
    assert files(top) == {
        "edit": b"EDIT",
        "other": b"other",
        "new": None,
        "new/deep": None,
        "new/deep/f": b"f",
        "also": b"a",
    }


def test_two_writers_do_not_interleave(tmp_path):
    (tmp_path / "a").write_bytes(b"0")
    (tmp_path / "b").write_bytes(b"0")
    root, lost = Root(tmp_path), []

    def count():
        for _ in range(20):
            while True:
                a, b = root.locate("a", ERRORS), root.locate("b", ERRORS)
                old = root.read(a, ERRORS)
                new = str(int(old) + 1).encode()
                try:
                    root.apply(
                        [FileChange(located=a, before=old, after=new), FileChange(located=b, before=old, after=new)],
                        ERRORS,
                    )
                    break
                except ToolError as error:
                    lost.append(error.kind)

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert files(tmp_path) == {"a": b"60", "b": b"60"}
    assert set(lost) <= {"refused"}


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to the superuser")
def test_what_is_closed_is_an_error(tmp_path):
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / "f").chmod(0o400)
    root = Root(tmp_path)
    with pytest.raises(ToolError, match="permission denied"):
        root.replace(root.locate("f", ERRORS), b"y", ERRORS, before=b"x")
    (tmp_path / "f").chmod(0)
    with pytest.raises(ToolError, match="permission denied"):
        root.read(root.locate("f", ERRORS), ERRORS)
