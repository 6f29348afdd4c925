"""`compare_many`: several systems against one baseline, with intervals that hold together."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.intervals import normal_draws, simultaneous_quantile
from ratewise.core.names import Estimand, Method, Recalibration
from ratewise.core.result import FrameKind, frame_of_rows, shown
from ratewise.errors import InputError
from ratewise.questions.compare import between, percent, signed
from ratewise.questions.rated import DrawColumns, Rate
from ratewise.questions.systems import Systems, check_names, error_probability, systems_of
from ratewise.tables import TableLike
from ratewise.tables.words import Positive, Scale, meaning_of

Verdict = Literal["better", "worse", "undecided"]


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Rival:
    """One system against the baseline; the difference's interval holds together with those of the others."""

    name: str
    mean: Estimate
    difference: Estimate
    probability_better: float | None  # of this comparison alone
    p_value: float | None  # two-sided, of this comparison alone
    adjusted_p_value: float | None  # that any of all the comparisons would be as far from 0, were there no difference
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """The numbers, ready for JSON."""
        return {
            "name": self.name, "mean": self.mean.to_dict(), "difference": self.difference.to_dict(),
            "probability_better": self.probability_better, "p_value": self.p_value,
            "adjusted_p_value": self.adjusted_p_value, "verdict": self.verdict,
        }  # fmt: skip

    def row(self) -> dict[str, Any]:
        """The numbers side by side, for a table."""
        d = self.difference
        return {
            "name": self.name, "mean": self.mean.value, "difference": d.value, "standard_error": d.standard_error,
            "low": d.low, "high": d.high, "probability_better": self.probability_better, "p_value": self.p_value,
            "adjusted_p_value": self.adjusted_p_value, "verdict": self.verdict,
        }  # fmt: skip


@shown
@dataclass(frozen=True, slots=True, eq=False)
class ManyComparisons:
    """Every system against the baseline, best first; all intervals hold together at `level`.

    `each_level` is the level that each interval has alone: higher, so that all of them hold at once.
    """

    baseline: str
    baseline_mean: Estimate
    rivals: tuple[Rival, ...]
    level: float
    each_level: float
    sentence: str
    notes: tuple[str, ...] = ()

    def of(self, name: str) -> Rival:
        """One system's row."""
        for rival in self.rivals:
            if rival.name == name:
                return rival
        raise InputError(f"no system is called {name!r}; there are {', '.join(r.name for r in self.rivals)}")

    def to_dict(self) -> dict[str, Any]:
        """The numbers, ready for JSON."""
        return {
            "baseline": self.baseline, "baseline_mean": self.baseline_mean.to_dict(),
            "rivals": [rival.to_dict() for rival in self.rivals], "level": self.level, "each_level": self.each_level,
            "sentence": self.sentence, "notes": list(self.notes),
        }  # fmt: skip

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A row for each system against the baseline, as a pandas, Polars or PyArrow frame."""
        return frame_of_rows([rival.row() for rival in self.rivals], kind)

    def summary(self) -> str:
        """The result in plain words."""
        return self.sentence

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        interval = f"{percent(self.level)} interval, all together"
        head = f"<tr><th>system</th><th>mean</th><th>difference</th><th>{interval}</th><th></th></tr>"
        body = "".join(
            f"<tr><td>{html.escape(r.name)}</td><td>{r.mean.value:.4f}</td><td>{signed(r.difference.value)}</td>"
            f"<td>{between(r.difference.interval)}</td><td>{r.verdict}</td></tr>"
            for r in self.rivals
        )
        return f"<table>{head}{body}</table><p>{html.escape(self.sentence)}</p>"


def compare_many(
    table: TableLike,
    *,
    baseline: str,
    weak: Mapping[str, str],
    strong: Mapping[str, str],
    rate: Rate = None,
    selected: str | None = None,
    method: Method = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    clusters: str | None = None,
    recalibrate: Recalibration = "none",
    bounds: tuple[float, float] | None = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> ManyComparisons:
    """All systems against one of them, on the same items, with one probability that any interval is wrong.

    `weak` and `strong` give each system's columns by its name. The intervals come from the joint covariance of the
    differences, which share the baseline and the items (as Dunnett's do): narrower than Bonferroni's. Student's
    correction for few labels is each difference's own. Where answers are missing there is no common covariance, and
    the intervals are Bonferroni's, each with the missing answers at both ends of the scale.

    Limiting case: one system besides the baseline gives `compare`'s interval.
    """
    _check_systems(baseline, weak, strong)
    order = [*(name for name in strong if name != baseline), baseline]
    systems = systems_of(
        table, weak={name: weak[name] for name in order}, strong={name: strong[name] for name in order},
        draw=DrawColumns(rate, selected, clusters),
        how=EstimateOptions(method, "auto", level, estimand, pool_size, bounds, seed=seed), recalibrate=recalibrate,
        meaning=meaning_of(positive, scale),
    )  # fmt: skip
    return against_baseline(systems)


def against_baseline(systems: Systems) -> ManyComparisons:
    """All systems against the last one."""
    K = len(systems.names) - 1
    s = systems.how
    alone = [systems.difference(k, K) for k in range(K)]
    covariance, each = _together(systems, alone)
    found = [replace(systems.difference(k, K, level=each), level=s.level) for k in range(K)]
    sure = [error_probability(e) for e in alone]
    raw = [None if p is None else 2 * min(p, 1 - p) for p in sure]
    adjusted = _adjusted(raw, covariance, seed=s.seed)
    rivals = [
        Rival(name, systems.mean(k), found[k], sure[k], raw[k], adjusted[k], _verdict(found[k]))
        for k, name in enumerate(systems.names[:K])
    ]
    rivals.sort(key=lambda rival: -rival.difference.value)
    notes = systems.notes
    if systems.missing.any() and K > 1:
        notes += ("answers are missing, so the intervals hold together by Bonferroni's correction",)
    return ManyComparisons(
        baseline=systems.names[K],
        baseline_mean=systems.mean(K),
        rivals=tuple(rivals),
        level=s.level,
        each_level=each,
        sentence=_sentence(systems.names[K], rivals, s.level),
        notes=notes + _own_notes(rivals),
    )


def _together(systems: Systems, found: Sequence[Estimate]) -> tuple[Floats | None, float]:
    """The joint covariance, and the level at which each interval must hold for all to hold at once."""
    level, K = systems.how.level, len(found)
    if systems.missing.any() or all(e.standard_error is None for e in found):
        return None, 1 - (1 - level) / K
    unseen = np.array([systems.unseen(k, K) for k in range(K)])
    of = [(k, K) for k in range(K)]
    covariance = systems.covariance(found, systems.strong[:, :K] - systems.strong[:, K:], of)
    covariance += 0.5 * (np.diag(unseen) + np.sqrt(np.outer(unseen, unseen)))  # the baseline's half is in all
    if K == 1 or not np.any(np.diag(covariance) > 0):
        return covariance, level
    c = simultaneous_quantile(covariance, level, seed=systems.how.seed)
    return covariance, float(np.clip(2 * special.ndtr(c) - 1, level, 1 - (1 - level) / K))


def _adjusted(raw: list[float | None], covariance: Floats | None, *, seed: int) -> list[float | None]:
    """P(the largest of all |errors| is as far out), each p-value first put on the normal's scale.

    Between the p-value itself and Bonferroni's K times it, whatever the draws say.
    """
    K = len(raw)
    if covariance is None:
        return [None if p is None else min(1.0, K * p) for p in raw]
    sd = np.sqrt(np.diag(covariance))
    use = sd > 0
    if not use.any():
        return [None] * K
    largest = np.abs(normal_draws(covariance[np.ix_(use, use)], seed=seed) / sd[use]).max(axis=1)
    out: list[float | None] = []
    for p in raw:
        share = None if p is None else float(np.mean(largest >= -special.ndtri(max(p, 1e-300) / 2)))
        out.append(None if p is None or share is None else float(np.clip(share, p, min(1.0, K * p))))
    return out


def _verdict(e: Estimate) -> Verdict:
    if e.interval is None or e.interval[0] <= 0 <= e.interval[1]:
        return "undecided"
    return "better" if e.interval[0] > 0 else "worse"


# In words


def _sentence(baseline: str, rivals: Sequence[Rival], level: float) -> str:
    said = []
    for verdict, words in (("better", "better than"), ("worse", "worse than"), ("undecided", "not told apart from")):
        names = [r.name for r in rivals if r.verdict == verdict]
        if names:
            said.append(f"{_listed(names)} {'is' if len(names) == 1 else 'are'} {words} {baseline}")
    return f"{'; '.join(said)} ({percent(level)} intervals that hold together)."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _own_notes(rivals: Sequence[Rival]) -> tuple[str, ...]:
    """Every note of the comparisons once; a note of only some of them names these."""
    notes: dict[str, list[str]] = {}
    for rival in rivals:
        for note in rival.difference.notes:
            notes.setdefault(note, []).append(rival.name)
    return tuple(note if len(names) == len(rivals) else f"{_listed(names)}: {note}" for note, names in notes.items())


def _check_systems(baseline: str, weak: Mapping[str, str], strong: Mapping[str, str]) -> None:
    check_names(list(strong))
    if set(weak) != set(strong):
        odd = min(set(weak) ^ set(strong))
        raise InputError(f"system {odd!r} needs a weak and a strong column; it is named in one of the two only")
    if baseline not in strong:
        raise InputError(f"the baseline {baseline!r} is no system; choose one of {', '.join(map(repr, strong))}")
    if len(strong) < 2:
        raise InputError("give at least one system besides the baseline")
