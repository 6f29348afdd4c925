"""Ridge regression on two groups of columns, a few and many, with a penalty each; leave-one-out in closed form.

Few columns X (the score, its bends, features) must not drown in many columns Z (text). With penalties λ and κ the
residuals of the fit are R y, R = (I + XXᵀ/λ + ZZᵀ/κ)⁻¹, and the residual of label i by the fit without it is
(R y)_i / R_ii. One eigendecomposition of ZᵀZ, or of ZZᵀ if that is smaller, serves all penalties: with ZZᵀ = U e Uᵀ,
A = (I + ZZᵀ/κ)⁻¹ = I − U e/(e + κ) Uᵀ, and R = A − A X (λI + XᵀAX)⁻¹ XᵀA needs only matrices as small as X.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ratewise.core.checks import Floats
from ratewise.models.ridge import PENALTIES

TEXT_PENALTIES: Floats = np.array([0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0])
"""In labels, for rows of unit mean squared length."""

_NOTHING = 1e-10  # of the largest eigenvalue: directions below it are rounding
_LEAST = 1e-3  # of R_ii, as `ridge.py` limits the leverage
_FREE = 1e-9  # penalty of an intercept


@dataclass(frozen=True, slots=True, eq=False)
class TextFactor:
    """ZZᵀ = U e Uᵀ of the labels' rows, each times the root of its weight; made once for all fits to them."""

    Z: Floats  # labels × columns, unweighted
    root: Floats  # of the weights, which have mean 1
    values: Floats  # e
    vectors: Floats  # U, labels × directions

    @classmethod
    def of(cls, Z: Floats, weights: Floats) -> "TextFactor":
        """By the smaller of the two products."""
        root = np.sqrt(weights * (weights.size / weights.sum()))
        scaled = Z * root[:, None]
        wide = Z.shape[0] <= Z.shape[1]
        e, Q = linalg.eigh(scaled @ scaled.T if wide else scaled.T @ scaled, driver="evd", check_finite=False)
        kept = e > _NOTHING * max(float(e[-1]), 1e-300)
        e, Q = e[kept], Q[:, kept]
        return cls(Z, root, e, Q if wide else (scaled @ Q) / np.sqrt(e))


@dataclass(frozen=True, slots=True, eq=False)
class GroupFit:
    """y ≈ X few + Z many, with the penalties of least leave-one-out error."""

    few: Floats
    many: Floats
    unseen: Floats  # residual of each label by the fit without it
    risk: float  # weighted mean square of `unseen`


def fit_groups(X: Floats, y: Floats, factor: TextFactor, *, free: int = 0) -> GroupFit:
    """The best of all pairs of penalties. The first `free` columns of X are not penalised.

    Limiting cases: columns Z of zeros give the ridge regression on X; κ → ∞ would, too.
    """
    U, e, root = factor.vectors, factor.values, factor.root
    Xw, yw = X * root[:, None], y * root
    UX, Uy, squares = U.T @ Xw, U.T @ yw, U**2
    penalised = np.ones(X.shape[1])
    penalised[:free] = 0.0
    best: tuple[float, float, Floats, Floats] | None = None
    for kappa in TEXT_PENALTIES:
        d = e / (e + kappa)
        diagonal = 1.0 - squares @ d
        AX, Ay = Xw - U @ (d[:, None] * UX), yw - U @ (d * Uy)
        G, b = Xw.T @ AX, Xw.T @ Ay
        for penalty in PENALTIES:
            L = np.linalg.cholesky(G + np.diag(penalty * penalised + _FREE))
            half = linalg.solve_triangular(L, AX.T, lower=True, check_finite=False)
            middle = linalg.solve_triangular(L, b, lower=True, check_finite=False)
            r = Ay - half.T @ middle
            unseen = r / np.maximum(diagonal - (half**2).sum(axis=0), _LEAST)
            risk = float(np.mean(unseen**2))
            if best is None or risk < best[0]:
                few = linalg.solve_triangular(L.T, middle, lower=False, check_finite=False)
                best = risk, float(kappa), few, unseen
    assert best is not None
    risk, kappa, few, unseen = best
    return GroupFit(few, _many(factor, yw - Xw @ few, kappa), unseen / root, risk)


def _many(factor: TextFactor, rest: Floats, kappa: float) -> Floats:
    """Coefficients of Z for what X leaves: ZᵀR/κ, R = A rest."""
    U, e = factor.vectors, factor.values
    left = rest - U @ ((e / (e + kappa)) * (U.T @ rest))
    return np.asarray(factor.Z.T @ (factor.root * left)) / kappa
