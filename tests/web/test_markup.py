"""Texts become HTML that cannot do anything, and Markdown, code, tables and formulas stay readable."""

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.web.markup import LONGEST, as_html, image_address

from .attacks import ATTACKS

TAGS = {"a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol", "p",
        "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}  # fmt: skip
ATTRIBUTES = {"href", "rel", "target", "src", "alt", "class", "start"}


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
        assert attributes.get("src", "/images/").startswith("/images/")
        assert attributes.get("href", "https:").split(":")[0].lower() in {"http", "https", "mailto"} or ":" not in (
            attributes.get("href", "")
        )
        if tag == "a":
            assert attributes["target"] == "_blank"
            assert "noopener" in attributes["rel"]


def test_there_are_enough_attacks():
    assert len(set(ATTACKS)) >= 100


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_only_text(attack):
    check(attack)
    check(f"before\n\n{attack}\n\nafter")


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


def test_values_that_are_no_text():
    assert "(empty)" in as_html(None)
    assert Reader(as_html(3.5)).text == "3.5"
    assert Reader(as_html({"a": ["<b>"]})).text == '{"a": ["<b>"]}'
    assert "cut here" in as_html("x" * (LONGEST + 1))


def test_images_are_files_of_the_folder():
    assert image_address("pictures/a b.png") == "/images/pictures/a%20b.png"
    for address in ("x.svg", "https://x.example/a.png", "//x/a.png", "/a.png", "../a.png", "a/../../b.png",
                    "..%2fa.png", "data:image/png;base64,x", "\\\\x\\a.png"):  # fmt: skip
        assert image_address(address) is None, address
