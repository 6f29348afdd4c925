"""How the people do who rate: how much, how fast, how far they agree, and how they did in checks."""

import statistics
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratewise.campaign.raters import decides
from ratewise.campaign.snapshot import Snapshot
from ratewise.core.checks import Floats
from ratewise.core.votes import Votes, krippendorff_alpha, percent_agreement
from ratewise.store import audit
from ratewise.store.store import Store

_RESAMPLES = 200
Z = 1.959964


@dataclass(frozen=True, slots=True)
class QualityResults:
    """How one person did in training, in hidden checks and in hidden repeats; counts of what was answered."""

    training_tries: int = 0
    training_right: int = 0  # in the last try
    training_items: int = 0
    checks: int = 0
    checks_right: int = 0
    repeats: int = 0
    repeats_same: int = 0

    def words(self) -> list[str]:
        """A short clause each, for what there is."""
        said = []
        if self.training_tries:
            tries = f", try {self.training_tries}" if self.training_tries > 1 else ""
            said.append(f"training {self.training_right} of {self.training_items} right{tries}")
        if self.checks:
            said.append(f"checks {self.checks_right} of {self.checks} right")
        if self.repeats:
            said.append(f"repeats {self.repeats_same} of {self.repeats} the same")
        return said


@dataclass(frozen=True, slots=True)
class Annotator:
    """One annotator: how much, how fast, and how often with the others."""

    name: str
    answers: int
    cannot_tell: int
    flags: int
    seconds: float | None  # median of an answer
    per_hour: float | None
    agree: float | None  # share of pairs with others' votes that are equal
    agree_low: float | None
    agree_high: float | None
    tests: QualityResults
    decides: bool = False  # sees only what others differ on: agreement would say nothing about this person


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """How far people agree, over all items with two votes or more; ends of 95 % intervals beside each."""

    items: int
    percent: float | None = None
    percent_low: float | None = None
    percent_high: float | None = None
    alpha: float | None = None
    alpha_low: float | None = None
    alpha_high: float | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """What somebody said of an item beside the rating: a comment, a flag for others to look at, or both."""

    id: str
    position: int
    person: str
    value: float | None  # the rating; None: cannot tell
    comment: str
    flagged: bool


def remarks_found(now: Snapshot) -> list[Remark]:
    """All flags and comments of people's answers that stand, flags first."""
    rows = [row for row in audit.walk(audit.answer_rows, now.store, now.facts.items) if row.flagged or row.note]
    ids = {
        at: str(one.id) for at in {row.position for row in rows} for one in audit.item_contents(now.store, at, at + 1)
    }
    found = [
        Remark(ids[row.position], row.position, row.annotator, row.value, row.note or "", bool(row.flagged))
        for row in rows
    ]
    return sorted(found, key=lambda one: not one.flagged)


def tests_found(store: Store) -> dict[str, QualityResults]:
    """How everybody did who was trained or checked, by name."""
    by_name: dict[str, list[Any]] = defaultdict(list)
    for row in audit.hidden_rows(store):
        if row.state in ("answered", "trained", "skipped"):
            by_name[row.person].append(row)
    return {name: _tests(rows) for name, rows in by_name.items()}


def _tests(rows: list[Any]) -> QualityResults:
    training = [row for row in rows if row.what == "training"]
    last = max((row.attempt for row in training), default=0)
    of_last = [row for row in training if row.attempt == last]
    checks, repeats = (
        [row for row in rows if row.what == what and row.state == "answered" and row.agrees is not None]
        for what in ("check", "repeat")
    )
    return QualityResults(
        last, sum(bool(row.agrees) for row in of_last), len(of_last), len(checks), sum(row.agrees for row in checks),
        len(repeats), sum(row.agrees for row in repeats),
    )  # fmt: skip


def people_found(now: Snapshot) -> tuple[list[Annotator], AnnotatorAgreement]:
    """Everyone who has answered, by name, and how far they agree; one who decides splits does not count in that."""
    rows = list(audit.walk(audit.answer_rows, now.store, now.facts.items))
    referees = {row.annotator for row in rows if any(decides(rater, row.annotator) for rater in now.spec.raters)}
    votes = _votes([row for row in rows if row.annotator not in referees])
    by_name: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        by_name[row.annotator].append(row)
    tests = tests_found(now.store)
    names = sorted(by_name.keys() | tests.keys())
    found = [_person(name, by_name[name], votes, tests.get(name, QualityResults())) for name in names]
    found = [replace(one, decides=one.name in referees) for one in found]
    return found, _together(votes)


def _person(name: str, rows: list[Any], votes: Votes, tests: QualityResults) -> Annotator:
    times = [row.seconds for row in rows if row.seconds]
    middle = statistics.median(times) if times else None
    equal, pairs = _with_others(name, votes)
    low, high = wilson(equal, pairs)
    return Annotator(
        name, len(rows), sum(row.value is None for row in rows), sum(bool(row.flagged) for row in rows), middle,
        3600.0 / middle if middle else None, equal / pairs if pairs else None, low, high, tests,
    )  # fmt: skip


def _votes(rows: list[Any]) -> Votes:
    """Votes of items, question × person."""
    people = sorted({row.annotator for row in rows})
    questions = sorted({(row.position, row.step) for row in rows})
    column, line = {name: j for j, name in enumerate(people)}, {q: i for i, q in enumerate(questions)}
    values = np.full((len(questions), len(people)), np.nan)
    for row in rows:
        if row.value is not None:
            values[line[row.position, row.step], column[row.annotator]] = row.value
    return Votes(values, tuple(people))


def _with_others(name: str, votes: Votes) -> tuple[int, int]:
    """(equal pairs, pairs) of this person's votes with others' on the same items."""
    if name not in votes.people:
        return 0, 0
    j = votes.people.index(name)
    mine, others = votes.values[:, j : j + 1], np.delete(votes.values, j, axis=1)
    both = ~np.isnan(mine) & ~np.isnan(others)
    return int(np.count_nonzero((mine == others) & both)), int(np.count_nonzero(both))


def wilson(successes: float, trials: float) -> tuple[float | None, float | None]:
    """Wilson's 95 % interval of a share."""
    if not trials:
        return None, None
    p, z2 = successes / trials, Z * Z
    middle = (p + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z * float(np.sqrt(p * (1 - p) / trials + z2 / (4 * trials**2))) / (1 + z2 / trials)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _together(votes: Votes) -> AnnotatorAgreement:
    both = votes.rows(votes.counts > 1)
    n = int(both.values.shape[0])
    if n < 2:
        return AnnotatorAgreement(n)
    rng = np.random.default_rng(n)  # the same answers show the same ends
    drawn = [replace(both, values=both.values[rng.integers(0, n, n)]) for _ in range(_RESAMPLES)]
    percents = [found for one in drawn if (found := percent_agreement(one)) is not None]
    alphas = [found for one in drawn if (found := krippendorff_alpha(one)) is not None]
    alpha = krippendorff_alpha(both)
    a_low, a_high = _ends(alphas) if alpha is not None and alphas else (None, None)
    p_low, p_high = _ends(percents)
    return AnnotatorAgreement(n, percent_agreement(both), p_low, p_high, alpha, a_low, a_high)


def _ends(values: list[float]) -> tuple[float, float]:
    found: Floats = np.quantile(np.array(values), [0.025, 0.975])
    return float(found[0]), float(found[1])
