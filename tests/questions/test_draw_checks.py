"""Rates that are not those of the draw, and labels that were not drawn at random."""

import numpy as np
import pytest
from scipy import stats

import ratewise as rw
from ratewise.questions.rated import chance_of, check_count

COLUMNS = {"weak": "judge", "strong": "human"}


def drawn(seed=2, items=2000):
    rng = np.random.default_rng(seed)
    judge = rng.random(items)
    rate = 0.1 + 0.4 * judge
    asked = rng.random(items) < rate
    human = np.where(asked, rng.random(items) < judge, np.nan)
    return {"judge": judge, "human": human, "rate": rate, "selected": asked}


def test_the_labels_of_a_draw_pass_with_and_without_selected():
    table = drawn()
    found = rw.estimate_table(table, **COLUMNS)
    del table["selected"]
    assert rw.estimate_table(table, **COLUMNS).value == found.value


def test_labels_that_are_missing_without_a_word_are_refused():
    """Half of the answers have not come, and nothing says that they were asked for."""
    table = drawn()
    del table["selected"]
    table["human"] = np.where(np.arange(2000) % 2, table["human"], np.nan)
    for function in (rw.estimate_table, lambda t, **k: rw.estimate_slices({**t, "by": ["x"] * 2000}, by="by", **k)):
        with pytest.raises(rw.TableError, match=r"adds up to 5\d\d.*standard deviations off.*\(selected\).*\(rate\)"):
            function(table, **COLUMNS)
    both = {**table, "judge_2": table["judge"], "human_2": table["human"]}
    with pytest.raises(rw.TableError, match="not the rates of this draw"):
        rw.compare(both, weak=("judge", "judge_2"), strong=("human", "human_2"))


def test_rows_that_were_drawn_alone_are_refused_not_taken_for_all_rows(tmp_path):
    """Somebody has kept the rows with a strong rating; their plain mean is that of what was drawn, not of the table."""
    table = drawn()
    kept = {name: values[table["selected"]] for name, values in table.items()}
    rw.write_table(rw.read_table(kept), tmp_path / "kept.csv")
    for each in (kept, tmp_path / "kept.csv"):
        with pytest.raises(rw.TableError, match="give the rows that were not drawn, too, if they were left out"):
            rw.estimate_table(each, **COLUMNS)
    del kept["selected"]  # now nothing tells whether all rows are there
    told = rw.estimate_table(kept, **COLUMNS)
    assert "if rows that were not drawn were left out of the file, give them, too" in told.notes[0]
    every = rw.estimate_table(kept, **COLUMNS, rate=1)
    assert every.value == told.value
    assert " interval, " in every.notes[0]
    assert every.value == pytest.approx(np.mean(kept["human"]))


def test_answers_that_are_said_to_be_missing_are_counted_at_both_ends():
    table = drawn()
    table["human"] = np.where(np.arange(2000) % 10, table["human"], np.nan)
    assert "missing" in rw.estimate_table(table, **COLUMNS).notes[0]


@pytest.mark.parametrize(("off", "outcome"), [(3.5, "passes"), (5.0, "warns"), (6.5, "refuses")])
def test_how_far_off_is_too_far(off, outcome):
    rates = np.full(10_000, 0.2)
    count = int(2000 + off * 40 + 1)
    labels = np.arange(10_000) < count
    if outcome == "passes":
        check_count("t", rates, labels, "column 'rate'")
    elif outcome == "warns":
        with pytest.warns(rw.RatewiseWarning, match="if it is not by chance, give the rows that were not drawn, too"):
            check_count("t", rates, labels, "column 'rate'")
    else:
        with pytest.raises(rw.TableError):
            check_count("t", rates, labels, "column 'rate'")


def test_few_labels_are_given_room():
    """Σπ = 0.5: two labels are nothing strange; rates of 1 say nothing."""
    check_count("t", np.full(100, 0.005), np.arange(100) < 2, "x")
    check_count("t", np.ones(50), np.zeros(50, dtype=bool), "x")


def test_a_number_as_rate_is_checked_too():
    table = drawn()
    with pytest.raises(rw.TableError, match=r"the rate 0\.9"):
        rw.estimate_table({name: table[name] for name in ("judge", "human")}, **COLUMNS, rate=0.9)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("labels", [8, 60, 900])
def test_false_alarms_are_rarer_than_stated(share, labels):
    """At a bound of 1 %: in 4,000 random draws, fewer than a test with that rate would give but once in 10,000."""
    rng = np.random.default_rng(4)
    score = (rng.random(1000) < share).astype(float)
    alarms = 0
    for _ in range(4000):
        labelled = np.zeros(1000, dtype=bool)
        labelled[rng.choice(1000, labels, replace=False)] = True
        alarms += chance_of(score, labelled) < 0.01
    assert alarms <= stats.binom.isf(1e-4, 4000, 0.01)


def test_the_bound_is_not_blunt():
    """60 of 1,000 labelled, all of them from the upper half: certain."""
    labelled = np.zeros(1000, dtype=bool)
    labelled[np.random.default_rng(5).choice(500, 60, replace=False) + 500] = True
    assert chance_of(np.arange(1000) / 1000, labelled) < 1e-6
