"""Texts become HTML that cannot do anything, and Markdown, code, tables and formulas stay readable."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.web.markup import LONGEST, as_html, image_address, images_in

from .attacks import ATTACKS

_NAMES = (
    "a blockquote br code del details div em h1 h2 h3 h4 h5 h6 hr img li ol p pre s span strong summary table tbody td "
    "th thead tr ul"
)
TAGS = set(_NAMES.split())
ATTRIBUTES = {"href", "rel", "target", "src", "alt", "class", "start", "dir", "open"}


class Reader(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.text = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def check(text):
    for tag, attributes in Reader(as_html(text)).found:
        assert tag in TAGS
        assert set(attributes) <= ATTRIBUTES
        assert attributes.get("src", "/images/").startswith(("/images/", "data:image/png;base64,"))
        assert attributes.get("href", "https:").split(":")[0].lower() in {"http", "https", "mailto"} or ":" not in (
            attributes.get("href", "")
        )
        if tag == "a":
            assert attributes["target"] == "_blank"
            assert not attributes.get("href", "https:").startswith(("/", "data:"))
            assert "noopener" in attributes["rel"]


def test_there_are_enough_attacks():
    assert len(set(ATTACKS)) >= 100


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_only_text(attack):
    check(attack)
    check(f"before\n\n{attack}\n\nafter")
    check(attack + "\nint x;\nreturn x;\n{")  # as code
    check({attack: [attack, {attack: attack}]})
    parts = [{"type": "text", "text": attack}, {"type": "image", "image": attack}, {"type": attack, attack: attack},
             {"type": "tool_use", "name": attack, "input": {attack: attack}},
             {"type": "thinking", "thinking": attack}]  # fmt: skip
    call = {"function": {"name": attack, "arguments": attack}}
    said = [{"role": role, "content": attack} for role in ("system", "tool")]
    check([{"role": attack[:30], "content": parts}, *said, {"role": "assistant", "tool_calls": [call]}])


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("<>\"'`/=[]()!$\\&;:ajscriptonerimg \n|-#*_\0"), max_size=80))
def test_no_text_becomes_more_than_the_allow_list(text):
    check(text)


def test_markdown_code_tables_and_formulas_stay_readable():
    text = "**bold** `x < y`\n\n```python\nif a < b: pass\n```\n\n| n | m |\n|--:|---|\n| 1 | 2 |\n\n"
    text += "$a_1 * b_2 * c$ costs $5 and $6"
    found = as_html(text)
    assert "<strong>bold</strong>" in found
    assert "<code>x &lt; y</code>" in found
    assert '<code class="language-python">' in found
    assert '<td class="right">1</td>' in found
    assert '<code class="maths">$a_1 * b_2 * c$</code>' in found
    assert "costs $5 and $6" in Reader(found).text
    assert "\\(x^2\\)" in Reader(as_html("so \\(x^2\\) is")).text
    assert "<em>" not in as_html("$$\nx_1 + *y* + z_2\n$$")


def test_lines_end_where_they_end_and_begin_with_their_spaces():
    assert Reader(as_html("Roses\n   are *red*\nviolets")).text == "Roses\n\u00a0\u00a0\u00a0are red\nviolets\n"
    assert as_html("a\nb").count("<br>") == 1
    program = "#include <a.h>\nint main() {\n    return *p;  /* * */\n}"
    assert Reader(as_html(program)).text == program
    assert "<em>" in as_html("A *list* of things;\n\n- one;\n- two")  # no program


def test_formulas_of_several_lines_are_one():
    for written in ("$$\na\n- b\n= c\n$$", "\\[\nx\n\\]", "\\begin{align}\n- x &= 1\n\\end{align}"):
        found = Reader(as_html(f"so\n{written}\nis"))
        assert ("code", {"class": "maths display"}) in found.found
        assert written in found.text
        assert not {"li", "h1", "h2"} & {tag for tag, _ in found.found}
    assert "maths" not in as_html("$$\nnever ends")


def test_links_say_where_they_lead():
    assert "(x.example)" in Reader(as_html("[good.example](https://x.example/a)")).text
    assert "(x.example)" in Reader(as_html("[a](https://good.example@x.example/a)")).text
    assert "(" not in Reader(as_html("<https://x.example/a>")).text
    assert "href" not in as_html("[x](/sign-out) [y](foo)")
    remote = as_html("![a cat](https://x.example/cat.png)")
    assert "<img" not in remote
    assert "picture elsewhere: a cat</a>" in remote
    assert "(x.example)" in remote
    assert '<img src="data:image/png;base64,AAAA"' in as_html("![x](data:image/png;base64,AAAA)")
    assert "<img" not in as_html("![x](data:image/svg+xml;base64,AAAA)")
    assert "href" not in as_html("[x](data:image/png;base64,AAAA)")
    assert images_in("shots/a.png") == {"shots/a.png"}


OPENAI = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "Where is *it*?"},
                                 {"type": "image_url", "image_url": {"url": "a.png"}}]},
    {"role": "assistant", "content": None,
     "tool_calls": [{"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"order": 7}'}}]},
    {"role": "tool", "tool_call_id": "1", "content": "on its way"},
    {"role": "assistant", "content": "Soon."},
]  # fmt: skip
ANTHROPIC = {"system": "Be kind.", "messages": [
    {"role": "user", "content": [{"type": "text", "text": "Where is *it*?"},
                                 {"type": "image", "source": {"type": "url", "url": "a.png"}}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "find", "input": {"order": 7}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "on its way"}]},
    {"role": "assistant", "content": "Soon."},
]}  # fmt: skip
INSPECT = [
    {"id": "a", "role": "system", "content": "Be kind."},
    {"id": "b", "role": "user", "content": [{"type": "text", "text": "Where is *it*?"},
                                            {"type": "image", "image": "a.png"}]},
    {"id": "c", "role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}],
     "tool_calls": [{"id": "1", "function": "find", "arguments": {"order": 7}, "type": "function"}]},
    {"id": "d", "role": "tool", "tool_call_id": "1", "function": "find", "content": "on its way"},
    {"id": "e", "role": "assistant", "source": "generate", "content": "Soon."},
]  # fmt: skip


@pytest.mark.parametrize("messages", [OPENAI, ANTHROPIC, INSPECT])
@pytest.mark.parametrize("written", [True, False])
def test_conversations_are_known_by_their_shape(messages, written):
    found = Reader(as_html(json.dumps(messages) if written else messages))
    text = " ".join(found.text.split())
    for said in ("System prompt Be kind.", "UserWhere is it?", "Calls find", "order 7", "Result of find on its way"):
        assert said in text
    assert text.endswith("AssistantSoon.")
    assert ("img", {"src": "/images/a.png", "alt": "picture"}) in found.found
    folded = [attributes for tag, attributes in found.found if tag == "details"]
    assert len(folded) == (4 if messages is INSPECT else 3)
    assert not any("open" in attributes for attributes in folded)


def test_what_only_looks_like_a_conversation_is_a_tree():
    for value in (
        [{"role": "admin"}],
        [{"role": 3, "content": "x"}],
        [{"role": "user", "content": 3}],
        {"messages": "none"},
    ):
        assert 'class="chat"' not in as_html(value)
        assert 'class="json"' in as_html(value)
    assert "<p" in as_html("{not json")
    deep = "[" * 100_000 + "]" * 100_000
    assert as_html(deep)
    assert "more" in as_html(list(range(100_000)))


def test_values_that_are_no_text():
    for nothing in (None, "", " \n"):
        assert Reader(as_html(nothing, name="answer")).text == "empty answer"
    assert Reader(as_html(3.5)).text == "3.5"
    assert Reader(as_html({"a": ["<b>"]})).text == "a [“<b>”]"
    assert "\ufffd" in as_html('["\\u0000"]')
    assert "?" in as_html('["\\ud800"]')  # half a sign
    assert "cut here" in as_html("x" * (LONGEST + 1))


def test_images_are_files_of_the_folder():
    assert image_address("pictures/a b.png") == "/images/pictures/a%20b.png"
    for address in ("x.svg", "https://x.example/a.png", "//x/a.png", "/a.png", "../a.png", "a/../../b.png",
                    "..%2fa.png", "data:image/png;base64,x", "\\\\x\\a.png"):  # fmt: skip
        assert image_address(address) is None, address
