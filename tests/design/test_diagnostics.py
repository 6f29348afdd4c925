"""What a campaign says about itself, in figures and in words."""

from dataclasses import replace

import numpy as np
import pytest

from ratewise.core.estimate import EstimateOptions
from ratewise.design.diagnostics import diagnose
from ratewise.design.options import Money
from ratewise.design.rounds import estimate_seen, plan_round
from ratewise.design.seen import Phase, Seen, mass
from ratewise.lab.worlds import calibrated
from ratewise.learn.covariates import Covariates


def campaign(judged, *, shift=0.0, start=200, budget=300.0, cost=0.05, seed=1):
    """A burn-in and one round; strong ratings after the burn-in moved by `shift`."""
    rng = np.random.default_rng(seed)
    x = Covariates(judged.weak[:start])
    seen = Seen.of(x, judged.strong[:start], (Phase(start),))
    planned = plan_round(seen, Money(cost, 1.0, budget), base_allowed=False)
    items = 900
    more = Covariates(judged.weak[start : start + items])
    before = mass(seen.phases, more)
    asked = rng.random(items) < planned.rule.rates(more, before)
    strong = np.where(asked, judged.strong[start : start + items] + shift, np.nan)
    return seen.joined(more, strong, before, Phase(items, planned.rule), planned.own_rates)


@pytest.fixture(scope="module")
def judged():
    return calibrated(2000, mean=0.7, spread=0.6, rng=np.random.default_rng(11))


def test_a_good_judge_is_worth_labels_and_rates_help(judged):
    seen = campaign(judged)
    found = estimate_seen(seen)
    told = diagnose(seen, found)
    n = int(np.count_nonzero(seen.labelled))
    assert told.labels == n
    assert told.effective_labels == pytest.approx(np.nanvar(judged.strong) / found.standard_error**2, rel=0.15)
    assert told.effective_labels > 1.2 * n
    assert 0.3 < told.unexplained < 0.5  # the judge leaves 1 − 0.6
    assert told.against_one_rate < 0.97
    assert told.drift > 1e-3
    words = told.words()
    assert words[0].endswith(f"as precise as {told.effective_labels:,.0f} without the weak rater")
    assert not any("rounds" in line for line in words)


def test_a_strong_rater_that_moves_is_seen(judged):
    seen = campaign(judged, shift=0.4)
    told = diagnose(seen, estimate_seen(seen))
    assert told.drift < 1e-3
    assert any("differ between rounds" in line for line in told.words())


def test_drift_alarms_rarely(judged):
    """120 campaigns without drift: more than three alarms at 1e-3 come by chance less than once in 1e5."""
    alarms = 0
    for seed in range(120):
        rng = np.random.default_rng([7, seed])
        made = calibrated(1300, mean=0.7, spread=0.6, rng=rng)
        seen = campaign(made, seed=seed)
        alarms += diagnose(seen, estimate_seen(seen)).drift < 1e-3
    assert alarms <= 3


def test_strong_ratings_alone(judged):
    start = Seen.of(Covariates(judged.weak[:50]), judged.strong[:50], (Phase(50),))
    told = diagnose(start, estimate_seen(start))
    assert told.effective_labels is None
    assert told.words() == ("50 strong ratings, which do not tell yet what the weak rater is worth",)
    assert set(told.to_dict()) >= {"labels", "drift", "largest_pull"}
    none = Covariates(np.full(30, 0.5))
    alone = start.joined(none, judged.strong[50:80], mass(start.phases, none), Phase(30, weak=False))
    told = diagnose(alone, estimate_seen(alone))
    assert told.words() == ("80 strong ratings alone: the weak rater was not worth its price",)


def test_missing_answers_say_nothing_about_the_weak_rater(judged):
    """One answer in fifty does not come, whatever it would have been: the figures are those of the others."""
    seen = campaign(judged)
    whole = diagnose(seen, estimate_seen(seen))
    missing = np.zeros(seen.items, dtype=bool)
    missing[np.flatnonzero(seen.labelled)[::50]] = True
    came = replace(seen, strong=np.where(missing, np.nan, seen.strong))
    reported = estimate_seen(came, EstimateOptions(bounds=(0.0, 1.0)), missing=missing)
    assert reported.standard_error is None  # it holds whatever they would have been
    found = estimate_seen(came, missing=missing, left_aside=True)
    told = diagnose(came, found, missing=missing)
    assert (told.labels, told.missing, told.alone) == (whole.labels - missing.sum(), missing.sum(), False)
    share = told.labels / whole.labels
    assert told.effective_labels == pytest.approx(share * whole.effective_labels, rel=0.1)
    assert told.unexplained == pytest.approx(whole.unexplained, abs=0.05)
    assert told.against_one_rate == pytest.approx(whole.against_one_rate, abs=0.05)
    assert f"(without the {missing.sum()} that will not come)" in told.words()[0]
    nothing = estimate_seen(seen, missing=~seen.labelled & False, left_aside=True)
    assert nothing.standard_error == pytest.approx(estimate_seen(seen).standard_error, rel=1e-12)
