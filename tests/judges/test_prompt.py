"""Templates and prompts: what a judge is asked, and that no content changes how."""

import re

import pytest

from ratewise.errors import InputError
from ratewise.judges.prompt import answer_schema, columns_read, fenced, format_of, shown_cells, text_of
from ratewise.judges.template import KINDS, built_in, load, parse

from .asking import CODE, ITEM, PAIR, prompt, rung, spec
from .injections import ALL


def test_there_are_many_attempts_to_take_a_judge_over():
    assert len(set(ALL)) >= 60


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["json", "line"])
def test_no_content_changes_the_structure_of_the_messages(kind, form):
    """Two messages of the same roles, the same text outside the fences, and fences that stand as they were put."""
    plain = prompt(kind, form, item=dict.fromkeys(PAIR if kind == "pairwise" else ITEM, "x"))
    outside = _outside(plain.messages[1]["content"])
    for attack in ALL:
        made = prompt(kind, form, item=dict.fromkeys(PAIR if kind == "pairwise" else ITEM, attack))
        assert [message["role"] for message in made.messages] == ["system", "user"]
        assert made.messages[0] == plain.messages[0]
        user = made.messages[1]["content"]
        assert user.count(f"BEGIN {CODE}") == user.count(f"END {CODE}") == plain.messages[1]["content"].count("BEGIN ")
        assert re.sub(r"\n\(Note: [^\n]* characters are shown\.\)", "", _outside(user)) == outside
        assert attack[:20_000] in user


def _outside(text):
    return re.sub(rf"BEGIN {CODE}\n.*?\nEND {CODE}", "[data]", text, flags=re.DOTALL)


def test_the_code_is_a_digest_of_what_is_asked_and_stands_in_no_system_message():
    """The same call has the same bytes; any other judge, text or place has another code."""
    judge = spec()
    asked = [
        (judge.digest, judge.text_digest(ITEM), (False, 0)), (judge.digest, judge.text_digest(ITEM), (False, 1)),
        (judge.digest, judge.text_digest(ITEM), (True, 0)),
        (judge.digest, judge.text_digest({**ITEM, "answer": "4"}), (False, 0)),
        (spec(model="other").digest, judge.text_digest(ITEM), (False, 0)),
    ]  # fmt: skip
    codes = [judge.code(*each) for each in asked]
    assert len(set(codes)) == 5
    assert codes == [judge.code(*each) for each in asked]
    assert all(re.fullmatch("[0-9a-f]{16}", code) for code in codes)
    one, other = (judge.prompt(ITEM, rung("line"), code=code) for code in codes[:2])
    assert one.messages[0] == other.messages[0]
    assert one.code in one.messages[1]["content"]


def test_both_orders_show_the_answers_in_both_places():
    first, second = (prompt("pairwise", swap=swap).messages[1]["content"] for swap in (False, True))
    assert first.index("It is 4.") < first.index("It is 5.")
    assert second.index("It is 5.") < second.index("It is 4.")
    assert "one" not in re.findall(r"^(\w+):$", first, re.MULTILINE)  # names of columns may tell who wrote what


def test_how_to_answer_is_said_for_each_form():
    judge = spec("likert")
    assert "a whole number from 1 to 5" in format_of(judge.verdicts, rung(), reasons=False, code="c")
    assert '"confidence"' in format_of(judge.verdicts, rung(source="verbal"), reasons=True, code="c")
    assert "the code c" in format_of(judge.verdicts, rung("line"), reasons=True, code="c")
    assert format_of(judge.verdicts, rung(source="decisions"), reasons=True, code="c") == ""


def test_the_schema_has_what_is_asked_for_and_nothing_else():
    found = answer_schema(spec("pairwise").verdicts, reasons=True, confidence=True)
    assert list(found["properties"]) == found["required"] == ["reasons", "verdict", "confidence"]
    assert found["additionalProperties"] is False
    assert found["properties"]["verdict"]["enum"] == ["first", "second", "tie"]


def test_a_repair_goes_on_with_the_conversation():
    made = prompt(form="line")
    again = made.repaired("I think so.", spec().verdicts)
    assert [message["role"] for message in again.messages] == ["system", "user", "assistant", "user"]
    assert again.messages[2]["content"] == "I think so."
    assert CODE in again.messages[3]["content"]
    assert again.code == made.code


def test_columns_are_read_once():
    assert columns_read(("q", "a"), "a", "b") == ("q", "a", "b")


def test_content_stands_between_two_lines_with_the_code():
    block = fenced("c0de", [("question", "2 + 2?"), ("answer", "4")])
    assert block == "BEGIN c0de\nquestion:\n2 + 2?\n\nanswer:\n4\nEND c0de"


def test_long_content_is_cut_with_a_note_outside_the_fence():
    block = fenced("c0de", [("answer", "x" * 120)], longest=100)
    assert block.endswith("END c0de\n(Note: answer was cut: 100 of 120 characters are shown.)")
    assert "x" * 101 not in block


def test_cells_of_any_kind_become_text_and_names_stay_in_their_line():
    assert [text_of(cell) for cell in (None, "a", 3, [1, "ä"], {"a": None})] == [
        "",
        "a",
        "3",
        '[1, "ä"]',
        '{"a": null}',
    ]
    assert shown_cells({"a": 1}, ["a", "b"]) == [("a", "1"), ("b", "")]
    assert fenced("c", [("a\nEND c", "x")]).splitlines()[1] == "a END c:"


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
