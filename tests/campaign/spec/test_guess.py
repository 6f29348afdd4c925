"""What each column of a table seems to be: by its name, by its values, or as it was said."""

import numpy as np
import pytest

from ratewise.campaign.spec.guess import guess_columns
from ratewise.errors import InputError
from ratewise.raters.scale import RatingScale
from ratewise.tables import read_table

RNG = np.random.default_rng(5)
N = 300
JUDGE = np.round(RNG.beta(0.7, 0.3, N), 3)
RIGHT = (RNG.random(N) < JUDGE).astype(int)


def table(**columns):
    return read_table({name: np.asarray(values, dtype=object) for name, values in columns.items()}, name="t.csv")


def test_columns_are_known_by_their_names():
    found = guess_columns(
        table(
            question_id=[f"q{i}" for i in range(N)], question=[f"What is {i}, and why is it so?" for i in range(N)],
            topic=["law", "sport", "art"] * (N // 3), length=np.arange(N) % 17, gpt4_score=JUDGE, humanLabel=RIGHT,
            human_2=RIGHT[::-1], price=np.ones(N), empty=[None] * N,
        )
    )  # fmt: skip
    assert (found.id, found.weak, found.strong) == ("question_id", "gpt4_score", "humanLabel")
    assert found.features == ("topic", "length")
    assert found.labels == N
    assert found.scale == RatingScale("binary")
    assert found.left_out == {
        "question": "is text", "human_2": "sounds like another person's rating", "price": "sounds like bookkeeping",
        "empty": f"is empty in {N} rows",
    }  # fmt: skip


def test_columns_are_known_by_their_values():
    found = guess_columns(table(a=RNG.random(N), b=JUDGE, c=RIGHT, d=RIGHT), strong="d")
    assert (found.id, found.weak, found.strong, found.features) == (None, "c", "d", ("a", "b"))
    some = [x if i < 40 else None for i, x in enumerate(RIGHT)]
    found = guess_columns(table(a=RNG.random(N), b=JUDGE, c=some), strong="c")
    assert (found.weak, found.strong, found.labels) == ("b", "c", 40)
    found = guess_columns(table(text=[f"{i} is a text" for i in range(N)]))
    assert (found.id, found.weak, found.strong, found.labels) == (None, None, None, 0)


def test_marks_that_tell_all_rows_apart_are_their_ids():
    marks, words = [f"T-{i:05d}" for i in range(N)], [f"word{'x' * i}" for i in range(N)]
    assert guess_columns(table(text=[f"{i} is a text" for i in range(N)], ticket=marks, human=RIGHT)).id == "ticket"
    assert guess_columns(table(ticket=marks, row_id=np.arange(N), human=RIGHT)).id == "row_id"  # names come first
    assert guess_columns(table(ticket=marks[:5], human=RIGHT[:5])).id is None  # five may differ by chance
    assert guess_columns(table(name=words[:20], human=RIGHT[:20])).id is None
    assert guess_columns(table(ticket=[*marks[1:], marks[1]], human=RIGHT)).id is None


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (["yes", "no", "no"], RatingScale("binary")),
        ([True, False, False], RatingScale("binary")),
        (["a", "b", "tie"], RatingScale("pairwise")),
        ([1, 2, 4], RatingScale("likert", 1, 5)),
        ([0, 2, 6], RatingScale("likert", 0, 7)),
        ([0.1, 0.5, 0.9], RatingScale("score", 0, 1)),
        ([-3.5, 20, 60], RatingScale("score", -3.5, 60)),
        ([4.5, 4.5, 4.5], RatingScale("score", 4.5, 5.5)),
    ],
)
def test_the_scale_is_read_off_the_ratings(values, scale):
    assert guess_columns(table(judge=[1, 2, 3], human=values)).scale == scale


def test_what_is_given_is_taken_and_what_cannot_be_is_refused():
    columns = table(key=[str(i) for i in range(N)], one=JUDGE, two=RIGHT, three=RIGHT, words=["so", "so so"] * (N // 2))
    found = guess_columns(columns, weak="two", strong="one")
    assert (found.weak, found.strong) == ("two", "one")
    with pytest.raises(InputError, match="has no column 'twoo'; did you mean 'two'"):
        guess_columns(columns, weak="twoo")
    with pytest.raises(InputError, match=r"column 'words' of .* has words where ratings belong"):
        guess_columns(columns, strong="words")
    with pytest.raises(InputError, match="cannot be the weak and the strong rating"):
        guess_columns(columns, weak="one", strong="one")


@pytest.mark.parametrize("name", ["success", "exact_match", "rubric/correct", "correct", "passed", "verdict", "c"])
@pytest.mark.parametrize("rows", [N, 40])
def test_a_verdict_that_no_name_says_people_gave_is_no_strong_rating(name, rows):
    values = [x if i < rows else None for i, x in enumerate(RIGHT)]
    texts = [f"{i} is a text" for i in range(N)]
    found = guess_columns(table(text=texts, judge=JUDGE, judge_helpful=RIGHT, **{name: values}))
    assert (found.weak, found.strong, found.labels, found.unsure) == ("judge", None, 0, (name,))


def test_what_wrote_the_file_says_who_gave_a_score():
    columns = table(human=RIGHT, helpful=RIGHT[::-1], answer=[str(i) for i in range(N)])
    roles = {"human": "judge score", "helpful": "human score", "answer": "answer"}
    found = guess_columns(columns, roles=roles)
    assert (found.weak, found.strong, found.features, found.show) == ("human", "helpful", (), ("answer",))
    found = guess_columns(columns, roles=roles | {"helpful": "judge score"})
    assert (found.strong, found.unsure) == (None, ())


@pytest.mark.parametrize("name", ["doc.gold", "doc.label", "metadata.label", "vars.true_label"])
def test_the_right_answer_that_came_with_the_question_is_no_strong_rating(name):
    columns = table(judge=JUDGE, **{name: RIGHT})
    found = guess_columns(columns, roles={"judge": "judge score", name: "input"})
    assert (found.strong, found.unsure, found.features) == (None, (name,), (name,))


@pytest.mark.parametrize("name", ["metadata.human", "vars.expert_label"])
def test_what_people_said_may_come_with_the_question(name):
    found = guess_columns(table(judge=JUDGE, **{name: RIGHT}), roles={"judge": "judge score", name: "input"})
    assert (found.weak, found.strong) == ("judge", name)


def test_people_see_texts_and_nothing_that_tells():
    words = ["so", "so so"] * (N // 2)
    found = guess_columns(
        table(question=words, model_answer=words, answer=np.arange(N), topic=words, judge_reason=words, human_2=words,
              system=words, price=words, quality=JUDGE, human=RIGHT)
    )  # fmt: skip
    assert found.show == ("question", "model_answer", "answer", "topic")
