"""`init --from`: what is guessed of a table, and that the file it writes is a campaign that runs."""

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.spec.from_table import begin_from, toml_text
from ratewise.campaign.spec.guess import guess_columns
from ratewise.campaign.spec.spec import read_spec
from ratewise.errors import InputError, SpecError
from ratewise.raters.scale import RatingScale
from ratewise.tables import read_table, write_table

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
    found = guess_columns(table(a=RNG.random(N), b=JUDGE, c=RIGHT, d=RIGHT))
    assert (found.id, found.weak, found.strong, found.features) == (None, "c", "d", ("a", "b"))
    some = [x if i < 40 else None for i, x in enumerate(RIGHT)]
    found = guess_columns(table(a=RNG.random(N), b=JUDGE, c=some))
    assert (found.weak, found.strong, found.labels) == ("b", "c", 40)
    found = guess_columns(table(text=[f"{i} is a text" for i in range(N)]))
    assert (found.id, found.weak, found.strong, found.labels) == (None, None, None, 0)


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
    with pytest.raises(InputError, match=r"column 'words' of .* holds no ratings that can be read"):
        guess_columns(columns, strong="words")
    with pytest.raises(InputError, match="cannot be the weak and the strong rating"):
        guess_columns(columns, weak="one", strong="one")


HOSTILE = 'we"ird\\ näme # [x] = \x7f'


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_campaign_runs(tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    columns = {
        "id": np.arange(N),
        HOSTILE: np.array(["x", "y"] * (N // 2), dtype=object),
        "judge": JUDGE,
        "human": RIGHT,
    }
    write_table(read_table(columns, name="t"), f"data/rated.{ending}")
    begun = begin_from(f"data/rated.{ending}", "runs/mine.toml", weak_price="0.02", strong_price="1.5")
    spec = read_spec("runs/mine.toml")
    assert spec.items.table == f"../data/rated.{ending}"
    assert spec.items.features == (HOSTILE,)
    assert [(r.name, str(r.price)) for r in spec.raters] == [("judge", "0.02"), ("human", "1.5")]
    assert begun.to_change == ("the budget (51)",)
    assert Campaign.open("runs/mine.toml").run() in {"the budget is spent", "every item has been looked at"}
    estimate = Campaign.open("runs/mine.toml").estimate()
    assert estimate is not None
    assert estimate.interval is not None


def test_few_labels_and_no_labels_ask_people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    some = np.array([float(x) if i < 40 else np.nan for i, x in enumerate(RIGHT)])
    write_table(read_table({"judge": JUDGE, "human": some}, name="t"), "some.csv")
    write_table(read_table({"judge": JUDGE}, name="t"), "none.csv")
    for name in ("some", "none"):
        begin_from(f"{name}.csv", f"{name}.toml")
        spec = read_spec(f"{name}.toml")
        assert [(r.name, r.kind) for r in spec.raters] == [("judge", "column"), ("human", "people")]
        assert Campaign.open(f"{name}.toml").run(wait=False)
    write_table(read_table({"words": np.array(["one", "two"], dtype=object)}, name="t"), "bare.csv")
    begin_from("bare.csv", "bare.toml")
    assert [r.kind for r in read_spec("bare.toml").raters] == ["people"]


def test_a_bad_price_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(read_table({"judge": JUDGE, "human": RIGHT}, name="t"), "t.csv")
    for bad in ("a lot", "-1", "1e99999999"):
        with pytest.raises(SpecError, match=r"raters\.human\.price must be"):
            begin_from("t.csv", "c.toml", strong_price=bad)
        assert not (tmp_path / "c.toml").exists()
    (tmp_path / "c.toml").write_text("mine")
    with pytest.raises(InputError, match="is there already and is not overwritten"):
        begin_from("t.csv", "c.toml")
    assert (tmp_path / "c.toml").read_text() == "mine"


def test_any_text_is_written_as_toml():
    import tomllib

    for text in ('a"b', "a\\b", "ä\t\n\x00\x7f", "😀", "'", "\u2028"):
        assert tomllib.loads(f"x = {toml_text(text)}")["x"] == text
