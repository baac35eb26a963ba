"""Nothing that was written is lost, whatever ends the process; what was changed behind the store's back is found."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest
from session_world import call, new, says, setup, shapes
from sqlalchemy import text

from nbcontext import lines
from nbcontext.entry import NoteKept
from nbcontext.errors import NbcontextError, SessionError, StoreError, UsageError
from nbcontext.opening import Setup
from nbcontext.plan import PlanItem
from nbcontext.session import Session
from nbcontext.settings import Settings
from nbcontext.store import Store, transfer
from nbcontext.store.verify import verify
from nbcontext.testing import ScriptedModel

KEY = "sk-test-0123456789-abcdefghij"


@pytest.fixture(scope="session")
def postgres():
    """The URL of a PostgreSQL server that runs for the tests."""
    found = shutil.which("initdb") or next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is to be tested here, and there is none")
        pytest.skip("no PostgreSQL")
    binaries = Path(found).resolve().parent
    with tempfile.TemporaryDirectory() as folder:
        data, user = Path(folder, "data"), {}
        if os.geteuid() == 0:  # the server refuses to run as the superuser
            import pwd

            other = pwd.getpwnam("nobody")
            os.chown(folder, other.pw_uid, other.pw_gid)
            user = {"user": other.pw_uid, "group": other.pw_gid}

        def run(program, *arguments):
            subprocess.run([binaries / program, *arguments], check=True, cwd=folder, stdout=subprocess.DEVNULL, **user)

        run("initdb", "-D", data, "-A", "trust", "-U", "tester", "-E", "UTF8", "--locale=C")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        run("pg_ctl", "-D", data, "-l", f"{folder}/log", "-w", "-o", options, "start")
        try:
            yield f"postgresql+psycopg://tester@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """A folder, and the settings of an empty store of each kind."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.txt").write_text("one\ntwo\n")
    if request.param == "sqlite":
        yield tmp_path, Settings(model="test/m", home=tmp_path / "home")
        return
    from sqlalchemy import create_engine

    url = request.getfixturevalue("postgres")
    name = f"t{random.randrange(1 << 60):x}"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    found = Settings(model="test/m", home=tmp_path / "home", store_url=url.replace("/postgres?", f"/{name}?"))
    yield tmp_path, found
    found.open_store().close()


def opened(place, script, name="s"):
    folder, settings = place
    made = Setup(settings=settings, client=ScriptedModel(script))
    return Session.new(name, root=folder / "root", mode="auto", setup=made), made


def test_a_session_comes_back_as_it_was(place):
    script = [
        says("Look.", call("read", '{"path": "a.txt"}'), call("read", '{"path": "a.txt"}'), call("nope")),
        says("Now.", call("plan_write", '{"items": ["x \\u0000 y"]}')),
        says("So.", usage={"prompt_tokens": 10**30, "completion_tokens": 3}), says("B."),
    ]  # fmt: skip
    session, made = opened(place, script)
    session.note("mind \0 \ud800 this")
    session.ask("Look \0 \ud800")
    session.mode = "plan"
    session.plan = [PlanItem(text="é\ud800")]
    session.ask("More")
    session.undo()
    session.close()
    again = Session.resume("s", setup=made)
    assert again.history == session.history
    assert [again.request(n) for n in (1, 2, 3, 4)] == [session.request(n) for n in (1, 2, 3, 4)]
    assert list(again.results["id"]) == ["#0001", "#0002", "#0003", "#0004"]
    assert again.requests["prompt_tokens"].isna().all()
    assert verify(made.settings.open_store()).faults == ()
    assert again.ask("And?").turn == 3


def test_what_no_column_can_hold_is_not_there(place):
    session, _ = opened(place, [says("", call("recall", json.dumps({"id": "#" + "f" * 40}))), says("So.")])
    assert session.ask("Recall").results[0].sent == f"[#0001] No stored result #{'f' * 40} in this session."
    for number in (0, -1, 10**30):
        with pytest.raises(SessionError):
            session.request(number)
    with pytest.raises(SessionError):
        session.recall("f" * 40)
    hostile = f"[3 lines elided, full output #{'f' * 40}]\nSame result as #{'f' * 40}.\n"
    session._engine.client.script.insert(2, says("", call("write", json.dumps({"path": "n.txt", "content": hostile}))))
    assert session.ask("Write").results[0].kind == "created"


def test_names_that_are_no_text(place):
    folder, settings = place
    root = Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9 \xff"))
    root.mkdir()
    hidden = Path(os.fsdecode(os.fsencode(root) + b"/b\xe9.txt"))
    hidden.write_text("x\n")
    (root / "link.txt").symlink_to(hidden.name)
    made = Setup(settings=settings, client=ScriptedModel([
        says("", call("read", '{"path": "link.txt"}'), call("read", '{"path": "link.txt"}'), call("list")), says("So."),
    ]))  # fmt: skip
    session = Session.new("s", root=root, mode="auto", setup=made)
    kinds = [result.kind for result in session.ask("Read").results]
    assert kinds == ["full", "stub", "full"]
    again = Session.resume("s", setup=made)
    assert again.history == session.history
    assert again.root == session.root
    transfer.export(settings.open_store(), session.row, folder / "out.jsonl")
    transfer.import_(settings.open_store(), folder / "out.jsonl", "t")
    assert Session.resume("t", setup=made).history == session.history


def test_one_name_one_session(place):
    session, made = opened(place, [says()])
    with pytest.raises(SessionError, match="--replace"):
        Session.new("s", root=session.root, setup=made)
    Session.new("s", root=session.root, setup=made, replace=True)
    assert {row.name for row in made.settings.open_store().sessions()} == {"s", "s-1"}
    for name in ("", "x" * 300, "a\nb", "\ud800"):
        with pytest.raises(UsageError):
            Session.new(name, root=session.root, setup=made)
    with pytest.raises(SessionError):
        Session.resume("nope", setup=made)


def test_recall_reads_windows_of_a_large_text(place):
    own = "".join(f"line {n} {'é' * (n % 90)}\r\n" if n % 7 else "\n" for n in range(1, 450_001))
    assert len(own) > 20_000_000
    session, made = opened(place, [says("", call("bash", '{"command": "cat big"}')), says("So.")])
    (session.root / "big").write_bytes(own.encode())
    (result,) = session.ask("Cat").results
    assert result.kind == "capped"
    store = made.settings.open_store()
    assert store.text(result.stored_sha256) == lines.without_final(own)
    for offset in (1, 2, 7, 14_000, 225_000, 449_999, 450_000, 450_001):
        found = store.lines(result.stored_sha256, offset)
        expected = lines.iterate(lines.without_final(own), offset)
        for _ in range(50):
            assert next(found, None) == next(expected, None)


def test_export_and_import_lose_nothing(place, tmp_path):
    script = [
        says("", call("read", '{"path": "a.txt"}'), call("bash", '{"command": "seq 2000"}')),
        says("So."),
        says("B."),
    ]
    session, _ = opened(place, script)
    session.ask("Look \u2028 \x85 \r\n")
    session.undo()
    session.ask("Again")
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    count = session.export(first)
    assert count == len(first.read_bytes().split(b"\n")) - 1
    assert first.stat().st_mode & 0o777 == 0o600
    other = Setup(settings=Settings(model="test/m", home=tmp_path / "other"), client=ScriptedModel([says("C.")]))
    assert transfer.import_(other.settings.open_store(), first) == "s"
    assert transfer.import_(other.settings.open_store(), first) == "s-2"
    imported = Session.resume("s", setup=other)
    imported.export(second)
    assert first.read_bytes() == second.read_bytes()
    assert imported.history == session.history
    assert imported.recall("#0002") == session.recall("#0002")
    assert verify(other.settings.open_store()).faults == ()
    assert imported.ask("On").turn == 3
    assert [p.name for p in tmp_path.glob("*.part")] == []


@pytest.mark.parametrize("damage", ["cut", "word", "text", "head", "rows", "types", "nothing", "binary"])
def test_a_damaged_file_is_not_imported(tmp_path, damage):
    session, _ = new(tmp_path, [says("", call("list")), says("So.")])
    session.ask("Look")
    file = tmp_path / "a.jsonl"
    session.export(file)
    own = file.read_text()
    bad = {
        "cut": own[: len(own) // 2], "word": own + "word\n", "nothing": "",
        "text": own.replace('"text":"(none)"', '"text":"(some)"'),
        "head": own.replace('"kind"', '"kin"', 1), "rows": own.replace('"payload"', '"pay"'),
        "types": own.replace('"entry":{', '"entry":3,"x":{'), "binary": "\0\x01",
    }[damage]  # fmt: skip
    assert bad != own
    file.write_text(bad)
    store = Store(tmp_path / "home")
    with pytest.raises(NbcontextError):
        transfer.import_(store, file, "t")
    assert [row.name for row in store.sessions()] == ["s"]
    store.close()


@pytest.mark.parametrize("target", ["", ".", "missing/x.jsonl"])
def test_where_nothing_can_be_exported(tmp_path, target, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session, _ = new(tmp_path, [says()])
    with pytest.raises(UsageError):
        session.export(target)


# -- the file


def test_only_the_owner_can_read_it(tmp_path):
    session, _ = new(tmp_path, [says()])
    session.ask("Hello")
    files = list((tmp_path / "home").glob("sessions.sqlite*"))
    assert {file.name for file in files} == {"sessions.sqlite", "sessions.sqlite-wal", "sessions.sqlite-shm"}
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700


def test_no_key_is_in_it(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", KEY)
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "env").write_text(f"KEY={KEY}\nother\n")
    (tmp_path / "root" / KEY).write_text("x\n")
    script = [says("", call("read", '{"path": "env"}'), call("bash", '{"command": "cat env; echo $SOME_API_KEY; ls"}'),
                   call("grep", '{"pattern": "KEY"}'), call("list")), says("So.")]  # fmt: skip
    session, model = new(tmp_path, script)
    session.ask("Look")
    results = session.history.turn.results
    assert all("[key]" in result.sent for result in results)
    assert KEY not in json.dumps([dict(m) for m in model.requests[-1].messages])
    session.export(tmp_path / "out.jsonl")
    for file in [*(tmp_path / "home").rglob("*"), tmp_path / "out.jsonl"]:
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("name", ["plain", "a?b=c", "100%25", "a#b", "ä ö", "a;b&c"])
def test_a_store_anywhere(tmp_path, name):
    store = Store(tmp_path / name)
    store.add_session(name="s", kind="agent", root="/", options="{}")
    store.close()
    assert (tmp_path / name / "sessions.sqlite").stat().st_size > 0
    assert [row.name for row in Store(tmp_path / name).sessions()] == ["s"]


def test_a_newer_store_is_left_as_it_is(tmp_path):
    Store(tmp_path).close()
    file = tmp_path / "sessions.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO migrations VALUES ('from_the_future', '2030')")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(StoreError, match="from_the_future"):
        Store(tmp_path)
    assert file.read_bytes() == before


@pytest.mark.parametrize("content", [b"no database, this is text " * 50, b"SQLite format 3\0" + b"\xff" * 4000])
def test_what_is_no_store_is_said_so(tmp_path, content):
    (tmp_path / "sessions.sqlite").write_bytes(content)
    store = Store(tmp_path)
    assert store.sessions() == []
    assert str(tmp_path / "sessions.sqlite") in store.take_told()
    store.close()
    assert (tmp_path / "sessions.sqlite").read_bytes() == content
    with pytest.raises(StoreError, match="damaged"):
        Store(tmp_path, f"sqlite:///{tmp_path}/sessions.sqlite")


def test_a_full_disk_is_one_clear_error(tmp_path):
    session, model = new(
        tmp_path, [lambda _: says("", call("bash", '{"command": "seq 300000"}')), says("So."), says("B.")]
    )
    engine = session.log.store._engine
    engine.dispose()
    from sqlalchemy import event

    def limit(connection, _):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages + 20}").close()

    event.listen(engine, "connect", limit)
    with pytest.raises(StoreError, match="full"):
        session.ask("Fill it")
    event.remove(engine, "connect", limit)
    engine.dispose()
    again = Session.resume("s", setup=setup(tmp_path, model))
    assert [r.kind for r in again.history.turn.results] == ["interrupted"]
    assert again.go_on().text == "So."
    assert shapes(model.requests[-1]) == []
    assert verify(again.log.store).faults == ()


# -- two processes, and one that dies

WRITER = """
    import sys
    from pathlib import Path
    sys.path.insert(0, {tests!r})
    from session_world import call, new, says, setup
    from nbcontext.session import Session
    from nbcontext.testing import ScriptedModel
    folder = Path({folder!r})
    calls = lambda _: says("Look.", call("bash", '{{"command": "echo x"}}'), call("read", '{{"path": "a.txt"}}'))
    model = ScriptedModel([calls, calls, says("So.")] * 400)
    session = Session.resume("s", setup=setup(folder, model))
    print("ready", flush=True)
    {rest}
"""


def writer(folder, rest):
    code = textwrap.dedent(WRITER).format(tests=str(Path(__file__).parent), folder=str(folder), rest=rest)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)


def test_killed_at_any_moment_nothing_is_lost(tmp_path):
    session, model = new(tmp_path, [lambda _: says("So.")])
    (session.root / "a.txt").write_text("one\n")
    session.close()
    random.seed(7)
    before = 0
    for _ in range(5):
        with writer(
            tmp_path, "[(session.ask('w'), print(session.history.last_number, flush=True)) for _ in range(999)]"
        ) as child:
            assert child.stdout.readline() == "ready\n"
            told = 0
            for _ in range(random.randint(1, 4)):
                told = int(child.stdout.readline())
            for _ in range(random.randrange(200_000)):
                pass
            child.kill()
        session = Session.resume("s", setup=setup(tmp_path, model))
        assert session.history.last_number >= told > before
        numbers = [int(value[1:], 16) for value in session.results["id"]]
        assert numbers == list(range(1, len(numbers) + 1))
        assert all(not turn.open_calls for turn in session.history.turns)
        session.ask("And now?")
        assert shapes(model.requests[-1]) == []
        assert verify(session.log.store).faults == ()
        before = session.history.last_number
        session.close()


def test_who_holds_a_session(tmp_path):
    session, model = new(tmp_path, [lambda _: says("Yes.")])
    session.ask("one")
    session.close()
    with writer(tmp_path, "input(); session.ask('theirs')") as child:
        child.stdout.readline()
        with pytest.raises(SessionError, match=f"process {child.pid} on .*--read-only.*--take"):
            Session.resume("s", setup=setup(tmp_path, model))
        reading = Session.resume("s", setup=setup(tmp_path, model), read_only=True)
        assert [turn.words for turn in reading.history.turns] == ["one"]
        for write in (lambda: reading.ask("x"), lambda: reading.note("x"), reading.undo, reading.compact):
            with pytest.raises(SessionError, match="read-only"):
                write()
        taken = Session.resume("s", setup=setup(tmp_path, model), take=True)
        taken.ask("mine")
        child.stderr = None
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.wait(20) == 1
    assert [turn.words for turn in Session.resume("s", setup=setup(tmp_path, model)).history.turns] == ["one", "mine"]
    with writer(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)") as child:
        child.wait()
    assert child.returncode == 1  # the session is held here
    taken.close()
    with writer(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)") as child:
        child.wait()
    assert child.returncode == -signal.SIGKILL
    assert Session.resume("s", setup=setup(tmp_path, model)).ask("back").turn == 3


# -- what was changed behind the store's back


@pytest.mark.parametrize(("change", "said"), [
    ("UPDATE texts SET text = text || 'x' WHERE sha256 IN (SELECT stored_sha256 FROM results)", "another hash"),
    ("DELETE FROM texts", "no stored text"),
    ("UPDATE results SET sent = sent || 'x' WHERE number = 1", "request 2 cannot be made again"),
    ("UPDATE results SET sent = 'x' WHERE number = 1", "does not begin with its id"),
    ("UPDATE results SET number = 9 WHERE number = 1", "given twice"),
    ("UPDATE results SET stored_lines = 99", "another length"),
    ("DELETE FROM entries WHERE entry = 3", "entry 3 is missing"),
    ("DELETE FROM entries WHERE entry = (SELECT max(entry) FROM entries)", "were written"),
    ("UPDATE entries SET payload = replace(payload, 'Hello', 'Hallo')", "cannot be made again"),
    ("UPDATE entries SET payload = '{' WHERE kind = 'Replied'", "cannot be read"),
    ("UPDATE entries SET payload = replace(payload, '\"system\":', '\"system\":3,\"x\":') WHERE entry = 2", ""),
    ("UPDATE entries SET kind = 'Later' WHERE entry = 3", "unknown kind"),
    ("DELETE FROM results", ""),
    ("UPDATE entries SET payload = '{\"turns\":[7]}', kind = 'TakenBack' WHERE kind = 'TurnBegan'", ""),
])  # fmt: skip
def test_verify_finds_what_was_changed(tmp_path, change, said):
    session, _ = new(tmp_path, [says("", call("list")), says("So.")])
    session.ask("Hello")
    session.log.store.close()
    store = Store(tmp_path / "home")
    assert verify(store).faults == ()
    store.close()
    with sqlite3.connect(tmp_path / "home" / "sessions.sqlite") as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        assert connection.execute(change).rowcount > 0
    connection.close()
    store = Store(tmp_path / "home")
    found = "\n".join(verify(store).faults)
    store.close()
    assert found
    assert said in found


def test_an_append_is_whole_or_not_at_all(tmp_path):
    session, _ = new(tmp_path, [says()])
    store, row = session.log.store, session.row.id
    with pytest.raises(StoreError):
        store.append(row, [NoteKept(text="a")], after=session.log.last + 1)
    assert [logged.number for logged in store.log(row)] == list(range(1, session.log.last + 1))
