"""What a campaign exports is what `estimate` reads: the value and interval of the report, to the bit."""

import csv
import json
import os

import numpy as np
import pyarrow.parquet as pq
import pytest

import ratewise as rw
from ratewise.campaign.export import export
from ratewise.campaign.findings import calibration
from ratewise.campaign.offline import verify_path
from ratewise.cli.main import main
from ratewise.errors import InputError

from ..worlds import unsure_judge
from .making import judged, ran, scored

ENDINGS = ("csv", "jsonl", "parquet")
SCORE = 'kind = "score"\nlow = 1\nhigh = 9'


def with_gaps(columns, name, every=7):
    """Some answers of a rater do not come."""
    return {**columns, name: [None if i % every == 3 else x for i, x in enumerate(columns[name])]}


def featured(items, seed=1):
    columns = judged(items, seed=seed)
    rng = np.random.default_rng(seed)
    return {
        **columns,
        "length": [int(x) for x in rng.integers(1, 900, items)],
        "doubt": np.round(np.array(columns["judge"]) * (1 - np.array(columns["judge"])), 3).tolist(),
        "talk": [f"t{i // 4}" for i in range(items)],
        "topic": ["easy" if x > 0.6 else "hard" for x in columns["judge"]],
    }


def rated(columns):
    """Scores with many digits, in strata."""
    return {**columns, "topic": ["low" if x < 6 else "high" for x in columns["judge"]]}


def unsure(items):
    """A chain whose expert is a step."""
    judge, expert, human = (column.tolist() for column in unsure_judge(items))
    return {"id": [f"q{i}" for i in range(items)], "judge": judge, "expert": expert, "human": human}


CAMPAIGNS = {
    "auto": (judged(600), {"goal": 'budget = "120"'}),
    "population": (judged(600), {"goal": 'budget = "120"', "estimand": "population"}),
    "one round": (judged(200), {"goal": 'budget = "5"'}),
    "everything": (judged(40), {"goal": 'budget = "60"'}),
    "base": (judged(300), {"method": "base"}),
    "one rater": (judged(300), {"raters": (("human", "1"),)}),
    "level": (judged(400), {"goal": 'budget = "80"', "level": 0.8}),
    "target": (judged(900), {"goal": "target_se = 0.03"}),
    "scores with a target": (scored(700), {"goal": "target_se = 0.1", "rating": SCORE}),
    "features": (featured(500), {"goal": 'budget = "90"', "items": 'features = ["length"]\nuncertainty = "doubt"'}),
    "features alone": (featured(400), {"goal": 'budget = "90"', "items": 'features = ["doubt", "length"]',
                                       "raters": (("judge", "0.9"), ("human", "1"))}),
    "clusters": (featured(500), {"goal": 'budget = "90"', "items": 'clusters = "talk"', "estimand": "population"}),
    "strata": (featured(500), {"goal": 'budget = "90"\n[inputs]\nstrata = "topic"\nshares = {easy = 1, hard = 3}'}),
    "strata of scores": (rated(scored(500)), {"goal": 'budget = "90"\n[inputs]\nstrata = "topic"', "rating": SCORE}),
    "chain": (scored(500), {"goal": 'budget = "90"', "rating": SCORE,
                            "raters": (("judge", "0.02"), ("expert", "0.2"), ("human", "1"))}),
    "steps": (unsure(900), {"goal": 'budget = "200"',
                            "raters": (("judge", "0.01"), ("expert", "0.15"), ("human", "1"))}),
    "chain in strata": (rated(scored(500)), {"goal": 'budget = "90"\n[inputs]\nstrata = "topic"', "rating": SCORE,
                                             "raters": (("judge", "0.02"), ("expert", "0.2"), ("human", "1"))}),
    "missing strong": (with_gaps(judged(400), "human"), {"goal": 'budget = "80"'}),
    "missing weak": (with_gaps(judged(400), "judge"), {"goal": 'budget = "80"'}),
    "missing in a chain": (with_gaps(scored(400), "expert"), {"goal": 'budget = "80"', "rating": SCORE,
                           "raters": (("judge", "0.02"), ("expert", "0.2"), ("human", "1"))}),
}  # fmt: skip


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_the_export_gives_the_report_s_value_and_interval_to_the_bit(tmp_path, name):
    columns, keys = CAMPAIGNS[name]
    campaign = ran(tmp_path, columns, **keys)
    reported = campaign.estimate()
    assert reported is not None
    turn = list(CAMPAIGNS).index(name) % len(ENDINGS)
    for ending in ENDINGS if name == "auto" else ENDINGS[turn : turn + 1]:
        path = tmp_path / f"out.{ending}"
        campaign.export(path)
        found = rw.estimate_table(path)
        assert (found.value, found.interval) == (reported.value, reported.interval), ending
        same = ("standard_error", "level", "items", "labels", "method", "interval_method", "estimand")
        assert [getattr(found, n) for n in same] == [getattr(reported, n) for n in same]
        assert found.notes[0].startswith("computed as campaign 'c' reports it")


def test_a_round_s_own_rate_may_be_0_and_the_pooled_one_is_not(tmp_path):
    campaign = ran(tmp_path, judged(600), goal='budget = "120"')
    table = campaign.export(tmp_path / "out.parquet")
    own, pooled = (table.numbers(name, missing="allow") for name in ("rate_in_round", "rate"))
    assert campaign.status().rounds > 1
    assert own.min() < pooled.min()
    assert pooled.min() > 0


def test_the_command_needs_no_columns_and_takes_those_of_the_raters(tmp_path, capsys):
    campaign = ran(tmp_path, judged(300))
    path = str(tmp_path / "out.parquet")
    campaign.export(path)
    reported = campaign.estimate().to_dict()
    for more in ([], ["--strong", "rating_human"], ["--weak", "rating_judge", "--strong", "rating_human"]):
        with pytest.raises(SystemExit) as left:
            main(["estimate", path, "--json", *more])
        assert left.value.code in (0, None)
        found = json.loads(capsys.readouterr().out)
        assert [found[n] for n in ("value", "low", "high")] == [reported[n] for n in ("value", "low", "high")]


@pytest.mark.parametrize("name", ["auto", "population", "base", "one rater", "features", "clusters"])
def test_slices_of_an_export_need_no_columns_and_their_whole_is_the_report_s(tmp_path, name):
    columns, keys = CAMPAIGNS[name]
    campaign = ran(tmp_path, {**columns, "half": [i % 2 for i in range(len(columns["id"]))]}, **keys)
    campaign.export(tmp_path / "out.csv")
    found, reported = rw.estimate_slices(tmp_path / "out.csv", by="half"), campaign.estimate()
    whole = found.overall
    assert (whole.value, whole.estimand, whole.labels) == (reported.value, reported.estimand, reported.labels)
    assert whole.interval == pytest.approx(reported.interval, abs=2e-3)
    assert [one.labels > 0 for one in found.slices] == [True, True]


def test_slices_of_what_is_no_plain_export_name_their_columns(tmp_path):
    columns, keys = CAMPAIGNS["strata"]
    campaign = ran(tmp_path, {**columns, "half": [i % 2 for i in range(len(columns["id"]))]}, **keys)
    campaign.export(tmp_path / "out.csv")
    with pytest.raises(InputError, match="a chain of raters"):
        rw.estimate_slices(tmp_path / "out.csv", by="half")
    with pytest.raises(InputError, match="name the column with the strong rating"):
        rw.estimate_slices({"judge": [0.1, 0.9], "half": ["a", "b"]}, by="half")


def test_the_other_estimand_is_computed_where_it_is_asked_for(tmp_path):
    """The campaign asks for the pool's mean; the population's is wider, and says so."""
    campaign = ran(tmp_path, judged(300), goal='budget = "20"')
    table = campaign.export(tmp_path / "out.csv")
    own, same, other = (rw.estimate_table(tmp_path / "out.csv", **how) for how in (
        {}, {"estimand": "pool"}, {"estimand": "population"}))  # fmt: skip
    assert own.interval == same.interval == campaign.estimate().interval
    assert (other.estimand, other.value) == ("population", own.value)
    assert other.standard_error > own.standard_error
    assert "asks for the mean of the pool" in other.notes[0]
    right = rw.estimate_mean(
        table.numbers("prediction"), table.numbers("rating_human", missing="allow"), table.numbers("rate"),
        method="difference", selected=table.numbers("selected") != 0,
    )  # fmt: skip
    assert other.standard_error >= right.standard_error  # of the same arrays, with room for what was learned
    judged_by = rw.check(tmp_path / "out.csv", strong="rating_human", at_least=0.5, estimand="population")
    assert judged_by.estimate.interval == other.interval
    people = ran(tmp_path / "people", judged(300), goal='budget = "20"', estimand="population")
    people.export(tmp_path / "people.csv")
    of_pool = rw.estimate_table(tmp_path / "people.csv", estimand="pool")
    assert of_pool.pool_size == 300
    assert of_pool.standard_error < people.estimate().standard_error


def test_an_export_says_how_large_the_pool_is(tmp_path):
    """Rows that were not looked at are not in it."""
    campaign = ran(tmp_path, judged(300), raters=(("judge", "0.3"), ("human", "1")), goal='budget = "40"')
    table = campaign.export(tmp_path / "out.csv")
    assert table.rows < 300
    assert set(table.numbers("pool_size")) == {300.0}
    for columns in ({}, {"weak": "prediction", "strong": "rating_human", "method": "difference"}):
        found = rw.estimate_table(tmp_path / "out.csv", **columns, estimand="pool")
        assert found.pool_size == 300
        assert found.low < found.value < found.high
    whole = ran(tmp_path / "whole", judged(60), goal='budget = "90"').export(tmp_path / "whole.csv")
    assert "pool_size" not in whole.columns  # all rows are there


def test_what_else_is_asked_for_is_computed_from_the_columns(tmp_path):
    campaign = ran(tmp_path, judged(300))
    campaign.export(tmp_path / "out.csv")
    found = rw.estimate_table(tmp_path / "out.csv", weak="rating_judge", strong="rating_human", method="regression")
    assert found.method == "regression"
    assert not any("campaign" in note for note in found.notes)
    other = rw.estimate_table(tmp_path / "out.csv", level=0.5)
    low, high = campaign.estimate().interval
    assert low < other.low < other.high < high


def pairs(items, seed=3):
    """Comparisons that the first of two nearly always wins, now and then a tie."""
    rng = np.random.default_rng(seed)
    human = rng.choice(["a", "tie", "b"], size=items, p=[0.9, 0.06, 0.04])
    judge, topic = np.where(rng.random(items) < 0.7, human, "a"), np.array(["one", "two", "three", "four"])
    each = {"judge": judge, "human": human, "topic": topic[np.arange(items) % 4]}
    return {"id": [f"q{i}" for i in range(items)]} | {name: x.tolist() for name, x in each.items()}


@pytest.mark.parametrize("seed", [3, 4])
def test_slices_and_bins_of_comparisons_with_ties_keep_to_the_scale(tmp_path, seed):
    """Wins, ties and losses are 1, 0.5 and 0: an export says so, though not all of its ratings are 0 or 1."""
    campaign = ran(tmp_path, pairs(300, seed), rating='kind = "pairwise"')
    path = tmp_path / "out.csv"
    campaign.export(path)
    for keys in ({}, {"shrink": True}):
        found = rw.estimate_slices(path, by="topic", weak="prediction", strong="rating_human", **keys)
        each = [s.shrunk.interval if keys else s.estimate.interval for s in found.slices]
        assert all(0 <= low < high <= 1 for low, high in (*each, found.overall.interval))
    plain = rw.estimate_table(path, weak="prediction", strong="rating_human", method="difference", interval="t")
    assert 0 <= plain.low < plain.high <= 1
    with campaign.look() as now:
        assert all(0 <= one.low < one.high <= 1 for one in calibration(now))


def test_an_export_of_which_rows_were_taken_out_is_an_ordinary_table(tmp_path):
    campaign = ran(tmp_path, judged(300))
    campaign.export(tmp_path / "out.csv")
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    part = {name: [row[name] for row in rows[:-20]] for name in rows[0]}
    found = rw.estimate_table(part, weak="prediction", strong="rating_human")
    assert not any("campaign" in note for note in found.notes)


def test_numbers_stay_numbers_in_parquet(tmp_path):
    campaign = ran(tmp_path, featured(200), goal='budget = "30"')
    campaign.export(tmp_path / "out.parquet")
    kinds = {field.name: str(field.type) for field in pq.read_schema(tmp_path / "out.parquet")}
    assert {name: kinds[name] for name in ("judge", "length", "human", "topic", "id")} == {
        "judge": "double", "length": "int64", "human": "int64", "topic": "string", "id": "string",
    }  # fmt: skip
    assert kinds["rate"] == kinds["rating_judge"] == kinds["prediction"] == "double"
    assert kinds["selected"] == "bool"


def test_numbers_with_gaps_are_numbers_too(tmp_path):
    columns = {**judged(60), "length": [None if i % 2 else i for i in range(60)], "words": ["a"] * 60}
    campaign = ran(tmp_path, columns, goal='budget = "10"')
    table = campaign.export(tmp_path / "out.parquet")
    assert str(pq.read_schema(tmp_path / "out.parquet").field("length").type) == "double"
    assert table.columns[:5] == ("id", "judge", "human", "length", "words")


def test_an_open_round_is_exported_and_does_not_count(tmp_path):
    items = judged(150)
    keys = {"raters": (("judge", "0.05"), ("human", "1")), "goal": 'budget = "30"'}
    whole = ran(tmp_path / "whole", items, **keys)
    campaign = waiting(tmp_path / "open", items)
    table = campaign.export(tmp_path / "open.csv")
    assert campaign.estimate() is None
    assert "ratewise" not in table.columns
    assert table.rows < whole.export(tmp_path / "whole.csv").rows


def waiting(folder, items):
    """A campaign whose first round waits for people."""
    folder.mkdir()
    rows = zip(items["id"], items["judge"], strict=True)
    (folder / "items.csv").write_text("id,judge\n" + "".join(f"{i},{g}\n" for i, g in rows))
    (folder / "c.toml").write_text(
        'name = "c"\nseed = 7\n[items]\ntable = "items.csv"\n[rating]\nkind = "binary"\n[goal]\nbudget = "30"\n'
        '[[raters]]\nname = "judge"\nkind = "column"\ncolumn = "judge"\nprice = "0.05"\n'
        '[[raters]]\nname = "human"\nkind = "people"\nprice = "1"\n'
    )
    campaign = rw.Campaign.open(folder / "c.toml")
    campaign.run(wait=False)
    return campaign


# What `export` writes: by the form of the output a table, the record, or a folder with everything.


NOTHING = {"ledger": False, "answers": False, "record": False}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """Ids begin like formulas of a spreadsheet."""
    columns = judged(60)
    columns["id"] = [f"={name}" for name in columns["id"]]
    return ran(tmp_path_factory.mktemp("c"), columns, goal='budget = "20"')


def test_a_file_is_one_table_or_the_record(campaign, tmp_path):
    with campaign.look() as now:
        rated, _ = export(now, str(tmp_path / "rated.csv"), **NOTHING)
        assert rated["rows"] == len((tmp_path / "rated.csv").read_text().splitlines()) - 1
        ledger, _ = export(now, str(tmp_path / "ledger.csv"), **NOTHING | {"ledger": True})
        assert "amount" in ledger["columns"]
        head, (_, said) = now.head, export(now, str(tmp_path / "record.jsonl"), **NOTHING | {"record": True})
        assert f"ratewise verify {tmp_path / 'record.jsonl'}" in said
    assert verify_path(str(tmp_path / "record.jsonl"), head=head).differences == []


@pytest.mark.parametrize("safe", [False, True])
def test_a_folder_gets_everything_and_is_checked_in_either_form(campaign, tmp_path, safe):
    with campaign.look() as now:
        (found, _), head = export(now, f"{tmp_path / 'out'}{os.sep}", **NOTHING, safe_cells=safe), now.head
    assert found == {"files": ["rated.csv", "ledger.csv", "record.jsonl"]}
    text = (tmp_path / "out" / "rated.csv").read_text()
    assert ("'=q" in text) is safe
    assert verify_path(str(tmp_path / "out"), head=head).differences == []
    lines = text.splitlines(keepends=True)
    lines[6] = lines[6].replace("=q", "=r")
    (tmp_path / "out" / "rated.csv").write_text("".join(lines))
    assert verify_path(str(tmp_path / "out")).differences == ["rated.csv, line 7 is not what the record gives"]
    (tmp_path / "out" / "rated.csv").write_text(text + "\n")
    (told,) = verify_path(str(tmp_path / "out")).differences
    assert told == f"rated.csv has {len(lines) + 1} lines; the record gives {len(lines)}"


@pytest.mark.parametrize(("output", "asked"), [
    ("out/", {"ledger": True}), ("out/", {"record": True}), ("-", {"record": True}),
    ("x.jsonl", {"record": True, "answers": True}), ("x.csv", {"ledger": True, "answers": True}),
])  # fmt: skip
def test_two_things_at_once_are_refused(campaign, tmp_path, monkeypatch, output, asked):
    monkeypatch.chdir(tmp_path)
    with campaign.look() as now, pytest.raises(InputError):
        export(now, output, **NOTHING | asked)
    assert list(tmp_path.iterdir()) == []
