"""What labellers may not see, by the columns' names."""

import pytest

from ratewise.tables.blind import seen, tells


@pytest.mark.parametrize(
    "name",
    ["judge", "rubric/correct", "judge_helpful", "judgeReason", "rater2", "human", "human_2", "gold_label", "gpt score",
     "autorater", "system", "Model", "model_a", "provider", "winner", "score", "quality_rating", "exact_match",
     "judge_uncertainty"],
)  # fmt: skip
def test_ratings_and_systems_tell(name):
    assert tells(name)


@pytest.mark.parametrize(
    "name",
    ["question", "answer", "model_answer", "gpt_answer", "prediction", "target", "topic", "length", "text", "1",
     "Frage", "reference", "human_written_text", "correct_spelling"],
)  # fmt: skip
def test_texts_and_topics_do_not(name):
    assert not tells(name)


def test_what_is_hidden_is_not_seen_either():
    assert seen(["id", "question", "judge", "length"], hidden=["length"]) == ["id", "question"]
