"""What a model wishes the person to see, in the form of a front end: static HTML and text, an image as itself. Pure."""

from __future__ import annotations

import base64
from html import escape

from nbcontext.display.tables import html_table, text_table
from nbcontext.exhibit import Exhibit, ShownImage, ShownTable, ShownText
from nbcontext.plain import visible


def bundle(exhibit: Exhibit) -> dict[str, str]:
    """Return a MIME bundle: text for every front end, and what a notebook shows instead."""
    title = visible(exhibit.title)
    match exhibit.shown:
        case ShownImage() as image:
            return {
                "text/plain": f"{title}: {image.name}",
                image.type: base64.b64encode(image.data).decode(),
            }
        case ShownTable() as table:
            heads = [visible(head) for head in table.heads]
            rows = [[visible(cell) for cell in row] for row in table.rows]
            caption = f"{title}{_left_out(table)}"
            return {
                "text/plain": text_table(heads, rows, caption=caption),
                "text/html": html_table(heads, rows, caption=caption),
            }
        case ShownText() as text:
            more = f"\n({text.more_lines:,} more lines)" if text.more_lines else ""
            body = f"{visible(text.text)}{more}"
            html = f"<div>{escape(title)}</div><pre>{escape(body)}</pre>"
            return {"text/plain": f"{title}\n{body}", "text/html": html}


def _left_out(table: ShownTable) -> str:
    parts = [
        f"{count:,} more {what}"
        for count, what in ((table.more_rows, "rows"), (table.more_columns, "columns"))
        if count
    ]
    return f" ({', '.join(parts)})" if parts else ""
