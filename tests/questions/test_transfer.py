"""A policy as a file: the same rates on the same pool, and a new pool is compared with the old one."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import stats
from studies.worlds import bernoulli

import ratewise as rw
from ratewise import InputError, TableError
from ratewise.lab.worlds import calibrated
from ratewise.questions.transfer import Reference

from ..bounds import FALSE_ALARM

POOLS = 200


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(503)
    world = calibrated(1200, mean=0.75, spread=0.55, rng=rng)
    noise = rng.gamma(2, 1, 1200)
    return {"g": world.weak, "ten": 10 * world.weak**2, "h": world.strong, "u": world.error + 0.02 * noise}


def made(table, **options):
    asked = {"weak": "g", "strong": "h", "weak_cost": 0.03, "strong_cost": 1.2, "budget": 200.0, **options}
    return rw.plan(table, **asked)


PLANS = {
    "g(1−g)": {},
    "column": {"uncertainty": "u"},
    "fitted": {"weak": "ten", "calibrate": "affine"},
    "platt": {"weak": "ten", "calibrate": "platt"},
    "isotonic": {"weak": "ten", "calibrate": "isotonic"},
    "random": {"uncertainty": "flat"},
    "pool": {"pool_size": 600},
}


@pytest.mark.parametrize("what", list(PLANS))
def test_a_file_gives_the_plan_s_own_rates(table, tmp_path, what):
    data = {**table, "flat": np.ones(1200)}
    plan = made(data, **PLANS[what])
    assert plan.recommendation == ("random" if what == "random" else "active")
    plan.save(tmp_path / "plan.json")
    plan.transfer.save(tmp_path / "policy.json")
    for file in ("plan.json", "policy.json"):
        loaded = rw.load_transfer(tmp_path / file)
        assert loaded == plan.transfer
        _, error = loaded.columns(rw.read_table(data))
        np.testing.assert_allclose(loaded.rates(error), plan.rates, rtol=1e-14)
        drawn = rw.draw_pool(data, loaded, seed=5, within_budget=False)
        np.testing.assert_array_equal(drawn.rates, loaded.rates(error))
    assert np.ptp(plan.rates) == 0 if what == "random" else np.ptp(plan.rates) > 0.1


def test_base_asks_for_as_many_strong_ratings_as_it_can_pay(table):
    noise = {**table, "g": np.random.default_rng(1).random(1200)}
    plan = made(noise)
    assert plan.recommendation == "base"
    wanted = 200 / 1.2
    for n in (1200, 400):
        rates = plan.transfer.rates(np.ones(n))
        assert rates.sum() == pytest.approx(wanted)
    np.testing.assert_array_equal(plan.transfer.rates(np.ones(100)), 1.0)


def test_the_file_can_be_read_by_people(table, tmp_path):
    made(table, calibrate="platt").transfer.save(tmp_path / "policy.json")
    found = json.loads((tmp_path / "policy.json").read_text(encoding="utf-8"))
    assert found["version"] == 1
    assert found["policy"] == "active"
    assert found["calibration"]["kind"] == "platt"
    assert len(found["reference"]["weak"]) == 101
    assert (tmp_path / "policy.json").stat().st_size < 20_000


def test_refusals(table, tmp_path):
    data = made(table).transfer.to_dict()
    file = tmp_path / "policy.json"
    for version in (0, 2, None, "1"):
        file.write_text(json.dumps({**data, "version": version}), encoding="utf-8")
        with pytest.raises(InputError, match="version"):
            rw.load_transfer(file)
    file.write_text(json.dumps({**data, "policy": "magic"}), encoding="utf-8")
    with pytest.raises(InputError, match="magic"):
        rw.load_transfer(file)
    for broken in ("", "[]", "{", '{"transfer": 3}', json.dumps({"version": 1})):
        file.write_text(broken, encoding="utf-8")
        with pytest.raises(TableError, match=r"policy\.json"):
            rw.load_transfer(file)
    with pytest.raises(TableError, match="does not exist"):
        rw.load_transfer(tmp_path / "none.json")
    with pytest.raises(TableError, match="cannot be written"):
        made(table).transfer.save(tmp_path / "no" / "policy.json")


# Drift


def drift_of(transfer, old, new):
    """The transfer as if learned on `old`, looking at `new`; both are (weak, error)."""
    return dataclasses.replace(transfer, reference=Reference.of(*old)).drift(*new)


def test_the_same_pool_has_not_drifted(table):
    plan = made(table)
    drift = rw.draw_pool(table, plan.transfer, seed=1).drift
    assert max(drift.weak, drift.error) <= 0.011  # the quantiles are a hundredth apart
    assert not drift.drifted
    assert "looks like" in drift.summary()


@pytest.mark.parametrize("change", ["shift", "scale", "mixture"])
def test_a_shifted_pool_is_flagged(table, change):
    g = table["g"]
    new = {"shift": g - 0.15, "scale": 0.5 + 0.3 * (g - 0.5), "mixture": np.where(np.arange(1200) % 3 == 0, 0.5, g)}
    drawn = rw.draw_pool({"g": np.clip(new[change], 0, 1)}, made(table).transfer, seed=1)
    assert drawn.drift.drifted
    assert "drifted" in drawn.drift.summary()
    assert any("drifted" in note for note in drawn.notes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (np.tile([0.0, 1.0, 1.0], 200), np.full(500, 0.5)),  # hard labels became probabilities
        (np.tile([1.0, 2.0, 4.0, 5.0], 150), np.full(500, 3.0)),  # a star that nobody gave before
        (np.full(600, 0.5), np.full(500, 0.9)),  # a constant, and another one
        (np.full(600, 0.5), np.full(500, 0.1)),
        (np.tile([0.0, 1.0, 1.0], 200), np.tile([0.0, 1.0], 250)),
    ],
    ids=["probabilities", "new star", "constant up", "constant down", "fewer ones"],
)
def test_drift_between_few_values_is_seen(table, old, new):
    found = drift_of(made(table).transfer, (old, old), (new, new))
    assert found.weak == pytest.approx(stats.ks_2samp(old, new).statistic, abs=0.011)
    assert found.drifted


def test_a_pool_that_has_drifted_in_u_alone_is_flagged(table):
    plan = made(table, uncertainty="u")
    drift = rw.draw_pool({"g": table["g"], "u": 3 * table["u"]}, plan.transfer, seed=1).drift
    assert drift.weak < 0.02
    assert drift.error > drift.threshold
    assert drift.drifted


def test_the_gap_is_kolmogorov_s_up_to_the_quantiles(table):
    rng = np.random.default_rng(509)
    transfer = made(table).transfer
    for _ in range(5):
        old, new = rng.gamma(2, 3, 700), rng.gamma(2.5, 3, 350)
        exact = stats.ks_2samp(old, new).statistic
        found = drift_of(transfer, (old, old), (new, new))
        assert found.weak == pytest.approx(exact, abs=0.011)


def continuous(rng, n):
    world = calibrated(n, mean=0.8, spread=0.5, rng=rng)
    return world.weak, world.error


def stars(rng, n):
    g = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], n, p=[0.05, 0.05, 0.1, 0.3, 0.5])
    return g, 0.1 + 0.2 * (g < 3)


def hard(rng, n):
    world = bernoulli(n, mean=0.9, weak_error=0.1, error_variance=0.02, rng=rng)
    return world.weak, world.error


@pytest.mark.parametrize("world", [continuous, stars, hard])
def test_false_alarms_are_rare_on_fresh_pools(table, world):
    """Two gaps, each too large once in a thousand pools: at most 5 of 200, but for one seed in ten thousand."""
    transfer = made(table).transfer
    rng = np.random.default_rng(521)
    drifts = [drift_of(transfer, world(rng, 260), world(rng, 900)) for _ in range(POOLS)]
    most = stats.binom.isf(FALSE_ALARM, POOLS, 2e-3)
    assert sum(drift.drifted for drift in drifts) <= most
    eager = [dataclasses.replace(drift, threshold=0.5 * drift.threshold) for drift in drifts]
    if world is not stars:  # with a few values chance makes smaller gaps still
        assert sum(drift.drifted for drift in eager) > most


def test_small_and_large_pools_have_their_own_threshold(table):
    transfer = made(table).transfer
    rng = np.random.default_rng(523)
    thresholds = [drift_of(transfer, continuous(rng, 300), continuous(rng, n)).threshold for n in (20, 200, 20_000)]
    assert thresholds == sorted(thresholds, reverse=True)
    by_hand = np.sqrt(-0.5 * np.log(0.0005) * (1 / 300 + 1 / 200))
    assert thresholds[1] == pytest.approx(by_hand + 0.01)
