"""An answer's Markdown as HTML that can do nothing: raw HTML is text, no image is fetched, no link runs (decision 5).

markdown-it-py makes the HTML with raw HTML off, nh3 (ammonia) lets only what is named here through.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from nbcontext.plain import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

_TAGS = frozenset(
    "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr ul".split()  # noqa: SIM905
)
_ATTRIBUTES = {"a": {"href", "title"}, "code": {"class"}, "ol": {"start"}, "td": {"style"}, "th": {"style"}}
_DOUBTFUL = re.compile(r"<|!\[|&#|(?i:javascript|vbscript|data)\s*:")
_SCHEMES = {"http", "https", "mailto"}


def to_html(markdown: str) -> str:
    """Return Markdown as HTML without scripts, styles, images, forms or frames."""
    import nh3

    made = _parser().render(visible(markdown))
    return nh3.clean(
        made,
        tags=set(_TAGS),
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
        filter_style_properties={"text-align"},
    )


def is_harmless(markdown: str) -> bool:
    """Return whether a front end may render the Markdown itself: nothing looks like HTML, an image or a script."""
    tokens = _parser().parse(visible(markdown))
    # Another parser may take for a tag, an image or a link what ours does not: what looks like one is enough.
    return not any(_DOUBTFUL.search(token.content) for token in tokens if token.type == "inline")


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _image_as_link)
    parser.validateLink = _is_link  # type: ignore[method-assign]
    return parser


def _is_link(url: str) -> bool:
    """Return whether a link may be followed: it has one of our schemes, or none."""
    scheme, colon, _ = re.split(r"[/?#]", url, maxsplit=1)[0].partition(":")
    return not colon or scheme.lower() in _SCHEMES


def _image_as_link(
    self: RendererHTML,  # noqa: ARG001 - markdown-it-py's form of a rule, here and below
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,  # noqa: ARG001
    env: EnvType,  # noqa: ARG001
) -> str:
    """Show an image as a link to it: what is fetched, the person decides."""
    from html import escape

    token = tokens[index]
    label = escape(token.content or "image")
    return f'<a href="{escape(str(token.attrs.get("src", "")))}">[image: {label}]</a>'
