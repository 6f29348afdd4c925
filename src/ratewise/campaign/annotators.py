"""What an admin sees beside the estimate: what people's answers alone say, and how the people do."""

import statistics
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ratewise.campaign.estimates import Look, look_of
from ratewise.campaign.history import History
from ratewise.campaign.raters import decides
from ratewise.campaign.snapshot import Snapshot
from ratewise.core.checks import Floats
from ratewise.core.estimate import Estimate, estimate_mean
from ratewise.core.votes import Votes, krippendorff_alpha, percent_agreement
from ratewise.design.rounds import below_one
from ratewise.errors import InputError
from ratewise.questions.export_terms import widened
from ratewise.raters.people import PeopleSettings
from ratewise.store import audit
from ratewise.store.store import Store

_RESAMPLES = 200
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Tests:
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
class PersonFound:
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
    tests: Tests
    decides: bool = False  # sees only what others differ on: agreement would say nothing about this person


@dataclass(frozen=True, slots=True)
class Together:
    """How far people agree, over all items with two votes or more; ends of 95 % intervals beside each."""

    items: int
    percent: float | None = None
    percent_low: float | None = None
    percent_high: float | None = None
    alpha: float | None = None
    alpha_low: float | None = None
    alpha_high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def human_only(history: History, now: Snapshot, last: Look | None = None) -> Estimate | None:
    """The estimate from the strong ratings of closed rounds alone, each counted by its rate; None for too few.

    Without a weak rating the difference estimator is the ratio mean. Its interval may be looked at after every round,
    or is the one to end with at the `last` look, as that of the estimate beside it. `None` too for strata and clusters.
    """
    seen = history.seen
    if seen is None or history.looked.clusters is not None or now.facts.inputs is not None:
        return None
    asked = seen.labelled | history.looked.missing
    if np.count_nonzero(seen.labelled) < 2:
        return None
    wanted = now.reader.terms.wanted
    if last is None:
        level, unseen = look_of(history, wanted)
    elif last.anytime:
        level, unseen = look_of(history, wanted, ended=last.ended, more=last.more)
    else:
        level, unseen = wanted.level, 0.0
    try:
        found = estimate_mean(
            np.zeros(seen.strong.size), seen.strong, below_one(seen.rates(), asked), method="regression",
            level=level, estimand=now.spec.estimand, selected=asked,
            pool_size=float(now.facts.pool) if now.spec.estimand == "pool" else None,
            bounds=wanted.bounds,
        )  # fmt: skip
    except InputError:  # such as missing answers only
        return None
    return replace(widened(found, level, unseen, wanted.bounds), level=wanted.level)


def judge_and_people(now: Snapshot) -> list[str]:
    """How often the weak rater and people agree, in a sentence; none without a weak rater, or before there are labels.

    A score is taken for the nearest end of the scale where people say one end or the other. Items that were drawn more
    often count less, as in the estimate.
    """
    history = now.state.history
    seen, weak = history.seen, history.looked.x.weak
    if now.spec.weak is None or seen is None or weak.size != seen.strong.size:
        return []
    both = seen.labelled & history.looked.x.rated
    if np.count_nonzero(both) < 2:
        return []
    names, count = f"{now.spec.weak.name} and {now.spec.strong.name}", int(np.count_nonzero(both))
    low, high = now.spec.scale.low, now.spec.scale.high
    on_scale = bool(weak[both].min() >= low and weak[both].max() <= high)
    if now.spec.scale.kind == "binary" and on_scale:
        said = seen.strong[both]  # 0.5 where two people differ: they agree half with either verdict
        equal = np.where(weak[both] > 0.5 * (low + high), said, 1.0 - said)
        share = float(np.average(equal, weights=1.0 / seen.rates()[both]))
        return [f"{names} agree on {share:.0%} of items (by {count:,} answers, a score above the middle taken as yes)"]
    if np.ptp(weak[both]) == 0 or np.ptp(seen.strong[both]) == 0:
        return []
    return [f"correlation of {names}: {float(np.corrcoef(weak[both], seen.strong[both])[0, 1]):.2f} on {count:,} items"]


def tests_found(store: Store) -> dict[str, Tests]:
    """How everybody did who was trained or checked, by name."""
    by_name: dict[str, list[Any]] = defaultdict(list)
    for row in audit.hidden_rows(store):
        if row.state in ("answered", "trained", "skipped"):
            by_name[row.person].append(row)
    return {name: _tests(rows) for name, rows in by_name.items()}


def _tests(rows: list[Any]) -> Tests:
    training = [row for row in rows if row.what == "training"]
    last = max((row.attempt for row in training), default=0)
    of_last = [row for row in training if row.attempt == last]
    checks, repeats = (
        [row for row in rows if row.what == what and row.state == "answered" and row.agrees is not None]
        for what in ("check", "repeat")
    )
    return Tests(
        last, sum(bool(row.agrees) for row in of_last), len(of_last), len(checks), sum(row.agrees for row in checks),
        len(repeats), sum(row.agrees for row in repeats),
    )  # fmt: skip


def people_found(now: Snapshot) -> tuple[list[PersonFound], Together]:
    """Everyone who has answered, by name, and how far they agree; one who decides splits does not count in that."""
    rows = [row for span in audit.pieces(now.facts.items) for row in audit.answer_rows(now.store, *span)]
    referees = {row.annotator for row in rows if _decides(now, row.annotator)}
    votes = _votes([row for row in rows if row.annotator not in referees])
    by_name: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        by_name[row.annotator].append(row)
    tests = tests_found(now.store)
    names = sorted(by_name.keys() | tests.keys())
    found = [_person(name, by_name[name], votes, tests.get(name, Tests())) for name in names]
    found = [replace(one, decides=one.name in referees) for one in found]
    return found, _together(votes)


def _decides(now: Snapshot, person: str) -> bool:
    """Whether this is the one who is asked where votes split."""
    settings = (rater.settings for rater in now.spec.raters)
    return any(isinstance(one, PeopleSettings) and decides(one, person) for one in settings)


def _person(name: str, rows: list[Any], votes: Votes, tests: Tests) -> PersonFound:
    times = [row.seconds for row in rows if row.seconds]
    middle = statistics.median(times) if times else None
    equal, pairs = _with_others(name, votes)
    low, high = wilson(equal, pairs)
    return PersonFound(
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
    p, z2 = successes / trials, _Z * _Z
    middle = (p + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _Z * float(np.sqrt(p * (1 - p) / trials + z2 / (4 * trials**2))) / (1 + z2 / trials)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _together(votes: Votes) -> Together:
    both = votes.rows(votes.counts > 1)
    n = int(both.values.shape[0])
    if n < 2:
        return Together(n)
    rng = np.random.default_rng(n)  # the same answers show the same ends
    drawn = [both.rows(_chosen(rng, n)) for _ in range(_RESAMPLES)]
    percents = [found for one in drawn if (found := percent_agreement(one)) is not None]
    alphas = [found for one in drawn if (found := krippendorff_alpha(one)) is not None]
    alpha = krippendorff_alpha(both)
    a_low, a_high = _ends(alphas) if alpha is not None and alphas else (None, None)
    p_low, p_high = _ends(percents)
    return Together(n, percent_agreement(both), p_low, p_high, alpha, a_low, a_high)


def _chosen(rng: np.random.Generator, n: int) -> Any:
    return rng.integers(0, n, n)


def _ends(values: list[float]) -> tuple[float, float]:
    found: Floats = np.quantile(np.array(values), [0.025, 0.975])
    return float(found[0]), float(found[1])
