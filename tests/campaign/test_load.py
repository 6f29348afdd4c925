"""The table of items: checked as a whole before any money is spent, in the seed's own order, quickly."""

import json
import os
import shutil
import time
import tracemalloc
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from ratewise.campaign import load
from ratewise.campaign.campaign import Campaign
from ratewise.campaign.cost import campaign_cost
from ratewise.campaign.load import cells, is_same, load_items, open_pool, parts_digest, plain_rows, whole_digest
from ratewise.campaign.spec.example import EXAMPLE, write_example
from ratewise.campaign.spec.read import read_spec
from ratewise.core.draw import uniform
from ratewise.errors import ColumnsError, InputError, RatewiseWarning, TableError
from ratewise.tables import read_table, write_table

from .making import judged, log_of, tamper, write


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
    assert json.loads(meta["columns"])["features"] == 4  # two words, the length, and where it is missing
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


# Pools that stay where they are: the first items of the campaign's order are taken in, and all rows count.


ROWS, TAKEN = 900, 300


def put(folder, *, columns=None, **keys):
    """A campaign whose table is a folder of two Parquet files."""
    columns = judged(ROWS, 3, spread=0.75) if columns is None else columns
    items = f"at_most = {TAKEN}\n" + keys.pop("items", "")
    path = write(folder, columns, items=items, **keys)
    os.makedirs(folder / "pool", exist_ok=True)
    for name, part in (("a", slice(0, 500)), ("b", slice(500, None))):
        rows = {column: values[part] for column, values in columns.items()}
        write_table(read_table(rows), folder / "pool" / f"{name}.parquet")
    path.write_text(path.read_text().replace("items.csv", "pool"))
    return path


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The judge's ratings cost nothing, as those of a column do."""
    path = put(tmp_path_factory.mktemp("large"), raters=(("judge", "0"), ("human", "1")), seed=5)
    campaign = Campaign.open(path)
    campaign.run()
    return campaign


def test_the_first_items_of_the_order_are_taken_in(tmp_path):
    part, whole = tmp_path / "part", tmp_path / "whole"
    first = list(load_items(read_spec(put(part))).rows)
    everything = sorted(load_items(read_spec(write(whole, judged(ROWS, 3, spread=0.75)))).rows)
    assert [row[:3] for row in sorted(first)] == [row[:3] for row in everything[:TAKEN]]


def test_the_store_holds_these_alone_and_the_estimate_is_of_the_pool(ended):
    with ended.look() as now:
        assert (now.facts.items, now.facts.pool, now.status.looked) == (TAKEN, ROWS, TAKEN)
        found = now.estimate
        half_of_it = now.reader.terms.wanted
    assert half_of_it.size == ROWS
    assert len(log_of(ended)["items"]) == TAKEN
    assert json.loads(ended.export(ended.spec.folder / "out.csv").texts("ratewise", missing="allow").tolist()[0])[
        "pool_size"
    ] == ROWS  # fmt: skip
    human = np.array(judged(ROWS, 3, spread=0.75)["human"])
    assert abs(found.value - human.mean()) < 4 * found.standard_error
    assert ended.notes()[0][1] == (
        "pool stays where it is: of its 900 rows, the first 300 in the campaign's random order can be looked at "
        "(items.at_most); all of them count in the pool's mean"
    )


def _copy(campaign, tmp_path):
    shutil.copytree(campaign.spec.folder, tmp_path / "copy")
    return Campaign.open(tmp_path / "copy" / "c.toml")


def test_a_pool_that_has_changed_is_refused(ended, tmp_path):
    copy = _copy(ended, tmp_path)
    place = tmp_path / "copy" / "pool" / "b.parquet"
    rows = read_table(place)
    write_table(rows.with_columns({"judge": np.zeros(rows.rows)}, replace=True), place)
    with pytest.raises(InputError, match="pool has changed since the campaign began"):
        Campaign.open(copy.spec.path)


def test_digests(tmp_path):
    folder = put(tmp_path).parent / "pool"
    light, full = parts_digest(folder), whole_digest(folder)
    assert is_same(folder, light)
    assert is_same(folder, full)
    assert light.startswith("parts:")
    os.rename(folder / "a.parquet", folder / "c.parquet")
    assert not is_same(folder, light)
    assert not is_same(folder, full)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"columns": {"judge": [0.5] * 900, "human": [1] * 900}}, "name the column of ids (items.id), or items.at_"),
        ({"items": '[inputs]\nstrata = "human"'}, "at random, and [inputs] chooses among all: leave it out, or"),
        ({"items": '[start]\nlabels = "human"\ndrawn = "by hand"'}, "the labels of [start] are anywhere: leave it out"),
    ],
)  # fmt: skip
def test_what_needs_all_rows_is_refused(keys, message, tmp_path):
    with pytest.raises(InputError) as refused:
        open_pool(read_spec(put(tmp_path, **keys)))
    assert message in str(refused.value)
    assert str(refused.value).startswith("pool has 900 rows, of which the campaign takes in the first 300 ")


def test_a_folder_of_other_tools_files(tmp_path):
    logs = Path(__file__).parents[1] / "tables" / "adapters" / "fixtures"
    path = put(tmp_path)
    for name in ("a.eval", "b.eval"):
        shutil.copy(logs / "inspect_ai.eval", tmp_path / name)
    path.write_text(path.read_text().replace('table = "pool"', 'table = "*.eval"'))
    relation, rows = open_pool(read_spec(path))
    assert (rows, relation.table("id").ids().tolist()[8]) == (16, "b:sum-1/1")
    digest = whole_digest(tmp_path / "*.eval")
    assert is_same(tmp_path / "*.eval", digest)
    (tmp_path / "b.eval").unlink()
    assert not is_same(tmp_path / "*.eval", digest)


def test_a_format_is_insisted_on(tmp_path):
    path = put(tmp_path, items='format = "parquet"')
    path.write_text(path.read_text().replace('table = "pool"', 'table = "pool/a.parquet"'))
    assert open_pool(read_spec(path))[1] == 500


# Columns that a campaign names and its table does not have: all of them at once, before anything is asked.


def test_all_columns_that_are_not_there_are_told_at_once(tmp_path):
    campaign, _ = write_example(str(tmp_path), table=True)
    text = EXAMPLE.replace('id = "id"', 'id = "idd"').replace('# features = ["length", "topic"]', 'features = ["top"]')
    text = text.replace('column = "judge"', 'column = "jugde"').replace('column = "human"', 'column = "humann"')
    (tmp_path / "campaign.toml").write_text(text)
    with pytest.raises(ColumnsError) as caught:
        Campaign.open(campaign).begin()
    told = [mistake.split("campaign.toml:")[1].split("; did")[0] for mistake in caught.value.mistakes]
    wanted = [
        ('id = "idd"', "items.id needs a column that is not there: items.csv has no column 'idd'"),
        ("features =", "items.features needs a column that is not there: items.csv has no column 'top'"),
        ('column = "jugde"', "rater 'judge' needs a column that is not there: items.csv has no column 'jugde'"),
        ('column = "humann"', "rater 'human' needs a column that is not there: items.csv has no column 'humann'"),
    ]
    for (start, sentence), said in zip(wanted, told, strict=True):
        line = next(n for n, one in enumerate(text.split("\n"), start=1) if one.startswith(start))
        assert said.split("; its")[0] == f"{line}: {sentence}"
    assert isinstance(caught.value, TableError)
    assert not (tmp_path / "campaign.sqlite").exists()


# Rows as raters get them.


def test_what_is_missing_is_none():
    assert cells(np.array([1.5, np.nan, np.inf])) == [1.5, None, None]
    assert cells(np.array(["2026-01-02", "NaT"], dtype="datetime64[D]")) == ["2026-01-02", None]
    assert cells(np.array(["a", None], dtype=object)) == ["a", None]


def test_rows_are_plain_dictionaries():
    table = read_table({"id": [1, 2], "text": ["a", "b"]})
    assert list(plain_rows(table)) == [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]


# `verify` of a campaign whose pool stays where it is: its first items are drawn once more from the files.


@pytest.fixture
def begun(tmp_path):
    campaign = Campaign.open(put(tmp_path, raters=(("judge", "0"), ("human", "1"))))
    campaign.begin()
    return campaign


def test_items_are_compared_with_the_pool(begun):
    assert begun.verify().passed
    tamper(begun, "UPDATE items SET content = replace(content, 'judge', 'jugde') WHERE position = 3")
    assert any("of pool, and is stored otherwise" in line for line in begun.verify().differences)


def test_a_pool_that_is_gone_is_told_of(begun):
    (begun.spec.folder / "pool" / "a.parquet").unlink()
    found = Campaign.at(begun.spec.path).verify()
    assert found.passed
    assert "items were not compared with pool: it has changed since the campaign began" in found.told
