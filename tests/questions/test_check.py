"""`check`: the verdict is the interval's, with the labels that would tell."""

import numpy as np
import pytest

import ratewise as rw

COLUMNS = {"weak": "judge", "strong": "human"}


def table(seed, mean, items, *, rate=0.3, first=0):
    rng = np.random.default_rng(seed)
    human = (rng.random(items) < mean).astype(float)
    return {
        "id": [f"q{first + i}" for i in range(items)],
        "judge": np.where(rng.random(items) < 0.1, 1 - human, human),
        "human": np.where(rng.random(items) < rate, human, np.nan),
        "rate": np.full(items, rate),
    }


@pytest.fixture(scope="module")
def rated():
    return table(1, 0.85, 1200)


def test_the_interval_decides(rated):
    found = rw.estimate_table(rated, **COLUMNS)
    for bar, verdict in (
        (found.low, "yes"),
        (found.low + 1e-6, "cannot tell"),
        (found.high, "cannot tell"),
        (found.high + 1e-6, "no"),
    ):
        checked = rw.check(rated, **COLUMNS, at_least=bar)
        assert (checked.verdict, checked.estimate.to_dict()) == (verdict, found.to_dict())
        assert (checked.labels_needed is not None) == (verdict == "cannot tell")


def test_the_level_is_that_of_the_interval(rated):
    found = rw.estimate_table(rated, **COLUMNS, level=0.8)
    between = 0.5 * (found.low + rw.estimate_table(rated, **COLUMNS).low)
    assert rw.check(rated, **COLUMNS, at_least=between).verdict == "cannot tell"
    assert rw.check(rated, **COLUMNS, at_least=between, level=0.8).verdict == "yes"


def test_more_labels_are_needed_closer_to_the_bar(rated):
    found = rw.estimate_table(rated, **COLUMNS)
    bars = found.value - (found.value - found.low) * np.array([0.9, 0.6, 0.3])
    needed = [rw.check(rated, **COLUMNS, at_least=bar).labels_needed for bar in bars]
    assert found.labels < needed[0] < needed[1] < needed[2]
    at = rw.check(rated, **COLUMNS, at_least=found.value)
    assert at.labels_needed is None
    assert "hardly any number of labels would tell" in at.sentence


def test_no_worse_than_the_last_table(rated):
    last = table(2, 0.84, 1000, first=9000)
    d = rw.compare_tables(rated, last, **COLUMNS).difference
    for margin, verdict in ((-d.low + 1e-9, "yes"), (-d.low - 1e-6, "cannot tell")):
        found = rw.check(rated, **COLUMNS, no_worse_than=last, margin=margin)
        assert (found.verdict, found.bar) == (verdict, -margin)
    worse = table(3, 0.5, 1000, first=9000)
    assert rw.check(worse, **COLUMNS, no_worse_than=last, margin=0.02).verdict == "no"


def test_the_last_tables_own_error_stays(rated):
    """Few labels there: more labels here cannot tell alone, so those of both tables are counted."""
    last = table(2, 0.84, 60, first=9000)
    found = rw.check(rated, **COLUMNS, no_worse_than=last, margin=0.1)
    assert found.verdict == "cannot tell"
    assert "strong ratings of both tables in all" in found.sentence
    assert found.labels_needed > found.estimate.labels


def test_labels_of_the_new_table_are_told_apart_from_those_of_both():
    few, last = table(6, 0.85, 90), table(2, 0.8, 2500, first=9000)
    found = rw.check(few, **COLUMNS, no_worse_than=last, margin=0.02)
    assert found.verdict == "cannot tell"
    assert f"About {found.labels_needed:,} strong ratings of the new table in all (it has " in found.sentence
    assert found.labels_needed < found.estimate.labels  # those of both tables


def test_a_summary_for_a_pull_request(rated):
    text = rw.check(rated, **COLUMNS, at_least=0.5).to_markdown()
    assert text.startswith("### ✅ yes: is the mean at least 0.5?\n\nYes: the mean is at least 0.5; the estimate is ")
    assert "| mean | 0.8" in text
    last = {**table(2, 0.84, 300, first=9000)}
    text = rw.check(rated, **COLUMNS, no_worse_than=last, margin=0.3).to_markdown()
    assert all(f"\n| {name} | " in text for name in ("this", "last", "difference"))


def test_json_and_words(rated):
    found = rw.check(rated, **COLUMNS, at_least=0.99)
    document = found.to_dict()
    assert (document["verdict"], document["labels_needed"], document["bar"]) == ("no", None, 0.99)
    assert str(found) == found.sentence
    assert found.sentence.startswith("No: the mean is below 0.99; the estimate is")
    assert "❌ no" in found._repr_html_()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "ask one thing: at_least"),
        ({"at_least": 0.8, "no_worse_than": {}}, "ask one thing"),
        ({"no_worse_than": {}}, "needs a margin"),
        ({"at_least": 0.8, "margin": 0.1}, "go with no_worse_than; leave them out"),
        ({"no_worse_than": {}, "margin": -0.1}, "margin must be at least 0"),
        ({"no_worse_than": {}, "margin": 0.1, "interval": "t"}, "are for at_least"),
        ({"at_least": float("nan")}, "at_least must be finite"),
    ],
)
def test_refusals(rated, options, words):
    if "no_worse_than" in options:
        options = {**options, "no_worse_than": rated}
    with pytest.raises(rw.InputError, match=words):
        rw.check(rated, **COLUMNS, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"at_least": 97}, r"at_least 97 is outside the ratings, which are from 0 to 1: did you mean 0.97 \(97%\)"),
        ({"at_least": -0.1}, "at_least -0.1 is outside the ratings"),
        ({"at_least": 1.5}, "did you mean 0.015"),
        ({"no_worse_than": {}, "margin": 1}, r"margin 1 lets everything pass.*did you mean 0.01 \(1pp\)"),
        ({"no_worse_than": {}, "margin": "100pp"}, "lets everything pass"),
        ({"no_worse_than": {}, "margin": "1%"}, "margin '1%' is not clear; write 1pp"),
        ({"at_least": "97pp"}, "write 97%"),
        ({"at_least": "many"}, "at_least must be a number; got 'many'"),
    ],
)
def test_a_bar_beyond_the_scale_says_what_was_probably_meant(rated, options, words):
    """On 0/1 ratings 97 fails everything, and a margin of 1 passes everything."""
    if "no_worse_than" in options:
        options = {**options, "no_worse_than": rated}
    with pytest.raises(rw.InputError, match=words):
        rw.check(rated, **COLUMNS, **options)


def test_percent_and_points_are_understood(rated):
    last = table(2, 0.84, 1000, first=9000)
    for given, plain in (("80%", 0.8), (" 80 %", 0.8), ("0.8", 0.8), ("97.5%", 0.975)):
        assert rw.check(rated, **COLUMNS, at_least=given).bar == pytest.approx(plain)
    for given, plain in (("1pp", 0.01), ("2.5 pp", 0.025), ("0.03", 0.03)):
        assert rw.check(rated, **COLUMNS, no_worse_than=last, margin=given).bar == pytest.approx(-plain)


def test_the_scale_of_scores_is_what_is_said_or_seen():
    rng = np.random.default_rng(4)
    h = rng.integers(1, 6, 300).astype(float)
    scores = {"judge": h + rng.normal(0, 0.3, 300), "human": np.where(rng.random(300) < 0.4, h, np.nan)}
    scores |= {"rate": np.full(300, 0.4)}
    assert rw.check(scores, **COLUMNS, at_least=5.5, bounds=(1, 7)).verdict == "no"
    for options, words in (
        ({"at_least": 97}, "which are from 1 to 5; give bounds"),
        ({"at_least": 5.5}, "which are from 1 to 5; give bounds"),  # by which every mean fails
        ({"at_least": 0.8}, "which are from 1 to 5; give bounds"),  # by which every mean passes
        ({"at_least": 5.5, "bounds": (1, 5)}, "outside the ratings"),
        ({"at_least": "97%"}, "in percent is for ratings from 0 to 1"),
        ({"no_worse_than": scores, "margin": 4, "bounds": (1, 5)}, "lets everything pass"),
        ({"no_worse_than": scores, "margin": "1pp"}, "in pp is for ratings from 0 to 1"),
    ):
        with pytest.raises(rw.InputError, match=words):
            rw.check(scores, **COLUMNS, **options)
    assert rw.check(scores, **COLUMNS, no_worse_than=scores, margin=3.9, bounds=(1, 5)).verdict == "yes"
    good = {**scores, "human": np.where(scores["human"] < 4, 4, scores["human"])}
    assert rw.check(good, **COLUMNS, at_least=3.5).verdict == "yes"  # all ratings are 4 or 5, of 5


def test_more_labels_than_there_are_items_are_not_promised(rated):
    """Ratings of the new table that would tell, and where it has too few items, that it takes more of these."""
    few, last = table(6, 0.85, 90), table(2, 0.8, 2500, first=9000)
    found = rw.check(few, **COLUMNS, no_worse_than=last, margin=0.02)
    assert found.labels_needed > 90
    assert "on 90 items, so it takes more items" in found.sentence
    mean = rw.estimate_table(few, **COLUMNS)
    close = rw.check(few, **COLUMNS, at_least=mean.value - 0.01)
    assert close.labels_needed > 90
    assert "more than the 90 items that were looked at" in close.sentence
    enough = rw.check(rated, **COLUMNS, at_least=rw.estimate_table(rated, **COLUMNS).low + 1e-3)
    assert "more items" not in enough.sentence


def test_labels_to_tell_count_the_scale_that_the_ratings_show():
    """Marks from 1 to 5 without bounds need as many labels as with them: they were counted as a share of 0 to 1."""
    rng = np.random.default_rng(5)
    h = np.where(rng.random(2000) < 0.9, 5.0, rng.integers(1, 5, 2000))
    marks = {
        "judge": np.clip(h + rng.integers(-1, 2, 2000), 1, 5),
        "human": np.where(rng.random(2000) < 0.1, h, np.nan),
    }
    marks |= {"rate": np.full(2000, 0.1)}
    alone = rw.check(marks, **COLUMNS, at_least=4.7)
    told = rw.check(marks, **COLUMNS, at_least=4.7, bounds=(1, 5))
    assert alone.verdict == told.verdict == "cannot tell"
    assert alone.labels_needed == told.labels_needed
