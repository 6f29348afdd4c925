"""One self-contained HTML page: what was planned, what was found, with pictures inline where matplotlib is there."""

import html
import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ratewise.core.estimate import Estimate
from ratewise.errors import InputError
from ratewise.questions.plan import Plan
from ratewise.report.pictures import POLICY_TITLES, plot_estimates, plot_plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
:root { color-scheme: light dark; --ink: #1f2937; --page: #fff; --line: #e5e7eb; --good: #0f766e; --note: #92400e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e5e7eb; --page: #111827; --line: #374151; --good: #2dd4bf; --note: #fbbf24; }
  svg { background: #f9fafb; border-radius: .4rem; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 48rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { padding: .3rem .6rem; text-align: right; vertical-align: top; }
th:first-child, td:first-child, td.text { text-align: left; } tr { border-bottom: 1px solid var(--line); }
tr.above { border: 0; } td.text { padding-top: 0; opacity: .75; }
.taken { color: var(--good); font-weight: 600; } .big { font-size: 1.6rem; }
.note { color: var(--note); } svg { max-width: 100%; height: auto; }
figure { margin: 1rem 0; } figcaption { font-size: .92rem; opacity: .85; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { body { max-width: none; margin: 0; } h2, figure, tr { break-inside: avoid; } h2 { break-after: avoid; } }
@media (max-width: 30rem) { body { margin: 1rem auto; } .big { font-size: 1.3rem; } th, td { padding: .3rem .35rem; } }
"""


def report_page(title: str, plan: Plan, estimate: Estimate, *, truth: float | None = None) -> str:
    """The whole page as text; every word that came from outside is escaped."""
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        answer(estimate, truth),
        picture(lambda: plot_estimates({"estimate": estimate}, truth=truth)),
        "<h2>How the money was planned</h2>",
        f"<p>{html.escape(plan.reason)}</p>",
        _policies(plan),
        picture(lambda: plot_plan(plan)),
        *notes_html(plan.notes + estimate.notes),
    ]
    return page(title, parts)


def page(title: str, parts: Iterable[str]) -> str:
    """A page in the house's plain style from parts that are HTML already."""
    phone = "<meta name='viewport' content='width=device-width, initial-scale=1'>"
    head = f"<meta charset='utf-8'>{phone}<title>{html.escape(title)}</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def answer(e: Estimate, truth: float | None) -> str:
    """The estimate in large letters, and what it rests on."""
    interval = (
        "no interval" if e.interval is None else f"{e.level:.0%} interval {e.interval[0]:.4f} to {e.interval[1]:.4f}"
    )
    spent = "" if e.spend is None else f", {e.spend:,.2f} spent"
    known = "" if truth is None else f" The truth is {truth:.4f}."
    return (
        f"<p class='big'><strong>{e.value:.4f}</strong>, {interval}</p>"
        f"<p>Mean strong rating of the {html.escape(e.estimand)}, from {e.labels:,} strong ratings on {e.items:,} items"
        f"{spent}; {html.escape(e.method)}.{known}</p>"
    )


def _policies(plan: Plan) -> str:
    head = "<tr><th>policy</th><th>items</th><th>strong ratings</th><th>spend</th><th>standard error</th></tr>"
    rows = (
        f"<tr class='{'taken' if name == plan.recommendation else ''}'><td>{POLICY_TITLES[name]}</td>"
        f"<td>{p.items:,.0f}</td><td>{p.strong_labels:,.0f}</td><td>{p.spend:,.2f}</td><td>{p.expected_se:.4f}</td></tr>"
        for name, p in plan.policies.items()
    )
    return f"<div class=wide><table>{head}{''.join(rows)}</table></div>"


def notes_html(notes: Iterable[str]) -> list[str]:
    """Notes, a paragraph each."""
    return [f"<p class='note'>{html.escape(note)}</p>" for note in notes]


def described(plot: Callable[[], "Figure"], words: str) -> str:
    """A picture with the same in words below it; where matplotlib is not installed, the words alone."""
    made, said = picture(plot), html.escape(words)
    if not made:
        return f"<p>{said}</p>"
    told = made.replace("<svg", f"<svg role='img' aria-label='{html.escape(words, quote=True)}'", 1)
    return f"<figure>{told}<figcaption>{said}</figcaption></figure>"


def picture(plot: Callable[[], "Figure"]) -> str:
    """A figure as inline SVG; nothing where matplotlib is not installed."""
    try:
        made = plot()
    except InputError:
        return ""
    target = io.StringIO()
    made.savefig(target, format="svg", metadata={"Date": None})
    return "<svg" + target.getvalue().partition("<svg")[2]
