"""The table of items: checked as a whole before any money is spent, in the seed's own order, quickly."""

import json
import time
import tracemalloc
import warnings
from decimal import Decimal

import numpy as np
import pytest

from ratewise.campaign import load
from ratewise.campaign.campaign import Campaign
from ratewise.campaign.cost import campaign_cost
from ratewise.campaign.load import load_items
from ratewise.campaign.spec.spec import read_spec
from ratewise.core.draw import uniform
from ratewise.errors import RatewiseWarning, TableError

from .making import judged, write


def loaded(folder, columns, **keys):
    found = load_items(read_spec(write(folder, columns, **keys)))
    return found.meta, list(found.rows)


def test_rows_are_in_the_order_of_the_seed_each_with_its_own_number(tmp_path):
    columns = judged(200)
    meta, rows = loaded(tmp_path, columns)
    ids = np.array([row[1] for row in rows], dtype=object)
    assert [row[0] for row in rows] == list(range(200))
    assert sorted(ids) == sorted(columns["id"])
    assert np.all(np.diff(uniform(ids, seed="7:order")) >= 0)
    np.testing.assert_array_equal([row[2] for row in rows], uniform(ids, seed=7))
    other = loaded(tmp_path / "other", columns, seed=8)[1]
    assert [row[1] for row in other] != ids.tolist()
    human = dict(zip(columns["id"], columns["human"], strict=True))
    assert all(float(json.loads(row[5])["human"]) == human[row[1]] for row in rows)
    assert json.loads(meta["prices"]) == [5e7, 1e9]
    assert meta["items"] == "200"


def test_the_order_does_not_hang_on_the_order_of_the_table(tmp_path):
    columns = judged(150)
    shuffled = {name: values[::-1] for name, values in columns.items()}
    a, b = loaded(tmp_path / "a", columns)[1], loaded(tmp_path / "b", shuffled)[1]
    assert [row[:3] for row in a] == [row[:3] for row in b]
    assert [json.loads(row[5]) for row in a] == [json.loads(row[5]) for row in b]


def test_numbers_are_uncertainty_first_and_then_the_coded_features(tmp_path):
    columns = judged(60)
    columns["doubt"] = [round(0.01 * i, 2) for i in range(60)]
    columns["topic"] = ["law" if i % 3 else "sport" for i in range(60)]
    columns["length"] = ["" if i == 5 else i for i in range(60)]
    meta, rows = loaded(tmp_path, columns, items='features = ["topic", "length"]\nuncertainty = "doubt"')
    assert json.loads(meta["columns"]) == 4  # two words, the length, and where it is missing
    at = {item: i for i, item in enumerate(columns["id"])}
    for _, item, _, blob, _, _ in rows:
        i, x = at[item], np.frombuffer(blob, dtype="<f8")
        assert x[0] == columns["doubt"][i]
        assert x[1:3].tolist() == ([1.0, 0.0] if columns["topic"][i] == "law" else [0.0, 1.0])
        assert x[3:].tolist() == ([i, 0.0] if i != 5 else [30.0, 1.0])


def test_prices_of_items_keep_all_nine_decimals(tmp_path):
    columns = judged(20)
    columns["cost"] = [f"{i}.000000001" for i in range(20)]
    meta, rows = loaded(tmp_path, columns, raters=(("judge", "0.123456789"), ("human", "cost")))
    at = {item: i for i, item in enumerate(columns["id"])}
    assert all(json.loads(row[4]) == [123456789, at[row[1]] * 10**9 + 1] for row in rows)
    assert json.loads(meta["prices"]) == pytest.approx([123456789, 9.5e9 + 1], rel=1e-12)


@pytest.mark.parametrize("text", ["-1", "free", "", "nan", "inf", "1e30", "9000000000"])
def test_prices_that_are_none_are_refused_with_their_row(tmp_path, text):
    columns = judged(20)
    columns["cost"] = ["1"] * 20
    columns["cost"][12] = text
    with pytest.raises(TableError, match="cost"):
        loaded(tmp_path, columns, raters=(("judge", "0.05"), ("human", "cost")))


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ({"raters": (("judge", "0.05"), ("nobody", "1"))}, "nobody"),
        ({"items": 'features = ["colour"]'}, "colour"),
        ({"items": 'uncertainty = "judge"'}, "below 0"),
        ({"items": 'id = "judge"'}, "judge"),
    ],
)
def test_what_is_not_there_is_told_before_anything_is_bought(tmp_path, keys, word):
    columns = judged(30)
    columns["judge"][3] = columns["judge"][4] = -0.5
    with pytest.raises(TableError, match=word):
        loaded(tmp_path, columns, **keys)


def test_a_hundred_thousand_items_in_seconds(tmp_path):
    """The aim is a million in a minute: this is a tenth of it, in twice its share, for slow machines."""
    rng = np.random.default_rng(3)
    columns = {
        "id": [f"item-{i}" for i in range(100_000)], "judge": rng.random(100_000).round(4).tolist(),
        "human": rng.integers(0, 2, 100_000).tolist(),
    }  # fmt: skip
    path = write(tmp_path, columns)
    started = time.process_time()
    found = load_items(read_spec(path))
    rows = sum(1 for _ in found.rows)
    assert rows == 100_000
    assert time.process_time() - started < 12


@pytest.mark.parametrize("inputs", ["", '[inputs]\nstrata = "topic"'])
def test_batches_give_what_one_piece_gives(tmp_path, monkeypatch, inputs):
    """And each batch is in the campaign's order."""
    columns = judged(1000) | {"topic": ["abc"[i % 3] for i in range(1000)]}
    columns["gap"] = ["" if i < 700 else i for i in range(1000)]
    meta, whole = loaded(tmp_path, columns, items=inputs)
    assert [row[0] for row in whole] == list(range(1000))
    monkeypatch.setattr(load, "_ROWS", 300)
    again, rows = loaded(tmp_path, columns, items=inputs)
    assert again == meta
    assert sorted(rows) == whole
    for first in range(0, 1000, 300):
        positions = [row[0] for row in rows[first : first + 300]]
        assert positions == sorted(positions)


def test_items_without_ids_are_numbered_through_all_batches(tmp_path, monkeypatch):
    columns = {name: values for name, values in judged(500).items() if name != "id"}
    monkeypatch.setattr(load, "_ROWS", 120)
    _, rows = loaded(tmp_path, columns)
    assert sorted((row[1] for row in rows), key=int) == [str(i) for i in range(500)]
    for _, name, *_, content in rows:
        assert float(json.loads(content)["judge"]) == columns["judge"][int(name)]


def test_one_long_id_among_many_rows(tmp_path):
    """20,000 rows, one of whose ids has 200 kB: memory is that of the texts, not of 20,000 such ids."""
    columns = judged(20_000)
    columns["id"][777] = "x" * 200_000
    path = write(tmp_path, columns)
    tracemalloc.start()
    try:
        rows = list(load_items(read_spec(path)).rows)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sorted(row[1] for row in rows) == sorted(columns["id"])
    assert most < 100e6


def test_the_address_of_the_store_stays_out_of_it(tmp_path):
    meta, _ = loaded(tmp_path, judged(10), store="postgresql://me:secret@host/db")
    assert "secret" not in json.dumps(meta)
    assert Decimal(json.loads(meta["spec"])["goal"]["budget"]) == 60


def test_a_budget_that_would_rate_the_whole_pool_is_told_before_anything_is_bought(tmp_path):
    columns = judged(60)
    for budget, told in (("59.9", False), ("60", True), ("6000", True)):
        path = write(tmp_path / budget, columns, goal=f'budget = "{budget}"')
        campaign = Campaign.open(path)
        cost = campaign_cost(campaign.spec)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            campaign.begin()
        said = [str(one.message) for one in caught]
        assert len(said) == told
        assert [note for _, note in campaign.notes()] == said == list(cost.notes)
        assert campaign.status().spent == 0
        assert all("60 items, which cost 60.00 together" in one for one in said)


def test_a_budget_that_is_raised_above_the_whole_pool_is_told_too(tmp_path):
    columns = judged(60)
    path = write(tmp_path, columns, goal='budget = "20"')
    Campaign.open(path).begin()
    path.write_text(path.read_text().replace('budget = "20"', 'budget = "2000"'))
    with pytest.warns(RatewiseWarning, match="60 items, which cost 60.00 together"):
        Campaign.open(path).begin()


def test_a_budget_that_only_caps_a_target_is_no_mistake(tmp_path):
    goal = 'budget = "6000"\ntarget_se = 0.05'
    path = write(tmp_path, judged(60), goal=goal)
    assert campaign_cost(read_spec(path)).notes == ()
