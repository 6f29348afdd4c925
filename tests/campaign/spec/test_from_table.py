"""`init --from`: the file that is written is a campaign that runs."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.spec.guess import begin_from, toml_text
from ratewise.campaign.spec.read import read_spec
from ratewise.errors import InputError, SpecError
from ratewise.tables import read_table, write_table

RNG = np.random.default_rng(5)
N = 300
JUDGE = np.round(RNG.beta(0.7, 0.3, N), 3)
RIGHT = (RNG.random(N) < JUDGE).astype(int)


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
        assert [(r.name, r.kind) for r in spec.raters] == [("judge", "column"), ("human", "sheet")]
        assert Campaign.open(f"{name}.toml").run(wait=False)
    write_table(read_table({"words": np.array(["one", "two"], dtype=object)}, name="t"), "bare.csv")
    begin_from("bare.csv", "bare.toml")
    assert [r.kind for r in read_spec("bare.toml").raters] == ["sheet"]


def test_labels_that_are_there_are_the_start_and_are_not_asked_for_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old = np.random.default_rng(8).permutation(N) < 40
    words = np.where(old, np.where(RIGHT == 1, "fine", "poor"), "")
    table = {"id": [f"q{i}" for i in range(N)], "judge": JUDGE, "human": words.astype(object)}
    write_table(read_table(table, name="t"), "some.csv")
    with pytest.raises(
        InputError, match=r"\(fine, poor\); say which word counts as 1 \(--positive\).*another column \(--strong\)"
    ):
        begin_from("some.csv", "some.toml", strong="human")
    with pytest.raises(InputError, match="name it with --strong human"):
        begin_from("some.csv", "some.toml", positive=["fine"])
    write_table(read_table({"id": table["id"], "verdict": table["human"]}, name="t"), "named.csv")
    with pytest.raises(InputError, match="name it with --strong verdict"):
        begin_from("named.csv", "named.toml", positive=["fine"])
    begun = begin_from("some.csv", "some.toml", strong="human", positive=["fine"])
    assert begun.to_change[-1] == "how the 40 labels that are there were drawn (at random)"
    spec = read_spec("some.toml")
    assert (spec.start.labels, spec.start.drawn) == ("human", "at random")
    campaign = Campaign.open("some.toml")
    assert campaign.run(wait=False) == "waiting for 30 answers in questions-1.csv"
    status = campaign.status()
    assert (status.labels, status.spent) == (40, Decimal(3))  # the price of 300 weak ratings
    asked = read_table("questions-1.csv").texts("id").tolist()
    assert asked
    assert not set(asked) & {f"q{i}" for i in np.flatnonzero(old)}


@pytest.mark.parametrize("word", ["correct", "right", "pass", "fail", "wrong"])
def test_labels_that_all_say_one_usual_word_need_no_explanation(tmp_path, monkeypatch, word):
    monkeypatch.chdir(tmp_path)
    labels = np.where(np.random.default_rng(8).permutation(N) < 40, word, "").astype(object)
    write_table(read_table({"judge": JUDGE, "human": labels}, name="t"), "some.csv")
    begun = begin_from("some.csv", "some.toml", strong="human")
    assert (begun.guess.labels, begun.guess.scale.kind) == (40, "binary")
    assert read_spec("some.toml").number(1, word) == float(word in {"correct", "right", "pass"})


def test_words_from_the_worst_to_the_best_are_the_campaigns_scale(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = np.where(np.random.default_rng(8).permutation(N) < 40, np.where(RIGHT == 1, "good", "so so"), "")
    write_table(read_table({"judge": JUDGE, "human": labels.astype(object)}, name="t"), "some.csv")
    told = begin_from("some.csv", "guessed.toml").guess.left_out["human"]
    assert told.startswith("has words (good, so so); say what they mean: --strong human --positive WORD")
    with pytest.raises(InputError, match="--scale explains the words of one column; name it with --strong human"):
        begin_from("some.csv", "some.toml", scale=["bad", "so so", "good"])
    begun = begin_from("some.csv", "some.toml", strong="human", scale=["bad", "so so", "good"])
    assert not any("ends of the scale" in change for change in begun.to_change)
    spec = read_spec("some.toml")
    assert (spec.scale.kind, dict(spec.scale.words)) == ("score", {"bad": 0.0, "so so": 0.5, "good": 1.0})
    assert spec.number(1, "so so") == 0.5


def test_labels_that_clearly_differ_are_taken_as_picked_by_hand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lowest = np.sort(JUDGE)[60] >= JUDGE
    write_table(read_table({"judge": JUDGE, "human": np.where(lowest, RIGHT, np.nan)}, name="t"), "some.csv")
    begun = begin_from("some.csv", "some.toml")
    assert "(by hand: they have clearly lower values in column 'judge' than the others)" in begun.to_change[-1]
    assert read_spec("some.toml").start.drawn == "by hand"


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


LOGS = Path(__file__).parents[2] / "tables" / "adapters" / "fixtures"


@pytest.mark.parametrize(
    "log", ["promptfoo.json", "promptfoo.jsonl", "inspect_ai.eval", "lm_eval_samples_sums.jsonl"]
)  # fmt: skip
def test_people_are_asked_where_only_machines_gave_verdicts(tmp_path, log):
    begun = begin_from(str(LOGS / log), str(tmp_path / "c.toml"))
    spec = read_spec(str(tmp_path / "c.toml"))
    strong = spec.raters[-1]
    assert (begun.guess.strong, strong.name, strong.kind) == (None, "human", "sheet")
    assert {"prompt", "answer"} <= set(strong.show)
    assert not {"system", "score", "success", "exact_match"} & set(strong.show)


def test_scores_that_people_gave_in_another_tool_are_strong(tmp_path):
    scores = [
        {"id": f"s{i}{source}", "trace_id": f"t{i}", "name": "helpful", "value": (i % 3 > 0), "data_type": "BOOLEAN",
         "source": source} for i in range(20) for source in ("EVAL", "ANNOTATION")
    ]  # fmt: skip
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(score) + "\n" for score in scores))
    guess = begin_from(str(tmp_path / "scores.jsonl"), str(tmp_path / "c.toml")).guess
    assert (guess.weak, guess.strong, guess.labels) == ("helpful", "helpful (human)", 20)
