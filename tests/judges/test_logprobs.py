import math

import pytest

from ratewise.judges.logprobs import chances_of
from ratewise.judges.parsing import read_answer
from ratewise.judges.scale import Verdicts

from .asking import prompt, spec


def tokens(*parts):
    """Tokens of an answer; a part with alternatives is (token, {token: probability})."""
    out = []
    for part in parts:
        token, listed = part if isinstance(part, tuple) else (part, {part: 1.0})
        top = [{"token": name, "logprob": math.log(p)} for name, p in listed.items()]
        out.append({"token": token, "logprob": math.log(listed.get(token, 1.0)), "top_logprobs": top})
    return out


def chances(content, kind="binary"):
    answer = "".join(place["token"] for place in content)
    said = read_answer(answer, prompt(kind), spec(kind).verdicts)
    return chances_of(content, said, spec(kind).verdicts)


def test_spellings_are_added_up_and_other_words_left_out():
    listed = {"yes": 0.4, " Yes": 0.1, "YES": 0.1, "no": 0.15, " No": 0.05, "perhaps": 0.2}
    found = chances(tokens('{"verdict": "', ("yes", listed), '"}'))
    assert found == {1.0: pytest.approx(0.75), 0.0: pytest.approx(0.25)}


def test_a_token_may_hold_the_quote_or_the_beginning_of_the_word():
    found = chances(tokens('{"verdict":', (' "first', {' "first': 0.5, ' "second': 0.3, ' "t': 0.2}), '"}'), "pairwise")
    assert found == {1.0: pytest.approx(0.5), 0.0: pytest.approx(0.3), 0.5: pytest.approx(0.2)}


def test_only_the_place_of_the_verdict_counts():
    quoted = ("yes", {"yes": 0.99, "no": 0.01})
    found = chances(tokens('{"reasons": "', quoted, '", "verdict": "', ("no", {"yes": 0.3, "no": 0.7}), '"}'))
    assert found == {1.0: pytest.approx(0.3), 0.0: pytest.approx(0.7)}


def test_numbers_must_be_there_in_full():
    ten = Verdicts.of("likert", 1.0, 10.0)
    content = tokens('{"verdict": "', ("1", {"1": 0.6, "9": 0.4}), "0", '"}')
    said = read_answer('{"verdict": "10"}', prompt("likert"), ten)
    assert chances_of(content, said, ten) is None  # the place tells the first digit only
    found = chances(tokens('{"verdict": "', ("4", {"4": 0.6, "5": 0.3, "44": 0.1}), '"}'), "likert")
    assert found == {4.0: pytest.approx(2 / 3), 5.0: pytest.approx(1 / 3)}


def test_what_makes_no_sense_gives_nothing():
    assert chances(tokens('{"verdict": "', ("yes", {"yes": 0.01, "hm": 0.99}), '"}')) is None  # nearly all elsewhere
    said = read_answer('{"verdict": "yes"}', prompt(), spec().verdicts)
    assert chances_of([], said, spec().verdicts) is None
    assert chances_of([{"token": 3}], said, spec().verdicts) is None
    odd = [{"token": '{"verdict": "yes"}', "top_logprobs": [{"token": "yes", "logprob": "high"}]}]
    assert chances_of(odd, said, spec().verdicts) is None
