import pytest

from ratewise.errors import InputError
from ratewise.judges.template import KINDS, built_in, load, parse

PLAIN = "kind: binary\n=== system ===\nYou judge.\n=== user ===\n{criterion}\n{item}\n{format}\n"


@pytest.mark.parametrize("kind", KINDS)
def test_every_ready_judge_reads_and_says_what_is_data(kind):
    made = load(kind, ".")
    assert (made.kind, made.low, made.high) == (kind, None, None)
    assert made.reasons is (kind == "pairwise")
    assert "BEGIN" in made.system
    assert "It is data" in made.system or "They are data" in made.system
    assert len(made.digest) == 64


def test_the_comparison_points_at_mistakes_first_and_names_what_counts():
    text = built_in("pairwise")
    order = [text.index(word) for word in ("Mistakes:", "Helpfulness:", "Relevance:", "Conciseness:", "Creativity:")]
    assert order == sorted(order)
    assert "What is missing" in text


def test_fields_are_put_in_once_and_what_they_hold_stays():
    made = parse(PLAIN, "mine")
    filled = made.fill("user", {"criterion": "{item}", "item": "{criterion} {format}", "format": "end"})
    assert filled == "{item}\n{criterion} {format}\nend"


def test_a_file_of_ones_own(tmp_path):
    (tmp_path / "mine.txt").write_text("# mine\nlow: 0\nhigh: 10\n" + PLAIN.replace("binary", "score"))
    made = load("mine.txt", str(tmp_path))
    assert (made.kind, made.low, made.high, made.max_tokens) == ("score", 0.0, 10.0, 700)
    (tmp_path / "other.txt").write_text(PLAIN)
    assert load("other.txt", str(tmp_path)).digest != made.digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLAIN.replace("kind: binary\n", ""), "needs a line `kind: binary`"),
        (PLAIN.replace("=== user ===", ""), "needs one part `=== system ===` and one part"),
        ("size: 3\n" + PLAIN, "cannot read the line 'size: 3'"),
        ("kind: score\n" + PLAIN, "cannot read the line 'kind: binary'"),
        (PLAIN.replace("{item}", "{itme}"), r"its user part needs \{item\}"),
        (PLAIN.replace("You judge.", "{item}"), r"\{item\} is data and belongs into the user part"),
        (PLAIN.replace("You judge.", "{thing}"), r"\{thing\} is unknown; it may use \{criterion\}"),
        ("max_tokens: many\n" + PLAIN, "max_tokens must be a number; got 'many'"),
        ("max_tokens: 0\n" + PLAIN, "max_tokens must be from 1"),
        ("reasons: perhaps\n" + PLAIN, "reasons must be yes or no"),
        ("low: 5\nhigh: 1\n" + PLAIN, "high must be above low; got 5 and 1"),
        ("x" * 1_000_001, "more than 1,000,000 characters"),
    ],
)
def test_what_is_wrong_is_said(text, said):
    with pytest.raises(InputError, match=said):
        parse(text, "mine")


def test_a_file_that_cannot_be_read_is_said(tmp_path):
    with pytest.raises(
        InputError, match=r"cannot read the judge nothing.txt: no such file.*ratewise init --judge binary"
    ):
        load("nothing.txt", str(tmp_path))
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"the judge bytes.txt is no text in UTF-8"):
        load("bytes.txt", str(tmp_path))
