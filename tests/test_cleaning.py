"""`nbcontext clean FILE`: widget outputs and their state go, everything else stays."""

import json
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbcontext.cleaning import VIEW, Cleaned, clean, cleaned_notebook
from nbcontext.cli import main
from nbcontext.display.twin import MARK, Twin
from nbcontext.errors import UsageError

TWIN = Twin(summary="sums", html="<p>body</p>", text="body")


def output(**data):
    return {"output_type": "display_data", "metadata": {}, "data": data}


def book(*outputs, **metadata):
    cell = {
        "cell_type": "code",
        "id": "a",
        "execution_count": 1,
        "metadata": {},
        "source": ["%llm results"],
        "outputs": list(outputs),
    }
    return {
        "cells": [cell, {"cell_type": "markdown", "id": "b", "metadata": {}, "source": "ü"}],
        "metadata": metadata,
        "nbformat": 4,
        "nbformat_minor": 5,
    }


VIEW_OUTPUT = output(**{VIEW: {"model_id": "1"}, "text/plain": "(the live result table)"})


def test_views_go_and_their_static_forms_unfold(tmp_path):
    file = tmp_path / "n.ipynb"
    state = {"application/vnd.jupyter.widget-state+json": {"state": {"1": {}, "2": {}}}}
    before = book(
        output(**TWIN.folded("result table")), VIEW_OUTPUT, output(**{"text/html": "<b>x</b>", VIEW: {}}), widgets=state
    )
    file.write_text(json.dumps(before, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    file.chmod(0o640)
    assert clean(file) == Cleaned(outputs=1, fallbacks=1, opened=1, states=2)
    made = json.loads(file.read_text(encoding="utf-8"))
    assert VIEW not in file.read_text(encoding="utf-8")
    assert made["metadata"] == {}
    assert [list(o["data"]) for o in made["cells"][0]["outputs"]] == [["text/html", "text/plain"], ["text/html"]]
    assert made["cells"][0]["outputs"][0]["data"]["text/html"].startswith(f"{MARK} open")
    assert "model not found" not in json.dumps(made)
    assert made["cells"][1] == before["cells"][1]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["n.ipynb"]
    assert clean(file) == Cleaned()


def test_a_notebook_with_nothing_to_clean_is_not_touched(tmp_path):
    file = tmp_path / "n.ipynb"
    file.write_text('{"nbformat": 4,   "cells": [], "metadata": {}}')
    before = file.stat().st_mtime_ns
    assert clean(file).summary == "Nothing to clean."
    assert file.stat().st_mtime_ns == before


def test_html_as_a_list_of_lines_and_a_link(tmp_path):
    file, link = tmp_path / "n.ipynb", tmp_path / "link.ipynb"
    html = TWIN.folded("chart")["text/html"]
    file.write_text(json.dumps(book(output(**{"text/html": [html[:30], html[30:]]}))))
    link.symlink_to(file)
    assert clean(link).opened == 1
    assert link.is_symlink()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"nbformat": 3, "cells": []}', '{"nbformat": 4, "worksheets": []}', "\xff", "[" * 100_000]
)
def test_what_is_no_notebook_is_said(tmp_path, text):
    file = tmp_path / "n.ipynb"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=r"n\.ipynb"):
        clean(file)
    assert file.read_bytes() == text.encode("latin-1")


def test_the_command(tmp_path, capsys):
    file = tmp_path / "n.ipynb"
    file.write_text(json.dumps(book(VIEW_OUTPUT)))
    assert main(["clean", str(file)]) == 0
    assert "1 widget outputs taken out" in capsys.readouterr().out
    assert main(["clean", str(tmp_path / "none.ipynb")]) == 2


values = st.recursive(
    st.none() | st.booleans() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.lists(values, max_size=5), st.dictionaries(st.text(), values, max_size=3))
def test_what_is_no_widget_stays_as_it_is(outputs, metadata):
    metadata.pop("widgets", None)
    notebook = book(*outputs, **metadata)
    assert cleaned_notebook(notebook) == (notebook, Cleaned())
