"""The prompt files of a session, by what they are for; all that one may need are looked through before it starts.

What a file holds may have been changed by whoever ships the package: a slot that nothing fills is an error that names
the file, never a request with the slot in it.
"""

from __future__ import annotations

from nbcontext import assets, compaction, permission, prefix
from nbcontext.errors import AssetError
from nbcontext.personality import FOLDER
from nbcontext.toolbox import ours


def mode(name: str) -> str:
    """Return the text of a permission mode's prompt.

    Raises:
        AssetError: it is missing, broken or empty.
    """
    return _read("modes", f"{name}.md")


def compact() -> str:
    """Return the prompt that asks for a summary (§7).

    Raises:
        AssetError: it is missing or broken, or has no place for a transcript (decision 22).
    """
    text = _read("tasks", "compact.md")
    if compaction.SLOT not in text:
        raise AssetError(f"prompts/tasks/compact.md has no {compaction.SLOT}: put it in, or install nbcontext again.")
    return text


def system(*, with_context: bool = True) -> prefix.Prompts:
    """Return the files that a system prompt is made from.

    Args:
        with_context: whether the session has `recall`, and so §9's block.

    Raises:
        AssetError: one is missing or broken, or has a slot that nothing fills.
    """
    told = ("name", "text")
    return prefix.Prompts(
        system=_template(("system.md",), prefix.FIELDS),
        context=_read("blocks", "context.md") if with_context else "",
        personality=_template(("blocks", "personality.md"), told),
        instructions=_template(("blocks", "instructions.md"), told),
        server=_template(("blocks", "server.md"), told),
    )


def check() -> None:
    """Read every prompt that a session may need, so that what is missing is named before anything is sent.

    Raises:
        AssetError: a file is missing or broken; it is named.
    """
    assets.loop()
    system()
    compact()
    for name in permission.MODES:
        mode(name)
    for place in (assets.top() / "prompts" / FOLDER).iterdir():
        if place.name.endswith(".md"):
            _read(FOLDER, place.name)
    for tool in ours():
        if not tool.description.strip():
            raise AssetError(_empty("tools", f"{tool.name}.md"))


def _template(names: tuple[str, ...], fields: tuple[str, ...]) -> str:
    text = _read(*names)
    if unknown := sorted(prefix.slots(text) - set(fields)):
        known = ", ".join(f"{{{{{field}}}}}" for field in fields)
        raise AssetError(
            f"prompts/{'/'.join(names)} has the slot {{{{{unknown[0]}}}}}, which nothing fills; there are {known}. "
            f"Mend it, or install nbcontext again."
        )
    return text


def _read(*names: str) -> str:
    text = assets.read("prompts", *names)
    if not text.strip():
        raise AssetError(_empty(*names))
    return text


def _empty(*names: str) -> str:
    return f"prompts/{'/'.join(names)} is empty: mend it, or install nbcontext again."
