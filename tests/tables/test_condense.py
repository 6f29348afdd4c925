"""Large tables in few rows: labels one by one, everything else as cells whose sums are those of their rows."""

import duckdb
import numpy as np
import pytest

from ratewise.core.ratings import NO_FOLD
from ratewise.tables.cells import NumberSql
from ratewise.tables.condense import Expressions, condense, row_folds

RNG = np.random.default_rng(90)
N = 30_000
WEAK = RNG.beta(2, 1, N) * 3 - 1
RATE = np.where(RNG.random(N) < 0.1, np.nan, np.clip(RNG.beta(1, 5, N), 0.01, 1))
STRONG = np.where(RNG.random(N) < np.nan_to_num(RATE), RNG.random(N), np.nan)
NUMBERS = [NumberSql(name) for name in ("weak", "strong", "rate")]
WHAT = Expressions("rows", *NUMBERS, asked=NumberSql("asked"), row="row", by="topic")


@pytest.fixture(scope="module")
def ask():
    connection = duckdb.connect()
    columns = {"weak": WEAK, "strong": STRONG, "rate": RATE, "row": np.arange(N), "asked": ~np.isnan(STRONG)}
    connection.register("given", columns | {"topic": np.where(WEAK > 1, "a", "b").astype(object)})
    plain = ", ".join(f"CASE WHEN isnan({x}) THEN NULL ELSE {x} END AS {x}" for x in ("weak", "strong", "rate"))
    connection.execute(f"CREATE TABLE rows AS SELECT {plain}, row, CAST(asked AS INTEGER) AS asked, topic FROM given")
    return lambda query: connection.execute(query).fetchnumpy()


@pytest.mark.parametrize("folds", [False, True])
def test_sums_over_cells_are_sums_over_rows(ask, folds, monkeypatch):
    monkeypatch.setattr("ratewise.tables.condense._CELLS", 100)
    monkeypatch.setattr("ratewise.tables.condense._RATES", 32)
    made, _ = condense(ask, WHAT, folds=folds)
    looked = ~np.isnan(RATE)
    assert made.counts.size < 0.8 * N
    for power in (0, 1, 2):
        for odds, right in ((np.ones(made.rates.size), np.ones(N)), (1 / made.rates - 1, 1 / RATE - 1)):
            total = (right * WEAK**power)[looked].sum()
            within = 1e-12 if power < 2 or odds[0] == 1 else 1e-4  # 1/π and G² together are exact to third order
            assert float((made.counts * odds * made.weak**power).sum()) == pytest.approx(total, rel=within)
    assert made.weak.min() >= WEAK.min()
    assert made.weak.max() <= WEAK.max()
    assert made.rates.max() <= 1


def test_labels_stand_one_by_one_with_their_own_numbers(ask):
    made, _ = condense(ask, WHAT, folds=True)
    labelled = ~np.isnan(made.strong)
    found = np.stack([made.weak, made.strong, made.rates, made.folds])[:, labelled]
    own = ~np.isnan(STRONG)
    right = np.stack([WEAK, STRONG, RATE, row_folds(np.arange(N), own)])[:, own]
    np.testing.assert_array_equal(found[:, np.argsort(found[0])], right[:, np.argsort(right[0])])
    assert (made.counts[labelled] == 1).all()
    np.testing.assert_array_equal(made.selected, labelled)


def test_folds_are_even_and_only_rows_that_stand_alone_are_in_one(ask):
    made, _ = condense(ask, WHAT, folds=True)
    assert (made.folds[made.counts == 1] >= 0).sum() >= np.count_nonzero(~np.isnan(STRONG))
    assert (made.folds[np.isnan(made.strong) & (made.rates < 1)] == NO_FOLD).all()
    counts = np.bincount(row_folds(np.arange(10**6), np.ones(10**6, dtype=bool)))
    assert counts.size == 10
    assert np.abs(counts - 10**5).max() < 10


def test_groups_are_kept_apart(ask):
    made, _ = condense(ask, WHAT, folds=False)
    looked = ~np.isnan(RATE)
    assert float(made.counts[made.clusters == "a"].sum()) == pytest.approx(np.count_nonzero(looked & (WEAK > 1)))


def test_ratings_and_rates_of_few_kinds_are_few_rows():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE rows AS SELECT range % 3 AS weak, NULL AS strong, 0.1 AS rate FROM range(9000)")
    made, _ = condense(lambda query: connection.execute(query).fetchnumpy(), Expressions("rows", *NUMBERS),
                    folds=False)  # fmt: skip
    assert made.weak.tolist() == [0, 1, 2]
    assert made.counts.tolist() == [3000, 3000, 3000]
    assert made.rates.tolist() == [0.1, 0.1, 0.1]
