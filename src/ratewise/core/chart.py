"""Small pictures as SVG, in one style: they need no library, follow a page's dark mode, and can be read on a phone.

Everything that a picture shows is told in its `words` for those who do not see it. Colours are safe for colour-blind
readers, and never the only difference.
"""

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ACCENT, ACCENT_2, QUIET = "#0d9488", "#c2410c", "#8b95a5"  # each 3:1 or more on white and on the dark page
INK = "currentColor"
_WIDTH, _ROW, _RIGHT, _SIGN = 440, 26, 16, 6.6  # px; the mean width of a sign of 12 px

Told = Callable[[float], str]


def plainly(value: float) -> str:
    """A number in a few digits."""
    return f"{value:,.4g}".replace("-", "−")


def in_percent(value: float) -> str:
    """A share as per cent, with as many digits as it needs."""
    return f"{100 * value:.3g}%".replace("-", "−")


@dataclass(frozen=True, slots=True)
class Span:
    """A value between two ends, by its name; `marked` stands out."""

    name: str
    value: float
    low: float
    high: float
    marked: bool = True


@dataclass(frozen=True, slots=True)
class ChartLine:
    """Points (x, y, low, high) from left to right, named where the line ends; ends may be None."""

    name: str
    points: Sequence[tuple[float, float, float | None, float | None]]
    band: bool = False  # ends as a band, else as a stroke at each point
    dashed: bool = False


def ticks_of(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between the ends, 1, 2, 2.5 or 5 times a power of ten apart."""
    if not high > low:
        return [low]
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(k * power for k in (1, 2, 2.5, 5, 10) if k * power >= least * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def spans_picture(
    spans: Sequence[Span], words: str, *, told: Told = plainly, mark: tuple[float, str] | None = None
) -> str:
    """Intervals one below the other on one scale; nothing where there is none that is finite.

    `mark` is a value with its name that has a line across all rows, such as 0 or a bar that must be reached.
    """
    there = [s for s in spans if all(map(math.isfinite, (s.value, s.low, s.high)))]
    if not there:
        return ""
    names = [_cut(s.name) for s in there]
    left = 10 + _SIGN * max(map(len, names)) if any(names) else _RIGHT
    known = [x for s in there for x in (s.low, s.high)] + ([] if mark is None else [mark[0]])
    least, most = min(known), max(known)
    room = 0.06 * (most - least) or 0.5
    least, most, top = least - room, most + room, 0 if mark is None else 16
    bottom = top + _ROW * len(there)

    def x(value: float) -> float:
        return round(left + (value - least) / (most - least) * (_WIDTH - left - _RIGHT), 1)

    parts = _ticks([(x(t), told(t)) for t in ticks_of(least, most, 4)], top, bottom)
    if mark is not None:
        at, side = x(mark[0]), "start" if x(mark[0]) < (left + _WIDTH) / 2 else "end"
        parts.append(f"<path d='M{at} {top - 2}V{bottom}' stroke='{INK}' stroke-dasharray='4 3'/>")
        parts.append(_text(at, 11, mark[1], side))
    for i, (s, name) in enumerate(zip(there, names, strict=True)):
        y, colour = top + _ROW * i + _ROW // 2, ACCENT if s.marked else QUIET
        parts.append(_text(0, y + 4, name, "start"))
        a, b = x(s.low), max(x(s.high), x(s.low) + 1)
        parts.append(f"<path d='M{a} {y}H{b}M{a} {y - 5}v10M{b} {y - 5}v10' stroke='{colour}' stroke-width='3'/>")
        parts.append(f"<circle cx='{x(s.value)}' cy='{y}' r='5' fill='{colour}'/>")
    return _svg(bottom + 20, words, parts)


def one_span_picture(span: Span, words: str, told: Told, *, mark: tuple[float, str] | None = None) -> str:
    """One interval with its numbers beside it, and a mark where it must reach or where the truth is."""
    known = [span.low, span.high, *([] if mark is None else [mark[0]])]
    if not all(map(math.isfinite, (*known, span.value))):
        return ""
    least, most = min(known), max(known)
    room = 0.12 * (most - least) or 0.5
    y = 44 if mark is not None else 26

    def x(value: float) -> float:
        return round(8 + (value - least + room) / (most - least + 2 * room) * (_WIDTH - 16), 1)

    a, v, b = x(span.low), x(span.value), max(x(span.high), x(span.low) + 1)
    parts = [
        f"<path d='M8 {y}H{_WIDTH - 8}' stroke='{QUIET}' stroke-opacity='.4'/>",
        f"<path d='M{a} {y}H{b}M{a} {y - 6}v12M{b} {y - 6}v12' stroke='{ACCENT}' stroke-width='4'/>",
        f"<circle cx='{v}' cy='{y}' r='7' fill='{ACCENT}'/>",
        _text(a, y + 22, told(span.low), "middle"), _text(b, y + 22, told(span.high), "middle"),
        _text(v, y - 13, told(span.value), "middle", bold=True),
    ]  # fmt: skip
    if mark is not None:
        at = x(mark[0])
        side = "start" if at < _WIDTH / 2 else "end"
        parts.append(f"<path d='M{at} 14V{y + 10}' stroke='{INK}' stroke-dasharray='4 3'/>")
        parts.append(_text(at, 10, mark[1], side))
    return _svg(y + 28, words, parts)


def lines_picture(
    lines: Sequence[ChartLine], words: str, *, x_name: str, y_name: str, told_x: Told = plainly, told_y: Told = plainly,
    diagonal: bool = False, mark: tuple[float, str] | None = None, from_zero: bool = False,
) -> str:  # fmt: skip
    """Lines over one another, each named beside its last point; nothing where there is no point.

    `diagonal` is the line on which x equals y, `mark` a value with its name across the picture.
    """
    there = [(line, [p for p in line.points if all(map(math.isfinite, p[:2]))]) for line in lines]
    there = [(line, points) for line, points in there if points]
    if not there:
        return ""
    xs = [p[0] for _, points in there for p in points]
    ys = [v for _, points in there for p in points for v in p[1:] if v is not None and math.isfinite(v)]
    ys += [] if mark is None else [mark[0]]
    ys += [0.0] if from_zero else []
    least_x, most_x = min(xs + [0.0] * (not diagonal)), max(xs)
    least, most = min(ys), max(ys)
    room = 0.05 * (most - least) or 0.5
    least, most = least - room * (not from_zero), most + room
    y_ticks = [(v, told_y(v)) for v in ticks_of(least, most, 4)]
    named = [_cut(line.name, 18) for line, _ in there]
    left = 12 + _SIGN * max(len(text) for _, text in y_ticks)
    right = 16 + 1.15 * _SIGN * max(map(len, named), default=0)  # they are bold
    top, bottom = 24, 200

    def x(value: float) -> float:
        return round(left + (value - least_x) / ((most_x - least_x) or 1.0) * (_WIDTH - left - right), 1)

    def y(value: float) -> float:
        return round(bottom - (value - least) / (most - least) * (bottom - top), 1)

    parts = [_text(0, 12, y_name, "start")]
    for value, text in y_ticks:
        parts.append(f"<path d='M{left} {y(value)}H{_WIDTH - right}' stroke='{QUIET}' stroke-opacity='.3'/>")
        parts.append(_text(left - 6, y(value) + 4, text, "end"))
    parts += [_text(x(t), bottom + 16, told_x(t), "middle") for t in ticks_of(least_x, most_x, 4)]
    parts.append(_text(_WIDTH - right, bottom + 34, x_name, "end"))
    if diagonal:
        low, high = max(least_x, least), min(most_x, most)
        if high > low:
            parts.append(
                f"<path d='M{x(low)} {y(low)}L{x(high)} {y(high)}' fill='none' stroke='{QUIET}' "
                "stroke-dasharray='4 3'/>"
            )
    if mark is not None:
        parts.append(f"<path d='M{left} {y(mark[0])}H{_WIDTH - right}' stroke='{INK}' stroke-dasharray='2 3'/>")
        parts.append(_text(left + 4, y(mark[0]) - 5, mark[1], "start"))
    places = _apart([y(points[-1][1]) for _, points in there])
    for k, (line, points) in enumerate(there):
        colour = (ACCENT, ACCENT_2, QUIET)[k % 3]
        parts += _line(
            line, [(x(p[0]), y(p[1]), *(None if v is None else y(v) for v in p[2:])) for p in points], colour
        )
        parts.append(_text(x(points[-1][0]) + 9, places[k] + 4, named[k], "start", bold=True))
    return _svg(bottom + 42, words, parts)


def _line(line: ChartLine, at: Sequence[tuple[float | None, ...]], colour: str) -> list[str]:
    parts = []
    ended = [p for p in at if p[2] is not None and p[3] is not None]
    if line.band and len(ended) > 1:
        edge = [f"{p[0]} {p[3]}" for p in ended] + [f"{p[0]} {p[2]}" for p in reversed(ended)]
        parts.append(f"<path d='M{'L'.join(edge)}Z' fill='{colour}' fill-opacity='.18'/>")
    else:
        strokes = "".join(f"M{p[0]} {p[2]}V{p[3]}" for p in ended)
        parts += [f"<path d='{strokes}' stroke='{colour}' stroke-width='2' stroke-opacity='.7'/>"] if strokes else []
    dashes = " stroke-dasharray='5 4'" if line.dashed else ""
    path = "L".join(f"{p[0]} {p[1]}" for p in at)
    parts.append(f"<path d='M{path}' fill='none' stroke='{colour}' stroke-width='2'{dashes}/>")
    return parts + [f"<circle cx='{p[0]}' cy='{p[1]}' r='3.5' fill='{colour}'/>" for p in at]


def _apart(places: Sequence[float], least: float = 15.0) -> list[float]:
    """The places, moved down where two names would lie over one another."""
    out, last = list(places), -math.inf
    for k in sorted(range(len(places)), key=places.__getitem__):
        last = out[k] = max(out[k], last + least)
    return out


def whisker(
    value: float, low: float | None, high: float | None, ends: tuple[float, float], *, zero: bool = False
) -> str:
    """An interval in a cell of a table, between the ends that all its rows share; with a line at 0 if asked."""
    width, height = 140, 16

    def x(v: float) -> float:
        return round(6 + (min(max(v, ends[0]), ends[1]) - ends[0]) / (ends[1] - ends[0]) * (width - 12), 1)

    parts = [f"<path d='M{x(0)} 0V{height}' stroke='{INK}' stroke-opacity='.6'/>"] if zero else []
    sure = not zero or low is None or high is None or low > 0 or high < 0
    colour = ACCENT if sure else QUIET
    if low is not None and high is not None:
        parts.append(f"<path d='M{x(low)} 8H{max(x(high), x(low) + 1)}' stroke='{colour}' stroke-width='3'/>")
    parts.append(f"<circle cx='{x(value)}' cy='8' r='4.5' fill='{colour}'/>")
    size = f"viewBox='0 0 {width} {height}' width='{width}' height='{height}'"
    return f"<svg aria-hidden='true' {size}>{''.join(parts)}</svg>"


def _ticks(ticks: Sequence[tuple[float, str]], top: int, bottom: int) -> list[str]:
    lines = "".join(f"M{x} {top}V{bottom}" for x, _ in ticks)
    return [
        f"<path d='{lines}' stroke='{QUIET}' stroke-opacity='.3'/>",
        *(_text(x, bottom + 15, text, "middle") for x, text in ticks),
    ]


def _svg(height: int, words: str, parts: Sequence[str]) -> str:
    told = html.escape(words, quote=True)
    return (
        f"<svg role='img' aria-label='{told}' viewBox='0 0 {_WIDTH} {height}' width='{_WIDTH}' height='{height}' "
        f"font-family='system-ui, sans-serif' font-size='12'><title>{told}</title>{''.join(parts)}</svg>"
    )


def _text(x: float, y: float, text: str, anchor: str, *, bold: bool = False) -> str:
    weight = " font-weight='700'" if bold else ""
    return f"<text x='{x}' y='{y}' text-anchor='{anchor}' fill='{INK}'{weight}>{html.escape(text)}</text>"


def _cut(name: str, longest: int = 26) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"
