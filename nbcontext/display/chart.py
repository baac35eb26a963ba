"""The cached-token chart's static form: an image in HTML, bars of characters in a terminal. Pure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from nbcontext.display.summary import number
from nbcontext.display.tables import text_table
from nbcontext.display.twin import Twin
from nbcontext.plain import visible

if TYPE_CHECKING:
    from nbcontext.display.bars import Bar, Head

SERIES = (
    ("read", "#0072b2", "read from cache"),
    ("written", "#c0609a", "written to cache"),
    ("other", "#d55e00", "other input"),
    ("output", "#009e73", "output"),
)
"""From the bottom up: a bar's part, its colour (Okabe and Ito's; each at least 3:1 on white and on #111), its words."""

_GREY = "#767676"
"""Readable on white and on black: an image does not know the page's theme."""
_WIDTH, _HEIGHT, _TOP, _BOTTOM, _LEFT = 720, 240, 30, 200, 60
_TEXT_ROWS = 60
_STUB_PX = 14
"""Height of a bar of which nothing is known."""
_WORD_PX = 110
"""Between the beginnings of two marks' words."""
_MARKS = {"c": "compaction", "m": "model", "e": "failed", "x": "measure"}


def twin(bars: Sequence[Bar], head: Head, *, title: str, note: str = "") -> Twin:
    """Return the static form.

    Args:
        bars: at most as many as the image shows.
        head: the sums.
        title: whose requests they are.
        note: what is to be known about them; empty: nothing.
    """
    summary, note = visible(f"{title} · {head.line()}"), visible(note)
    source = f"data:image/svg+xml;base64,{b64encode(svg(bars).encode()).decode()}"
    below = f"<div>{escape(note)}</div>" if note else ""
    html = f'<img alt="{escape(summary, quote=True)}" style="max-width:100%" src="{source}">{below}'
    shown = bars[-_TEXT_ROWS:]
    left = [f"({len(bars) - len(shown):,} earlier bars not shown)"] if len(shown) < len(bars) else []
    rows = text_table(("request", "turn", "input", "cached", "", "cause"), map(_text_row, shown))
    text = "\n".join(filter(None, (summary, note, *left, rows)))
    return Twin(summary=summary, html=html, text=text, short=summary)


def svg(bars: Sequence[Bar]) -> str:
    """Return the bars as an SVG image; it needs nothing beside itself."""
    top = nice(max((total(each) for each in bars), default=0))
    parts = [_frame(top), _legend()]
    step = (_WIDTH - _LEFT) / max(len(bars), 1)
    wide = max(min(step * 0.8, 24), 0.6)
    paths: dict[str, list[str]] = {name: [] for name, _, _ in SERIES}
    unknown: list[str] = []
    expected: list[str] = []
    marks: list[str] = []
    worded = -float(_WORD_PX)
    for at, each in enumerate(bars):
        x, y = _LEFT + at * step, float(_BOTTOM)
        for name, high in _segments(each, top):
            if name == "unsplit":
                unknown.append(_box(x, y - high, wide, high))
            else:
                paths[name].append(f"M{_short(x + wide / 2)} {_short(y)}v-{_short(high)}")
            y -= high
        if each.expected is not None:
            high = _px(each.expected, top)
            expected.append(_box(x, _BOTTOM - high, wide, high))
        made = _mark(each, x, words=x - worded >= _WORD_PX * (2 if x > _WIDTH - _WORD_PX else 1))
        worded = x if len(made) > 1 else worded
        marks += made
    parts += [
        f'<path stroke="{colour}" stroke-width="{wide:.1f}" d="{"".join(paths[name])}"/>'
        for name, colour, _ in SERIES
        if paths[name]
    ]
    if unknown:
        parts.append(f'<path fill="url(#h)" stroke="{_GREY}" stroke-width=".5" d="{"".join(unknown)}"/>')
    if expected:
        parts.append(f'<path fill="none" stroke="{_GREY}" stroke-dasharray="2 2" d="{"".join(expected)}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
        f' font-family="sans-serif" font-size="11">{"".join(parts)}{"".join(marks)}</svg>'
    )


def total(bar: Bar) -> int:
    """Return the tokens that a bar is high, with what was expected."""
    known = sum(each or 0 for each in (bar.read, bar.written, bar.other, bar.output, bar.unsplit))
    return max(known, bar.expected or 0)


def nice(most: float) -> float:
    """Return the least of 1, 2, 5 times a power of ten that is not below `most`; 1 of nothing."""
    scale = 1.0
    while scale < most:
        for factor in (2, 2.5, 2):
            scale *= factor
            if scale >= most:
                break
    return scale


def _segments(bar: Bar, top: float) -> list[tuple[str, float]]:
    found = [(name, _px(value, top)) for name, _, _ in SERIES if (value := getattr(bar, name))]
    if bar.unsplit is not None:
        found.insert(0, ("unsplit", _px(bar.unsplit, top)))
    elif bar.read is None:
        found.insert(0, ("unsplit", _STUB_PX))
    return found


def _px(tokens: float, top: float) -> float:
    return tokens / top * (_BOTTOM - _TOP)


def _box(x: float, y: float, wide: float, high: float) -> str:
    return f"M{_short(x)} {_short(y)}h{_short(wide)}v{_short(high)}h-{_short(wide)}z"


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _mark(bar: Bar, x: float, *, words: bool) -> list[str]:
    told = [_MARKS[mark] for mark in bar.marks if mark in _MARKS]
    if not told:
        return [f'<path stroke="{_GREY}" d="M{_short(x)} {_BOTTOM}v5"/>'] if "t" in bar.marks else []
    line = f'<path stroke="{_GREY}" stroke-dasharray="3 2" d="M{_short(x)} {_TOP}V{_BOTTOM + 5}"/>'
    side = ' text-anchor="end"' if x > _WIDTH - _WORD_PX else ""
    text = f'<text x="{_short(x)}" y="{_BOTTOM + 17}" fill="{_GREY}"{side}>{escape(", ".join(told))}</text>'
    return [line, text] if words else [line]


def _frame(top: float) -> str:
    lines = []
    for share in (0, 0.5, 1):
        y = _BOTTOM - share * (_BOTTOM - _TOP)
        lines.append(f'<path stroke="{_GREY}" stroke-opacity=".4" d="M{_LEFT} {y:.0f}H{_WIDTH}"/>')
        lines.append(
            f'<text x="{_LEFT - 6}" y="{y + 4:.0f}" text-anchor="end" fill="{_GREY}">{top * share:,.0f}</text>'
        )
    hatch = (
        '<defs><pattern id="h" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<path stroke="{_GREY}" stroke-width="2" d="M0 0V6"/></pattern></defs>'
    )
    return f"{hatch}{''.join(lines)}"


def _legend() -> str:
    parts, x = [], _LEFT
    for fill, words in (*((colour, words) for _, colour, words in SERIES), ("url(#h)", "not reported")):
        parts.append(f'<rect x="{x}" y="6" width="10" height="10" fill="{fill}"/>')
        parts.append(f'<text x="{x + 14}" y="15" fill="{_GREY}">{words}</text>')
        x += 34 + 6 * len(words)
    return "".join(parts)


def _text_row(bar: Bar) -> tuple[str, int, str, str, str, str]:
    prompt = bar.unsplit if bar.read is None else bar.read + (bar.written or 0) + (bar.other or 0)
    share = bar.read / prompt if bar.read is not None and prompt else None
    drawn = "?" if share is None else "█" * round(share * 20) + "░" * (20 - round(share * 20))
    name = str(bar.first) if bar.first == bar.last else f"{bar.first}-{bar.last}"
    shown = "?" if share is None else f"{number(bar.read)} {share:.0%}"
    return name, bar.turn, number(prompt), shown, drawn, bar.cause
