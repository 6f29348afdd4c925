"""One look at a campaign: it agrees with itself while the campaign runs, reads only what is new, and fits once."""

from dataclasses import fields

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.history import RoundPlan
from ratewise.campaign.snapshot import worth_of_raters
from ratewise.core.estimate import EstimateOptions
from ratewise.core.ratings import Ratings
from ratewise.design import chain_plan, rounds, seen
from ratewise.design.chain import Design
from ratewise.design.chain_plan import Compared
from ratewise.learn.covariates import Covariates
from ratewise.questions import rated
from ratewise.report.campaign import campaign_page
from ratewise.store.money import to_units
from ratewise.store.store import Store

from .making import judged, log_of, looked_at, ran, scored, write


def counted(monkeypatch, owner, name):
    """Calls of a function from now on, as a list of their arguments."""
    calls, plain = [], getattr(owner, name)

    def call(*args, **keys):
        calls.append(args)
        return plain(*args, **keys)

    monkeypatch.setattr(owner, name, call)
    return calls


def test_a_report_is_one_look(tmp_path, monkeypatch):
    campaign = ran(tmp_path, judged(300, spread=0.75))
    looks = counted(monkeypatch, Store, "still")
    campaign_page(campaign)
    assert len(looks) == 1


@pytest.mark.filterwarnings("ignore:with this goal")
def test_what_a_look_says_is_of_one_moment_whatever_is_bought_meanwhile(tmp_path):
    """A second campaign goes on with more money between two sentences of the first look."""
    path = write(tmp_path, judged(300, spread=0.75), goal='budget = "40"')
    Campaign.open(path).run()
    with Campaign.open(path).look() as now:
        before = now.status
        write(tmp_path, judged(300, spread=0.75), goal='budget = "80"')
        Campaign.open(path).run()
        assert now.status is before
        assert now.story[-1].number == before.rounds
        assert sum(chapter.labels for chapter in now.story) == before.labels
        assert now.estimate.labels == before.labels
    assert Campaign.open(path).status().labels > before.labels


def test_watching_reads_only_what_is_new(tmp_path, monkeypatch):
    campaign = ran(tmp_path, judged(300, spread=0.75))
    with campaign.watch() as look:
        first = look().status
        reads, fits = counted(monkeypatch, Store, "item_rows"), counted(monkeypatch, seen, "fit_rating")
        for _ in range(3):
            assert look().status == first
        assert reads == []
        assert fits == []


@pytest.mark.filterwarnings("ignore:with this goal")
def test_watching_sees_what_is_bought_meanwhile(tmp_path):
    path = write(tmp_path, judged(300, spread=0.75), goal='budget = "40"')
    Campaign.open(path).run()
    with Campaign.open(path).watch() as look:
        before = look().status
        write(tmp_path, judged(300, spread=0.75), goal='budget = "80"')
        Campaign.open(path).run()
        after = look().status
    assert after.rounds > before.rounds
    assert after.labels > before.labels
    assert after.estimate.to_dict() == Campaign.open(path).status().estimate.to_dict()


# Fits

TARGETS = {
    "auto": (judged(3000, spread=0.75), {"raters": (("judge", "0.01"), ("human", "1")), "goal": "target_se = 0.02"}),
    "features": (
        judged(3000, spread=0.75) | {"length": [i * 37 % 101 for i in range(3000)]},
        {"raters": (("judge", "0.01"), ("human", "1")), "goal": "target_se = 0.02", "items": 'features = ["length"]'},
    ),
    "clusters": (
        judged(2000, spread=0.75) | {"talk": [f"t{i // 4}" for i in range(2000)]},
        {"goal": "target_se = 0.03", "items": 'clusters = "talk"', "estimand": "population"},
    ),
    "strata": (
        judged(2000, spread=0.75) | {"topic": ["abc"[i % 3] for i in range(2000)]},
        {"goal": "target_se = 0.03", "items": '[inputs]\nstrata = "topic"'},
    ),
    "chain": (
        scored(2000),
        {
            "raters": (("judge", "0.01"), ("expert", "0.2"), ("human", "1")), "goal": "target_se = 0.12",
            "rating": 'kind = "score"\nlow = 1\nhigh = 9',
        },
    ),
}  # fmt: skip


def data_of(argument):
    """The numbers of an argument, so that two fits can be told to be of the same labels."""
    if isinstance(argument, np.ndarray):
        return argument.tobytes()
    if isinstance(argument, Covariates):
        return tuple(None if a is None else a.tobytes() for a in (argument.weak, argument.features))
    if isinstance(argument, Ratings | EstimateOptions):
        return tuple(data_of(getattr(argument, one.name)) for one in fields(argument))
    return repr(argument) if isinstance(argument, float | tuple | str | int) else type(argument).__name__


@pytest.mark.parametrize("kind", TARGETS)
def test_towards_a_target_no_labels_are_fitted_twice(tmp_path, monkeypatch, kind):
    """Neither by the run, which plans, stops and tells, nor by status, report and check of one look."""
    fits, estimates = [], []

    def watched(owner, name, calls):
        plain = getattr(owner, name)

        def call(*args, **keys):
            calls.append((name, *map(data_of, args), *sorted((k, data_of(v)) for k, v in keys.items())))
            return plain(*args, **keys)

        monkeypatch.setattr(owner, name, call)

    watched(seen, "fit_rating", fits)
    watched(rounds, "cluster_fitted_rating", fits)
    watched(chain_plan, "fit_error", fits)
    for owner, name in ((rounds, "estimate_rated"), (rated, "estimate_rated"), (rated, "stratified")):
        watched(owner, name, estimates)
    columns, keys = TARGETS[kind]
    campaign = Campaign.open(write(tmp_path, columns, **keys))
    campaign.run(progress=lambda status: None)  # telling asks for estimates, too
    assert len(fits) >= 2
    alike = 2 if kind == "chain" else 0  # designs that begin alike, each fitted by itself when one is chosen
    assert len(fits) - len(set(fits)) <= alike
    assert 2 <= len(set(estimates)) == len(estimates)
    fits.clear()
    estimates.clear()
    with campaign.look() as now:
        assert now.state.history.rounds >= 2
        assert now.status.estimate is not None
        assert now.estimate is not None
        assert now.story
        assert now.diagnosis is not None or kind == "chain"
        assert now.verify().passed
    assert len(fits) - len(set(fits)) <= alike
    assert len(set(estimates)) == len(estimates)


# Chapters of a campaign add up to its log.


def test_rounds_add_up_to_what_was_bought(tmp_path):
    campaign = ran(tmp_path, judged(250, spread=0.75), goal='budget = "40"')
    story, status = campaign.story(), campaign.status()
    history, _ = looked_at(campaign)
    assert [chapter.number for chapter in story] == [row[0] for row in log_of(campaign)["rounds"]]
    assert sum(chapter.items for chapter in story) == history.items == status.looked
    assert sum(chapter.labels for chapter in story) == status.labels
    assert story[0].policy == "start"
    assert story[-1].spent == to_units(status.spent)
    assert [c.spent for c in story] == sorted(c.spent for c in story)
    assert all(0 < chapter.mean_rate <= 1 for chapter in story)


# What each rater of a chain is worth, in words.


NAMES = ("rules", "large judge", "person")


def plan(design, of, **keys):
    compared = tuple(Compared(Design(*way), variance) for way, variance in of.items())
    return RoundPlan("chain", keys.pop("weak", True), None, 1, 1, 1, design=design, compared=compared)


ALONE, RULES, LARGE = ((), ()), ((0,), ()), ((1,), ())
BOTH, STEP = ((0, 1), ()), ((0,), (1,))


def test_a_step_is_worth_what_would_be_lost_without_it():
    of = {RULES: 2.0, LARGE: 3.0, BOTH: 1.6, STEP: 1.0, ALONE: 4.0}
    rules, large, both = worth_of_raters(NAMES, [plan(None, {}), plan(Design((0,), (1,)), of)], np.array([0.24, 0.1]))
    assert (
        rules == "rules sees every item: without it, the same money was expected to give 3.00 times the squared error."
    )
    assert large.startswith("large judge is a step, asked about 24% of the items: without it, the same money")
    assert "2.00 times" in large
    assert both.startswith("rules and large judge are asked in steps: all at once, the same money was expected")


def test_a_rater_that_is_left_out_is_named():
    of = {RULES: 1.0, LARGE: 3.0, BOTH: 1.6, STEP: 1.05, ALONE: 4.0}
    _, large = worth_of_raters(NAMES, [plan(Design((0,)), of)], np.zeros(2))
    assert large.startswith("large judge is never worth its price here, and is left out: with it, the same money")
    assert "1.05 times" in large


def test_strong_ratings_alone_leave_everyone_out():
    of = {RULES: 5.0, LARGE: 5.0, BOTH: 5.0, STEP: 5.0, ALONE: 4.0}
    said = worth_of_raters(NAMES, [plan(None, of, weak=False)], np.zeros(2))
    assert len(said) == 2
    assert all("left out" in word for word in said)


def test_a_rater_that_a_trial_has_left_out_is_named():
    """It is in none of the ways that were compared."""
    trial = RoundPlan("base", True, 8, 1, 1, 0, trial=20)
    rest = RoundPlan("base", True, 12, 1, 1, 1, hopes=(0.0, 1.23))
    chosen = plan(Design((0,)), {RULES: 1.0, ALONE: 2.0})
    rules, large = worth_of_raters(NAMES, [trial, rest, chosen], np.zeros(2))
    assert rules.startswith("rules sees every item")
    assert large == (
        "large judge is never worth its price here, and is left out after a trial on 8 items: with it, at its best, "
        "the same money was expected to give 1.23 times the squared error."
    )


def test_nothing_is_said_before_the_choice():
    assert worth_of_raters(NAMES, [plan(None, {})], np.zeros(2)) == []
