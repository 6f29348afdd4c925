"""Campaigns as random quantities, played in memory by the very decisions that spend real money.

Every bound states what is allowed and adds noise: where the truth is just at what is allowed, a check fails by chance
with probability 1e-4. A broken version must fail the same check.
"""

from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from scipy import stats

from ratewise.campaign.estimates import anytime_estimate, estimate_history
from ratewise.campaign.log import Reader
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.core.policy import optimal_policy
from ratewise.lab.worlds import calibrated

from ..bounds import FALSE_ALARM, further, most, sizes
from ..crowd import Crowd

Z = stats.norm.isf(FALSE_ALARM / 2)


def judge(seed, items, mean, spread=0.5):
    return calibrated(items, mean=mean, spread=spread, rng=np.random.default_rng([seed, 71]))


def covers(found, truth):
    return found is None or found.interval is None or found.interval[0] - 1e-12 <= truth <= found.interval[1] + 1e-12


# Looking after every round

PEEKERS = sizes(350, all=1000)


@cache
def peeked(trials):
    """Does any round's interval miss: the one that may be looked at, the plain one? Pools and populations in turn."""
    any_miss, any_plain_miss, last_miss = [], [], []
    for i in range(trials):
        mean, estimand = (0.6, 0.8)[i % 2], ("population", "pool")[i // 2 % 2]
        world = judge(i, 500, mean)
        truth = world.mean if estimand == "population" else float(world.strong.mean())
        pool = RehearsalPool.of(world.weak, world.strong, prices=(Decimal("0.05"), Decimal(1)), seed=i)
        game = Rehearsal(pool, pool.terms(budget=Decimal(160), estimand=estimand))
        good = []

        def look(game, good=good, truth=truth):
            wanted = game.terms.wanted
            plain = estimate_history(game.history, wanted)
            good.append((covers(anytime_estimate(game.history, wanted), truth), covers(plain, truth)))

        game.play(each_round=look)
        any_miss.append(not all(anytime for anytime, _ in good))
        any_plain_miss.append(not all(plain for _, plain in good))
        last_miss.append(not good[-1][1])
        assert game.spent <= 160 * 10**9
    return np.mean(any_miss), np.mean(any_plain_miss), np.mean(last_miss)


@pytest.mark.parametrize("trials", PEEKERS)
def test_intervals_of_all_rounds_hold_together(trials):
    """At most 5 % of the campaigns have a round, any round, whose interval misses."""
    any_miss, _, _ = peeked(trials)
    assert any_miss <= most(0.05, trials)


@pytest.mark.parametrize("trials", PEEKERS)
def test_plain_intervals_at_every_round_do_not(trials):
    """The check above notices: 95 % at each look is not 95 % for all of them; at the end alone it holds."""
    _, any_plain_miss, last_miss = peeked(trials)
    assert any_plain_miss > most(0.05, trials)
    assert last_miss <= most(0.08, trials)


# Stopping at a precision

AIMS = {
    "stream": {"mean": 0.7, "items": 3000, "weak_cost": "0.05", "target": 0.03},
    "free weak ratings": {"mean": 0.7, "items": 800, "weak_cost": "0", "target": 0.03},
    "skewed": {"mean": 0.94, "items": 3000, "weak_cost": "0.02", "target": 0.02},
}
AIMERS = sizes(130, all=200)


@cache
def aimed(name, trials):
    """Errors over the target, whether the last interval covers, money over the least, reasons, whether all cover."""
    case = AIMS[name]
    errors, good, ratios, reasons, every = [], [], [], [], []
    for i in range(trials):
        world = judge(i, case["items"], case["mean"])
        truth = float(world.strong.mean())
        pool = RehearsalPool.of(world.weak, world.strong, prices=(Decimal(case["weak_cost"]), Decimal(1)), seed=i)
        game = Rehearsal(pool, pool.terms(target_se=case["target"]))
        looks = []
        reasons.append(
            game.play(each_round=lambda g, looks=looks: looks.append(anytime_estimate(g.history, g.terms.wanted)))
        )
        errors.append((looks[-1].value - truth) / case["target"])
        good.append(covers(looks[-1], truth))
        every.append(all(covers(found, truth) for found in looks))
        ratios.append([game.spent / 1e9 / least for least in _least(world, case)])
    return np.array(errors), np.array(good), np.array(ratios), reasons, np.array(every)


def _least(world, case):
    """What the target takes if everything is known beforehand: with the best policy, and with strong ratings alone."""
    V, N = world.variance, case["items"]
    policy = optimal_policy(
        world.error, variance=V, weak_cost=float(case["weak_cost"]), strong_cost=1.0, target_se=case["target"],
        pool_size=N, estimand="pool",
    )  # fmt: skip
    base = V / (case["target"] ** 2 + V / N)
    return min(policy.spend, base), base


@pytest.mark.parametrize("trials", AIMERS)
@pytest.mark.parametrize("name", ["stream", "free weak ratings", further("skewed")])
def test_a_stop_at_a_precision_covers_and_is_as_precise_as_asked(name, trials):
    """95 % at the stop, all rounds together too, and a root mean squared error of no more than the target."""
    errors, good, _, reasons, every = aimed(name, trials)
    assert 1 - good.mean() <= most(0.05, trials)
    assert 1 - every.mean() <= most(0.05, trials)
    assert np.mean(errors**2) <= 1.0 + Z * np.std(errors**2) / np.sqrt(trials)
    assert reasons.count("the precision asked for is reached") >= 0.97 * trials


@pytest.mark.parametrize("trials", AIMERS)
@pytest.mark.parametrize(
    ("name", "of_best", "of_base"), [("stream", 2.2, 1.2), ("free weak ratings", 2.6, 1.0), further("skewed", 7.5, 1.6)]
)
def test_a_precision_is_not_grossly_overspent(name, of_best, of_base, trials):
    """Against policies that know all beforehand: the best by the true u, and strong ratings alone by the true V.

    What is added: learning, 96 % instead of 95 %, and room for what was not seen yet. In the skewed world the best
    policy needs 22 labels, fewer than half of what a start has.
    """
    ratios = aimed(name, trials)[2]
    assert 1.0 < ratios[:, 0].mean() <= of_best
    assert ratios[:, 1].mean() <= of_base


@pytest.mark.parametrize(("mean", "useful", "of_base"), [(0.98, False, 2.4), (0.995, True, 6.2)])
def test_a_stop_before_any_mistake_was_seen_covers_and_is_paid_for_once(mean, useful, of_base):
    """A third to three quarters of these campaigns stop without a mistake; the score interval has room for those.

    Room for three more answers on top, which other intervals have, costs 3.1 and 7.8 times strong ratings alone.
    """
    trials, target, missed, spent = 120, 0.02, 0, []
    for i in range(trials):
        rng = np.random.default_rng([i, 79])
        p = rng.beta(5 * mean, 5 * (1 - mean), 3000)
        h = (rng.random(3000) < p).astype(float)
        g = p if useful else rng.permutation(p)
        pool = RehearsalPool.of(g, h, prices=(Decimal("0.02"), Decimal(1)), seed=i)
        game = Rehearsal(pool, pool.terms(target_se=target))
        game.play()
        missed += not covers(anytime_estimate(game.history, game.terms.wanted), float(h.mean()))
        spent.append(game.spent / 1e9)
    V = mean * (1 - mean)
    assert missed / trials <= most(0.05, trials)
    assert np.mean(spent) <= of_base * V / (target**2 + V / 3000)


@pytest.mark.parametrize("mean", [0.97, 0.03])
def test_a_stop_near_an_end_leans_to_it_by_less_than_the_interval_counts(mean):
    """Few mistakes by chance look precise and stop early: |1 − 2θ|/n for a sum stopped by its own variance.

    The judge says 0 or 1 and errs in 7 %. Error and bias together are within the target, and the interval covers.
    """
    trials, within, errors, missed, labels = 100, 0.03, [], 0, []
    for i in range(trials):
        rng = np.random.default_rng([i, 83])
        h = (rng.random(3000) < mean).astype(float)
        g = np.where(rng.random(3000) < 0.93, h, 1 - h)
        pool = RehearsalPool.of(g, h, prices=(Decimal(0), Decimal(1)), seed=i)
        game = Rehearsal(pool, pool.terms(target_se=within / 1.96))
        game.play()
        found = anytime_estimate(game.history, game.terms.wanted)
        errors.append(found.value - h.mean())
        missed += not covers(found, float(h.mean()))
        labels.append(found.labels)
    lean, noise = np.mean(errors) * np.sign(mean - 0.5), np.std(errors) / np.sqrt(trials)
    assert lean <= abs(1 - 2 * mean) / np.mean(labels) + Z * noise
    assert np.sqrt(np.mean(np.square(errors))) <= within / 1.96
    assert missed / trials <= most(0.05, trials)


@pytest.mark.parametrize("trials", AIMERS)
def test_the_checks_notice_a_stop_that_comes_too_early(trials):
    """A third of the money: three times the squared error. And intervals two thirds as wide miss too often."""
    errors, *_ = aimed("stream", trials)
    early = np.sqrt(3.0) * errors
    assert np.mean(early**2) > 1.0 + Z * np.std(early**2) / np.sqrt(trials)
    narrow = np.abs(errors) > 0.66 * 1.96 * np.sqrt(np.mean(errors**2))
    assert narrow.mean() > most(0.05, trials)


# Chains

CHAINS = 150  # 400 in the soak: test_chain_campaigns


@cache
def chained():
    """Errors of a chain of three, of strong ratings alone, and of its cheaper raters taken at their word."""
    ours, base, broken, good = [], [], [], []
    for i in range(CHAINS):
        rng = np.random.default_rng([i, 73])
        h = np.clip(rng.normal(5, 2, 700), 0, 10)
        g, m = h - 0.8 + 2.0 * rng.normal(size=700), h + 0.2 * (h - 5) + 0.5 * rng.normal(size=700)
        pool = RehearsalPool.of(g, m, h, prices=(Decimal("0.02"), Decimal("0.1"), Decimal(1)), seed=i)
        game = Rehearsal(pool, pool.terms(budget=Decimal(60), bounds=(0, 10)))
        game.play()
        found = estimate_history(game.history, game.terms.wanted)
        ours.append(found.value - h.mean())
        good.append(covers(found, h.mean()))
        base.append(h[:60].mean() - h.mean())
        looked = game.history.looked
        middle = looked.values[:, 0]
        broken.append(np.where(np.isnan(middle), looked.x.weak, middle).mean() - h.mean())
    return np.array(ours), np.array(base), np.array(broken), np.array(good)


def test_a_chain_is_unbiased_though_its_raters_are_not():
    """The weak rater is off by 0.8, the middle one by up to 1 at the ends."""
    ours, _, broken, good = chained()
    assert abs(ours.mean()) <= Z * ours.std() / np.sqrt(CHAINS)
    assert abs(broken.mean()) > Z * broken.std() / np.sqrt(CHAINS)
    assert 1 - good.mean() <= most(0.07, CHAINS)


def test_a_chain_with_a_good_middle_rater_is_better_than_strong_ratings_alone():
    ours, base, _, _ = chained()
    a, b = ours**2 / np.mean(ours**2), base**2 / np.mean(base**2)
    noise = np.std(a - b) / np.sqrt(CHAINS)
    assert np.log(np.mean(ours**2) / np.mean(base**2)) + Z * noise < 0
    assert np.mean(ours**2) < 0.7 * np.mean(base**2)


# Missing answers


@pytest.mark.parametrize("trials", sizes(80, all=200))
def test_intervals_hold_whatever_the_missing_answers_would_have_been(trials):
    """A tenth of the strong answers never comes, and those that do not are all failures, or all passes."""
    for worst in (0.0, 1.0):
        missed = 0
        for i in range(trials):
            world = judge(i, 400, 0.7)
            rng = np.random.default_rng([i, 79])
            gone = (world.strong == worst) & (rng.random(400) < 0.1 / np.mean(world.strong == worst))
            pool = RehearsalPool.of(
                world.weak, np.where(gone, np.nan, world.strong), prices=(Decimal("0.05"), Decimal(1)), seed=i
            )
            game = Rehearsal(pool, pool.terms(budget=Decimal(60)))
            game.play()
            missed += not covers(estimate_history(game.history, game.terms.wanted), world.strong.mean())
        assert missed / trials <= most(0.05, trials)


# Rounds that overlap

CROWDS = sizes(60, all=600)


@cache
def crowded(trials, *, slow=False):
    """Errors, whether the end covers, and whether all rounds do; one of five people leaves for half an hour.

    With `slow`, a 0 takes five times as long as a 1.
    """
    errors, good, every, overlaps = [], [], [], 0
    for i in range(trials):
        world = judge(i, 700, 0.7, 0.75)
        truth = float(world.strong.mean())
        pool = RehearsalPool.of(world.weak, world.strong, prices=(Decimal("0.05"), Decimal(1)), seed=i)
        game = Rehearsal(pool, pool.terms(budget=Decimal(110), votes=1))
        rng = np.random.default_rng([i, 72])
        times = np.where(slow & (world.strong == 0), 5.0, 1.0)
        crowd = Crowd(
            game, seconds=lambda _, item, rng=rng, times=times: times[item] * rng.lognormal(3.0, 0.8), people=5,
            leaves=((1, 60.0, 1800.0),),
        )  # fmt: skip
        crowd.play()
        wanted, found = game.terms.wanted, estimate_history(game.history, game.terms.wanted)
        errors.append(found.value - truth)
        good.append(covers(found, truth))
        looks = Reader(game.queue, game, game.terms, pool.empty(game.terms), keeps=True)
        looks.state()
        every.append(all(covers(anytime_estimate(each, wanted), truth) for each in looks.closed))
        overlaps += crowd.overlaps
        assert game.spent <= 110 * 10**9
    assert overlaps > 2 * trials
    return np.array(errors), np.array(good), np.array(every)


@pytest.mark.parametrize("trials", CROWDS)
@pytest.mark.parametrize("slow", [False, further(True)])
def test_rounds_that_overlap_are_unbiased_and_cover(trials, slow):
    """Also where a 0 takes five times as long as a 1, so that the last answers of a round are not like the others."""
    errors, good, every = crowded(trials, slow=slow)
    assert abs(errors.mean()) <= Z * errors.std() / np.sqrt(trials)
    assert 1 - good.mean() <= most(0.08, trials)
    assert 1 - every.mean() <= most(0.05, trials)
