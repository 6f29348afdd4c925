"""Made-up worlds whose truth is known, each with the name of what is in it: the tables that tests share.

Each is lopsided on purpose: ratings off zero, unequal rates, columns of unlike size. Worlds of judges and people that
the package ships are in `ratewise.lab.worlds`.
"""

import numpy as np
from scipy import special

from ratewise.core.m_estimation import LOSSES
from ratewise.core.ratings import ratings
from ratewise.questions.leaderboard import Pairs

SLICE_SIZES = np.array([40, 60, 60, 100, 100, 150, 200, 290])
SYSTEMS = ("old", "new", "mini", "twin")
BETA = np.array([0.4, 0.7, -0.5])
JUDGED_BETA = np.array([0.3, 0.8, -0.5, 0.4])


def slices_that_differ(seed, between):
    """Eight slices whose log-odds differ; a fifth of the weak ratings are wrong; three in ten are asked."""
    rng = np.random.default_rng([37, seed])
    truth = 1 / (1 + np.exp(-(1.2 + between * rng.standard_normal(SLICE_SIZES.size))))
    group = np.repeat(np.arange(SLICE_SIZES.size), SLICE_SIZES)
    h = (rng.random(group.size) < truth[group]).astype(float)
    g = 0.1 + 0.8 * np.where(rng.random(group.size) < 0.2, 1 - h, h)
    asked = rng.random(group.size) < 0.3
    table = {"g": g, "h": np.where(asked, h, np.nan), "rate": np.full(group.size, 0.3), "slice": group.astype(str)}
    return table, truth


def judged_regression(rng, cell):
    """A weak rater that errs most where z is large, rates that follow z, and one item in ten of a kind."""
    T = cell.items
    x, z, k = rng.standard_normal(T), rng.random(T), (rng.random(T) < 0.1) * 1.0
    codes = None
    shift = np.zeros(T)
    if cell.clusters:
        codes = rng.integers(0, cell.clusters, T)
        x = rng.standard_normal(cell.clusters)[codes] + 0.3 * x
        shift = rng.standard_normal(cell.clusters)[codes] if cell.family == "linear" else shift
    X = np.column_stack([np.ones(T), x, z, k])
    eta = X @ JUDGED_BETA
    if cell.family == "linear":
        h = eta + (0.5 + z) * rng.standard_normal(T) + shift
        g = h + (0.1 + 0.5 * z) * rng.standard_normal(T) + 0.2
    elif cell.family == "logistic":
        h = (rng.random(T) < special.expit(eta)) * 1.0
        g = np.where(rng.random(T) < 0.02 + 0.2 * z, 1 - h, h)
    else:
        h = rng.poisson(np.exp(eta)) * 1.0
        g = np.maximum(h + rng.poisson(z) - rng.poisson(0.3, T), 0)
    pi = np.clip((0.3 + 1.4 * z) * cell.labels / T, 0, 1)
    return X, h, ratings(g, np.where(rng.random(T) < pi, h, np.nan), pi), codes


def sharp_judge(n, seed, *, sharp):
    """A calibrated judge; the sharper, the more its certainty varies."""
    rng = np.random.default_rng(seed)
    g = rng.beta(sharp, sharp, n)
    return g, (rng.random(n) < g).astype(float)


def dear_judge(n, seed, kind):
    """A judge that is nearly always right and costs much, so that most of the error is that of looking at few rows.

    Its ratings and the right ones: `verdicts`, or `scores` from 1 to 9.
    """
    rng = np.random.default_rng([29, seed])
    if kind == "verdicts":
        h = (rng.random(n) < 0.65).astype(float)
        return 0.1 + 0.8 * np.where(rng.random(n) < 0.02, 1 - h, h), h
    h = 1 + np.round(8 * rng.beta(1.2, 0.8, n))
    return h + rng.normal(0.3, 0.4, n), h


def two_systems(seed=3, items=240, scale=3.0, shift=5.0):
    """Real ratings off zero, unequal rates, two judges with errors of their own."""
    rng = np.random.default_rng(seed)
    hard = rng.random(items)
    h = shift + scale * np.stack([hard + 0.3 * rng.standard_normal(items), hard + 0.2 * rng.standard_normal(items)])
    h[0] += 0.4
    g = h + rng.normal(0.1, 0.2 + hard, (2, items))
    pi = np.clip(0.1 + 0.8 * hard, 0.1, 1.0)
    xi = rng.random(items) < pi
    h = np.where(xi, h, np.nan)
    return {"g_a": g[0], "g_b": g[1], "h_a": h[0], "h_b": h[1], "rate": pi}


def many_systems(seed=3, items=600, names=SYSTEMS, level=(0.0, 0.5, -0.6, 0.02)):
    """Four systems on items of unlike difficulty, asked at three rates; a table of columns."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(2, 1, items)
    pi = rng.choice([0.2, 0.5, 0.9], items)
    xi = rng.random(items) < pi
    out = {"rate": pi}
    for name, mean in zip(names, level, strict=True):
        h = hard + mean + rng.normal(0, 0.6, items)
        out[f"g_{name}"] = h + rng.normal(0, 0.5, items)
        out[f"h_{name}"] = np.where(xi, h, np.nan)
    return out


def gamma_scores(seed=1, T=2000):
    """Skewed scores, a judge with one error for all, two rates, and five items to a person."""
    rng = np.random.default_rng(seed)
    h = rng.gamma(2.0, 2.0, T)
    g = h + 0.5 * rng.standard_normal(T)
    pi = rng.choice([0.1, 0.4], T)
    return {"g": g, "h": np.where(rng.random(T) < pi, h, np.nan), "rate": pi, "truth": h, "who": np.arange(T) // 5}


def regression_table(seed=1, T=800, family="logistic", rate=0.35, words=("chat", "code", "maths")):
    """A column of numbers off zero and one of words, with ratings of a family that depend on both."""
    rng = np.random.default_rng(seed)
    x = 3 + 2 * rng.standard_normal(T)
    share = np.linspace(3, 1, len(words))
    topic = np.array(words, dtype=object)[rng.choice(len(words), T, p=share / share.sum())]
    eta = 0.3 * (x - 3) + 0.6 * (topic == words[-1]) + 0.2
    if family == "logistic":
        h = (rng.random(T) < special.expit(eta)) * 1.0
        g = np.where(rng.random(T) < 0.12, 1 - h, h)
    elif family == "poisson":
        h = rng.poisson(np.exp(eta)) * 1.0
        g = np.maximum(h + rng.integers(-1, 2, T), 0.0)
    else:
        h = eta + rng.standard_normal(T)
        g = h + 0.5 * rng.standard_normal(T)
    pi = np.clip(rate * (0.5 + rng.random(T)), 0, 1)
    strong = np.where(rng.random(T) < pi, h, np.nan)
    return {"x": x, "topic": topic, "judge": g, "human": strong, "rate": pi, "truth": h}


def piloted_regression(seed=1, T=3000, noise=1.0, pilot=0.2):
    """A weak rater that errs where z is large, and a column x off zero."""
    rng = np.random.default_rng(seed)
    x, z = 1 + 3 * rng.standard_normal(T), rng.random(T)
    h = 1 + 0.5 * x - z + rng.standard_normal(T)
    g = h + noise * (0.1 + (z > 0.7)) * rng.standard_normal(T)
    return {"x": x, "z": z, "g": g, "h": np.where(rng.random(T) < pilot, h, np.nan)}


def chain_of_raters(items, *, errors=(2.0, 0.5), seed=1, rate=1.0):
    """What the first rater said, what the others did, and the rates that they were asked at."""
    rng = np.random.default_rng([seed, 61])
    h = rng.normal(20, 3, items)
    said = [h + e * np.abs(h - 18) / 3 * rng.normal(size=items) for e in errors]
    rates = np.full((items, len(errors)), rate)
    asked = rng.random(items)[:, None] < rates
    return said[0], np.where(asked, np.column_stack([*said[1:], h]), np.nan), rates


def votes_of_models(seed=1, models=5, votes=900, ties=0.2):
    """Comparisons of models that are picked unequally often, with ties, and a judge of the votes."""
    rng = np.random.default_rng(seed)
    r = rng.normal(size=models)
    a = rng.choice(models, votes, p=np.arange(1, models + 1) / np.arange(1, models + 1).sum())
    b = (a + rng.integers(1, models, votes)) % models
    p = special.expit(r[a] - r[b])
    h = np.where(rng.random(votes) < ties, 0.5, (rng.random(votes) < p) * 1.0)
    g = np.clip(0.25 + 0.5 * h + 0.2 * rng.normal(size=votes), 0, 1)
    return rng, Pairs(a, b, models), h, g


def outcomes(rng, family, eta):
    """Strong ratings of a family whose linear predictor is eta."""
    if family == "linear":
        return eta + rng.standard_normal(eta.size) * (0.5 + np.abs(eta))
    if family == "logistic":
        return (rng.random(eta.size) < special.expit(eta)).astype(float)
    return rng.poisson(np.exp(eta)).astype(float)


def lopsided_regression(seed, family, *, T=900, rate=0.3, active=True):
    """Lopsided: columns off zero and of unequal size, a biased weak rater, unequal rates."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(T), 2 + rng.standard_normal(T), 3 * rng.random(T)])
    h = outcomes(rng, family, X @ BETA - 1)
    g = np.clip(0.8 * h + 0.1, 0, 1) if family == "logistic" else np.maximum(h + rng.normal(0.2, 0.5, T), -5)
    g = np.where(rng.random(T) < 0.15, rng.permutation(g), g)
    pi = np.clip(rate * (0.3 + 0.7 * X[:, 2]), 0.02, 1) if active else np.full(T, rate)
    return X, g, h, pi, rng.random(T) < pi


def few_points(seed, family, d):
    """A few x with unequal probabilities; H's moments and the weak rater's error at each of them."""
    rng = np.random.default_rng(seed)
    m = 7
    X = np.column_stack([np.ones(m), *(rng.normal(1, 2, m) for _ in range(d - 1))])
    p = rng.dirichlet(np.ones(m))
    eta = X @ rng.normal(0, 0.4, d)
    loss = LOSSES[family]
    spread = {"linear": 0.2 + rng.random(m), "logistic": special.expit(eta) * special.expit(-eta)}
    own = spread.get(family, np.exp(eta))
    error = own * rng.beta(0.7, 2.0, m) * 1.3
    W = (X * (p * loss.curvature(eta))[:, None]).T @ X
    return X, p, own, error, W


def lopsided_scores(seed, T=400, digits=None):
    """Skewed scores and a judge that leans and errs where items are hard, which are asked more often."""
    rng = np.random.default_rng(seed)
    h = rng.gamma(2.0, 3.0, T) - 1
    hard = rng.random(T)
    g = h + 2 * hard * rng.standard_normal(T) + 0.3
    if digits is not None:
        g, h = g.round(digits), h.round(digits)
    pi = np.clip(0.1 + 0.9 * hard, 0, 1)
    return g, h, pi, rng.random(T) < pi


def unlike_strata(seed, S=3, ratio=None):
    """Strata that differ in everything; the weak rater is useless in some (a < u)."""
    rng = np.random.default_rng([seed, 5])
    a = rng.gamma(1.0, 2.0, S) + 0.05
    u = a * rng.uniform(0.02, 1.3, S)
    c_g = rng.uniform(0.01, 0.4) if ratio is None else ratio
    return rng.dirichlet(np.full(S, 2.0)), a, u, c_g, rng.uniform(0.5, 2.0)


def knowing_expert(items, seed=1, *, unsure=0.3):
    """A judge, a better one whose doubt says where it is wrong (its ratings do not), the truth, and the doubt."""
    rng = np.random.default_rng([seed, 4008])
    h, error = rng.beta(2, 2, items), np.where(rng.random(items) < unsure, 0.35, 0.04)
    judge, expert = (np.clip(h + size * rng.normal(size=items), 0, 1) for size in (0.3, error))
    return judge, expert, h, error**2


def unsure_judge(items, seed=1, *, unsure=0.4, expert_wrong=0.02):
    """A judge that knows when it does not know, an expert who is nearly always right, and people: 0 or 1."""
    rng = np.random.default_rng([seed, 4007])
    h = (rng.random(items) < 0.55) * 1.0
    side = np.where(h == 1, 0.97, 0.03)
    sure = np.where(rng.random(items) < 0.02, 1 - side, side)
    judge = np.where(rng.random(items) < unsure, rng.uniform(0.4, 0.6, items), sure)
    expert = 0.05 + 0.9 * np.where(rng.random(items) < expert_wrong, 1 - h, h)
    return np.round(judge, 4), np.round(expert, 3), h
