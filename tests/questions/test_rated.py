"""The one reader of drawn tables: rates from a column, as a number, or from the labels themselves."""

import numpy as np
import pytest

from ratewise.core.estimate import EstimateOptions
from ratewise.errors import InputError, TableError
from ratewise.questions.comparison import compare, compare_many
from ratewise.questions.estimation import estimate_table
from ratewise.questions.leaderboard import leaderboard
from ratewise.questions.quantiles import quantile_table
from ratewise.questions.rated import TableColumns, made_ready, read_rated, refuse_missing
from ratewise.questions.regression import regress
from ratewise.questions.slices import estimate_slices
from ratewise.tables.words import Meaning

ROWS, LABELS = 400, 100


def labelled():
    """100 of 400 rows have a label, and nothing says how they were drawn."""
    rng = np.random.default_rng(3)
    h = (rng.random(ROWS) < 0.7).astype(float)
    g = np.where(rng.random(ROWS) < 0.15, 1 - h, h)
    other = (rng.random(ROWS) < 0.5).astype(float)
    asked = np.zeros(ROWS, dtype=bool)
    asked[rng.permutation(ROWS)[:LABELS]] = True
    names = np.array(["ann", "bob", "cy"])
    first = rng.integers(0, 3, ROWS)
    return {
        "judge": g, "human": np.where(asked, h, np.nan), "judge_b": other, "human_b": np.where(asked, other, np.nan),
        "x": rng.normal(size=ROWS), "topic": np.array(["a", "b"])[rng.integers(0, 2, ROWS)],
        "model_a": names[first], "model_b": names[(first + rng.integers(1, 3, ROWS)) % 3],
    }  # fmt: skip


def rated_by(table, **columns):
    return read_rated(made_ready(table, "human", "judge", Meaning()), TableColumns("human", "judge", **columns))


ONE = {"weak": "judge", "strong": "human"}
TWO = {"weak": ("judge", "judge_b"), "strong": ("human", "human_b"), "names": ("A", "B")}
MANY = {"baseline": "B", "weak": {"A": "judge", "B": "judge_b"}, "strong": {"A": "human", "B": "human_b"}}
EVERY = {
    "estimate": lambda table, **how: estimate_table(table, **ONE, **how),
    "slices": lambda table, **how: estimate_slices(table, by="topic", **ONE, **how),
    "compare": lambda table, **how: compare(table, **TWO, **how),
    "compare_many": lambda table, **how: compare_many(table, **MANY, **how),
    "regress": lambda table, **how: regress(table, on=["x"], **ONE, **how),
    "quantile": lambda table, **how: quantile_table(table, at=[0.2], **ONE, **how),
    "leaderboard": lambda table, **how: leaderboard(table, **ONE, **how),
}


def plain(found):
    """The result without its notes."""

    def without(value):
        if isinstance(value, dict):
            return {name: without(x) for name, x in value.items() if name != "notes"}
        return [without(x) for x in value] if isinstance(value, list) else value

    return without(found.to_dict())


@pytest.mark.parametrize("name", EVERY)
def test_without_rates_the_labels_are_one_random_draw_everywhere(name):
    table = labelled()
    found = EVERY[name](table)
    with_column = EVERY[name](table | {"rate": np.full(ROWS, LABELS / ROWS)})
    with_number = EVERY[name](table, rate=LABELS / ROWS)
    with_text = EVERY[name](table, rate="0.25")
    assert plain(found) == plain(with_column) == plain(with_number) == plain(with_text)
    (note,) = [note for note in found.notes if "no rate column" in note]
    assert "the 100 rows with a strong rating are taken as a random draw from all rows" in note
    assert "one rate for all (0.25)" in note
    assert not any("no rate column" in note for note in with_number.notes)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("rate", [0, 1.5, "-0.2"])
def test_a_rate_that_cannot_be(name, rate):
    with pytest.raises(InputError, match=r"rate must be in \(0, 1\]"):
        EVERY[name](labelled(), rate=rate)


@pytest.mark.parametrize("name", EVERY)
def test_a_rate_column_that_is_not_there(name):
    with pytest.raises(TableError, match="no column 'propensity'"):
        EVERY[name](labelled(), rate="propensity")


def test_a_column_named_like_a_number_is_a_column():
    table = labelled() | {"0.5": np.full(ROWS, 0.25)}
    assert plain(estimate_table(table, **ONE, rate="0.5")) == plain(estimate_table(table, **ONE, rate=0.25))


def test_strong_ratings_alone_are_a_sample_of_the_pool():
    table = labelled()
    found = estimate_table(table, weak=None, strong="human", estimand="pool")
    assert (found.items, found.labels) == (LABELS, LABELS)
    known = estimate_table(table | {"rate": np.full(ROWS, 0.25)}, weak=None, strong="human", estimand="pool")
    assert plain(found) == plain(known)
    assert found.interval[0] < found.value < found.interval[1]  # 300 rows are unrated, so nothing is exact


@pytest.mark.parametrize("name", ["regress", "quantile", "leaderboard"])
def test_the_pool_is_all_rows_where_strong_ratings_stand_alone(name):
    """As if the pool's size had been given: not "exact" because every row that is used has a label."""
    ask = {
        "regress": lambda **how: regress(labelled(), on=["x"], strong="human", **how),
        "quantile": lambda **how: quantile_table(labelled(), at=[0.2], strong="human", **how),
        "leaderboard": lambda **how: leaderboard(labelled(), strong="human", **how),
    }[name]
    assert plain(ask(estimand="pool")) == plain(ask(estimand="pool", pool_size=ROWS))


def test_answers_that_are_missing_count_as_drawn():
    table = labelled()
    selected = ~np.isnan(table["human"])
    table["human"][np.flatnonzero(selected)[:4]] = np.nan
    rated = rated_by(table | {"selected": selected})
    assert np.all(rated.items.rates == LABELS / ROWS)
    with pytest.raises(TableError, match="4 answers that were asked for are missing"):
        refuse_missing(rated)


def test_a_rating_nobody_asked_for_is_refused():
    table = labelled() | {"selected": np.zeros(ROWS), "rate": np.full(ROWS, 0.25)}
    for ask in EVERY.values():
        with pytest.raises(TableError, match="has a strong rating but is not selected"):
            ask(table)


def test_a_fully_rated_table_needs_no_rates():
    table = {"judge": np.array([0.0, 1, 1, 1]), "human": np.array([0.0, 1, 0, 1]), "rate": np.full(4, 0.5)}
    rated = rated_by(table)
    assert np.all(rated.items.rates == 1)
    (note,) = rated.notes(EstimateOptions())
    assert "rates are not used" in note
    table["rate"] = np.ones(4)
    assert rated_by(table).notes(EstimateOptions()) == ()


def test_rows_without_a_rate_are_part_of_the_pool_where_that_is_asked_about():
    table = {"judge": np.arange(4.0), "human": np.array([0.0, 1, np.nan, np.nan]), "rate": [0.5, 0.5, 0.5, np.nan]}
    rated = rated_by(table)
    assert rated.notes(EstimateOptions()) == ("1 row without a rate was not looked at",)
    assert rated.notes(EstimateOptions(estimand="pool")) == (
        "1 row without a rate was not looked at; the pool counts it, too",
    )
    asked = rated_by(table, rate="rate")
    assert np.all(asked.items.rates == 0.5)


def test_words_are_legal_once_the_record_exists():
    with pytest.raises(InputError, match="unknown method"):
        EstimateOptions(method="magic")
    with pytest.raises(InputError, match="level must be in"):
        EstimateOptions(level=95)
    with pytest.raises(InputError, match="add estimand pool"):
        EstimateOptions(pool_size=100).refuse_idle_pool_size()
