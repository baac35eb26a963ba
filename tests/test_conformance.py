"""The cases of `conformance/` hold on the real code, cover every sentence, and would notice if they did not."""

from __future__ import annotations

import copy
import json
import os
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbcontext import assets, conformance
from nbcontext.cli import main
from nbcontext.conformance import expression
from nbcontext.conformance.difference import first_difference
from nbcontext.conformance.runner import missing
from nbcontext.conformance.texts import argument_text, expanded
from nbcontext.errors import UsageError
from nbcontext.tools.own import OWN

RAW = json.loads(assets.read("conformance", "context.json"))
SENTENCES = json.loads(assets.read("conformance", "sentences.json"))
SCHEMA = json.loads(assets.read("conformance", "schema.json"))
CASES = {case.name: case for case in conformance.load().cases}
BY_NAME = {case["name"]: case for case in RAW["cases"]}


def file_of(*cases):
    return {"form": 1, "specification": "3.1.0", "cases": list(cases)}


def first_of(case):
    return conformance.run(conformance.parse(json.dumps(file_of(case)), "a file").cases[0]).difference


# -- the cases that ship


@pytest.mark.parametrize("name", CASES)
def test_a_case_holds(name):
    ran = conformance.run(CASES[name])
    assert ran.difference is None, ran.difference.shown


def test_there_are_enough_and_none_is_left_out_here():
    assert len(CASES) >= 500
    assert not [case.name for case in CASES.values() if missing(case)]


# -- every sentence is proved


def test_every_sentence_is_proved_and_every_id_is_known():
    entries = [*SENTENCES["sentences"], *SENTENCES["decisions"]]
    assert len({entry["id"] for entry in entries}) == len(entries)
    proved = {one for case in CASES.values() for one in case.proves}
    assert proved == {entry["id"] for entry in entries if "not_applicable" not in entry}
    assert all(entry["not_applicable"] for entry in entries if "not_applicable" in entry)


def test_sentences_are_numbered_without_gaps():
    by_section = {}
    for entry in SENTENCES["sentences"]:
        section, number = map(int, entry["id"].split("."))
        by_section.setdefault(section, []).append(number)
    assert list(by_section) == list(range(11))
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in by_section.values())


@pytest.mark.parametrize(
    "names",
    [
        ("cap-400-lines-are-whole", "cap-401-lines"),
        ("cap-40000-characters-are-whole", "cap-40001-characters"),
        ("ids-f-to-10", "ids-ffff-to-10000"),
        ("table-of-50-files", "table-of-51-files"),
        ("auto-compaction-near-the-window", "auto-compaction-not-far-from-the-window"),
    ],
)
def test_the_boundaries_that_were_asked_for_have_both_sides(names):
    assert set(names) <= set(CASES)


# -- the form


def test_the_schema_is_the_one_that_the_form_makes():
    assert conformance.schema() == SCHEMA
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_cases_hold_to_the_schema():
    jsonschema.Draft202012Validator(SCHEMA).validate(RAW)


def test_the_example_of_the_readme_is_a_case_that_holds():
    source = re.search(r"```json\n(.*?)```", assets.read("conformance", "README.md"), re.DOTALL)[1]
    example = json.loads(source)
    jsonschema.Draft202012Validator(SCHEMA).validate(file_of(example))
    assert first_of(example) is None


def test_the_readme_tells_every_kind_of_step():
    told = assets.read("conformance", "README.md").split("## Steps")[1]
    kinds = [
        model["properties"]["do"]["const"] for model in SCHEMA["$defs"].values() if "do" in model.get("properties", {})
    ]
    assert len(kinds) >= 16
    assert all(f"`{kind}`" in told for kind in kinds)


SMALL = {"name": "small", "proves": ["1.1"], "steps": [{"do": "undo"}]}


@pytest.mark.parametrize(
    "broken",
    [
        {},
        [],
        {"form": 2, "specification": "3.1.0", "cases": [SMALL]},
        {"form": 1, "specification": "3.1.0", "cases": []},
        file_of({**SMALL, "more": 1}),
        file_of({**SMALL, "name": "Not a name"}),
        file_of({**SMALL, "proves": []}),
        file_of({**SMALL, "steps": [{"do": "dance"}]}),
        file_of({**SMALL, "steps": [{"do": "ask", "words": "x"}]}),
        file_of({**SMALL, "steps": [{"do": "front_end", "has": ["wings"]}]}),
        file_of({**SMALL, "steps": [{"do": "check", "requests": {"first": {}}}]}),
        file_of({**SMALL, "files": {"../beside": "x"}}),
        file_of({**SMALL, "files": {"/etc/x": "x"}}),
        file_of({**SMALL, "files": {"a//b": "x"}}),
        file_of({**SMALL, "files": {"a": {"repeat": "x"}}}),
        file_of({**SMALL, "first_number": 0}),
        file_of({**SMALL, "session": {"clock": "noon"}}),
    ],
)
def test_schema_and_tool_refuse_the_same(broken):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(broken)
    with pytest.raises(UsageError, match=r"^a file is no file of cases: [^\n]*$"):
        conformance.parse(json.dumps(broken), "a file")


def test_two_cases_of_one_name_are_refused():
    with pytest.raises(UsageError, match="two cases are named small"):
        conformance.parse(json.dumps(file_of(SMALL, SMALL)), "a file")


@pytest.mark.parametrize("path", ["a", ".gitignore", "a/b.txt", "...", "a/..b", "a\nb", "x y/ü"])
def test_paths_that_stay_inside(path):
    made = file_of({**SMALL, "files": {path: "x"}})
    jsonschema.Draft202012Validator(SCHEMA).validate(made)
    assert path in conformance.parse(json.dumps(made), "a file").cases[0].files


# -- text expressions

LETTERS = st.text(st.characters(codec="utf-8", exclude_characters="{}"), max_size=5)


@given(st.lists(LETTERS), st.integers(0, 5))
def test_join_and_repeat(parts, times):
    joined = expression.Join(join=tuple(parts))
    assert expanded(joined, "/r") == "".join(parts)
    assert expanded(expression.Repeat(repeat=joined, times=times), "/r") == "".join(parts) * times


@given(st.integers(-3, 3), st.integers(0, 4))
def test_lines(first, count):
    made = expression.Lines(lines=(first, first + count - 1), form="{n}: {n}")
    assert expanded(made, "/r").split("\n") == [f"{n}: {n}" for n in range(first, first + count)] or count == 0


def test_root_stands_for_the_workspace_but_not_in_a_literal():
    assert expanded("{root}/a {root}", "/r") == "/r/a /r"
    assert expanded(expression.Literally(literal="{root}"), "/r") == "{root}"
    assert expanded(expression.Codes(codes=(0x61, 0xD800)), "/r") == "a\ud800"


@given(st.dictionaries(LETTERS, LETTERS | st.integers() | st.booleans() | st.lists(LETTERS)))
def test_arguments_as_an_object_are_compact_json(arguments):
    text = argument_text(arguments, "/r")
    assert json.loads(text) == arguments
    assert list(json.loads(text)) == list(arguments)
    assert argument_text({"a": {"repeat": "é", "times": 2}}, "/r") == '{"a":"éé"}'


# -- a broken expectation is noticed


@given(LETTERS, LETTERS)
def test_a_difference_of_texts_is_found_just_where_there_is_one(first, second):
    assert (first_difference(first, second, "x") is None) == (first == second)


def test_a_difference_is_shown_at_its_place():
    found = first_difference({"a": ["one\ntwo", 1]}, {"a": ["one\ntWo", 1]}, "here")
    assert found.where == "here, a, item 1, line 2, character 2"
    assert first_difference([1], [1, 2], "here").got == "2"
    assert first_difference({"a": 1}, {}, "here").got == "no such key"


def exchanges(case):
    return [exchange for step in case["steps"] for exchange in step.get("exchanges", ())]


def change_a_result(case):
    exchange = next(exchange for exchange in exchanges(case) if exchange.get("results"))
    exchange["results"][-1] = {"join": [exchange["results"][-1], "!"]}


def change_the_words_sent(case):
    case["steps"][0]["exchanges"][0]["request"][0]["content"] += " "


def drop_a_message(case):
    exchanges(case)[-1]["request"].pop()


def double_a_message(case):
    request = exchanges(case)[-1]["request"]
    request.append(request[-1])


def drop_a_result(case):
    next(exchange for exchange in exchanges(case) if exchange.get("results"))["results"].pop()


def ask_for_a_result_more(case):
    exchanges(case)[-1].setdefault("results", []).append("[#ffff]\nno")


def ask_for_a_request_more(case):
    step = next(step for step in reversed(case["steps"]) if "exchanges" in step)
    step["exchanges"].append({"request": [{"all_of": 1}], "reply": {"text": "More."}})


def drop_the_last_exchange(case):
    step = next(step for step in case["steps"] if len(step.get("exchanges", ())) > 1)
    step["exchanges"].pop()


def end_otherwise(case):
    next(step for step in case["steps"] if "exchanges" in step)["ends"] = "max_steps"


def expect_another_file(case):
    case["steps"].append({"do": "check", "files": {"not/there.txt": "x"}})


def expect_another_stored_text(case):
    case["steps"].append({"do": "check", "stored": {"#0001": "not this"}})


def undo_too_much(case):
    case["steps"].append({"do": "undo", "turns": 99})


@pytest.mark.parametrize(
    "broken",
    [
        change_a_result,
        change_the_words_sent,
        drop_a_message,
        double_a_message,
        drop_a_result,
        ask_for_a_result_more,
        ask_for_a_request_more,
        drop_the_last_exchange,
        end_otherwise,
        expect_another_file,
        expect_another_stored_text,
        undo_too_much,
    ],
)
@pytest.mark.parametrize("name", ["stub-of-an-unchanged-read", "same-grep-is-a-stub", "no-stub-after-an-undo"])
def test_a_broken_expectation_fails(name, broken):
    case = copy.deepcopy(BY_NAME[name])
    broken(case)
    assert first_of(case) is not None


def first_exchange(case):
    return exchanges(case)[0]


@pytest.mark.parametrize(
    ("name", "broken", "where"),
    [
        ("compact-asks-as-the-next-turn", lambda case: case["steps"][-1].update(answer="No."), "the reply's text"),
        ("compact-is-no-turn", lambda case: case["steps"][2]["turns"].append("More."), "turns"),
        ("compact-is-no-turn", lambda case: case["steps"][2]["requests"]["3"].update(purpose="turn"), "request table"),
        ("compact-is-no-turn", lambda case: case["steps"][2]["requests"].update({"9": {}}), "request table"),
        ("plan-submitted-and-accepted", lambda case: case["steps"][1].update(mode="plan"), "mode"),
        ("note-none-for-the-models-own-plan", lambda case: case["steps"][1]["plan"].pop(), "plan"),
        ("crash-with-an-open-call", lambda case: case["steps"][1].pop("results"), "a result more than expected"),
        ("crash-with-an-open-call", lambda case: case["steps"][0].update(ends="failed"), "how it ends"),
        ("prefix-has-no-clock", lambda case: first_exchange(case)["system"]["lacks"].append("notebook"), "system prompt"),
        ("prefix-has-no-clock", lambda case: first_exchange(case)["system"].update(holds=["Today"]), "system prompt"),
        ("tools-in-a-chat-too", lambda case: first_exchange(case)["tools"]["holds"].append("fly"), "tool list, fly"),
        ("tools-in-a-chat-too", lambda case: first_exchange(case)["tools"].update(lacks=["read"]), "tool list, read"),
        ("tools-in-a-chat-too", lambda case: first_exchange(case).update(prefix_of=1), "prefix_of"),
        ("prefix-is-built-again-for-another-model", lambda case: exchanges(case)[2].update(prefix_of=1), "system prompt"),
        ("auto-compaction-with-its-table-and-notes", lambda case: exchanges(case)[2].pop("compacts"), "system prompt"),
        ("the-separate-form-is-used-once", lambda case: exchanges(case)[3]["request"][0]["holds"].reverse(), "content"),
        ("reasoning-goes-back-word-for-word", lambda case: exchanges(case)[1]["request"][1].pop("extras"), "reasoning_content"),
    ],
)  # fmt: skip
def test_a_broken_expectation_of_a_session_fails(name, broken, where):
    case = copy.deepcopy(BY_NAME[name])
    broken(case)
    found = first_of(case)
    assert found is not None
    assert where in found.where


def test_one_character_of_any_result_is_noticed():
    for name in ("cap-401-lines", "recall-an-unknown-id", "edit-crlf-keeps-terminators", "patch-over-several-files"):
        case = copy.deepcopy(BY_NAME[name])
        for exchange in exchanges(case):
            for index, text in enumerate(exchange.get("results", ())):
                kept, exchange["results"][index] = text, {"join": [text, " "]}
                found = first_of(case)
                exchange["results"][index] = kept
                assert found is not None, (name, text)
                assert "result" in found.where


# -- what a case leaves behind, and the command


def test_tools_environment_and_machine_are_put_back(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = dict(OWN)
    assert conformance.run(CASES["a-key-in-a-result-is-masked"]).difference is None
    assert before == OWN
    assert "OPENAI_API_KEY" not in os.environ


def test_the_command_prints_what_fails_and_a_count(tmp_path, capsys):
    good, bad = copy.deepcopy(BY_NAME["read-a-whole-file"]), copy.deepcopy(BY_NAME["stub-of-an-unchanged-read"])
    change_a_result(bad)
    file = tmp_path / "cases.json"
    file.write_text(json.dumps(file_of(good, bad)), "utf-8")
    assert main(["conformance", str(file)]) == 1
    out = capsys.readouterr().out
    assert "FAILED stub-of-an-unchanged-read (proves 2.5, 2.6, D1, D8)" in out
    assert "result 1, line 4" in out
    assert out.endswith("2 cases: 1 passed, 1 failed.\n")
    file.write_text(json.dumps(file_of(good)), "utf-8")
    assert main(["conformance", str(file)]) == 0
    assert capsys.readouterr().out == "1 cases: 1 passed.\n"


@pytest.mark.parametrize("content", [None, b"{", b"\xff", b"[]", b'{"form": 1}', b"[" * 100_000])
def test_a_file_that_is_none_is_told_in_one_line(tmp_path, capsys, content):
    file = tmp_path / "cases.json"
    if content is not None:
        file.write_bytes(content)
    assert main(["conformance", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"nbcontext: {file} ")
    assert captured.err.count("\n") == 1


def test_nothing_of_a_case_lies_outside_its_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NBCONTEXT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert conformance.run(CASES["read-a-whole-file"]).difference is None
    assert list(Path(tmp_path).iterdir()) == []
