"""Ridge regression whose every leave-one-out prediction is known in closed form, for a whole path of penalties.

Small and by hand because it runs thousands of times a minute in simulations, and because a cross-fitted estimate needs
the leave-one-out predictions themselves (docs/decisions/0004-auto.md).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ratewise.core.checks import Floats
from ratewise.core.result import JsonRecord

PENALTIES: Floats = np.array([0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4, 1e6])
"""In labels, for columns of unit variance; the last one leaves nothing but the intercept."""

_MOST_LEVERAGE = 0.999  # a label that alone decides its own prediction has no leave-one-out prediction worth the name


@dataclass(frozen=True, slots=True, eq=False)
class Line(JsonRecord):
    """intercept + (X − centre) β, of columns that need not be put together: with many items, most of the work."""

    centre: Floats
    intercept: float
    coefficients: Floats

    @property
    def offset(self) -> float:
        return self.intercept - float(self.centre @ self.coefficients)

    def __call__(self, parts: Sequence[Floats]) -> Floats:
        """The line's values for blocks of columns side by side, each items × columns."""
        out, at = np.full(parts[0].shape[0], self.offset), 0
        for part in parts:
            here = self.coefficients[at : at + part.shape[1]]
            if here.any():
                out += part @ here
            at += part.shape[1]
        return out


@dataclass(frozen=True, slots=True, eq=False)
class RidgePath:
    """y ≈ intercept + (X − centre) β for each penalty; `unseen` are residuals of predictions without the label."""

    centre: Floats  # p
    intercept: float
    coefficients: Floats  # p × penalties
    unseen: Floats  # labels × penalties
    risk: Floats  # weighted mean square of `unseen`, one per penalty
    elsewhere: Floats | None = None  # labels × penalties: predictions of other rows without the label

    @property
    def best(self) -> int:
        return int(np.argmin(self.risk))

    def line(self, penalty: int) -> Line:
        return Line(self.centre, self.intercept, self.coefficients[:, penalty])


def ridge_path(X: Floats, y: Floats, weights: Floats, *, intercept: bool, elsewhere: Floats | None = None) -> RidgePath:
    """Weighted least squares with a penalty on every coefficient but the intercept; without one, on all.

    Exact: β = (XᵀWX + λI)⁻¹XᵀWy by one eigendecomposition for all λ, and the residual of the fit without label i is
    (y − ŷ)_i / (1 − h_ii). `elsewhere` has another row for each label, to predict from the others as well.
    """
    W = weights * (weights.size / weights.sum())
    n = W.sum()
    centre = (W @ X) / n if intercept else np.zeros(X.shape[1])
    mean = float(W @ y / n) if intercept else 0.0
    Z, t = X - centre, y - mean
    ZW = Z * W[:, None]
    e, Q = np.linalg.eigh(ZW.T @ Z)
    shrink = 1.0 / (np.maximum(e, 0.0)[:, None] + PENALTIES)
    spread = Z @ Q
    b = shrink * (Q.T @ (ZW.T @ t))[:, None]
    leverage = (spread**2) @ shrink * W[:, None] + ((W / n)[:, None] if intercept else 0.0)
    unseen = (t[:, None] - spread @ b) / (1.0 - np.minimum(leverage, _MOST_LEVERAGE))
    risk, there = np.asarray((W / n) @ unseen**2), None
    if elsewhere is not None:
        rows = (elsewhere - centre) @ Q
        across = (rows * spread) @ shrink * W[:, None] + ((W / n)[:, None] if intercept else 0.0)
        there = mean + rows @ b - across * unseen
    return RidgePath(centre, mean, Q @ b, unseen, risk, there)


TEXT_PENALTIES: Floats = np.array([0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0])
"""In labels, for rows of unit mean squared length."""

FEATURE_RATIOS: Floats = np.array([1.0, 0.03, 0.2, 5.0, 30.0])
"""ρ: penalty of the features over that of the score; on a tie the first counts."""

_NOTHING = 1e-10  # of the largest eigenvalue: directions below it are rounding
_LEAST = 1e-3  # of R_ii, as `ridge.py` limits the leverage


@dataclass(frozen=True, slots=True, eq=False)
class TextFactor:
    """ZZᵀ = U e Uᵀ of the labels' rows, each times the root of its weight; made once for all fits to them."""

    Z: Floats  # labels × columns, unweighted
    root: Floats  # of the weights, which have mean 1
    values: Floats  # e
    vectors: Floats  # U, labels × directions

    @classmethod
    def of(cls, Z: Floats, weights: Floats) -> "TextFactor":
        root = np.sqrt(weights * (weights.size / weights.sum()))
        scaled = Z * root[:, None]
        wide = Z.shape[0] <= Z.shape[1]
        e, Q = linalg.eigh(scaled @ scaled.T if wide else scaled.T @ scaled, driver="evd", check_finite=False)
        kept = e > _NOTHING * max(float(e[-1]), 1e-300)
        e, Q = e[kept], Q[:, kept]
        return cls(Z, root, e, Q if wide else (scaled @ Q) / np.sqrt(e))

    def left(self, y: Floats, kappa: float) -> Floats:
        """What Z leaves of y with the penalty κ: y − U e/(e + κ) Uᵀy."""
        return y - self.vectors @ ((self.values / (self.values + kappa)) * (self.vectors.T @ y))


@dataclass(frozen=True, slots=True, eq=False)
class GroupFit:
    """y ≈ line(X) + Z many, with the penalties of least leave-one-out error."""

    line: Line
    many: Floats
    unseen: Floats  # residual of each label by the fit without it
    risk: float  # weighted mean square of `unseen`
    penalties: tuple[float, float, float]  # of score, features and text


def fit_groups(X: Floats, y: Floats, factor: TextFactor, *, intercept: bool, features: int = 0) -> GroupFit:
    """The best of all penalties. The last `features` columns of X have a penalty of their own; an intercept has none.

    Limiting cases: columns Z of zeros give the ridge regression on X; κ → ∞ would, too.
    """
    Xw, yw = X * factor.root[:, None], y * factor.root
    ratios = FEATURE_RATIOS if 0 < features < X.shape[1] else FEATURE_RATIOS[:1]
    best: tuple[float, tuple[float, float, float], Floats, Floats] | None = None
    for kappa, AX, Ay, diagonal in _without_text(Xw, yw, factor, intercept=intercept):
        G, b = Xw.T @ AX, Xw.T @ Ay
        for ratio in ratios.tolist():
            unseen, coefficients = _all_penalties(AX, Ay, diagonal, G, b, ratio=ratio, features=features)
            risks = np.mean(unseen**2, axis=0)
            k = int(np.argmin(risks))
            if best is None or risks[k] < best[0]:
                penalty = float(PENALTIES[k])
                best = float(risks[k]), (penalty, ratio * penalty, kappa), unseen[:, k], coefficients[:, k]
    assert best is not None
    risk, penalties, left_out, few = best
    rest, constant = yw - Xw @ few, 0.0
    if intercept:  # the weighted mean of what X leaves, Z accounted for
        ones = factor.left(factor.root, penalties[2])
        constant = float(ones @ rest / (ones @ factor.root))
    left = factor.left(rest - constant * factor.root, penalties[2])
    many = np.asarray(factor.Z.T @ (factor.root * left)) / penalties[2]
    return GroupFit(Line(np.zeros(few.size), constant, few), many, left_out / factor.root, risk, penalties)


def _without_text(
    X: Floats, y: Floats, factor: TextFactor, *, intercept: bool
) -> Iterator[tuple[float, Floats, Floats, Floats]]:
    """κ, AX, Ay and the diagonal of A for every κ, where A takes out what Z accounts for.

    An intercept is taken out of A: A − A1(1ᵀA1)⁻¹1ᵀA has residuals without it.
    """
    U, e = factor.vectors, factor.values
    both = np.column_stack([X, y, factor.root])
    shrunk = e[:, None] / (e[:, None] + TEXT_PENALTIES)
    diagonals, inner = 1.0 - U**2 @ shrunk, U.T @ both
    for k, kappa in enumerate(TEXT_PENALTIES.tolist()):
        A_both = both - U @ (shrunk[:, k, None] * inner)
        diagonal = diagonals[:, k]
        if intercept:
            ones, total = A_both[:, -1], float(factor.root @ A_both[:, -1])
            diagonal = diagonal - ones**2 / total
            A_both = A_both - ones[:, None] * (factor.root @ A_both / total)
        yield kappa, A_both[:, :-2], A_both[:, -2], diagonal


def _all_penalties(
    AX: Floats, Ay: Floats, diagonal: Floats, G: Floats, b: Floats, *, ratio: float, features: int
) -> tuple[Floats, Floats]:
    """Leave-one-out residuals and coefficients for all λ, with features penalised ρ times as much as the score.

    G = XᵀAX, b = XᵀAy.
    """
    size = np.ones(b.size)
    size[b.size - features :] /= np.sqrt(ratio)  # D^-½
    g, V = np.linalg.eigh(G * size * size[:, None])
    B = size[:, None] * V
    shrink = 1.0 / (np.maximum(g, 0.0)[:, None] + PENALTIES)
    inner = shrink * (B.T @ b)[:, None]
    spread = AX @ B
    unseen = (Ay[:, None] - spread @ inner) / np.maximum(diagonal[:, None] - spread**2 @ shrink, _LEAST)
    return unseen, B @ inner
