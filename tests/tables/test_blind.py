"""What labellers may not see, by the columns' names."""

import pytest

from ratewise.tables.blind import leaning, seen, tells


@pytest.mark.parametrize(
    "name",
    ["judge", "rubric/correct", "judge_helpful", "judgeReason", "rater2", "human", "human_2", "gold_label", "gpt score",
     "autorater", "system", "Model", "model_a", "provider", "winner", "score", "quality_rating", "exact_match",
     "judge_uncertainty", "is_correct", "wasCorrect", "judge/is_correct", "acc"],
)  # fmt: skip
def test_ratings_and_systems_tell(name):
    assert tells(name)


@pytest.mark.parametrize(
    "name",
    ["question", "answer", "model_answer", "gpt_answer", "prediction", "target", "topic", "length", "text", "1",
     "Frage", "reference", "human_written_text", "correct_spelling",
     "correct_answer", "is_long"],
)  # fmt: skip
def test_texts_and_topics_do_not(name):
    assert not tells(name)


def test_what_is_hidden_is_not_seen_either():
    assert seen(["id", "question", "judge", "length"], hidden=["length"]) == ["id", "question"]


@pytest.mark.parametrize(
    "name",
    ["human", "label", "label_2", "label_b", "gold_label", "human_score", "expert_rating", "manual_review", "rating",
     "ground_truth", "final_label", "annotator_1"],
)  # fmt: skip
def test_names_of_what_people_filled(name):
    assert leaning(name) > 0


@pytest.mark.parametrize(
    "name",
    ["predicted_label", "label_model", "ai_label", "deepseek_label", "true_probability", "snorkel_label",
     "rating_by_prometheus", "judge", "human_confidence", "claude_gold", "correct"],
)  # fmt: skip
def test_a_label_that_a_machine_or_somebody_unknown_gave_is_not_said_to_be_of_people(name):
    assert leaning(name) <= 0
