"""`m_estimate`: the mechanism behind regressions, quantiles and leaderboards, for arrays and losses of one's own."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ratewise.core.checks import Floats, choice, finite
from ratewise.core.clusters import cluster_codes
from ratewise.core.fit import MFit, fit_m_estimator
from ratewise.core.losses import LOSSES
from ratewise.core.names import FAMILIES, Estimand, Family
from ratewise.core.newton import Design, Loss
from ratewise.core.ratings import pool_of, ratings
from ratewise.errors import InputError


def m_estimate(
    X: "ArrayLike | sparse.csr_array",
    weak: ArrayLike,
    strong: ArrayLike,
    rates: ArrayLike,
    *,
    loss: Loss | Family = "linear",
    power: float | None = 1.0,
    clusters: ArrayLike | None = None,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    contrasts: Floats | None = None,
) -> MFit:
    """θ of least rectified loss with its sandwich covariance; `strong` is NaN where not rated.

    X is items × columns, dense or sparse, its columns independent. A loss is `linear`, `logistic`, `poisson`, or a
    `Loss` of one's own: ψ(η, y) and ψ'(η) of the predictor η = xᵀθ, and a constant to start from. `power` is λ: 1 uses
    the weak rating as it is, 0 not at all, `None` as much as pays for `contrasts` @ θ (PPI++). Chains as in
    `estimate_mean`.

    Limiting cases: rates of 1 give the plain fit with the HC1 sandwich; a column of ones with `linear` gives the mean.
    """
    data = ratings(weak, strong, rates)
    design: Design = X.tocsr() if sparse.issparse(X) else finite(X, name="X")
    if design.ndim != 2 or design.shape[0] != data.items:
        raise InputError(f"X must be items × columns with {data.items} rows; got shape {design.shape}")
    if data.labels <= design.shape[1]:
        raise InputError(f"{data.labels} strong ratings cannot tell {design.shape[1]} coefficients and their errors")
    unanswered = int(np.count_nonzero((data.rates[:, -1] == 1) & ~data.labelled))
    if unanswered:
        raise InputError(f"{unanswered} items with rate 1 have no strong rating; a fit needs every answer asked for")
    how = loss if isinstance(loss, Loss) else LOSSES[_family(loss)]
    codes = None if clusters is None else cluster_codes(clusters, data.items)
    N = pool_of(estimand, pool_size, data.items)
    return fit_m_estimator(design, how, data, power=power, clusters=codes, pool_size=N, contrasts=contrasts)


def _family(name: str) -> Family:
    choice(name, FAMILIES, name="loss")
    return next(family for family in LOSSES if family == name)
