"""Texts of models and people as safe HTML: Markdown without HTML of its own, then an allow-list.

Nothing that a text says can load, run or look like a part of the page: links open apart and say so, images come from
files beside the campaign only, and formulas between dollar signs stay as they are written.
"""

import html
import json
import re
from functools import cache
from posixpath import normpath
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
LONGEST = 200_000  # characters of one text that are shown
_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol", "p",
    "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href"},
    "img": {"src", "alt"},
    "ol": {"start"},
    "code": {"class"},
    "td": {"class"},
    "th": {"class"},
}
_MATHS = re.compile(r"\$\$.+?\$\$|\$(?!\s)[^$\n]+?(?<!\s)\$(?!\d)|\\\(.+?\\\)|\\\[.+?\\\]", re.DOTALL)
_ALIGNED = re.compile(r'(?<=<t[dh]) style="text-align:(left|right|center)"')  # as the Markdown reader writes it
_IMAGE = re.compile(r' src="/images/([^"]*)"')
_CLASS = re.compile(r"maths|left|right|center|language-[\w+#-]{1,30}")


def as_html(value: Any) -> str:
    """A cell of an item as HTML that is safe to put into the page."""
    if value is None:
        return '<p class="none">(empty)</p>'
    if not isinstance(value, str):
        return nh3.clean(f"<p>{html.escape(json.dumps(value, ensure_ascii=False))}</p>", tags={"p"})
    text = value if len(value) <= LONGEST else value[:LONGEST] + "\n\n(cut here: the text is longer)"
    return nh3.clean(
        _ALIGNED.sub(r' class="\1"', _markdown().render(text.replace("\0", "�"))), tags=_TAGS, attributes=_ATTRIBUTES,
        attribute_filter=_kept, url_schemes={"http", "https", "mailto"}, link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )  # fmt: skip


def _kept(tag: str, name: str, value: str) -> str | None:
    """The value of an attribute that stays; None takes it out."""
    if tag == "img" and name == "src":
        return image_address(value)
    if name == "class":
        return value if _CLASS.fullmatch(value) else None
    return value


def image_address(source: str) -> str | None:
    """Where the server has an image that a text names by its file; None for every other address."""
    parts = urlsplit(source)
    path = unquote(parts.path)
    if parts.scheme or parts.netloc or not path.lower().endswith(IMAGES):
        return None
    if path.startswith(("/", "\\")) or "\\" in path or ".." in path.split("/"):
        return None
    return "/images/" + quote(path)


def images_in(value: Any) -> set[str]:
    """The files of all images that a text shows, by their paths from the campaign's folder."""
    return {normpath(unquote(html.unescape(found))) for found in _IMAGE.findall(as_html(value))}


@cache
def _markdown() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    reader.inline.ruler.before("escape", "maths", _maths)
    return reader


def _maths(state: StateInline, silent: bool) -> bool:
    """Formulas stay as they are written: Markdown would take their stars and underscores for emphasis."""
    if state.src[state.pos] not in "$\\":
        return False
    found = _MATHS.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        token = state.push("code_inline", "code", 0)
        token.content, token.attrs = found.group(), {"class": "maths"}
    state.pos = found.end()
    return True
