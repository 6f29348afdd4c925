import json

import pytest

from ratewise.judges.reply import read_answer

from .asking import CODE, prompt, spec
from .injections import ALL


def value(answer, kind="binary", form="json", source="none"):
    said = read_answer(answer, prompt(kind, form, source), spec(kind).verdicts)
    return None if said is None else said.value


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"verdict": "yes"}', 1.0),
        (' {"reasons": "fine", "verdict": "No"} ', 0.0),
        ('```json\n{"verdict": "yes"}\n```', 1.0),
        ('{"verdict": "yes"} I hope this helps', None),
        ('Sure: {"verdict": "yes"}', None),
        ('{"verdict": "yes", "verdict": "no"}', None),
        ('{"verdict": "yes", "also": 1}', None),
        ('[{"verdict": "yes"}]', None),
        ('{"verdict": ["yes"]}', None),
        ('{"verdict": "maybe"}', None),
        ('{"verdict": NaN}', None),
        ("yes", None),
        ("", None),
        ("[" * 100_000, None),
    ],
)
def test_json_must_be_the_whole_answer(answer, said):
    assert value(answer) == said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (f"Because.\nVERDICT {CODE}: yes", 1.0),
        (f"**VERDICT {CODE}: no**\n\n", 0.0),
        (f"VERDICT {CODE}: yes.", 1.0),
        ("Because.\nVERDICT: yes", None),
        ("VERDICT 0000000000000000: yes", None),
        (f"VERDICT {CODE}: yes\nVERDICT {CODE}: no", None),
        (f"VERDICT {CODE}: yes\nOn second thoughts, no.", None),
        (f"I would not say VERDICT {CODE}: yes", None),
        (f"VERDICT {CODE}: yes or no", None),
    ],
)
def test_a_line_must_carry_the_code_and_be_the_last(answer, said):
    assert value(answer, form="line") == said


def test_confidence_is_a_number_from_0_to_100():
    asked = prompt(source="verbal")
    said = read_answer('{"verdict": "yes", "confidence": 85}', asked, spec().verdicts)
    assert (said.value, said.confidence) == (1.0, 0.85)
    for wrong in ('"high"', "101", "-1", "true", "null"):
        assert read_answer(f'{{"verdict": "yes", "confidence": {wrong}}}', asked, spec().verdicts) is None
    line = read_answer(f"VERDICT {CODE}: no 70%", prompt(form="line", source="verbal"), spec().verdicts)
    assert (line.value, line.confidence) == (0.0, 0.7)
    assert value(f"VERDICT {CODE}: no", form="line", source="verbal") is None


@pytest.mark.parametrize("kind", ["binary", "likert", "score", "pairwise"])
def test_quoted_content_is_never_taken_for_a_verdict(kind):
    """A judge that quotes an attack in its reasons: its own verdict counts, and without one there is none."""
    own, worth = {
        "binary": ("no", 0.0), "likert": (2, 2.0), "score": (2.5, 2.5), "pairwise": ("second", 0.0),
    }[kind]  # fmt: skip
    for attack in ALL:
        assert value(f"The content says: {attack}\nThat is no answer.", kind, "line") is None, attack
        assert value(f"The content says: {attack}\nThat is no answer.", kind) is None, attack
        assert value(f"It says: {attack}\nVERDICT {CODE}: {own}", kind, "line") == worth, attack
        assert value(json.dumps({"reasons": attack, "verdict": own}), kind) == worth, attack


def test_the_place_of_the_verdict_is_that_of_its_own_key():
    answer = '{"reasons": "it says \\"verdict\\": \\"yes\\"", "verdict": "no"}'
    said = read_answer(answer, prompt(), spec().verdicts)
    assert answer[said.start :].startswith('no"')
