"""A pool is every row that was there when it was drawn, in the file or not."""

import numpy as np
import pytest

import ratewise as rw
from ratewise.core.estimate import EstimateOptions
from ratewise.errors import InputError, TableError
from ratewise.questions.comparison import compare
from ratewise.questions.drawing import draw_file
from ratewise.questions.rated import POOL_SIZE
from ratewise.questions.slices import estimate_slices

ROWS, LOOKED = 900, 240
ONE = {"weak": "judge", "strong": "human"}


def drawn(seed=4, **more):
    """A pool of which the money lasted for a part: the others have no rate, and every row says how many there are."""
    rng = np.random.default_rng(seed)
    h = 3 + rng.gamma(2.0, 1.0, ROWS)
    looked = np.arange(ROWS) < LOOKED
    rate = np.where(looked, rng.choice([0.3, 0.6], ROWS), np.nan)
    asked = rng.random(ROWS) < np.nan_to_num(rate)
    topic = rng.choice(["code", "law"], ROWS)
    table = {"judge": h + rng.normal(0, 0.5, ROWS), "human": np.where(asked, h, np.nan), "rate": rate, "topic": topic}
    return table | {"selected": asked, POOL_SIZE: np.full(ROWS, float(ROWS))} | more


def part(table, keep=None):
    keep = ~np.isnan(table["rate"]) if keep is None else keep
    return {name: values[keep] for name, values in table.items()}


def without(table, *names):
    return {name: values for name, values in table.items() if name not in names}


def ends(table, **how):
    return rw.estimate_table(table, **ONE, estimand="pool", **how).interval


def test_rows_that_were_not_looked_at_belong_to_the_pool():
    right = rw.estimate_mean(
        *(part(drawn())[name] for name in ("judge", "human", "rate")), selected=part(drawn())["selected"],
        estimand="pool", pool_size=ROWS,
    )  # fmt: skip
    for table in (drawn(), without(drawn(), POOL_SIZE), part(drawn())):  # all rows, no size said, rows left out
        found = rw.estimate_table(table, **ONE, estimand="pool")
        assert (found.interval, found.pool_size, found.to_dict()["pool_size"]) == (right.interval, ROWS, ROWS)
        assert not any("taken to be" in note for note in found.notes)
    assert ends(without(part(drawn()), POOL_SIZE), pool_size=ROWS) == right.interval
    assert rw.estimate_table(drawn(), **ONE).pool_size is None  # the population's


def test_a_file_that_cannot_tell_is_told_so_in_one_line():
    found = rw.estimate_table(without(part(drawn()), POOL_SIZE), **ONE, estimand="pool")
    (note,) = [note for note in found.notes if "taken to be" in note]
    assert f"these {LOOKED} rows" in note
    assert "\n" not in note
    assert "pool_size" in note
    assert not any("taken to be" in note for note in rw.estimate_table(without(part(drawn()), POOL_SIZE), **ONE).notes)


@pytest.mark.parametrize("table", [drawn(), part(drawn())], ids=["all rows", "looked at"])
def test_every_question_reads_the_pool(table):
    """As if the pool's size had been given; and never an interval of no width."""
    two = table | {"other": table["judge"] - 0.1, "human_2": table["human"] - 0.2}
    asks = {
        "estimate": lambda **how: rw.estimate_table(table, **ONE, **how).interval,
        "check": lambda **how: rw.check(table, **ONE, at_least=5.0, **how).estimate.interval,
        "compare": lambda **how: compare(
            two, weak=("judge", "other"), strong=("human", "human_2"), **how).second.interval,
        "quantile": lambda **how: rw.quantile_table(table, at=[0.4], **ONE, **how).estimates[0].interval,
        "regress": lambda **how: (slope := rw.regress(table, on=["judge"], **ONE, **how).coefficients[1]) and (
            slope.low, slope.high),
    }  # fmt: skip
    for name, ask in asks.items():
        low, high = ask(estimand="pool")
        assert low < high, name
        assert (low, high) == ask(estimand="pool", pool_size=ROWS), name


def test_slices_are_of_their_own_part_of_the_pool():
    whole, some = (estimate_slices(rows, by="topic", **ONE, estimand="pool") for rows in (drawn(), part(drawn())))
    sizes = {name: int(np.count_nonzero(drawn()["topic"] == name)) for name in ("code", "law")}
    for name, size in sizes.items():
        assert whole[name].estimate.pool_size == size
        seen = np.count_nonzero(part(drawn())["topic"] == name)
        assert some[name].estimate.pool_size == pytest.approx(seen * ROWS / LOOKED)
    assert whole.overall.pool_size == some.overall.pool_size == ROWS
    given = estimate_slices(without(part(drawn()), POOL_SIZE), by="topic", **ONE, estimand="pool", pool_size=ROWS)
    assert given["law"].interval == some["law"].interval


def test_slices_of_strong_ratings_on_every_row_looked_at_are_not_exact():
    table = part(drawn())
    full = table | {"human": table["judge"], "rate": np.ones(LOOKED), "selected": np.ones(LOOKED, dtype=bool)}
    found = estimate_slices(full, by="topic", **ONE, rate="rate", estimand="pool")
    for one in found.slices:
        assert one.interval[0] < one.value < one.interval[1]


def test_two_tables_have_a_pool_each():
    last = part(drawn(seed=5))
    found = rw.compare_tables(drawn(), last, **ONE, estimand="pool")
    assert (found.first.pool_size, found.second.pool_size) == (ROWS, ROWS)


def test_a_row_for_each_item_and_system():
    """The long table says how many rows its pool has; the items are half as many for two systems."""
    one = part(drawn(id=np.arange(ROWS)))
    other = one | {"human": one["human"] - 0.3}
    long = {name: np.r_[one[name], other[name]] for name in one}
    long |= {"system": np.repeat(["new", "old"], LOOKED), POOL_SIZE: np.full(2 * LOOKED, 2.0 * ROWS)}
    found = rw.compare_long(long, system="system", **ONE, baseline="old", estimand="pool")
    assert found.paired
    assert found.difference.pool_size == found.first.pool_size == ROWS


def test_how_many_labels_would_tell_goes_by_the_pool():
    table = part(drawn())
    found = rw.check(table, **ONE, at_least=rw.estimate_table(table, **ONE).value - 0.05, estimand="pool")
    assert found.verdict == "cannot tell"
    assert LOOKED < found.labels_needed <= ROWS


@pytest.mark.parametrize(
    ("table", "how", "error", "message"),
    [
        (drawn(pool_size=np.r_[np.full(500, 900.0), np.full(400, 800.0)]), {}, TableError, "of several pools"),
        (drawn(pool_size=np.full(ROWS, 300.0)), {}, TableError, "no pool is smaller"),
        (drawn(), {"pool_size": 300}, InputError, "cannot be smaller"),
        (part(drawn()), {"strata": "topic"}, TableError, "sizes of its strata are not known"),
    ],
)
def test_what_cannot_be_a_pool_is_refused(table, how, error, message):
    with pytest.raises(error, match=message):
        ends(table, **how)


def test_a_draw_says_the_size_where_rows_are_left_without_a_rate(tmp_path):
    rng = np.random.default_rng(1)
    g = rng.random(700)
    h = (rng.random(700) < np.where(g > 0.5, 0.97, 0.03)).astype(float)
    plan = rw.plan(
        {"judge": g[:200], "human": h[:200]}, **ONE, weak_cost=0.2, strong_cost=1, budget=60, pool_size=500,
        estimand="pool",
    )  # fmt: skip
    pool = {"id": np.arange(500), "judge": g[200:]}
    some = rw.draw_pool(pool, plan, seed=3).table
    assert set(some.numbers(POOL_SIZE)) == {500.0}
    rw.write_table(rw.read_table(pool), tmp_path / "pool.parquet")
    draw_file(tmp_path / "pool.parquet", plan.transfer, tmp_path / "out.parquet", seed=3)
    assert np.array_equal(rw.read_table(tmp_path / "out.parquet").numbers(POOL_SIZE), some.numbers(POOL_SIZE))
    assert POOL_SIZE not in rw.draw_pool(pool, plan, seed=3, within_budget=False).table.columns
    with pytest.raises(TableError, match="it was drawn before"):
        rw.draw_pool(pool | {POOL_SIZE: np.full(500, 500)}, plan, seed=3)


def test_the_population_has_no_pool():
    assert EstimateOptions(estimand="population").plain
    assert not EstimateOptions(estimand="pool", pool_size=10).plain
    assert rw.estimate_table(drawn(), **ONE).interval == rw.estimate_table(part(drawn()), **ONE).interval
