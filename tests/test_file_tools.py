"""`read`, `edit`, `multiedit`, `apply_patch`, `write` and `recall` on real files, through the real pipeline."""

import hashlib
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from nbcontext import assets, lines
from nbcontext.errors import ToolError
from nbcontext.files.encoding import NotTextError, decode
from nbcontext.files.root import Root
from nbcontext.hygiene import DedupeTable, Surroundings, insert
from nbcontext.tools import apply_patch, edit, multiedit, read, recall, write
from nbcontext.world import World

TOOLS = {module.tool().name: module.tool() for module in (read, recall, edit, multiedit, apply_patch, write)}
CONTEXT = assets.loop().context


@dataclass
class ListShelf:
    """Stored results in a list."""

    texts: list = field(default_factory=list)
    stand_ins: dict = field(default_factory=dict)

    def total(self, number):
        return lines.count(self.texts[number - 1]) if 1 <= number <= len(self.texts) else None

    def lines(self, number, offset):
        return lines.iterate(self.texts[number - 1], offset)

    def stand_in(self, line):
        return self.stand_ins.get(line)


class Bench:
    """A root, and the results of the calls made in it."""

    def __init__(self, folder):
        self.folder = folder
        self.table = DedupeTable()
        self.shelf = ListShelf()

    def call(self, tool, **arguments):
        world = World(
            root=Root(self.folder),
            context=CONTEXT,
            table=self.table,
            shelf=self.shelf,
            cache_folder=self.folder,
            environment={},
        )
        outcome = TOOLS[tool].run(TOOLS[tool].arguments.model_validate(arguments), world)
        number = len(self.shelf.texts) + 1
        made = insert(outcome, Surroundings(context=CONTEXT, table=self.table), number=number, call_id="c", tool=tool)
        self.table = self.table.add(made.result)
        self.shelf.texts.append(made.stored)
        return made.result.sent

    def fails(self, tool, **arguments):
        before = {p: p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}
        with pytest.raises(ToolError) as caught:
            self.call(tool, **arguments)
        assert {p: p.read_bytes() for p in self.folder.rglob("*") if p.is_file()} == before
        return f"{caught.value.kind}: {caught.value.text}"


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def sha(data):
    return hashlib.sha256(data).hexdigest()[:8]


def test_read(bench):
    (bench.folder / "f").write_bytes(b"\xff\xfea\0\r\0\n\0\n\0b\0")
    data = (bench.folder / "f").read_bytes()
    assert bench.call("read", path="./f") == f"[#0001 ./f lines 1-3 of 3 sha {sha(data)}]\n1: a\n2: \n3: b"
    assert bench.call("read", path="f", offset="2", limit=1).startswith("[#0002 f lines 2-2 of 3 sha")
    (bench.folder / "p").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    assert (
        bench.fails("read", path="p")
        == f"error: {bench.folder}/p is binary (PNG image, 9 bytes) and is not shown or edited as text. Use bash or python for it."
    )
    with pytest.raises(ValidationError):
        bench.call("read", path="f", offset=0)
    with pytest.raises(ValidationError):
        bench.call("read", path="f", lines=3)


def test_a_file_must_have_been_seen_as_it_is(bench):
    path = bench.folder / "f"
    path.write_text("a\n")
    change = {"path": "f", "old_string": "a", "new_string": "b"}
    patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch"
    for tool, arguments in (
        ("edit", change),
        ("write", {"path": "f", "content": "x"}),
        ("apply_patch", {"patch": patch}),
        ("multiedit", {"path": "f", "edits": [{"old_string": "a", "new_string": "b"}]}),
    ):
        said = bench.fails(tool, **arguments)
        assert said.startswith(f"refused: {path} exists but no read, write or edit of it is in front of you")
        assert "Read it first" in said
    bench.call("read", path="f")
    path.write_text("a\nmore\n")
    assert bench.fails("edit", **change).startswith(f"refused: {path} changed since it was last seen here.")
    bench.call("read", path="f")
    bench.call("edit", **change)
    bench.call("edit", path="f", old_string="b", new_string="c")  # an edit has been seen too
    path.unlink()
    assert bench.fails("edit", **change).startswith(f"error: {path} does not exist.")


def test_edit(bench):
    (bench.folder / "f").write_bytes(b"one\r\ntwo\r\nthree")
    bench.call("read", path="f")
    new = b"one\r\n2\r\n3\r\nthree"
    assert (
        bench.call("edit", path="f", old_string="two", new_string="2\n3")
        == f"[#0002 f sha {sha(new)}]\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+3\n three\n\\ No newline at end of file"
    )
    assert (bench.folder / "f").read_bytes() == new


def test_edit_errors_name_what_and_where(bench):
    path = bench.folder / "f"
    path.write_text("def f():\n\treturn  1\nx\nx\nx = 2\n")
    bench.call("read", path="f")
    assert "old_string is 3 times in" in (said := bench.fails("edit", path="f", old_string="x", new_string="y"))
    assert "at lines 3, 4, 5." in said
    said = bench.fails("edit", path="f", old_string="def f():\n    return 1", new_string="y")
    assert "1: def·f():\n2: →return··1\n" in said
    assert "old_string is empty" in bench.fails("edit", path="f", old_string="", new_string="y")
    assert "are equal" in bench.fails("edit", path="f", old_string="x", new_string="x")
    assert "U+D800" in bench.fails("edit", path="f", old_string="def", new_string="\ud800")
    assert "U+0000" in bench.fails("edit", path="f", old_string="def", new_string="\0")
    assert str(path) in bench.fails("edit", path="f", old_string="zzzzzz", new_string="y")


def test_multiedit_is_all_or_nothing(bench):
    (bench.folder / "f").write_text("a\n")
    bench.call("read", path="f")
    ab, bc, ca = ({"old_string": o, "new_string": n} for o, n in ("ab", "bc", "ca"))
    assert 'Edit 2 (old_string "a"): old_string is not in' in bench.fails("multiedit", path="f", edits=[ab, ab])
    assert "changes nothing" in bench.fails("multiedit", path="f", edits=[ab, bc, ca])
    assert "Give at least one" in bench.fails("multiedit", path="f", edits=[])
    assert bench.call("multiedit", path="f", edits=[ab, bc]).endswith("\n@@ -1 +1 @@\n-a\n+c")


def test_write(bench):
    digits = sha(b"a\nb")
    assert bench.call("write", path="d/n.md", content="a\nb") == f"[#0001 d/n.md sha {digits}] Created, 2 lines."
    (bench.folder / "c").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    bench.call("read", path="c")
    assert bench.call("write", path="c", content="a\nb\n").endswith("] Unchanged.")
    bench.call("write", path="c", content="a\nc\n")
    assert (bench.folder / "c").read_bytes() == b"\xef\xbb\xbfa\r\nc\r\n"
    assert "names" not in bench.call("write", path="empty", content="").split("] ")[0]
    assert bench.call("write", path="empty", content="x\n").endswith("\n@@ -0,0 +1 @@\n+x")
    assert "final slash" in bench.fails("write", path="new/", content="x")
    assert "is a folder" in bench.fails("write", path="d", content="x")
    assert bench.fails("write", path="../x", content="x").startswith("refused: ")


def test_an_encoding_that_cannot_hold_a_character_names_it(bench):
    (bench.folder / "f").write_bytes(b"caf\xe9\n")
    bench.call("read", path="f")
    assert "is Latin-1, which cannot hold the character U+20AC." in bench.fails(
        "edit", path="f", old_string="caf", new_string="€"
    )
    assert "would not read back" in bench.fails("edit", path="f", old_string="é", new_string="Ã©")


def test_what_stands_for_a_text_is_not_written(bench):
    mark = "[900 lines elided, full output #0020]"
    bench.shelf.stand_ins[mark] = 32
    (bench.folder / "f").write_text("a\n")
    bench.call("read", path="f")
    patch = f"*** Begin Patch\n*** Add File: n\n+{mark}\n*** End Patch"
    for tool, arguments in (
        ("write", {"path": "n", "content": f"a\r\n{mark}\r\nb"}),
        ("edit", {"path": "f", "old_string": "a", "new_string": mark}),
        ("multiedit", {"path": "f", "edits": [{"old_string": "a", "new_string": f"x\n{mark}\n"}]}),
        ("apply_patch", {"patch": patch}),
    ):
        said = bench.fails(tool, **arguments)
        assert said.startswith("refused: ")
        assert "Recall #0020" in said


def test_patch_over_several_files(bench):
    for name, text in (("a", "1\n2\n"), ("old", "x\n"), ("m", "k\nl\n")):
        (bench.folder / name).write_text(text)
        bench.call("read", path=name)
    (bench.folder / "m").chmod(0o751)
    sent = bench.call(
        "apply_patch",
        patch="*** Begin Patch\n*** Update File: a\n 1\n-2\n+3\n*** Add File: d/new\n+n\n*** Delete File: old\n*** Update File: m\n*** Move to: d/m2\n-k\n+K\n*** End Patch\n",
    )
    assert sent.split("\n") == [
        "[#0004]",
        "[a sha " + sha(b"1\n3\n") + "]",
        *("@@ -1,2 +1,2 @@", " 1", "-2", "+3"),
        "[d/new sha " + sha(b"n\n") + "] Created, 1 lines.",
        "[old deleted]",
        "[d/m2 sha " + sha(b"K\nl\n") + "] Moved from m.",
        *("@@ -1,2 +1,2 @@", "-k", "+K", " l"),
    ]
    assert sorted(p.name for p in bench.folder.rglob("*")) == ["a", "d", "m2", "new"]
    assert (bench.folder / "d/m2").stat().st_mode & 0o777 == 0o751
    alone = bench.call("apply_patch", patch="*** Begin Patch\n*** Update File: d/m2\n*** Move to: m3\n*** End Patch")
    assert alone.startswith("[#0005 m3 sha ")
    assert alone.endswith("] Moved from d/m2.")
    assert (
        bench.call("apply_patch", patch="*** Begin Patch\n*** Delete File: m3\n*** End Patch") == "[#0006 m3 deleted]"
    )


def test_patch_errors_write_nothing(bench):
    (bench.folder / "a").write_text("1\n2\n2\n")
    (bench.folder / "link").symlink_to("a")
    bench.call("read", path="a")
    good = "*** Add File: new\n+n\n"

    def fails(body):
        return bench.fails("apply_patch", patch=f"*** Begin Patch\n{good}{body}\n*** End Patch")

    assert "at lines 2, 3:\n2\n" in fails("*** Update File: a\n-2\n+3")
    assert "white" not in (said := fails("*** Update File: a\n-  9\n 2"))
    assert "1: 1\n2: 2\n" in said
    assert "are not the last of" in fails("*** Update File: a\n-1\n*** End of File")
    assert "exists already" in fails("*** Add File: a\n+x")
    assert "named twice" in fails("*** Update File: a\n*** Move to: link\n-1")
    assert "named twice" in fails("*** Update File: a\n-1\n*** Delete File: ./link")
    assert "named twice" in fails("*** Delete File: a\n*** Add File: a\n+x")
    assert "is a link to" in fails("*** Delete File: link")
    assert 'Line 4 of the patch ("nonsense"): ' in fails("nonsense")
    assert "a part of it that should be a folder is a file" in fails("*** Add File: a/b\n+x")
    assert fails("*** Add File: ../x\n+x").startswith("refused")
    assert "changes nothing" in bench.fails(
        "apply_patch", patch="*** Begin Patch\n*** Update File: a\n 1\n*** End Patch"
    )
    assert sorted(p.name for p in bench.folder.iterdir()) == ["a", "link"]


def test_only_line_endings_changed(bench):
    (bench.folder / "f").write_bytes(b"a\nb\r\n")
    bench.call("read", path="f")
    assert bench.call(
        "multiedit",
        path="f",
        edits=[{"old_string": "a\nb\n", "new_string": "x"}, {"old_string": "x", "new_string": "a\nb\n"}],
    ).endswith("] Changed, line endings only.")


@pytest.mark.parametrize("form", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1"])
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["é", "b", "", "x\r", "\x0c"]), st.sampled_from(["\n", "\r\n"])), max_size=6
    ),
    at=st.integers(0, 6),
    new=st.sampled_from(["", "n", "n\nm", "ü\r\n"]),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_an_edit_changes_no_byte_outside_its_match(tmp_path_factory, form, rows, at, new):
    bench = Bench(tmp_path_factory.mktemp("edit"))
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(form, b"")
    codec = form.removesuffix("-sig")
    mark = b"\xef\xbb\xbf" if form == "utf-8-sig" else mark
    before = "é" + "".join(map("".join, rows[:at]))
    after = "".join(map("".join, rows[at:])) + "é"
    path = bench.folder / "f"
    path.write_bytes(mark + (before + "MATCH" + after).encode(codec))
    bench.call("read", path="f")
    bench.call("edit", path="f", old_string="MATCH", new_string=new)
    data = path.read_bytes()
    head, tail = mark + before.encode(codec), after.encode(codec)
    assert data.startswith(head)
    assert data.endswith(tail)
    middle = data[len(head) : len(data) - len(tail)].decode(codec)
    end = "\r\n" if "\n" in after and after.split("\n")[0].endswith("\r") else "\n"
    if "\n" not in after and "\n" in before:
        end = "\r\n" if before[: before.rindex("\n")].endswith("\r") else "\n"
    assert middle == new.replace("\r\n", "\n").replace("\n", end)


@given(st.binary(max_size=40))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_bytes_are_read_as_text_or_turned_down(tmp_path_factory, data):
    bench = Bench(tmp_path_factory.mktemp("any"))
    (bench.folder / "f").write_bytes(data)
    try:
        decode(data)
    except NotTextError:
        assert "is binary" in bench.fails("read", path="f")
    else:
        assert bench.call("read", path="f").startswith("[#0001 f ")


def test_recall(bench):
    bench.shelf.texts += ["a\nb\nc", ""] + ["x"] * 10
    assert bench.call("recall", id="#0001", offset=2) == "[#000d recall #0001 lines 2-3 of 3]\nb\nc"
    assert bench.call("recall", id="000C", column=1) == "[#000e recall #000c lines 1-1 of 1]\nx"
    assert bench.call("recall", id=2) == "[#000f recall #0002 empty]"
    assert bench.call("recall", id="#FFFF") == "[#0010] No stored result #ffff in this session."
    assert bench.call("recall", id="0") == "[#0011] No stored result #0000 in this session."
    assert bench.call("recall", id="what\nis") == "[#0012] No stored result what\\nis in this session."
    assert len(bench.call("recall", id="f" * 100_000)) < 200
    with pytest.raises(ValidationError):
        bench.call("recall", id="1", column=0)


def test_schemas_and_descriptions():
    for name, tool in TOOLS.items():
        assert tool.name == name
        assert tool.description
        assert all("description" in field for field in tool.arguments.model_json_schema()["properties"].values())
