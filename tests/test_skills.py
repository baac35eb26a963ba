"""`skill_manage`, and the note after a skill file was written otherwise (§5)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts import Play, calls, says

from nbcontext import assets
from nbcontext.files import skills

RULES = assets.loop().context.skills
ERRORS = assets.loop().context.errors.skills
TEXT = "---\nname: deploy\ndescription: >\n  How to\n  deploy.\n---\nPush.\n"
PATH = ".agents/skills/deploy/SKILL.md"


def run(tmp_path: Path, *wanted: tuple[str, dict], mode: str = "auto") -> tuple[Play, list[str]]:
    play = Play(tmp_path, [calls(*wanted), says("done")])
    session = play.new(None, mode=mode)
    session.ask("go")
    return play, play.results(session)


def test_written_shown_listed_and_changed(tmp_path: Path):
    play, said = run(
        tmp_path,
        ("skill_manage", {"action": "list"}),
        ("skill_manage", {"action": "write", "name": "deploy", "content": TEXT}),
        ("skill_manage", {"action": "list"}),
        ("skill_manage", {"action": "show", "name": "deploy"}),
        ("read", {"path": PATH}),
        ("skill_manage", {"action": "write", "name": "deploy", "content": TEXT + "Wait.\n"}),
    )
    assert said[0] == f"[#0001]\n{RULES.none}"
    assert said[1] == f"[#0002 {PATH} sha {_sha(TEXT)}] Created, 7 lines."
    assert said[2] == f"[#0003]\ndeploy ({play.root / PATH}): How to deploy."
    assert said[3].startswith(f"[#0004 {PATH} lines 1-7 of 7 sha {_sha(TEXT)}]\n1: ---\n")
    assert said[4].endswith("Unchanged since #0004, which already shows lines 1-7.")
    assert said[5].endswith(" Push.\n+Wait.")


def test_another_way_of_writing_one_is_noted_after_the_diff(tmp_path: Path):
    play, said = run(
        tmp_path,
        ("write", {"path": "skills/a/SKILL.md", "content": "x\n"}),
        ("edit", {"path": "skills/a/SKILL.md", "old_string": "x", "new_string": "y"}),
        ("write", {"path": "skills/a/SKILL.md", "content": "y\n"}),
        (
            "apply_patch",
            {"patch": "*** Begin Patch\n*** Add File: skills/b/SKILL.md\n+z\n*** Add File: c\n+z\n*** End Patch"},
        ),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: skills/b/SKILL.md\n*** End Patch"}),
        ("write", {"path": "skills/a/other.md", "content": "x\n"}),
    )
    note = RULES.note.format(path=play.root / "skills/a/SKILL.md")
    assert said[0].endswith(f"Created, 1 lines.\n{note}")
    assert said[1].endswith(f"-x\n+y\n{note}")
    assert said[2].endswith("] Unchanged.")
    assert said[3].endswith(f"Created, 1 lines.\n{RULES.note.format(path=play.root / 'skills/b/SKILL.md')}")
    assert said[4].endswith("deleted]")
    assert said[5].endswith("Created, 1 lines.")


def test_a_change_from_outside_is_refused_as_write_refuses_it(tmp_path: Path):
    (tmp_path / "root" / ".claude/skills/old").mkdir(parents=True)
    (tmp_path / "root" / ".claude/skills/old/SKILL.md").write_text("x\n")
    _, said = run(
        tmp_path,
        ("skill_manage", {"action": "write", "name": "old", "content": "y\n"}),
        ("skill_manage", {"action": "show", "name": "old"}),
        ("skill_manage", {"action": "write", "name": "old", "content": "y\n"}),
        ("skill_manage", {"action": "write", "name": "new", "content": "y\n"}),
    )
    assert "no read, write or edit of it is in front of you" in said[0]
    assert said[2].startswith("[#0003 .claude/skills/old/SKILL.md sha")
    assert said[3].startswith("[#0004 .claude/skills/new/SKILL.md sha"), "a new one goes where the others are"


@pytest.mark.parametrize("name", ["../x", "A", "a/b", "", "-", "a" * 65, "x\n"])
def test_a_hostile_name_writes_nothing(tmp_path: Path, name: str):
    play, said = run(tmp_path, ("skill_manage", {"action": "write", "name": name, "content": "y"}))
    assert "Nothing was written" in said[0] or "needs the name" in said[0]
    assert not list(play.root.iterdir())


def test_only_writing_asks_and_a_plan_lets_it_only_look(tmp_path: Path):
    wanted = (("skill_manage", {"action": "list"}), ("skill_manage", {"action": "write", "name": "a", "content": "y"}))
    play, said = run(tmp_path, *wanted, mode="ask")
    assert len(play.asked) == 1
    assert said[0] == f"[#0001]\n{RULES.none}"
    _, said = run(tmp_path, *wanted, mode="plan")
    assert said[0] == f"[#0001]\n{RULES.none}"
    assert "permission mode is plan" in said[1]


def test_nothing_outside_the_root_is_told(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "SKILL.md").write_text("---\ndescription: hidden\n---\n")
    folder = tmp_path / "root" / "skills"
    folder.mkdir(parents=True)
    (folder / "leak").symlink_to(secret)
    _, said = run(tmp_path, ("skill_manage", {"action": "list"}), ("skill_manage", {"action": "show", "name": "leak"}))
    assert said[0] == f"[#0001]\n{RULES.none}"
    assert "There is no skill leak" in said[1]


@given(st.text(alphabet="---\n:>|\"' adescriptionx", max_size=80))
def test_a_description_is_one_line_whatever_the_text(text: str):
    assert "\n" not in skills.description(text)


def test_descriptions():
    assert skills.description("---\nname: a\ndescription: 'Does a: b.'\n---\n") == "Does a: b."
    assert skills.description("---\ndescription: |\n  One\n\n  two\nname: a\n---\n") == "One two"
    assert skills.description("description: no front matter") == ""
    assert skills.description("---\nname: a\n---\ndescription: text\n") == ""


def _sha(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode()).hexdigest()[:8]
