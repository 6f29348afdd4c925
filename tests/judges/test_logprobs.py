import math

import pytest

from ratewise.judges.reply import chances_of, read_answer
from ratewise.judges.verdicts import Verdicts

from .asking import prompt, spec


def tokens(*parts):
    """Tokens of an answer; a part with alternatives is (token, {token: probability})."""
    out = []
    for part in parts:
        token, listed = part if isinstance(part, tuple) else (part, {part: 1.0})
        top = [{"token": name, "logprob": math.log(p)} for name, p in listed.items()]
        out.append({"token": token, "logprob": math.log(listed.get(token, 1.0)), "top_logprobs": top})
    return out


def chances(content, kind="binary", high=5.0, answer=None):
    """Chances by the tokens; the server's own text may be shorter than theirs."""
    answer = "".join(place["token"] for place in content) if answer is None else answer
    verdicts = Verdicts.of(kind, 1.0, high)
    return chances_of(content, answer, read_answer(answer, prompt(kind), verdicts), verdicts)


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


def test_a_number_may_be_several_tokens():
    """All by hand: P(10) is P(1) times P(0 after 1); what follows "1" says how much of it is 1."""
    found = chances(
        tokens('{"verdict": "', ("1", {"1": 0.6, "9": 0.3, "8": 0.1}), ("0", {"0": 0.9, '"': 0.1}), '"}'),
        "likert", 10.0,
    )  # fmt: skip
    assert found == {k: pytest.approx(p) for k, p in ((10.0, 0.54), (1.0, 0.06), (9.0, 0.3), (8.0, 0.1))}
    ends = ('"}', {'"}': 0.8, "0": 0.2})
    found = chances(tokens('{"verdict": "', ("1", {"1": 0.5, " 2": 0.5}), ends), "likert", 10.0)
    assert found == {1.0: pytest.approx(0.4), 10.0: pytest.approx(0.1), 2.0: pytest.approx(0.5)}
    found = chances(
        tokens('{"verdict": ', ("8", {"8": 0.6, "9": 0.4}), ("5", {"5": 0.5, "0": 0.4, "}": 0.1}), "}"), "score", 100.0
    )
    assert found == {k: pytest.approx(p) for k, p in ((85.0, 0.3), (80.0, 0.24), (8.0, 0.06), (90.0, 0.4))}
    found = chances(
        tokens('{"verdict": ', ("7", {"7": 0.9, "8": 0.1}), ".", ("5", {"5": 0.75, "0": 0.25}), "}"), "score", 10.0
    )
    assert found == {7.5: pytest.approx(0.675), 7.0: pytest.approx(0.225), 8.0: pytest.approx(0.1)}


def test_a_beginning_of_several_numbers_counts_as_the_nearest_to_the_verdict():
    nine = tokens('{"verdict": "', ("9", {"9": 0.5, "1": 0.4, "8": 0.1}), '"}')
    found = chances(nine, "likert", 10.0)
    assert sum(value * p for value, p in found.items()) == pytest.approx(9.3)
    assert chances(nine, "likert", 9.0)[1.0] == pytest.approx(0.4)  # there is no 10
    listed = tokens('{"verdict": "', ("9", {"9": 0.5, "10": 0.3, "1": 0.2}), '"}')
    assert chances(listed, "likert", 10.0) == {
        9.0: pytest.approx(0.5), 10.0: pytest.approx(0.3), 1.0: pytest.approx(0.2)
    }  # fmt: skip
    found = chances(tokens('{"verdict": "', ("4", {"4": 0.6, "5": 0.3, "44": 0.1}), '"}'), "likert")
    assert found == {4.0: pytest.approx(2 / 3), 5.0: pytest.approx(1 / 3)}


@pytest.mark.parametrize("before", ["\n", "   ", "<think>yes or no?</think>\n"])
@pytest.mark.parametrize("after", ["", "\n", "<|im_end|>"])
def test_the_place_is_found_where_the_server_trims_its_text(before, after):
    verdict = ("yes", {"yes": 0.7, "no": 0.3})
    end = [after] if after else []
    found = chances(tokens(before, '{"verdict": "', verdict, '"}', *end), answer='{"verdict": "yes"}')
    assert found == {1.0: pytest.approx(0.7), 0.0: pytest.approx(0.3)}


def test_half_a_letter_is_counted_by_its_bytes():
    content = tokens('{"reasons": "na', "\ufffd", "\ufffd", 've", "verdict": "', ("no", {"yes": 0.2, "no": 0.8}), '"}')
    for place, half in zip(content[1:3], "ï".encode(), strict=True):
        place["bytes"] = [half]
    found = chances(content, answer='{"reasons": "naïve", "verdict": "no"}')
    assert found == {1.0: pytest.approx(0.2), 0.0: pytest.approx(0.8)}


def test_what_makes_no_sense_gives_nothing():
    assert chances(tokens('{"verdict": "', ("yes", {"yes": 0.01, "hm": 0.99}), '"}')) is None  # nearly all elsewhere
    said = read_answer('{"verdict": "yes"}', prompt(), spec().verdicts)
    assert chances_of([], '{"verdict": "yes"}', said, spec().verdicts) is None
    assert chances_of([{"token": 3}], '{"verdict": "yes"}', said, spec().verdicts) is None
    assert chances(tokens('{"verdict": "no"}'), answer='{"verdict": "yes"}') is None  # tokens of another answer
    odd = [{"token": '{"verdict": "yes"}', "top_logprobs": [{"token": "yes", "logprob": "high"}]}]
    assert chances_of(odd, '{"verdict": "yes"}', said, spec().verdicts) is None
