"""`display`: what the person is shown, and what the model is told of it."""

from __future__ import annotations

from pathlib import Path

from mcp_server import png
from scripts import Play, calls, says

from nbcontext import assets
from nbcontext.display.exhibits import bundle
from nbcontext.exhibit import Exhibit, ShownImage, ShownTable, ShownText

CONTEXT = assets.loop().context


def run(tmp_path: Path, *wanted: tuple[str, dict], display: bool = True) -> tuple[Play, list[str]]:
    play = Play(tmp_path, [calls(*wanted), says("done")])
    session = play.new(display=display)
    session.ask("go")
    return play, [sent.partition("\n")[2] for sent in play.results(session)]


def test_an_image_a_table_a_text_and_a_result(tmp_path: Path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "p.png").write_bytes(png(4, 3))
    (root / "t.csv").write_text('a,"b\nc"\n1\n2,3,4\n\n')
    (root / "x.md").write_text("hello\n" * 1000)
    play, said = run(
        tmp_path, *(("display", {"path": name}) for name in ("p.png", "t.csv", "x.md")), ("display", {"result": "3"})
    )
    image, table, text, result = play.shown
    assert image.shown == ShownImage(type="image/png", data=png(4, 3), name=f"PNG image, 4x3, {len(png(4, 3))} B.")
    assert table.shown == ShownTable(heads=("a", "b\nc", ""), rows=(("1", "", ""), ("2", "3", "4")))
    assert text.shown.more_lines == 600
    assert result == Exhibit(title="#0003", shown=ShownText(text=said[2]))
    assert said[0] == f"The person was shown {root / 'p.png'}: PNG image, 4x3, {len(png(4, 3))} B."
    assert said[1].endswith("a table of 2 rows and 3 columns.")
    assert said[3] == "The person was shown #0003."
    for exhibit in play.shown:
        made = bundle(exhibit)
        assert made["text/plain"].startswith(exhibit.title)
    assert "image/png" in bundle(image)


def test_without_a_front_end_it_is_offered_and_unavailable(tmp_path: Path):
    play, said = run(tmp_path, ("display", {"path": "x"}), display=False)
    assert said == [CONTEXT.unavailable.display.format(tool="display")]
    assert "display" in play.offered()


def test_what_cannot_be_shown(tmp_path: Path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "b.bin").write_bytes(b"\0\1")
    play, said = run(
        tmp_path,
        ("display", {}),
        ("display", {"path": "a", "result": "#1"}),
        ("display", {"path": "../secret"}),
        ("display", {"path": "b.bin"}),
        ("display", {"path": "no.png"}),
    )
    assert said[0] == said[1] == CONTEXT.errors.display.one_of
    assert "lies outside" in said[2]
    assert "is binary" in said[3]
    assert "does not exist" in said[4]
    assert not play.shown


def test_nothing_of_a_file_is_obeyed():
    hostile = "<script>x</script>\x1b[31m"
    table = ShownTable(heads=(hostile,), rows=((hostile,),), more_rows=2, more_columns=1)
    for shown in (table, ShownText(text=hostile)):
        made = bundle(Exhibit(title=hostile, shown=shown))
        assert "<script>" not in made["text/html"]
        assert "\x1b" not in "".join(made.values())
