"""Names of models: which one is the model that was asked for, and what is told of others."""

import pytest

from ratewise.judges.judge import another_said, changed_said, is_asked, told_of_servers


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("openai/gpt-4o", "gpt-4o"),
        ("Qwen/Qwen2.5-7B", "qwen2.5-7b"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
        ("gemini-1.5-pro", "gemini-1.5-pro-002"),
        ("small-judge", "small-judge@main"),
        ("models/small-judge", "/data/models/small-judge@5f2c1a"),
        ("small-judge@main", "small-judge"),
    ],
)
def test_a_version_of_the_model_is_the_model(asked, answered):
    assert is_asked(asked, answered)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("gpt-4o", "gpt-4o-mini"),
        ("gpt-4o", "gpt-4"),
        ("gpt-4", "gpt-4o"),
        ("small-judge", "llama-3"),
        ("a", "a2"),
        ("small-judge@v1", "small-judge@v2"),
        ("small-judge", "other@main"),
    ],
)
def test_another_model_is_another_one(asked, answered):
    assert not is_asked(asked, answered)


def test_of_several_notes_the_last_one_of_each_rater_is_told():
    first = "rater 'a': " + another_said("small", "large")
    second = "rater 'a': " + changed_said("small", "larger", "large")
    other = "rater 'b': " + another_said("small", "large")
    assert told_of_servers([first, "rater 'a': is slow", other, second]) == (second, other)
