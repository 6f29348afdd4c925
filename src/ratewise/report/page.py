"""Reports as one self-contained HTML page or as Markdown. What every report ends with is said here, once."""

import html
import os
from collections.abc import Iterable, Sequence

from ratewise.core.document import Heading, Part, Sentence, anchor, as_html, as_markdown
from ratewise.errors import InputError

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2937; --page: #fff; --soft: #f3f4f6; --line: #d9dee5; --quiet: #566072;
  --good: #0f766e; --note: #92400e; --link: #0b6bcb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e7eb; --page: #111827; --soft: #1f2937; --line: #3b4657;
  --quiet: #a7b0bf; --good: #2dd4bf; --note: #fbbf24; --link: #7cb8ff; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 50rem;
  margin: 2.5rem auto; padding: 0 1.2rem; overflow-wrap: break-word; }
h1 { font-size: 1.9rem; line-height: 1.25; margin: .2rem 0 .8rem; text-wrap: balance; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .6rem; padding-top: .9rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; } p, ul { max-width: 42rem; }
a { color: var(--link); } .quiet, figcaption, td.text { color: var(--quiet); } .quiet { margin: .2rem 0; }
.lede { font-size: 1.15rem; } .note { border-left: 3px solid var(--note); padding-left: .7rem; }
.warning { color: var(--note); } code, pre { font-size: .88em; } code { overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--soft); padding: .7rem .9rem;
  border-radius: .4rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); gap: .8rem;
  margin: 1.4rem 0; }
.figures div { background: var(--soft); border-radius: .5rem; padding: .7rem .9rem; }
.figures dt { color: var(--quiet); font-size: .9rem; } .figures dd { margin: 0; } .figures b { font-size: 1.25rem; }
.figures span { display: block; font-size: .9rem; color: var(--quiet); text-wrap: balance; }
nav ul { columns: 14rem 2; padding-left: 1.1rem; font-size: .95rem; } nav { margin: 1.4rem 0; }
figure { margin: 1rem 0; } figure svg { width: 100%; max-width: 34rem; height: auto; }
figcaption { font-size: .92rem; max-width: 42rem; }
.wide { overflow-x: auto; margin: .8rem 0; } table { border-collapse: collapse; min-width: 50%; }
th, td { padding: .35rem .9rem .35rem 0; vertical-align: top; font-variant-numeric: tabular-nums; }
thead th { font-size: .88rem; color: var(--quiet); font-weight: 600; vertical-align: bottom; }
tbody tr { border-top: 1px solid var(--line); } tr.below { border: 0; }
.facts { width: 100%; } .facts th { text-align: left; font-weight: 400; color: var(--quiet); width: 12rem; }
td[style*=right] { white-space: nowrap; } td.bar { padding: .35rem 0; vertical-align: middle; }
  td.bar svg { display: block; }
.ends { display: flex; justify-content: space-between; width: 140px; }
.taken { color: var(--good); font-weight: 600; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
td.text dl { margin: 0 0 .6rem; display: grid; grid-template-columns: fit-content(9rem) 1fr; gap: .15rem .9rem; }
td.text dt { font-size: .88rem; padding-top: .1rem; overflow-wrap: anywhere; } td.text summary { color: var(--link); }
td.text dd { margin: 0; color: var(--ink); white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext;
  text-align: start; min-width: 0; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); font-size: .9rem; color: var(--quiet); }
@media (max-width: 34rem) {
  body { margin: 1.2rem auto; } h1 { font-size: 1.45rem; } .figures { grid-template-columns: 1fr 1fr; }
  .facts th, .facts td { display: block; width: auto; padding: .1rem 0; } .facts tr { display: block;
  padding: .35rem 0; }
  td.text dl { grid-template-columns: 1fr; } td.text dd { margin-bottom: .3rem; }
  .stacked thead { display: none; } .stacked, .stacked tbody, .stacked tr, .stacked td { display: block; width: 100%;
  }
  .stacked tr { padding: .5rem 0; } .stacked td:empty { display: none; } .stacked td:first-child { font-weight: 600; }
  .stacked td { display: flex; justify-content: space-between; gap: 1rem;
  padding: .1rem 0; text-align: right !important; } .stacked td::before { content: attr(data-title);
  color: var(--quiet); text-align: left; }
}
@media print {
  :root { color-scheme: light; --ink: #000; --page: #fff; --quiet: #444; --line: #bbb; --soft: #f3f4f6;
  --good: #0f766e; }
  @page { margin: 16mm 14mm; } body { max-width: none; margin: 0; padding: 0; font-size: 10.5pt; }
  nav { display: none; }
  .wide { overflow: visible; } table { font-size: 9.5pt; } thead { display: table-header-group; }
  .figures { grid-template-columns: repeat(4, 1fr); }
  tr:not(.below), .wide:not(:has(.below)), figure, .figures, .note, pre { break-inside: avoid; }
  tr.above { break-after: avoid; }
  h1, h2, h3 { break-after: avoid; }
}
"""
_FEWEST = 4  # sections, from which on a page lists them


def page(title: str, parts: Iterable[Part], *, style: str = "") -> str:
    """The page with these parts, and what its style has besides; every word that came from outside is escaped.

    What comes before the first section is its head. A long page lists its sections.
    """
    head, *sections = _sections([*parts])
    named = [section[0] for section in sections if isinstance(section[0], Heading)]
    links = "".join(f"<li><a href='#{anchor(one.text)}'>{html.escape(one.text)}</a></li>" for one in named)
    contents = f"<nav aria-label='Contents'><ul>{links}</ul></nav>" if len(named) >= _FEWEST else ""
    shown = "".join(
        f"<section aria-labelledby='{anchor(name.text)}'>{as_html(section)}</section>"
        for name, section in zip(named, sections, strict=True)
    )
    phone = "<meta name='viewport' content='width=device-width, initial-scale=1'>"
    meta = f"<meta charset='utf-8'>{phone}<title>{html.escape(title)}</title><style>{_STYLE}{style}</style>"
    body = f"<main><header>{as_html(head)}</header>{contents}{shown}</main><footer>{as_html(_closing())}</footer>"
    return f"<!doctype html><html lang='en'><head>{meta}</head><body>{body}</body></html>\n"


def markdown(parts: Iterable[Part]) -> str:
    """The same as Markdown, for a pull request or a wiki."""
    return as_markdown([*parts, *_closing()])


def check_report(path: str | None) -> None:
    """Refuse a report that is neither HTML nor Markdown; `None` means no report."""
    if path is not None and not path.lower().endswith((".html", ".htm", ".md")):
        raise InputError(f"reports end in .html or .md; got {os.path.basename(path)!r}")


def written(path: str, title: str, parts: Iterable[Part]) -> str:
    """A report's text as its file's ending asks for it."""
    return markdown(parts) if path.lower().endswith(".md") else page(title, parts)


def _closing() -> list[Part]:
    """The last words of every report: a further line for all of them belongs here."""
    from ratewise import __version__

    return [Sentence(f"Made with ratewise {__version__}.", "quiet")]


def _sections(parts: Sequence[Part]) -> list[list[Part]]:
    """The head, then each section from its heading on."""
    out: list[list[Part]] = [[]]
    for part in parts:
        if isinstance(part, Heading) and part.level == 2:
            out.append([])
        out[-1].append(part)
    return out
