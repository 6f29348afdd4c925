"""One self-contained HTML page in the house's plain style, with pictures inline where matplotlib is there."""

import html
import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ratewise.core.document import Part, as_html
from ratewise.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2937; --page: #fff; --line: #e5e7eb; --good: #0f766e; --note: #92400e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e5e7eb; --page: #111827; --line: #374151; --good: #2dd4bf; --note: #fbbf24; }
  svg { background: #f9fafb; border-radius: .4rem; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 48rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { padding: .3rem .6rem; text-align: right; vertical-align: top; }
th:first-child, td:first-child, td.text, .fact td { text-align: left; } tr { border-bottom: 1px solid var(--line); }
tr.above { border: 0; } td.text { padding-top: 0; opacity: .75; }
.taken { color: var(--good); font-weight: 600; } .big { font-size: 1.6rem; }
.note { color: var(--note); } svg { max-width: 100%; height: auto; }
figure { margin: 1rem 0; } figcaption { font-size: .92rem; opacity: .85; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { body { max-width: none; margin: 0; } h2, figure, tr { break-inside: avoid; } h2 { break-after: avoid; } }
@media (max-width: 30rem) { body { margin: 1rem auto; } .big { font-size: 1.3rem; } th, td { padding: .3rem .35rem; } }
"""


def page(title: str, parts: Iterable[Part], *, style: str = "") -> str:
    """The page with these parts, and what its style has besides; every word that came from outside is escaped."""
    phone = "<meta name='viewport' content='width=device-width, initial-scale=1'>"
    head = f"<meta charset='utf-8'>{phone}<title>{html.escape(title)}</title><style>{_STYLE}{style}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{as_html(parts)}</body></html>\n"


def svg_of(plot: "Callable[[], Figure]") -> str:
    """A figure as inline SVG; nothing where matplotlib is not installed."""
    try:
        made = plot()
    except InputError:
        return ""
    target = io.StringIO()
    made.savefig(target, format="svg", metadata={"Date": None})
    return "<svg" + target.getvalue().partition("<svg")[2]
