"""One look at a campaign: it agrees with itself while the campaign runs, reads only what is new, and fits once."""

import numpy as np
import pytest

from ratewise.campaign import strata
from ratewise.campaign.campaign import Campaign
from ratewise.design import chain_rounds, rounds, seen
from ratewise.learn.covariates import Covariates
from ratewise.report.campaign import campaign_page
from ratewise.store.store import Store

from .making import judged, ran, scored, write


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
    return repr(argument) if isinstance(argument, float | tuple | str | int) else type(argument).__name__


@pytest.mark.parametrize("progress", [None, lambda status: None])
@pytest.mark.parametrize("kind", TARGETS)
def test_towards_a_target_no_labels_are_fitted_twice(tmp_path, monkeypatch, kind, progress):
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
    watched(chain_rounds, "fit_error", fits)
    for owner, name in ((rounds.core, "estimate_mean"), (strata, "estimate_stratified"), (estimates, "estimate_mean")):
        watched(owner, name, estimates)
    columns, keys = TARGETS[kind]
    campaign = Campaign.open(write(tmp_path, columns, **keys))
    campaign.run(progress=progress)
    assert len(fits) >= 2
    alike = 2 if kind == "chain" else 0  # designs that begin alike, each fitted by itself when one is chosen
    assert len(fits) - len(set(fits)) <= alike
    assert len(set(estimates)) == len(estimates)
    fits.clear()
    estimates.clear()
    with campaign.look() as now:
        assert now.state.history.rounds >= 2
        assert now.status.estimate is not None
        assert now.estimate is not None
        assert now.story
        assert now.diagnosis is not None or kind == "chain"
        assert now.verification.passed
    assert len(fits) - len(set(fits)) <= alike
    assert len(set(estimates)) == len(estimates)
