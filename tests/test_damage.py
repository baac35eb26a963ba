"""A damaged store is kept and told of, a new one is begun beside it, and what can be read of it comes out."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_world import call, new, says, setup, shapes

from nbcontext.cli import main
from nbcontext.engine import Surface
from nbcontext.errors import SessionError, StoreError, UsageError
from nbcontext.session import Session
from nbcontext.settings import Settings
from nbcontext.store import Store, pages, transfer
from nbcontext.store.salvage import salvage
from nbcontext.store.verify import verify
from nbcontext.testing import ScriptedModel

PAGE = 4096


def turn(number):
    """What a model does in one turn of the sample."""
    return [
        says("Look.", call("read", json.dumps({"path": f"{number % 3}.txt"})), call("bash", '{"command": "seq 900"}')),
        says("", call("write", json.dumps({"path": f"n{number}.txt", "content": "é\n" * 40})), call("nope", "{")),
        says(f"Answer {number}. " + "words " * 100),
    ]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A folder with a store of an agent's and a chat's session, and each as it is exported."""
    folder = tmp_path_factory.mktemp("sample")
    (folder / "root").mkdir()
    for number in range(3):
        (folder / "root" / f"{number}.txt").write_text(f"line {number}\n" * 60)
    for name, kind in (("s", "agent"), ("c", "chat")):
        script = [reply for number in range(8) for reply in turn(number)]
        session, _ = new(folder, [*script, says("A summary."), *turn(8), *turn(9), says("So.")], name, kind=kind)
        for number in range(8):
            session.mode = ("plan", "auto")[number % 2]
            session.ask(f"Question {number}")
        session.undo()
        session.compact()
        session.ask("After")
        session.note("mind")
        session.ask("At last")
        session.export(folder / f"{name}.jsonl")
        session.close()
    session.log.store.close()
    return folder


@pytest.fixture
def home(sample, tmp_path, monkeypatch):
    """A copy of the sample's store, to be damaged."""
    shutil.copytree(sample / "home", tmp_path / "home", ignore=shutil.ignore_patterns("cache", "*-shm"))
    monkeypatch.setenv("NBCONTEXT_HOME", str(tmp_path / "home"))
    with sqlite3.connect(tmp_path / "home" / "sessions.sqlite") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return tmp_path / "home"


def overwrite(file, place, data):
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(data)


def noise(length, seed=1):
    return random.Random(seed).randbytes(length)


DAMAGES = {
    "header": lambda file: overwrite(file, 0, bytes(100)),
    "first page": lambda file: overwrite(file, 0, noise(PAGE)),
    "some pages": lambda file: overwrite(file, 12 * PAGE, noise(6 * PAGE)),
    "middle": lambda file: overwrite(file, file.stat().st_size // 2, noise(PAGE // 2)),
    "cut": lambda file: os.truncate(file, file.stat().st_size * 2 // 3 + 17),
    "short": lambda file: os.truncate(file, 60),
    "another file": lambda file: file.write_bytes(b"This is no database.\n" * 900),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_kept_told_of_and_replaced(home, damage, capsys):
    file = home / "sessions.sqlite"
    DAMAGES[damage](file)
    before = file.read_bytes()

    assert main(["verify"]) == 1
    assert str(file) in capsys.readouterr().out
    assert [place.name for place in home.glob("*.sqlite")] == ["sessions.sqlite"]

    told = []
    model = ScriptedModel([says("Hello.")])
    (home.parent / "root").mkdir()
    made = setup(home.parent, model, surface=Surface(show=lambda event: told.append(getattr(event, "text", ""))))
    session = Session.new("fresh", root=home.parent / "root", setup=made)
    assert session.ask("Hi").text == "Hello."
    assert len([line for line in told if str(file) in line and "--salvage" in line and "\n" not in line]) == 1
    assert session.log.store.file == home / "sessions-2.sqlite"
    Session.new("second", root=home.parent / "root", setup=made)
    assert len([line for line in told if str(file) in line]) == 1

    again = Store(home)
    assert again.file == home / "sessions-2.sqlite"
    assert {row.name for row in again.sessions()} == {"fresh", "second"}
    assert str(file) in again.take_told()
    again.close()
    assert main(["verify"]) == 1
    assert main(["sessions"]) == 0
    assert file.read_bytes() == before
    assert not (home / "sessions.sqlite-wal").exists() or not (home / "sessions.sqlite-wal").stat().st_size


@pytest.mark.parametrize("damage", ["header", "first page", "some pages", "middle", "cut"])
def test_what_is_salvaged_goes_on(home, damage, capsys):
    DAMAGES[damage](home / "sessions.sqlite")
    for name in ("s", "c"):
        found = brought_out(home / "sessions.sqlite", name, 1 if name == "s" else 2, home / "out.jsonl")
        if damage in ("header", "first page"):
            assert "nothing was lost" in found.summary
        goes_on(home / "out.jsonl")


def brought_out(file, name, number, out):
    """What is salvaged of a session, under its own name or what stands for it; None: nothing of it is left."""
    try:
        return salvage([file], name, out)
    except SessionError as error:
        if f"'lost-{number}'" not in str(error):
            return None
    found = salvage([file], f"lost-{number}", out)
    assert found.lost_head
    return found


def goes_on(file):
    """An exported session is imported, and goes on: its requests are well-formed, its ids unique, its results there."""
    folder = Path(file).parent / "again"
    shutil.rmtree(folder, ignore_errors=True)
    store = Settings(home=folder / "home").open_store()
    name = transfer.import_(store, file)
    model = ScriptedModel([says("", call("list")), says("Well.")])
    session = Session.resume(name, setup=setup(folder, model))
    numbers = [int(value[1:], 16) for value in session.results["id"]]
    assert len(set(numbers)) == len(numbers)
    assert numbers == sorted(numbers)
    for value in session.results["id"]:
        session.recall(value)
    if session.history.prefix is None:
        return session
    session.root.mkdir(exist_ok=True, parents=True)
    session.mode = "auto"
    reply = session.ask("Go on")
    assert reply.text == "Well."
    assert all(shapes(request) == [] for request in model.requests)
    assert reply.results[0].number == max(numbers, default=0) + 1
    session.undo()
    session.ask("And again")
    assert shapes(model.requests[-1]) == []
    return session


@pytest.mark.parametrize("name", ["s", "c"])
def test_of_a_whole_store_a_salvage_is_an_export(sample, tmp_path, name):
    found = salvage([sample / "home" / "sessions.sqlite"], name, tmp_path / "out.jsonl")
    assert "nothing was lost" in found.summary
    assert (tmp_path / "out.jsonl").read_bytes() == (sample / f"{name}.jsonl").read_bytes()


def test_what_is_only_in_the_log_of_the_database_is_read(tmp_path):
    session, _ = new(tmp_path, [says("", call("bash", '{"command": "seq 20000"}')), says("So.")])
    session.ask("Look")
    session.export(tmp_path / "one.jsonl")
    assert (tmp_path / "home" / "sessions.sqlite-wal").stat().st_size > 0
    salvage([tmp_path / "home" / "sessions.sqlite"], "s", tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_whatever_is_damaged_what_comes_out_goes_on(sample, tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damage")
    file = folder / "sessions.sqlite"
    source = sqlite3.connect(sample / "home" / "sessions.sqlite")
    target = sqlite3.connect(file)
    source.backup(target)
    source.close()
    target.close()
    size = file.stat().st_size
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, size))
        length = data.draw(st.sampled_from([1, 40, 500, PAGE, 5 * PAGE, 15 * PAGE]))
        filler = data.draw(st.sampled_from([bytes, noise, lambda n: b"\xff" * n, lambda n: b" " * n]))
        overwrite(file, place - place % PAGE if data.draw(st.booleans()) else place, filler(length))
    if brought_out(file, "s", 1, folder / "out.jsonl") is None:
        return
    goes_on(folder / "out.jsonl")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DELETE FROM texts", "results have lost their stored text"),
        ("DELETE FROM results WHERE number IN (2, 3, 9)", "3 entries could not be kept"),
        ("DELETE FROM results", "entries could not be kept"),
        ("DELETE FROM entries WHERE kind = 'Inserted'", "nothing was lost"),
        ("DELETE FROM entries WHERE kind = 'TurnBegan' AND turn = 2", "could not be kept"),
        ("DELETE FROM entries WHERE kind = 'Replied' AND turn IN (1, 3)", "could not be kept"),
        ("DELETE FROM entries WHERE kind = 'PrefixMade' AND entry < 5", "could not be kept"),
        ("DELETE FROM entries WHERE kind = 'PrefixMade'", "could not be kept"),
        ("UPDATE entries SET payload = substr(payload, 1, 40) WHERE entry % 7 = 0", "could not be kept"),
        ("UPDATE entries SET payload = '{}' WHERE kind = 'Replied'", "could not be kept"),
        ("UPDATE sessions SET options = '{', kind = '?'", "nothing was lost"),
        ("DELETE FROM sessions", "what the session was made with is lost"),
    ],
)
def test_rows_that_are_gone(home, change, said):
    with sqlite3.connect(home / "sessions.sqlite") as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        assert connection.execute(change).rowcount > 0
    connection.close()
    name = "lost-1" if "sessions" in change and "DELETE" in change else "s"
    found = salvage([home / "sessions.sqlite"], name, home / "out.jsonl")
    assert said in found.summary
    session = goes_on(home / "out.jsonl")
    if "DELETE FROM texts" in change:
        assert found.lost_texts > 0
        own = session.results.set_index("id")["kind"]
        assert session.recall("#0001").startswith("1: line 0")  # what was sent whole is its text
        assert {session.recall(value) for value, kind in own.items() if kind == "capped"} == {""}
    if "IN (2, 3, 9)" in change:
        assert session.recall("#0002").startswith("Lost:")


def test_a_result_that_is_lost_is_said_to_be(home):
    with sqlite3.connect(home / "sessions.sqlite") as connection:
        connection.execute("DELETE FROM entries WHERE entry IN (SELECT entry FROM results WHERE number = 5)")
        connection.execute("DELETE FROM results WHERE number = 5")
    connection.close()
    salvage([home / "sessions.sqlite"], "s", home / "out.jsonl")
    session = goes_on(home / "out.jsonl")
    assert "#0005" in list(session.results["id"])
    assert session.recall("5").startswith("Lost: the store of the session was damaged")


def test_the_command_brings_it_out(home, capsys):
    DAMAGES["some pages"](home / "sessions.sqlite")
    Store(home).close()
    assert main(["export", "s", str(home / "out.jsonl"), "--salvage"]) == 0
    assert "s is in" in capsys.readouterr().out
    assert (home / "out.jsonl").stat().st_mode & 0o777 == 0o600
    assert main(["export", "nope", str(home / "out.jsonl"), "--salvage"]) == 2
    assert "'c'" in capsys.readouterr().err
    assert main(["export", "s", str(home / "missing" / "out.jsonl"), "--salvage"]) == 2
    goes_on(home / "out.jsonl")


def test_another_database_is_not_salvaged(home, monkeypatch, capsys):
    monkeypatch.setenv("NBCONTEXT_STORE", f"sqlite:///{home}/sessions.sqlite")
    assert main(["export", "s", str(home / "out.jsonl"), "--salvage"]) == 0
    monkeypatch.setenv("NBCONTEXT_STORE", "postgresql://me:secret@nowhere/x")
    assert main(["export", "s", str(home / "out.jsonl"), "--salvage"]) == 2
    said = capsys.readouterr().err
    assert "SQLite" in said
    assert "secret" not in said


def test_a_store_that_breaks_while_it_is_open(home):
    own = Settings(model="test/m", home=home)
    store = own.open_store()
    assert len(store.sessions()) == 2
    store.close()
    file = home / "sessions.sqlite"
    overwrite(file, PAGE, noise(file.stat().st_size - PAGE))
    with pytest.raises(StoreError, match=r"is damaged .*--salvage"):
        [list(store.log(row.id)) for row in store.sessions()]
    assert own.open_store() is not store
    assert own.open_store().file == home / "sessions-2.sqlite"
    assert own.open_store() is own.open_store()
    assert verify(own.open_store()).faults == ()
    assert verify(store).faults


@pytest.mark.parametrize(
    ("damaged", "store"),
    [
        ((), "sessions.sqlite"),
        (("sessions.sqlite",), "sessions-2.sqlite"),
        (("sessions-2.sqlite", "sessions.sqlite"), "sessions-3.sqlite"),
        (("sessions-3.sqlite",), "sessions.sqlite"),
        (("sessions-9.sqlite", "sessions.sqlite"), "sessions-10.sqlite"),
    ],
)
def test_the_highest_that_opens_is_the_store(tmp_path, damaged, store):
    (tmp_path / "sessions-old.sqlite").write_bytes(b"?" * 5000)
    Store(tmp_path).close()
    for name in damaged:
        (tmp_path / name).write_bytes(b"?" * 5000)
    for _ in range(2):
        opened = Store(tmp_path)
        assert opened.file == tmp_path / store
        told = opened.take_told() or ""
        assert all(word in told for word in ((damaged[0], f" {store} ") if damaged else ()))
        opened.close()
    assert all((tmp_path / name).read_bytes() == b"?" * 5000 for name in damaged)


ROW = st.tuples(
    st.integers(-(2**63), 2**63 - 1),
    st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)),
    st.floats(allow_nan=False),
    st.binary(max_size=30),
)


@given(st.lists(ROW, max_size=30), st.sampled_from([512, 1024, 4096, 65536]), st.integers(0, 9000))
@settings(max_examples=30, deadline=None)
def test_every_row_of_a_file_is_found(tmp_path_factory, own, page, long):
    file = tmp_path_factory.mktemp("pages") / "x.sqlite"
    connection = sqlite3.connect(file)
    connection.execute(f"PRAGMA page_size={page}")
    connection.execute("CREATE TABLE t (a INTEGER, b TEXT, c REAL, d BLOB, e TEXT)")
    own = [(*row, "x" * (long * number % 20_000)) for number, row in enumerate(own)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", own)
    connection.commit()
    connection.close()
    found = {row.rowid: row.values for row in pages.rows(file) if len(row.values) == 5 and row.values[0] != "table"}
    assert [found.get(number) for number in range(1, len(own) + 1)] == own


# -- prompts

BREAKER = """
    import json, shutil, sys
    from pathlib import Path
    from nbcontext import assets
    from nbcontext.errors import AssetError
    from nbcontext.opening import Setup
    from nbcontext.session import Session
    from nbcontext.settings import Settings
    from nbcontext.testing import ScriptedModel
    top, folder = Path(sys.argv[1]), Path(sys.argv[2])
    assert Path(str(assets.top())) == top, assets.top()
    model = ScriptedModel([])
    setup = Setup(settings=Settings(model="test/m", home=folder / "home"), client=model)
    Session.new("old", root=folder, setup=setup).close()
    def attempt(place, content):
        own = place.read_bytes()
        place.unlink() if content is None else place.write_bytes(content)
        assets.loop.cache_clear()
        said = []
        for job in (lambda: Session.new("new", root=folder, setup=setup), lambda: Session.resume("old", setup=setup)):
            try:
                job()
                said.append("")
            except AssetError as error:
                said.append(str(error))
        place.write_bytes(own)
        assets.loop.cache_clear()
        return said
    found = {}
    for place in sorted((top / "prompts").rglob("*.md")):
        name = place.relative_to(top).as_posix()
        found[name] = [attempt(place, content) for content in (b"\\xff\\xfe\\xff", b" \\n")]
        if "personalities" not in name:
            found[name].append(attempt(place, None))
    own = json.loads((top / "loop.json").read_text())
    found["loop.json"] = [attempt(top / "loop.json", text) for text in (
        None, b"", b"{", b"[]", b"{}", json.dumps({**own, "more": 1}).encode(),
        json.dumps({**own, "context": {**own["context"], "note": "no slot"}}).encode())]
    slot = b"x {{unheard_of}} {{transcript}}"
    found["prompts/system.md"].append(attempt(top / "prompts/system.md", slot))
    found["prompts/blocks/server.md"].append(attempt(top / "prompts/blocks/server.md", slot))
    found["prompts/tasks/compact.md"].append(attempt(top / "prompts/tasks/compact.md", b"Summarise."))
    names = [row.name for row in setup.settings.open_store().sessions()]
    print(json.dumps([found, len(model.requests), names]))
"""


def test_a_prompt_that_is_missing_or_broken_is_named_when_a_session_starts(tmp_path):
    here = Path(__file__).parent.parent
    top = tmp_path / "copy"
    top.mkdir()
    shutil.copytree(here / "nbcontext", top / "nbcontext", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(here / "prompts", top / "prompts")
    shutil.copy(here / "loop.json", top)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BREAKER), str(top), str(tmp_path)],
        env={"PYTHONPATH": str(top), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.stderr == ""
    found, sent, names = json.loads(done.stdout)
    assert sent == 0
    assert names == ["old"]
    assert len(found) > 25
    for name, attempts in found.items():
        for number, said in enumerate(attempts):
            assert all(name in line for line in said), (name, number, said)


def test_a_personality_that_is_gone_is_named_when_a_session_is_resumed(tmp_path):
    session, model = new(tmp_path, [says("Yes.")])
    own = tmp_path / "home" / "personalities" / "pirate.md"
    own.parent.mkdir()
    own.write_text("Arr.\n")
    session.personality = "pirate"
    session.ask("Hello")
    session.close()
    own.unlink()
    with pytest.raises(UsageError, match=r"'pirate'.*pirate\.md"):
        Session.resume("s", setup=setup(tmp_path, model))
    assert Session.resume("s", read_only=True, setup=setup(tmp_path, model)).personality == "pirate"
    own.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        Session.resume("s", setup=setup(tmp_path, model))
    assert len(model.requests) == 1
    own.write_text("Arr.\n")
    assert Session.resume("s", setup=setup(tmp_path, model)).ask("Again").text == "Yes."
