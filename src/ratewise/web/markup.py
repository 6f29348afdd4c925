"""Texts of models and people as safe HTML: Markdown without HTML of its own, then an allow-list.

Nothing that a text says can load, run or look like a part of the page: links open apart and say where they lead, images
come from files beside the campaign or stand in the text itself, and whatever is HTML in a text is shown as its signs.
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape, unescape
from posixpath import normpath
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from ratewise.web.shapes import ChatMessage, Part, from_json, is_code, messages_of

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
LONGEST = 200_000  # characters of one text that are shown
_MOST_BRANCHES = 3000  # of a tree of JSON that are shown
_MOST_OPEN = 60  # of a tree that is shown open
_DEEPEST = 30
_TAGS = {
    "a", "blockquote", "br", "code", "del", "details", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img",
    "li", "ol", "p", "pre", "s", "span", "strong", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href"}, "img": {"src", "alt"}, "ol": {"start"}, "details": {"open", "class"},
    **{tag: {"class"} for tag in ("code", "td", "th", "div", "span", "p", "ul", "h3")},
}  # fmt: skip
_DIRECTED = ("blockquote", "ul", "ol", "table")  # their lines find their own direction, by the style sheet
_CLASSES = {
    "maths", "maths display", "left", "right", "center", "scroll", "where", "none", "chat", "role", "turn system",
    "turn user", "turn assistant", "turn tool", "turn other", "folded-part", "json", "key", "string", "number", "word",
    "count",
}  # fmt: skip
_LANGUAGE = re.compile(r"language-[\w+#-]{1,30}")
_MATHS = re.compile(r"\$\$.+?\$\$|\$(?!\s)[^$\n]+?(?<!\s)\$(?!\d)|\\\(.+?\\\)|\\\[.+?\\\]", re.DOTALL)
_DISPLAYED = {"$$": "$$", "\\[": "\\]", "\\begin{": "\\end{"}  # how formulas on lines of their own begin and end
_ALIGNED = re.compile(r'(?<=<t[dh]) style="text-align:(left|right|center)"')  # as the Markdown reader writes it
_IMAGE = re.compile(r' src="/images/([^"]*)"')
_DATA = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*")
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system", "function": "tool"}


def as_html(value: Any, *, name: str = "") -> str:
    """A cell of an item as HTML that is safe to put into the page; one without content says that this part is empty."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return f'<p class="none">{escape(f"empty {name}".strip())}</p>'
    made = _shown(value).replace("\0", "�").encode("utf-8", "replace").decode()  # JSON may have halves of signs
    return nh3.clean(
        made, tags=_TAGS, attributes=_ATTRIBUTES, attribute_filter=_kept,
        url_schemes={"http", "https", "mailto", "data"}, link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}, **{tag: {"dir": "auto"} for tag in _DIRECTED}},
    )  # fmt: skip


def _shown(value: Any) -> str:
    """A cell by what it is; text that came as text is Markdown."""
    found = from_json(value) if isinstance(value, str) and len(value) <= LONGEST else value
    if messages := messages_of(found):
        return _conversation(messages)
    if isinstance(found, dict | list) and found:
        return f'<div class="json">{_Tree().branches(found, 0)}</div>'
    if not isinstance(value, str):
        return f"<p>{escape(json.dumps(value, ensure_ascii=False))}</p>"
    if len(value) > LONGEST:
        value = value[:LONGEST] + "\n\n(cut here: the text is longer)"
    line = value.strip()
    if " " not in line and "\n" not in line and (_DATA.fullmatch(line) or line.lower().endswith(IMAGES)):
        return f"<p>{_image(line, line if len(line) < 200 else 'picture')}</p>"
    return f"<pre><code>{escape(value)}</code></pre>" if is_code(value) else _rendered(value)


def _rendered(text: str) -> str:
    return _ALIGNED.sub(r' class="\1"', _markdown().render(text))


def _kept(tag: str, name: str, value: str) -> str | None:
    """The value of an attribute that stays; None takes it out."""
    if tag == "img" and name == "src":
        return value if value.startswith("/images/") or _DATA.fullmatch(value) else None
    if tag == "a" and name == "href":
        return value if urlsplit(value).scheme in ("http", "https", "mailto") else None
    if name == "class":
        return value if value in _CLASSES or _LANGUAGE.fullmatch(value) else None
    return value


# Pictures and links


def image_address(source: str) -> str | None:
    """Where the server has an image that a text names by its file; None for every other address."""
    try:
        parts = urlsplit(source)
    except ValueError:
        return None
    path = unquote(parts.path)
    if parts.scheme or parts.netloc or not path.lower().endswith(IMAGES):
        return None
    if path.startswith(("/", "\\")) or "\\" in path or ".." in path.split("/"):
        return None
    return "/images/" + quote(path)


def images_in(value: Any) -> set[str]:
    """The files of all images that a text shows, by their paths from the campaign's folder."""
    return {normpath(unquote(unescape(found))) for found in _IMAGE.findall(as_html(value))}


def _image(source: str, alt: str) -> str:
    """A picture of the folder or of the text itself; one that lies elsewhere is a link that says so."""
    address = source if _DATA.fullmatch(source) else image_address(source)
    if address is not None:
        return f'<img src="{escape(address)}" alt="{escape(alt)}">'
    if (where := _where(source)) and where != source:
        return f'<a href="{escape(source)}">picture elsewhere: {escape(alt or "no name")}</a>{_led_to(where)}'
    return f'<span class="none">picture that is not shown: {escape(alt or source[:200])}</span>'


def _where(address: str) -> str:
    """Where a link leads, in short: its host; the address where that says more, nothing where it leads nowhere."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    if parts.scheme in ("http", "https"):
        return parts.netloc.rsplit("@", 1)[-1]
    return address if parts.scheme == "mailto" else ""


def _led_to(where: str) -> str:
    return f' <span class="where">({escape(where)})</span>'


# Markdown


@cache
def _markdown() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    reader.inline.ruler.before("escape", "maths", _maths)
    reader.inline.ruler.at("newline", _newline)
    begins_within: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    reader.block.ruler.before("fence", "maths_block", _maths_block, begins_within)
    for name, rule in (("image", _write_image), ("link_close", _write_link_end),
                       ("table_open", _write_table), ("table_close", _write_table_end)):  # fmt: skip
        reader.add_render_rule(name, rule)
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
        displayed = found.group().startswith(("$$", "\\["))
        token.content, token.attrs = found.group(), {"class": "maths display" if displayed else "maths"}
    state.pos = found.end()
    return True


def _maths_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A formula on lines of its own: no line of it is a list or a heading."""
    opening = state.getLines(first, first + 1, state.blkIndent, False).strip()
    begin = next((sign for sign in _DISPLAYED if opening.startswith(sign)), None)
    if begin is None or state.is_code_block(first):
        return False
    for line in range(first, last):
        said = state.getLines(line, line + 1, state.blkIndent, False).strip()
        rest = said[len(begin) :] if line == first else said
        if not said:
            return False
        if _DISPLAYED[begin] in rest:
            if not (rest.endswith(_DISPLAYED[begin]) or begin.startswith("\\begin")):
                return False
            break
    else:
        return False
    if not silent:
        state.push("paragraph_open", "p", 1)
        token = state.push("inline", "", 0)
        written = state.getLines(first, line + 1, state.blkIndent, False).strip()
        formula = Token("code_inline", "code", 0, attrs={"class": "maths display"}, content=written)
        token.content, token.children, token.map = "", [formula], [first, line + 1]
        state.push("paragraph_close", "p", -1)
        state.line = line + 1
    return True


def _newline(state: StateInline, silent: bool) -> bool:
    """A line ends where it was ended, and begins with its spaces, as in poems."""
    if state.src[state.pos] != "\n":
        return False
    end = state.pos + 1
    while end < state.posMax and state.src[end] in " \t":
        end += 1
    if not silent:
        state.pending = state.pending.rstrip(" ")
        state.push("hardbreak", "br", 0)
        state.pending += "\u00a0" * len(state.src[state.pos + 1 : end].expandtabs(4))
    state.pos = end
    return True


def _write_image(_: RendererHTML, tokens: Sequence[Token], at: int, __: OptionsDict, ___: EnvType) -> str:
    return _image(unquote(str(tokens[at].attrGet("src") or "")), tokens[at].content)


def _write_link_end(_: RendererHTML, tokens: Sequence[Token], at: int, __: OptionsDict, ___: EnvType) -> str:
    """The end of a link, and where it leads, unless its words are the address."""
    start, depth = at, 0
    while start > 0:
        depth += tokens[start].nesting if tokens[start].type in ("link_open", "link_close") else 0
        if depth == 0:
            break
        start -= 1
    href = str(tokens[start].attrGet("href") or "")
    said = "".join(token.content for token in tokens[start:at])
    where = _where(href)
    return "</a>" if not where or href in (said, f"mailto:{said}") else f"</a>{_led_to(where)}"


def _write_table(_: RendererHTML, __: Sequence[Token], ___: int, ____: OptionsDict, _____: EnvType) -> str:
    return '<div class="scroll"><table>'


def _write_table_end(_: RendererHTML, __: Sequence[Token], ___: int, ____: OptionsDict, _____: EnvType) -> str:
    return "</table></div>"


# Conversations and trees


def _conversation(messages: Iterable[ChatMessage]) -> str:
    return f'<div class="chat">{"".join(map(_turn, messages))}</div>'


def _turn(message: ChatMessage) -> str:
    """One message: a bubble with its role; what instructs and what tools say is folded."""
    said = message.role.lower()
    role = _ROLES.get(said, said)
    inside = "".join(map(_message_part, message.parts)) or '<p class="none">empty message</p>'
    if role == "system":
        words = next((part.value for part in message.parts if part.kind == "text"), "")
        title = "Developer's prompt" if said == "developer" else "System prompt"
        return f'<details class="turn system">{_summary(title, words)}{inside}</details>'
    kind = role if role in ("user", "assistant", "tool") else "other"
    name = escape(message.role[:1].upper() + message.role[1:])
    return f'<div class="turn {kind}"><h3 class="role">{name}</h3>{inside}</div>'


def _message_part(part: Part) -> str:
    if part.kind == "text":
        return _rendered(str(part.value)[:LONGEST]) if str(part.value).strip() else ""
    if part.kind == "image":
        return f"<p>{_image(str(part.value), 'picture')}</p>"
    titles = {"thinking": "Thinking", "call": f"Calls {part.name or 'a tool'}", "other": "More"}
    title = titles.get(part.kind, f"Result of {part.name or 'a tool'}")
    value = part.value
    short = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    inside = _shown(value) if value or value == 0 else '<p class="none">nothing</p>'
    return f'<details class="folded-part">{_summary(title, short)}{inside}</details>'


def _summary(title: str, text: str) -> str:
    """The line that is shown of a part that is folded: what it is, and how it begins."""
    begins = " ".join(str(text)[:400].split())
    begins = begins if len(begins) <= 90 else begins[:90] + "…"
    return f'<summary>{escape(title)} <span class="count">{escape(begins)}</span></summary>'


class _Tree:
    """JSON as lists that fold; what is beyond so many branches or so deep is one line of text."""

    def __init__(self) -> None:
        self.left = _MOST_BRANCHES

    def branches(self, value: dict[str, Any] | list[Any], depth: int) -> str:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        out = list[str]()
        for name, one in pairs:
            if self.left <= 0:
                out.append(f'<li><span class="count">… {len(value) - len(out):,} more</span></li>')
                break
            self.left -= 1
            out.append(f"<li>{self._branch(str(name), one, depth)}</li>")
        return f'<ul class="json">{"".join(out)}</ul>'

    def _branch(self, name: str, value: Any, depth: int) -> str:
        label = f'<span class="key">{escape(name)}</span> '
        if not isinstance(value, dict | list) or not value or depth >= _DEEPEST:
            return label + _scalar(value)
        plain = json.dumps(value, ensure_ascii=False) if len(value) <= 12 else ""
        if (
            isinstance(value, list)
            and plain
            and len(plain) <= 60
            and not any(isinstance(x, dict | list) for x in value)
        ):
            return label + f"[{', '.join(map(_scalar, value))}]"
        many = len(value)
        of = (
            ("key" if isinstance(value, dict) else "entry")
            if many == 1
            else "keys"
            if isinstance(value, dict)
            else "entries"
        )
        opened = " open" if depth < 3 and many <= _MOST_OPEN else ""
        head = f'<summary>{label}<span class="count">{many:,} {of}</span></summary>'
        return f"<details{opened}>{head}{self.branches(value, depth + 1)}</details>"


def _scalar(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return f'<span class="string">“{escape(text)}”</span>'
    kind = "number" if isinstance(value, int | float) and not isinstance(value, bool) else "word"
    return f'<span class="{kind}">{escape(text)}</span>'
