"""Small pictures for notebooks: intervals as plain SVG, without a drawing library, in colours that survive print."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _ROW, _LEFT, _RIGHT = 420, 24, 150, 12
_HEIGHT, _BELOW = 130, 22
_INK, _ACCENT = "currentColor", "#0f766e"


@dataclass(frozen=True, slots=True)
class Span:
    """A value between two ends, by its name; `marked` stands out."""

    name: str
    value: float
    low: float
    high: float
    marked: bool = True


def spans_picture(spans: Sequence[Span], words: str) -> str:
    """Intervals one below the other on one scale; nothing where there is none that is finite."""
    there = [s for s in spans if all(map(math.isfinite, (s.value, s.low, s.high)))]
    if not there:
        return ""
    least, most = min(s.low for s in there), max(s.high for s in there)
    room = (most - least) or 1.0

    def x(value: float) -> float:
        return round(_LEFT + (value - least) / room * (_WIDTH - _LEFT - _RIGHT - 40), 1)

    parts = []
    for i, s in enumerate(there):
        y = _ROW * i + _ROW // 2
        colour = _ACCENT if s.marked else "#9ca3af"
        parts.append(_text(0, y + 4, s.name, "start"))
        parts.append(
            f"<line x1='{x(s.low)}' x2='{max(x(s.high), x(s.low) + 1)}' y1='{y}' y2='{y}' stroke='{colour}' "
            "stroke-width='7'/>"
        )
        parts.append(f"<circle cx='{x(s.value)}' cy='{y}' r='4' fill='{_INK}'/>")
    y = _ROW * len(there) + 14
    parts += [_text(x(least), y, f"{least:.4g}", "middle"), _text(x(most), y, f"{most:.4g}", "middle")]
    return _svg(_ROW * len(there) + _BELOW, words, parts)


def band_picture(points: Sequence[tuple[float, float, float, float]], words: str) -> str:
    """(x, value, low, high) from left to right as a line in a band; nothing where there is no point."""
    there = [p for p in points if all(map(math.isfinite, p))]
    if not there:
        return ""
    least, most = min(p[2] for p in there), max(p[3] for p in there)
    room, far = (most - least) or 1.0, max(p[0] for p in there) or 1.0
    left, width, height = 56, _WIDTH - 56 - _RIGHT, _HEIGHT - _BELOW

    def at(x: float, y: float) -> str:
        return f"{left + x / far * width:.1f} {4 + (most - y) / room * (height - 8):.1f}"

    band = [*(at(p[0], p[3]) for p in there), *(at(p[0], p[2]) for p in reversed(there))]
    line = [at(p[0], p[1]) for p in there]
    parts = [
        f"<path d='M{'L'.join(band)}Z' fill='{_ACCENT}' fill-opacity='.25' stroke='{_ACCENT}'/>",
        f"<path d='M{'L'.join(line)}' fill='none' stroke='{_INK}' stroke-width='1.5'/>",
        *(f"<circle cx='{p.split()[0]}' cy='{p.split()[1]}' r='3' fill='{_INK}'/>" for p in line),
        _text(left - 6, 12, f"{most:.3g}", "end"), _text(left - 6, height, f"{least:.3g}", "end"),
        _text(_WIDTH - _RIGHT, _HEIGHT - 6, f"money spent: {far:,.2f}", "end"),
    ]  # fmt: skip
    return _svg(_HEIGHT, words, parts)


def _svg(height: int, words: str, parts: Sequence[str]) -> str:
    told = html.escape(words, quote=True)
    return (
        f"<svg role='img' aria-label='{told}' viewBox='0 0 {_WIDTH} {height}' width='{_WIDTH}' height='{height}' "
        f"font-family='system-ui, sans-serif' font-size='12'><title>{told}</title>{''.join(parts)}</svg>"
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f"<text x='{x}' y='{y}' text-anchor='{anchor}' fill='{_INK}'>{html.escape(text)}</text>"
