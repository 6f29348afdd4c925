"""Plans per slice: against a general-purpose optimiser, the one-pool solver of vector targets, and `plan` itself."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from ratewise.core.policy import optimal_policy
from ratewise.errors import InputError, PolicyError, TableError
from ratewise.questions.drawing import draw_slices, slice_policies
from ratewise.questions.plan import plan
from ratewise.questions.slices import Curve, plan_slices, shared_budgets

PRICES = {"weak": "judge", "strong": "human", "weak_cost": 0.05, "strong_cost": 1.0}


def pilot(seed=1, sizes=None, *, flipped=0.15):
    """A judge of unlike quality on slices of unlike size."""
    rng = np.random.default_rng(seed)
    sizes = sizes or {"code": 120, "law": 80, "travel": 200}
    names = rng.permutation(np.repeat(list(sizes), list(sizes.values())))
    sure = np.select([names == name for name in sizes], np.linspace(0.5, 4, len(sizes)))
    judge = np.round(rng.beta(1.5 + sure, 0.5, names.size), 3)
    human = (rng.random(names.size) < np.where(rng.random(names.size) < flipped, 0.5, judge)).astype(float)
    return {"topic": names.astype(object), "judge": judge, "human": human}


def rows_of(table, name):
    return {key: values[table["topic"] == name] for key, values in table.items()}


# A target in every slice


@pytest.mark.parametrize("pool_sizes", [None, {"code": 900, "law": 5000, "travel": 1200}])
def test_a_target_is_every_slices_own_plan(pool_sizes):
    table = pilot()
    found = plan_slices(table, by="topic", **PRICES, target_se=0.02, pool_sizes=pool_sizes, floor=0.05)
    for one in found.slices:
        size = None if pool_sizes is None else pool_sizes[one.name]
        alone = plan(rows_of(table, one.name), **PRICES, target_se=0.02, pool_size=size, floor=0.05)
        assert one.plan.policies == {n: replace(p, half_width=None) for n, p in alone.policies.items()}
        assert one.policy.expected_se == pytest.approx(0.02)
        assert one.reached
    assert found.spend == pytest.approx(sum(one.policy.spend for one in found.slices))
    assert found.overall_se < 0.02 < 1.01 * found.worst_se


def test_targets_by_name_and_pools_from_the_table():
    targets = {"code": 0.05, "law": 0.08, "travel": 0.04}
    found = plan_slices(pilot(2), by="topic", **PRICES, target_se=targets, pool_sizes="table")
    assert {one.name: one.policy.expected_se for one in found.slices} == pytest.approx(targets)
    assert [one.pool_size for one in found.slices] == [120, 80, 200]
    shared = plan_slices(pilot(2), by="topic", **PRICES, target_se=0.05, pool_size=4000)
    assert [one.pool_size for one in shared.slices] == pytest.approx([1200, 800, 2000])


def test_a_target_out_of_reach_is_said_with_the_best_there_is():
    table = pilot(3)
    found = plan_slices(
        table, by="topic", **PRICES, target_se=0.03, pool_sizes={"code": 5000, "law": 60, "travel": 5000}
    )
    law = found["law"]
    V = np.var(rows_of(table, "law")["human"])
    assert not law.reached
    assert "0.03 cannot be reached with 60 items" in law.reason
    assert law.policy.expected_se == pytest.approx(math.sqrt(V / 60))
    assert found["code"].reached
    assert found["travel"].reached
    assert "out of reach: law" in str(found)


def test_a_slice_without_a_pilot_says_so_and_the_rest_is_planned():
    table = pilot(4)
    table["human"][table["topic"] == "law"] = np.nan
    for goal in ({"target_se": 0.03}, {"budget": 300.0}):
        found = plan_slices(table, by="topic", **PRICES, **goal)
        assert found["law"].plan is None
        assert "a plan needs a labelled pilot" in found["law"].reason
        assert found["code"].plan is not None
        assert found.overall_se is None
        json.dumps(found.to_dict(), allow_nan=False)
    assert found.spend == pytest.approx(300, rel=1e-9)


# One budget for all: discrete worlds against brute force


def worlds(seed, *, limited):
    """Three slices with a few kinds of items each; pools that end, or not."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(3):
        u = rng.choice([0.0, 0.02, 0.1, 0.4, 1.0], 12) * rng.uniform(0.3, 1.5)
        size = (40, 90, 200)[k] if limited else math.inf
        made.append((u, float(u.mean() * rng.uniform(0.6, 4)), 0.07, (1.0, 1.0, 3.0)[k], size))
    return made


def error_of(world, spend):
    """Squared error of the best policy or of strong ratings alone, by `optimal_policy`."""
    u, V, c_g, c_h, N = world
    size = None if math.isinf(N) else N
    alone = V * c_h / min(spend, c_h * N)
    policy = optimal_policy(u, variance=V, weak_cost=c_g, strong_cost=c_h, budget=spend, pool_size=size)
    return min(alone, policy.expected_se**2)


def curves_of(made):
    return [Curve.of(u, variance=V, weak_cost=c_g, strong_cost=c_h, pool_size=N) for u, V, c_g, c_h, N in made]


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_sum_of_squared_errors_is_least(seed, limited):
    made, budget, weights = worlds(seed, limited=limited), 60.0, [1.0, 3.0, 0.5]

    def total(spends):
        return sum(w * error_of(world, b) for w, world, b in zip(weights, made, spends, strict=True))

    found = shared_budgets(curves_of(made), budget, weights, "sum")
    assert sum(found) == pytest.approx(budget)

    def of_logits(x):
        share = np.exp(np.append(x, 0.0) - np.max(np.append(x, 0.0)))
        return total(budget * share / share.sum())

    best = min(
        optimize.minimize(of_logits, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).fun
        for start in ([0, 0], [1, -1], [-1, 1], [2, 2], [-2, -2])
    )
    assert total(found) <= best * (1 + 1e-5)


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_worst_slice_is_as_good_as_it_can_be(seed, limited):
    made, budget = worlds(seed, limited=limited), 60.0
    found = shared_budgets(curves_of(made), budget, [1, 1, 1], "worst")
    errors = [error_of(world, b) for world, b in zip(made, found, strict=True)]
    assert sum(found) == pytest.approx(budget)
    whole = [b >= c_h * N * (1 - 1e-9) for (_, _, _, c_h, N), b in zip(made, found, strict=True)]
    # All equal, but for slices that are rated whole and can be no better; moving money makes the worst worse.
    rest = [e for e, full in zip(errors, whole, strict=True) if not full]
    assert max(rest) == pytest.approx(min(rest), rel=1e-6)
    for i, j in [(0, 1), (1, 2), (2, 0)]:
        moved = list(found)
        moved[i] -= 0.02 * found[i]
        moved[j] += 0.02 * found[i]
        assert max(error_of(world, b) for world, b in zip(made, moved, strict=True)) >= max(errors) * (1 - 1e-9)


@pytest.mark.parametrize("own_mean", [False, True])
def test_money_and_error_are_each_others_inverse(own_mean):
    for limited in (False, True):
        for u, V, c_g, c_h, N in worlds(3, limited=limited):
            curve = Curve.of(u, variance=V, weak_cost=c_g, strong_cost=c_h, pool_size=N, own_mean=own_mean and limited)
            for spend in (5.0, 20.0, 37.0):
                error = curve.error_for(spend)
                if error + curve.lost > 1.001 * V / N:  # else there is nothing left to buy
                    assert curve.spend_for(error) == pytest.approx(spend)
                assert error + curve.lost == pytest.approx(error_of((u, V, c_g, c_h, N), spend))
                assert curve.corrected(spend, 2 * error).error_for(spend) == pytest.approx(2 * error)


def test_sharing_is_the_one_pool_solution_of_vector_targets():
    """Weak ratings are there already and pools are looked at whole: METHODS section 2 with u weighted by (N/N_s)²."""
    rng = np.random.default_rng(5)
    sizes, budget = np.array([50, 120, 230]), 90.0
    errors = [rng.gamma(0.5, 0.4, n) + 0.01 for n in sizes]
    variances = [2.0 * float(u.mean()) for u in errors]
    curves = [
        Curve.of(u, variance=V, weak_cost=0.0, strong_cost=1.0, pool_size=float(n))
        for u, V, n in zip(errors, variances, sizes, strict=True)
    ]
    found = shared_budgets(curves, budget, [1.0] * 3, "sum")
    N = int(sizes.sum())
    u = np.concatenate([u * (N / n) ** 2 for u, n in zip(errors, sizes, strict=True)])
    V = sum(V * N / n for V, n in zip(variances, sizes, strict=True))
    one = optimal_policy(u, variance=V, weak_cost=0.0, strong_cost=1.0, budget=budget, pool_size=N)
    labels = [rates.sum() for rates in np.split(one.rates, np.cumsum(sizes)[:-1])]
    assert found == pytest.approx(labels, rel=1e-6)


def test_unlimited_slices_share_by_the_root_of_their_prices():
    """b ∝ sqrt(w J) where no pool ends."""
    made = worlds(6, limited=False)
    weights = [2.0, 1.0, 5.0]
    J = [
        min(optimal_policy(u, variance=V, weak_cost=c_g, strong_cost=c_h).error_times_budget, c_h * V)
        for u, V, c_g, c_h, _ in made
    ]
    root = np.sqrt(np.array(J) * weights)
    assert shared_budgets(curves_of(made), 77.0, weights, "sum") == pytest.approx(77.0 * root / root.sum())


def test_a_budget_in_plans_is_spent_and_no_more():
    table = pilot(7)
    for objective in ("sum", "worst"):
        found = plan_slices(table, by="topic", **PRICES, budget=400, objective=objective, pool_size=3000)
        assert found.spend == pytest.approx(400, rel=0.02)
        assert found.spend <= 400 * (1 + 1e-9)
    for estimand in ("population", "pool"):
        even = plan_slices(
            table, by="topic", **PRICES, budget=400, objective="worst", pool_size=3000, estimand=estimand
        )
        errors = [one.policy.expected_se for one in even.slices]
        assert max(errors) < 1.01 * min(errors)
    favoured = plan_slices(table, by="topic", **PRICES, budget=400, weights={"code": 1, "law": 25, "travel": 1})
    plain = plan_slices(table, by="topic", **PRICES, budget=400)
    assert favoured["law"].policy.spend > 1.5 * plain["law"].policy.spend


def test_more_money_than_there_is_to_buy_is_left():
    found = plan_slices(pilot(8), by="topic", **PRICES, budget=10_000, pool_sizes="table")
    assert found.spend == pytest.approx(400)
    assert any("9,600.00 of the budget are left" in note for note in found.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give a budget or a target"),
        ({"budget": 10, "target_se": 0.1}, "give a budget or a target"),
        ({"budget": 2}, "too small for one strong rating in every slice"),
        ({"target_se": {"code": 0.1, "law": 0.1}}, "missing: travel"),
        ({"target_se": 0.1, "pool_sizes": {"code": 9, "law": 9, "travel": 9, "art": 9}}, "not in the table: art"),
        ({"budget": 100, "objective": "best"}, "unknown objective"),
        ({"budget": 100, "objective": "worst", "weights": {"code": 1, "law": 1, "travel": 1}}, "weights are for"),
        ({"target_se": 0.1, "pool_sizes": "table", "pool_size": 100}, "not both"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        plan_slices(pilot(9), by="topic", **PRICES, **options)


def test_free_weak_ratings_need_pools():
    with pytest.raises(PolicyError, match="give pool sizes"):
        Curve.of(np.full(5, 0.1), variance=1.0, weak_cost=0.0, strong_cost=1.0, pool_size=math.inf)


# Draw


def test_a_slice_plan_draws_each_slice_by_its_own_rates(tmp_path):
    table = pilot(10)
    made = plan_slices(table, by="topic", **PRICES, target_se=0.03, pool_size=4000)
    pool = pilot(11, {"code": 1200, "law": 800, "travel": 2000})
    pool = {"topic": pool["topic"], "judge": pool["judge"]}
    drawn = draw_slices(pool, made, seed=7, within_budget=False)
    for one in made.slices:
        rows = np.flatnonzero(pool["topic"] == one.name)
        transfer = one.plan.transfer
        _, error = transfer.columns(drawn.table)
        assert drawn.rates[rows] == pytest.approx(transfer.rates(error[rows]))
    path = tmp_path / "plan.json"
    made.save(path)
    assert slice_policies(path) is not None
    assert np.array_equal(draw_slices(pool, path, seed=7, within_budget=False).selected, drawn.selected)
    fewer = draw_slices(pool, made, seed=7, within_budget=True)
    assert fewer.spend == pytest.approx(made.spend, rel=0.2)
    assert fewer.selected.sum() == pytest.approx(made.strong_labels, rel=0.2)
    assert any("draw with within_budget" in note for note in drawn.notes)
    assert fewer.notes == ()


def test_slices_of_a_pool_that_have_no_plan_get_no_rate():
    made = plan_slices(pilot(12), by="topic", **PRICES, budget=200)
    pool = pilot(13, {"art": 30, "code": 100, "law": 50})
    drawn = draw_slices({"topic": pool["topic"], "judge": pool["judge"]}, made, seed=1)
    assert np.isnan(drawn.rates[pool["topic"] == "art"]).all()
    assert "slice 'art' has no plan: its 30 items are not looked at" in drawn.notes
    with pytest.raises(TableError, match="is in the plan, which has"):
        draw_slices({"topic": ["x", "y"], "judge": [0.1, 0.2]}, made, seed=1)
