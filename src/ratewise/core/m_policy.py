"""Rates for M-estimators: which items the strong rater must see so that coefficients get precise (METHODS 7)."""

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core.checks import Floats, finite
from ratewise.core.fit import influence
from ratewise.core.names import Estimand
from ratewise.core.newton import Design
from ratewise.core.policy import Policy, optimal_policy
from ratewise.errors import InputError


def m_policy(
    X: Design,
    error: ArrayLike,
    *,
    curvature: Floats,
    second_moment: ArrayLike,
    weak_cost: ArrayLike,
    strong_cost: ArrayLike,
    contrasts: Floats | None = None,
    weights: ArrayLike | None = None,
    budget: float | None = None,
    target_se: float | None = None,
    pool_size: float | None = None,
    floor: float = 0.0,
    estimand: Estimand = "population",
) -> Policy:
    """The policy of least tr(A Cov(θ̂) Aᵀ) for the money, clipped at 1 (which the paper leaves out).

    `error` is E[(ψ(H) − ψ(G))²|x] (for regressions E[(H−G)²|x]), `second_moment` is E[ψ(H)²|x] (E[(H−μ)²|x]), both per
    item; `curvature` is W; `contrasts` is A, all coefficients with equal weight if absent. `weights` are the items'
    probabilities (equal if absent). `target_se` is the root of the trace. u(x) = error · ‖A W⁻¹x‖², and V is the trace
    of the all-strong sandwich.

    Limiting case: X a column of ones and W = 1 give `optimal_policy` for the mean.
    """
    ell = influence(X, curvature, contrasts)
    e, s = (
        np.broadcast_to(finite(values, name=name, minimum=0), ell.shape)
        for values, name in ((error, "error"), (second_moment, "second_moment"))
    )
    V = float(np.average(s * ell, weights=None if weights is None else finite(weights, name="weights", minimum=0)))
    if not V > 0:
        raise InputError("no item moves these coefficients, or the ratings do not vary; there is nothing to plan")
    return optimal_policy(
        e * ell, variance=V, weak_cost=weak_cost, strong_cost=strong_cost, weights=weights, budget=budget,
        target_se=target_se, pool_size=pool_size, floor=floor, estimand=estimand,
    )  # fmt: skip
