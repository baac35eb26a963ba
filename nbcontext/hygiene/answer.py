"""The body of every result that is no window: output, failures, and the changes of files (§5, decisions 1, 2, 15)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbcontext import lines
from nbcontext.outcome import Change, Changes, Failure, ImageRead, NotStored, Planned, Seen, Text
from nbcontext.result import Kind

if TYPE_CHECKING:
    from nbcontext.hygiene.draft import Draft, Surroundings
    from nbcontext.loop import Context


def answer(draft: Draft, around: Surroundings) -> Draft:
    """Fill in the body and kind of output, a failure or a change; leave any other draft as it is."""
    match draft.outcome:
        case Text() | Planned() as said:
            images = said.images if isinstance(said, Text) else ()
            return replace(draft, body=lines.without_final(said.text), images=images)
        case ImageRead():
            return _image(draft, draft.outcome)
        case Failure(text=text, kind=kind, partial=partial):
            before = lines.without_final(partial)
            body = f"{before}\n{text}" if before else text
            return replace(draft, kind=kind, body=lines.without_final(body), same_key=None)
        case NotStored(asked=asked):
            body = around.context.answers.not_stored.format(id=asked)
            return replace(draft, kind="error", body=body, inline=True)
        case Changes():
            return _changes(draft, draft.outcome, around.context)
        case _:
            return draft


def _image(draft: Draft, image: ImageRead) -> Draft:
    return replace(
        draft,
        body=image.text,
        images=image.images,
        path=image.path,
        resolved=image.resolved,
        sha256=image.sha256,
        seen=(Seen(resolved=image.resolved, sha256=image.sha256),),
    )


def _changes(draft: Draft, changes: Changes, context: Context) -> Draft:
    seen: list[Seen] = []
    for change in changes.files:
        if change.moved_from_resolved is not None:
            seen.append(Seen(resolved=change.moved_from_resolved, sha256=None))
        seen.append(Seen(resolved=change.resolved, sha256=change.sha256))
    draft = replace(draft, seen=tuple(seen))
    if len(changes.files) == 1:
        change = changes.files[0]
        sentence = _sentence(change, context)
        return replace(
            draft,
            kind=_kind(change),
            path=change.path,
            resolved=change.resolved,
            sha256=change.sha256,
            inline=bool(sentence),
            body="\n".join(filter(None, (sentence, change.hunks, lines.without_final(changes.note)))),
        )
    parts = [_part(change, context) for change in changes.files]
    return replace(draft, kind="diff", body="\n".join(filter(None, (*parts, lines.without_final(changes.note)))))


def _part(change: Change, context: Context) -> str:
    if change.sha256 is None:
        bracket = context.brackets.deleted_part.format(path=change.path)
    else:
        bracket = context.brackets.changed_part.format(path=change.path, sha=context.sha(change.sha256))
    head = " ".join(filter(None, (bracket, _sentence(change, context))))
    return "\n".join(filter(None, (head, change.hunks)))


def _sentence(change: Change, context: Context) -> str:
    answers = context.answers
    match change.kind:
        case "created":
            return answers.created.format(lines=change.lines)
        case "moved":
            return answers.moved.format(path=change.moved_from)
        case "unchanged":
            return answers.unchanged
        case "endings":
            return answers.endings
        case "diff" | "deleted":
            return ""


def _kind(change: Change) -> Kind:
    return "diff" if change.kind == "endings" else change.kind
