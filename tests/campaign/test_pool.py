"""Pools that stay where they are: the first items of the campaign's order are taken in, and all rows count."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.load import is_same, load_items, open_pool, parts_digest, whole_digest
from ratewise.campaign.spec.spec import read_spec
from ratewise.errors import InputError
from ratewise.tables import read_table, write_table

from .making import judged, log_of, write

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
    pool = open_pool(read_spec(path))
    assert (pool.rows, pool.relation.table("id").ids().tolist()[8]) == (16, "b:sum-1/1")
    assert is_same(tmp_path / "*.eval", pool.digest)
    (tmp_path / "b.eval").unlink()
    assert not is_same(tmp_path / "*.eval", pool.digest)


def test_a_format_is_insisted_on(tmp_path):
    path = put(tmp_path, items='format = "parquet"')
    path.write_text(path.read_text().replace('table = "pool"', 'table = "pool/a.parquet"'))
    assert open_pool(read_spec(path)).rows == 500
