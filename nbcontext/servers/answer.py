"""What a server's tool answered, as an outcome: text, and a placeholder for what is none."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING

from nbcontext.execution.images import picture, placeholder, shown_size
from nbcontext.outcome import Failure, Outcome, Text

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock

    from nbcontext.loop import Context
    from nbcontext.world import World


def outcome(result: CallToolResult, world: World) -> Outcome:
    """Return what a call's result is to the model.

    The parts stand one below the other. Structured content is shown, as JSON, where no text part tells it: a server is
    to give both.
    """
    context = world.context
    parts = [_shown(part, context) for part in result.content]
    if result.structured_content is not None and not any(part.type == "text" for part in result.content):
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    text = "\n".join(parts) or context.mcp.none
    if result.is_error:
        return Failure(text=text)
    return Text(text=text, images=_images(result, world))


def _shown(part: ContentBlock, context: Context) -> str:
    rules = context.mcp
    match part.type:
        case "text":
            return part.text
        case "image":
            return placeholder(part.mime_type, part.data, context)
        case "audio":
            return _blob(part.mime_type, part.data, context)
        case "resource_link":
            return rules.link.format(name=part.name, uri=part.uri)
        case "resource":
            held = part.resource
            if hasattr(held, "text"):
                return rules.resource.format(uri=held.uri, text=held.text)
            return rules.resource.format(uri=held.uri, text=_blob(held.mime_type or "data", held.blob, context))


def _blob(kind: str, content: str, context: Context) -> str:
    return context.mcp.blob.format(type=kind, size=shown_size(len(_bytes(content))))


def _images(result: CallToolResult, world: World) -> tuple[str, ...]:
    """Return the images that the model is sent, as many as one result may have."""
    data = [_bytes(part.data) for part in result.content if part.type == "image"]
    if not data or not world.sees_images():
        return ()
    found = (picture(each) for each in data)
    fitting = [each.url for each in found if each is not None and each.fits(world.context)]
    return tuple(fitting[: world.context.images.most])


def _bytes(content: str) -> bytes:
    try:
        return base64.b64decode(content)
    except (binascii.Error, ValueError):
        return content.encode("utf-8", "replace")
