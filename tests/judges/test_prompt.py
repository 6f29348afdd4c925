import re

import pytest

from ratewise.judges.prompt import answer_schema, columns_read, format_of
from ratewise.judges.template import KINDS

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


def test_the_code_is_random_and_stands_in_no_system_message():
    judge = spec()
    made = [judge.prompt(ITEM, rung("line")) for _ in range(200)]
    assert len({one.code for one in made}) == 200
    assert all(len(one.code) == 16 for one in made)
    assert made[0].messages[0] == made[1].messages[0]
    assert made[0].code in made[0].messages[1]["content"]


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
