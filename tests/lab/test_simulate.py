"""`simulate`: the obvious loop, known errors, identities between the numbers, odd tables, and being stopped."""

import dataclasses
import math
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from studies import obvious_loop as loop

from ratewise.core.names import SIMULATED_METHODS
from ratewise.errors import InputError, RatewiseWarning, TableError
from ratewise.lab import simulate as module
from ratewise.lab.methods import Lab
from ratewise.lab.results import Base
from ratewise.lab.simulate import simulate
from ratewise.lab.trials import Setting

from ..bounds import FALSE_ALARM, further
from .tables import MODES, OTHER, TABLE, judged, likert, population_of

Z = stats.norm.isf(FALSE_ALARM / 2)  # 3.9
FOLDER = Path(os.environ.get("RATEWISE_DATA") or Path(__file__).parents[2].parent / "shared" / "data")


def run(table, **options):
    given = {
        "weak": "g", "strong": "h", "cost_ratio": 0.05, "budgets": [20, 60], "methods": SIMULATED_METHODS,
        "burn_in": 30, "trials": 30, "workers": 1,
    }  # fmt: skip
    return simulate(table, **(given | options))


def numbers(found):
    """Everything that was found, ready to be compared bit by bit."""
    return [r.to_dict() for r in found.results]


# Seeds and workers


@pytest.mark.parametrize("mode", MODES)
def test_the_same_to_the_bit_whatever_the_workers(mode):
    one, two = (run(TABLE, mode=mode, trials=60, seed=5, workers=workers) for workers in (1, 2))  # two blocks
    assert numbers(one) == numbers(two)
    assert one.to_dict() == two.to_dict()


def test_a_seed_is_a_result_and_another_seed_another():
    first, again, other = (run(TABLE, seed=seed, trials=12) for seed in (1, 1, 2))
    assert numbers(first) == numbers(again)
    for a, b in zip(first.results, other.results, strict=True):
        assert a.mse != b.mse


def test_budgets_and_methods_do_not_disturb_each_other():
    """A budget and a method alone give what they give among others."""
    many = run(TABLE, budgets=[60, 20, 33.3, 20], methods=["oracle", "base", "ppi++", "base", "paper-active"])
    assert [r.budget for r in many.of("base")] == [20, 33.3, 60]
    assert many.methods == ("oracle", "base", "ppi++", "paper-active")
    for method in many.methods:
        alone, among = (
            r.to_dict() for r in (*run(TABLE, budgets=[33.3], methods=[method]).results, many.of(method)[1])
        )
        assert alone.pop("method") == among.pop("method")
        assert alone == pytest.approx(among, rel=1e-12, abs=1e-12)


# Known errors


def outcomes(table, mode, *, trials, budgets, burn_in=0, methods=("base",), **options):
    setting = Setting(0.05, budgets, burn_in, mode, 0.95, options.get("fixed_rate", 0.1), options.get("seed", 7))
    lab = Lab.of(population_of(table), setting, methods, None)
    return lab, lab.run(range(trials))


def z_of(sample, mean):
    """How many standard errors a sample's mean is off."""
    return abs(sample.mean(axis=0) - mean) / (sample.std(axis=0, ddof=1) / math.sqrt(len(sample)))


@pytest.mark.parametrize("burn_in", [0, 25])
@pytest.mark.parametrize("mode", MODES)
def test_the_error_of_base_is_the_formula(mode, burn_in):
    """V/n in a stream, V N/(N−1) (1/n − 1/N) in a pool; false alarm 1e-4 for each budget."""
    budgets = (30.0, 75.0, 300.0)
    lab, found = outcomes(TABLE, mode, trials=2500, budgets=budgets, burn_in=burn_in)
    h, N = TABLE["h"], len(TABLE["h"])
    n = burn_in + np.array(budgets)
    expected = h.var() / n if mode == "stream" else h.var(ddof=1) * (1 / n - 1 / N)
    squared = (found["base"].value - h.mean()) ** 2
    assert np.all(z_of(squared, expected) < Z)
    assert np.all(z_of(found["base"].value, h.mean()) < Z)
    theory = Base(h.var(), burn_in, lab.setting.pool_size(lab.population))
    np.testing.assert_allclose([theory.mse(B) for B in budgets], expected, rtol=1e-12)
    assert np.all(z_of(squared, 1.25 * expected) > Z)  # the test would see an error that is a quarter off
    if mode == "pool":
        assert z_of(squared, h.var() / n)[-1] > Z  # and a pool that is taken for a stream


@pytest.mark.parametrize(("mode", "burn_in"), [("stream", 60), ("pool", 0), further("stream", 0)])
def test_the_methods_are_unbiased(mode, burn_in):
    """Up to the 1/n of power tuning, far below what 200 trials can see; false alarm 1e-4 for each number."""
    budgets = (80.0, 160.0)
    methods = SIMULATED_METHODS
    _, found = outcomes(TABLE, mode, trials=200, budgets=budgets, burn_in=burn_in, methods=methods)
    theta = TABLE["h"].mean()
    for method in methods:
        assert np.all(z_of(found[method].value, theta) < Z), method
    naive = loop_mean_of_labels(mode, burn_in)
    assert z_of(naive, theta) > Z  # the mean of the drawn strong ratings alone is biased, and the test sees it


def loop_mean_of_labels(mode, burn_in):
    """What forgets the rates: the plain mean of strong ratings drawn by uncertainty."""
    population = population_of(TABLE)
    setting = Setting(0.05, (80.0,), burn_in, mode, 0.95, 0.1, 7)
    table = (population.weak.tolist(), population.strong.tolist())
    known = loop.learned(*table)
    rate = loop.policy_of("paper-active", known, 0.05)
    means = []
    for _, stream in loop.items_of(population, setting, range(100)):
        rows = [i for i, r in stream[:300] if r < rate(i, known.weak[i])]
        means.append(np.mean([table[1][i] for i in rows]))
    return np.array(means)


# What is reported


@pytest.fixture(scope="module", params=MODES)
def found(request):
    return run(TABLE, mode=request.param, budgets=[20, 47.5, 110], trials=30, seed=11, cost_ratio=0.07)


def test_identities(found):
    V, N, n_b = TABLE["h"].var(), len(TABLE["h"]), 30
    assert found.theta == pytest.approx(TABLE["h"].mean())
    assert found.variance == pytest.approx(V)
    assert found.items == N
    pool = found.settings["mode"] == "pool"
    for r in found.results:
        assert (r.mse_low < r.mse < r.mse_high) or r.mse == 0
        assert r.trials == 30
        assert r.mse == pytest.approx(r.bias**2 + 29 * r.bias_se**2, rel=1e-9)
        for end in ("", "_low", "_high"):
            ratio, mse = getattr(r, "error_ratio" + end), getattr(r, "mse" + end)
            assert ratio == pytest.approx(mse * (n_b + r.budget) / V)
        for end, other in (("", ""), ("_low", "_high"), ("_high", "_low")):
            mse, effective = getattr(r, "mse" + other), getattr(r, "effective_budget" + end)
            if r.method == "base":  # by definition
                assert (effective, getattr(r, "savings" + end)) == (r.budget, 0)
                continue
            n = effective + n_b
            assert mse == pytest.approx(V * N / (N - 1) * (1 / n - 1 / N) if pool else V / n)
            assert getattr(r, "savings" + end) == pytest.approx(effective - r.budget)
        assert r.of_base == pytest.approx(r.mse / r.base_mse)
        assert 0 < r.spend_mean <= r.spend_max <= r.budget
        assert 0 < r.labels_mean <= r.spend_mean
        assert 0 <= r.coverage <= 1
        assert r.width > 0


def test_no_budget_is_exceeded_and_none_is_left_lying():
    """Every method, every mode and budget; what is left in a stream would not buy another item."""
    for mode in MODES:
        for c in (0.03, 3.0):
            budgets = [1 + c, 4.9, 17, 40.123, 71.1]
            got = run(TABLE, mode=mode, cost_ratio=c, budgets=budgets, trials=8, burn_in=10)
            for r in got.results:
                assert r.spend_max <= r.budget
                assert mode == "pool" or r.spend_mean > r.budget - (1 + c)


def test_savings_are_read_off_a_curve():
    """A method of error J/B saves V/e − J/e at any error e between its budgets, for straight lines in logs."""
    got = run(TABLE, budgets=[20, 50, 140], methods=["base", "paper-random"], burn_in=0, trials=40)
    J, V = 0.6 * got.variance, got.variance
    curve = tuple(dataclasses.replace(r, mse=J / r.budget) if r.method == "paper-random" else r for r in got.results)
    smooth = dataclasses.replace(got, results=curve)
    for e in (J / 21, J / 50, J / 77.7, J / 140):
        assert smooth.savings_at(e) == {"base": 0.0, "paper-random": pytest.approx(V / e - J / e)}
    assert smooth.savings_at(J / 141)["paper-random"] is None  # no budget is enough
    assert smooth.savings_at(J / 19)["paper-random"] is None  # all of them are
    rows = smooth.savings()
    assert [row["base_budget"] for row in rows] == [20, 50, 140]
    assert [row["mse"] for row in rows] == pytest.approx([V / B for B in (20, 50, 140)])
    assert rows[1]["savings"]["paper-random"] == pytest.approx(50 - 0.6 * 50)
    with pytest.raises(InputError, match="mse must be above 0"):
        smooth.savings_at(0)


# Fixed rates


@pytest.mark.parametrize("method", ["ppi++", "active-fixed"])
def test_the_fixed_rate_is_kept(method):
    """labels − rate × items has mean 0 (Wald), whenever a trial stops; false alarm 1e-4."""
    for rate in (0.08, 0.3):
        _, found = outcomes(TABLE, "stream", trials=400, budgets=(60.0,), methods=(method,), fixed_rate=rate)
        labels, spend = found[method].labels[:, 0], found[method].spend[:, 0]
        items = (spend - labels) / 0.05
        assert z_of(labels - rate * items, 0.0) < Z
        assert z_of(labels - 1.1 * rate * items, 0.0) > Z


def test_in_a_pool_the_fixed_rate_is_what_the_money_buys():
    N, c, budgets = len(TABLE["h"]), 0.05, (40.0, 200.0, 700.0)
    _, found = outcomes(TABLE, "pool", trials=200, budgets=budgets, methods=("ppi++",), fixed_rate=0.1)
    labels = found["ppi++"].labels
    items = (found["ppi++"].spend - labels) / c
    assert np.all(np.round(items[:, 2]) == N)
    assert np.all(labels[:, 2] == N)  # everything can be rated
    np.testing.assert_allclose(found["ppi++"].value[:, 2], TABLE["h"].mean(), atol=1e-12)
    assert z_of(labels[:, 0] - 0.1 * items[:, 0], 0.0) < Z
    assert z_of(labels[:, 1] - (200 / N - c) * items[:, 1], 0.0) < Z


# Units


def test_other_units_give_the_same_result():
    """Ratings times 3 plus 7: errors times 9, biases times 3, budgets as they were."""
    first, second = (run({"g": a * TABLE["g"] + b, "h": a * TABLE["h"] + b}) for a, b in ((1, 0), (3, 7)))
    assert second.theta == pytest.approx(3 * first.theta + 7)
    assert second.variance == pytest.approx(9 * first.variance)
    for r, s in zip(first.results, second.results, strict=True):
        for name, value in r.to_dict().items():
            factor = 9 if name.startswith(("mse", "base_mse")) else 3 if name in ("bias", "bias_se", "width") else 1
            got = getattr(s, name)
            assert got == (pytest.approx(factor * value, rel=1e-7, abs=1e-9) if isinstance(value, float) else value)


def test_the_order_of_a_scale_does_not_matter_to_base():
    """A mirrored scale: the same errors of base, the bias turned round."""
    first = run(TABLE, methods=["base"])
    second = run({"g": 1 - TABLE["g"], "h": 1 - TABLE["h"]}, methods=["base"])
    for r, s in zip(first.results, second.results, strict=True):
        assert s.mse == pytest.approx(r.mse)
        assert s.bias == pytest.approx(-r.bias, abs=1e-12)
        assert s.coverage == r.coverage


# Odd tables: every method in both modes, and warnings are errors


ODD = {
    "constant weak rating": ({"g": np.full(300, 0.4), "h": judged(4013, 300)["h"]}, {}),
    "constant weak rating off the scale": ({"g": np.full(300, 50.0), "h": judged(4013, 300)["h"]}, {}),
    "few zeros": (judged(4019, 300, mean=0.97), {}),
    "ten rows": ({"g": judged(4021, 10)["g"], "h": np.array([0, 1, 1, 0, 1, 1, 1, 0, 1, 1.0])}, {"budgets": [3, 5]}),
    "two rows": ({"g": [0.2, 0.4], "h": [0.0, 1.0]}, {"budgets": [2.5], "burn_in": 0}),
    "Likert and 0 to 100": (likert(4027, 300), {}),
    "negative": ({"g": judged(4049, 300)["g"] - 5, "h": judged(4049, 300)["h"] - 5}, {}),
    "a weak rater that is right": ({"g": judged(4051, 300)["h"], "h": judged(4051, 300)["h"]}, {}),
    "a weak rater that is wrong": ({"g": 1 - judged(4051, 300)["h"], "h": judged(4051, 300)["h"]}, {}),
    "a dear weak rater": (judged(4057, 300), {"cost_ratio": 3.0, "budgets": [13, 40]}),
    "more money than items": (judged(4073, 60), {"budgets": [30, 500]}),
    "transfer from Likert": (likert(4027, 300), {"transfer_from": likert(4079, 90)}),
    "transfer from few zeros": (judged(4019, 300), {"transfer_from": {"g": [0.9, 0.4, 0.8], "h": [1.0, 0.0, 1.0]}}),
}  # fmt: skip


@pytest.mark.parametrize("what", list(ODD))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("burn_in", [0, 10])
def test_odd_tables(what, mode, burn_in):
    # In a pool running_estimates may give a variance a little below 0 where all residuals are 0.
    table, options = ODD[what]
    if burn_in == len(table["h"]) and mode == "pool":
        burn_in = 0
    got = run(
        table, **({"mode": mode, "budgets": [6, 25], "burn_in": burn_in, "cost_ratio": 0.1, "trials": 3} | options)
    )
    assert got.methods == SIMULATED_METHODS
    for r in got.results:
        undefined = {name for name, x in r.to_dict().items() if isinstance(x, float) and not math.isfinite(x)}
        assert not undefined - {"effective_budget_high", "savings_high"} or r.mse == 0, (r.method, undefined)
        assert r.spend_max <= r.budget
        assert r.mse >= 0
    assert "nan" not in str(got)  # of_base has no value where base is exact
    assert "nan" not in got._repr_html_()


def test_burn_ins_without_both_ratings_happen():
    """What "few zeros" is there for: all ratings of a burn-in are equal, and the methods must go on."""
    lab, found = outcomes(
        ODD["few zeros"][0], "stream", trials=60, budgets=(25.0,), burn_in=10, methods=SIMULATED_METHODS
    )
    from ratewise.lab.trials import Block

    h = lab.population.strong[Block(lab.population, lab.setting, range(60)).burn_in]
    assert np.count_nonzero(np.ptp(h, axis=1) == 0) > 20
    for outcome in found.values():
        assert np.all(np.isfinite(outcome.value))


def test_a_pool_with_money_for_all_of_it_is_known_exactly():
    table = judged(4091, 80)
    got = run(table, mode="pool", budgets=[70, 500], methods=["base", "ppi++", "paper-random"], burn_in=0)
    exact = [got.of("base")[1], got.of("ppi++")[1]]
    for r in exact:
        assert r.mse == pytest.approx(0, abs=1e-24)
        assert r.coverage == 1
        assert r.width == pytest.approx(0, abs=1e-9)
        assert r.effective_budget == pytest.approx(80)
    assert got.of("base")[1].spend_max == 80
    assert got.of("ppi++")[1].spend_max == pytest.approx(84)
    assert got.of("base")[0].mse > 0


# Refusals


HOLE = {"g": TABLE["g"], "h": np.where(np.arange(640) == 11, np.nan, TABLE["h"])}
REFUSED = {  # what is wrong: table, options, error, words
    "missing strong ratings": (HOLE, {}, TableError, ["1 rows", "'h'", "row 12", "fully rated"]),
    "missing weak ratings": ({**TABLE, "g": HOLE["h"]}, {}, TableError, ["'g'", "row 12"]),
    "unknown column": (TABLE, {"strong": "hh"}, TableError, ["'hh'"]),
    "infinite": ({**TABLE, "h": np.where(HOLE["h"] >= 0, TABLE["h"], np.inf)}, {}, TableError, ["row 12"]),
    "all equal": ({**TABLE, "h": np.ones(640)}, {}, TableError, ["all equal"]),
    "one row": ({"g": [0.5], "h": [1.0]}, {}, TableError, ["equal"]),
    "missing in the other table": (TABLE, {"transfer_from": HOLE}, TableError, ["row 12"]),
    "budget below one label": (TABLE, {"budgets": [100, 1.04]}, InputError, ["1.04", "1.05", "below one label"]),
    "budget 0": (TABLE, {"budgets": [0]}, InputError, ["below one label"]),
    "budget not finite": (TABLE, {"budgets": [math.nan]}, InputError, ["budget", "finite"]),
    "infinite budget": (TABLE, {"budgets": [math.inf]}, InputError, ["budget", "finite"]),
    "budget in words": (TABLE, {"budgets": ["much"]}, InputError, ["budget", "much"]),
    "no budget": (TABLE, {"budgets": []}, InputError, ["no budget"]),
    "unknown method": (TABLE, {"methods": ["base", "magic"]}, InputError, ["magic", "paper-active"]),
    "no method": (TABLE, {"methods": []}, InputError, ["no method"]),
    "burn-in larger than the table": (TABLE, {"burn_in": 641}, InputError, ["641", "640", "smaller"]),
    "burn-in of the whole pool": (TABLE, {"burn_in": 640, "mode": "pool"}, InputError, ["640"]),
    "small burn-in": (TABLE, {"burn_in": 5}, InputError, ["burn_in", "5", "10"]),
    "negative burn-in": (TABLE, {"burn_in": -20}, InputError, ["burn_in", "-20"]),
    "half a burn-in": (TABLE, {"burn_in": 20.5}, InputError, ["burn_in", "20.5"]),
    "default burn-in": (judged(1, 150), {"burn_in": None}, InputError, ["200", "150"]),
    "cost ratio 0": (TABLE, {"cost_ratio": 0}, InputError, ["cost_ratio", "above 0"]),
    "cost ratio negative": (TABLE, {"cost_ratio": -0.1}, InputError, ["cost_ratio", "-0.1"]),
    "unknown mode": (TABLE, {"mode": "river"}, InputError, ["river", "stream"]),
    "one trial": (TABLE, {"trials": 1}, InputError, ["trials", "2"]),
    "negative seed": (TABLE, {"seed": -1}, InputError, ["seed"]),
    "fixed rate 0": (TABLE, {"fixed_rate": 0}, InputError, ["fixed_rate", "(0, 1]"]),
    "fixed rate above 1": (TABLE, {"fixed_rate": 1.5}, InputError, ["fixed_rate", "1.5"]),
    "level 1": (TABLE, {"level": 1}, InputError, ["level", "(0, 1)"]),
    "no workers": (TABLE, {"workers": 0}, InputError, ["workers", "1"]),
}  # fmt: skip


@pytest.mark.parametrize("what", list(REFUSED))
def test_refusals(what):
    table, options, kind, words = REFUSED[what]
    with pytest.raises(kind) as refused:
        run(table, **options)
    message = str(refused.value)
    assert message.isprintable(), message
    assert all(word in message for word in words), message


def test_a_transfer_needs_no_burn_in():
    assert run(TABLE, transfer_from=OTHER, burn_in=None).settings["burn_in"] == 0
    assert run(judged(4093, 700), burn_in=None, trials=2).settings["burn_in"] == 200


# Stopped


def stop_after(trials):
    seen = []

    def progress(done, total):
        seen.append((done, total))
        if done >= trials:
            raise KeyboardInterrupt

    return progress, seen


@pytest.mark.parametrize("workers", [1, 2])
def test_stopped_results_are_those_of_the_trials_done(workers):
    progress, seen = stop_after(50)
    methods = ("base", "paper-active", "oracle")
    with pytest.warns(RatewiseWarning, match="stopped after 50 of 200 trials; these results are partial"):
        stopped = run(TABLE, trials=200, seed=13, workers=workers, progress=progress, methods=methods)
    assert stopped.partial
    assert seen == [(50, 200)]
    assert stopped.settings["trials"] == 50
    assert stopped.to_dict()["partial"] is True
    assert "partial" in stopped.summary()
    complete = run(TABLE, trials=50, seed=13, methods=methods)
    assert not complete.partial
    assert numbers(stopped) == numbers(complete)


def test_progress_is_told():
    seen = []
    run(TABLE, trials=130, methods=["base"], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(50, 130), (100, 130), (130, 130)]


def test_stopped_before_anything_was_done(monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(module, "in_order", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(TABLE)


def test_other_errors_are_not_swallowed():
    def broken(done, total):
        raise RuntimeError("the bar broke")

    with pytest.raises(RuntimeError, match="the bar broke"):
        run(TABLE, progress=broken)


# Files and words


def test_csv_has_every_number(tmp_path):
    import csv

    got = run(TABLE, methods=["base", "oracle"], mode="pool")
    got.save_csv(tmp_path / "found.csv")
    with open(tmp_path / "found.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(got.results) == 4
    for row, r in zip(rows, got.results, strict=True):
        assert row["method"] == r.method
        assert {name: float(x) for name, x in row.items() if name != "method"} == {
            name: x for name, x in r.to_dict().items() if name != "method"
        }


def test_the_summary_names_what_can_be_run_and_what_is_free():
    got = run(TABLE, trials=40)
    auto = next(r for r in got.results if r.budget == 60 and r.method == "auto")
    better = auto.mse < auto.base_mse
    assert f"{'auto has' if better else 'run base'}" in got.summary()
    assert not any(method in got.summary() for method in ("oracle", "limit", "paper", "ppi", "fixed"))
    assert got.summary().startswith("With money for 60 strong ratings and 30 free labels to begin with, ")
    assert "only 40 trials on 640 items" in str(got)
    assert got._repr_html_().count("<tr") == 1 + len(got.results)


# The paper's own data

PUBLISHED = {"paper-random": 0.898, "paper-active": 0.756, "oracle": 0.497}  # Table 3 of the data's README, after Platt


@pytest.fixture(scope="module")
def imagenet():
    path = FOLDER / "imagenet_resnet50.parquet"
    if not path.exists():
        pytest.skip(f"{path.name} is not in {FOLDER}; set RATEWISE_DATA to the folder of the real tables")
    return simulate(
        path, weak="g", strong="h", cost_ratio=0.05, budgets=[500], burn_in=0, methods=tuple(PUBLISHED), trials=2000,
        seed=1, workers=1,
    )  # fmt: skip


@pytest.mark.parametrize("method", list(PUBLISHED))
def test_error_ratios_on_imagenet_are_the_formulas(imagenet, method):
    """Within 3.9 standard errors whatever the seed (false alarm 1e-4), and with seed 1 within the 95 % interval.

    One seed in twenty misses the latter: with seed 0, the interval of active begins at 0.757.
    """
    (r,) = imagenet.of(method)
    error = (r.error_ratio_high - r.error_ratio_low) / (2 * stats.norm.isf(0.025))
    assert abs(r.error_ratio - PUBLISHED[method]) < Z * error
    assert r.error_ratio_low <= PUBLISHED[method] <= r.error_ratio_high
    assert error < 0.03
