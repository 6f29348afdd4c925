import pytest

from ratewise.judges.ladder import Rung, is_too_long


def test_the_ladder_begins_at_the_top_unless_something_is_asked_for():
    assert Rung.first("auto", 1).source == "decisions"
    assert Rung.first("auto", 5).source == "samples"
    assert Rung.first("verbal", 1).source == "verbal"


def test_an_endpoint_without_decisions_is_asked_for_log_probabilities():
    down = Rung("decisions").after("auto", 404, "HTTP 404: unknown URL")
    assert (down.source, down.reasons) == ("logprobs", ("no decisions: HTTP 404: unknown URL",))
    assert Rung("decisions").after("auto", 200, "the reply is no JSON object").source == "logprobs"
    assert Rung("decisions").after("auto", 500, "down") is None
    assert Rung("decisions").after("auto", 401, "who are you?") is None
    assert Rung("decisions").after("decisions", 404, "unknown URL") is None


@pytest.mark.parametrize(
    ("words", "source", "gone"),
    [
        ("You are not allowed to request logprobs", "verbal", None),
        ("'response_format' is not supported", "logprobs", "structured"),
        ("Use 'max_completion_tokens' instead", "logprobs", "max_tokens"),
        ("temperature does not support 0", "logprobs", "temperature"),
        ("Bad request", "logprobs", "structured"),
        ("type 'json_schema' is not supported", "logprobs", "structured"),
    ],
)
def test_what_the_complaint_names_goes_first(words, source, gone):
    down = Rung("logprobs").after("auto", 400, words)
    assert down.source == source
    assert Rung("logprobs").takes - down.takes == ({gone} if gone else set())
    assert any(words in reason for reason in down.reasons)


def test_the_form_of_answers_goes_down_by_steps():
    rung, forms = Rung("logprobs"), []
    while rung.source == "logprobs":
        forms.append(rung.form)
        rung = rung.after("auto", 500, "Internal Server Error")
    assert forms == ["structured", "json_object", "line"]
    assert Rung("logprobs").in_words.form == "line"
    assert Rung("logprobs").in_words.in_words == Rung("logprobs").in_words


def test_an_item_that_is_too_long_is_told_from_a_request_that_is_not_known():
    long = (
        "request (33002 tokens) exceeds the available context size (4096 tokens)",
        "This model's maximum context length is 8192 tokens", "prompt is too long", "Input tokens exceed the limit",
    )  # fmt: skip
    assert all(is_too_long(400, words) for words in long)
    assert is_too_long(413, "")
    assert not is_too_long(400, "Invalid parameter: 'response_format'")
    assert not is_too_long(503, long[0])


def test_a_plain_request_that_is_refused_is_refused():
    bare = Rung("none", takes=frozenset())
    assert bare.after("auto", 400, "too long") is None
    assert Rung("logprobs").after("logprobs", 400, "no logprobs here") is None
    assert Rung("logprobs").below("logprobs", "the answer has none") is None
    assert Rung("logprobs").after("auto", 401, "who are you?") is None


def test_the_way_down_is_told_and_kept():
    rung = Rung("logprobs", reasons=("no decisions: 404",)).below("auto", "a").below("auto", "b")
    assert rung.source == "none"
    kept = Rung.from_json(rung.to_json(by="k"))
    assert kept == rung
    assert kept.said.startswith("it gives bare answers, without probabilities (no decisions: 404; no log-prob")
    assert "write samples = 5" in kept.said
