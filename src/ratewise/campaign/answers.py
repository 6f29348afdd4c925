"""The answers of a campaign's question: what is reached, what is decided, and which items the next labels should be of.

Rates follow A_i² u_i of the answer that is furthest from its goal (METHODS 14): Σ_k ω_k A_ik² u_i with ω moved up for
the answer whose squared error is largest against the square of the half-width wished for, which is the minimax design.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ratewise.campaign.history import History
from ratewise.core.checks import Floats
from ratewise.core.document import Part, Sentence
from ratewise.core.estimate import Estimate
from ratewise.core.result import Result
from ratewise.design.seen import FEWEST_TO_LEARN, Importance
from ratewise.questions.comparison import Comparison, ManyComparisons
from ratewise.questions.leaderboard import Leaderboard
from ratewise.questions.quantiles import Quantiles
from ratewise.questions.question import CampaignQuestion
from ratewise.questions.slices import Slices

Decide = float | str | None
"""What is to be decided: the side of a margin, or of a board its "order" or its "top"."""

_STEPS = 60  # towards the minimax design
_EVEN = 1.01  # of the least, that the largest squared error may be
_POWER = 0.5  # of an answer's share of the squared error, that its weight moves by
_PRIOR = 5.0  # labels on the mean squared error of all, that a group's own starts from


@dataclass(frozen=True, slots=True)
class Goals:
    """What an answer is to reach."""

    within: tuple[tuple[str, float], ...] = ()  # half-widths by answer
    decide: Decide = None
    weights: tuple[tuple[str, float], ...] = ()  # of an answer's squared error; 1 where nothing is said

    @property
    def any(self) -> bool:
        return bool(self.within) or self.decide is not None


@dataclass(frozen=True, slots=True, repr=False)
class NamedAnswer(Result):
    """One answer with its interval; `reached` and `decided` are None where there is no such goal."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    labels: int
    reached: bool | None = None  # whether the interval is as narrow as asked
    decided: str | None = None  # what is known of it: above, below, rank 2, first, not first
    over: float | None = None  # half-width relative to the one asked for

    def to_dict(self) -> dict[str, object]:
        names = ("name", "value", "low", "high", "labels", "reached", "decided")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answers(Result):
    """All answers of a question, and the result that they are taken from, as a command on the export gives it."""

    question: CampaignQuestion
    goals: Goals
    result: Result
    answers: tuple[NamedAnswer, ...]
    level: float

    @property
    def done(self) -> bool:
        """Whether every goal is reached, or everything that was to be decided is."""
        if self.goals.decide == "top":
            return any(one.decided == "first" for one in self.answers)
        if self.goals.decide is not None:
            return all(one.decided is not None for one in self.answers)
        wished = [one.reached for one in self.answers if one.reached is not None]
        return bool(wished) and all(wished)

    def to_dict(self) -> dict[str, object]:
        return {"answers": [one.to_dict() for one in self.answers], "result": self.result.to_dict()}

    def summary(self) -> str:
        """The answer in a sentence."""
        kind, result = self.question.kind, self.result
        if isinstance(result, Comparison | ManyComparisons):
            said = result.summary()
        elif isinstance(result, Leaderboard):
            said = _of_board(result)
        elif isinstance(result, Slices):
            known = [one for one in self.answers if one.value is not None]
            worst = min(known, key=lambda one: one.value or 0.0, default=None)
            said = "" if worst is None else (
                f"Of {len(self.answers)} slices by {result.by}, {worst.name} is lowest: {_told(worst)}."
            )  # fmt: skip
        else:
            said = f"{kind.capitalize()}: {_told(self.answers[0])}."
        return " ".join(part for part in (said, *self.verdict()) if part)

    def verdict(self) -> list[str]:
        """What is decided and what is not, and what is precise enough."""
        decide, said = self.goals.decide, []
        if decide == "top":
            said = [] if self.done else ["Which one is first is not decided yet."]
        elif decide is not None:
            open_ = [one.name for one in self.answers if one.decided is None]
            what = "their order" if decide == "order" else f"the side of {decide:g}"
            said = [f"Decided: {what} of all {len(self.answers)}." if not open_ else
                    f"Not decided yet: {what} of {', '.join(open_[:_MOST_NAMED])}{_more(open_)}."]  # fmt: skip
        wide = [one.name for one in self.answers if one.reached is False]
        if wide:
            said.append(f"Wider than asked: {', '.join(wide[:_MOST_NAMED])}{_more(wide)}.")
        return said

    def document(self) -> list[Part]:
        own = [part for part in self.result.document() if not isinstance(part, Sentence) or part.text != self.summary()]
        return [Sentence(self.summary(), "strong"), *own]


_MOST_NAMED = 5


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""


def _told(one: NamedAnswer) -> str:
    if one.value is None:
        return "no estimate yet"
    return f"{one.value:.4f}" + ("" if one.low is None else f" ({one.low:.4f} to {one.high:.4f})")


def _of_board(board: Leaderboard) -> str:
    """Who is first, and who cannot be told apart from it."""
    if not board.rated:
        return "No model can be rated yet."
    first, *others = board.rated
    if first.rank_high == 1:
        return f"{first.name} is first with {board.level:.0%}."
    tied = [m.name for m in others if m.rank_low == 1]
    return f"{first.name} has the highest rating; {', '.join(tied)} cannot be told apart from the first place."


def answers_of(question: CampaignQuestion, goals: Goals, result: Result, level: float) -> Answers:
    """The answers that a result gives, each with what it was to reach."""
    wished, found = dict(goals.within), []
    for one in _rows(question, result):
        over = None
        if one.name in wished:
            wide = float("inf") if one.low is None or one.high is None else (one.high - one.low) / 2
            over = wide / wished[one.name]
        found.append(replace(one, over=over, reached=None if over is None else over <= 1.0))
    if goals.decide is not None:
        found = [replace(one, decided=_decision(one, goals.decide, result)) for one in found]
    return Answers(question, goals, result, tuple(found), level)


def _decision(one: NamedAnswer, decide: Decide, result: Result) -> str | None:
    if isinstance(decide, str):
        model = result[one.name] if isinstance(result, Leaderboard) else None
        if model is None or model.rank_low is None or model.low is None:
            return None
        if decide == "order":
            return f"rank {model.rank_low}" if model.rank_low == model.rank_high else None
        return "first" if model.rank_high == 1 else "not first" if model.rank_low > 1 else None
    if one.low is None or one.high is None or decide is None or one.low <= decide <= one.high:
        return None
    return "above" if one.low > decide else "below"


def _rows(question: CampaignQuestion, result: Result) -> list[NamedAnswer]:
    def of(name: str, e: Estimate | None, labels: int) -> NamedAnswer:
        return (
            NamedAnswer(name, None, None, None, labels)
            if e is None
            else NamedAnswer(name, e.value, e.low, e.high, labels)
        )

    if isinstance(result, Slices):
        return [of(one.name, one.estimate, one.labels) for one in result.slices]
    if isinstance(result, Comparison):
        return [of(result.names[0], result.difference, result.difference.labels)]
    if isinstance(result, ManyComparisons):
        by_name = {rival.name: rival.difference for rival in result.rivals}
        return [of(name, by_name[name], by_name[name].labels) for name in question.answers]
    if isinstance(result, Leaderboard):
        return [NamedAnswer(m.name, m.rating, m.low, m.high, m.strong_votes) for m in result.models]
    if isinstance(result, Quantiles):
        return [of(f"{q:g}", e, e.labels) for q, e in zip(result.quantiles, result.estimates, strict=True)]
    assert isinstance(result, Estimate)
    return [of("mean", result, result.labels)]


def labels_short(found: Answers, *, pool: bool) -> dict[str, float] | None:
    """About how many labels more each answer takes that is not as narrow as asked; `None` where none has an interval.

    Squared errors fall as 1/n, and of a pool of N as 1/n − 1/N. One without an interval takes what another takes most.
    """
    whole, sizes = {}, found.question.items_of_answers
    wide = [one for one in found.answers if one.over is not None and one.over > 1.0]
    for one in wide:
        if one.over is not None and one.low is not None and one.labels:
            rest = 1.0 / sizes[one.name] if pool and one.name in sizes else 0.0
            whole[one.name] = 1.0 / (rest + max(1.0 / one.labels - rest, 0.0) / one.over**2)
    if wide and not whole:
        return None
    most = max(whole.values(), default=0.0)
    takes = {one.name: whole.get(one.name, min(most, sizes.get(one.name, most))) for one in wide}
    return {one.name: max(takes[one.name] - one.labels, 0.0) for one in wide}


# Which items the next labels should be of


def importance(
    history: History, found: Answers | None, question: CampaignQuestion, goals: Goals, more: float
) -> Importance | None:
    """How much each item counts for the next draw, with so many labels to come; `None` where all count the same."""
    seen = history.seen
    if question.kind == "quantile" and isinstance(found, Answers) and isinstance(found.result, Quantiles):
        return Importance(at=found.result.estimates[0].value)
    if not question.grouped or seen is None or seen.x.place is None:
        return None
    A, weights = _aims(question, goals, found)
    sizes = np.array(question.sizes, dtype=np.float64)
    group = seen.x.place[:, 0].astype(np.intp)
    error, own = np.ones(sizes.size), np.empty(0)
    if question.kind != "leaderboard" and len(A) > 1:
        error, own = _errors(history, group, sizes.size)
    labels = np.bincount(group[seen.labelled], minlength=sizes.size).astype(np.float64)
    omega = minimax(A, error, sizes, labels, weights, more)
    counted = omega @ A**2
    mean = float(sizes @ counted) / float(sizes.sum())
    return Importance(by_group=counted / mean, without=own) if mean > 0 else None


def _aims(question: CampaignQuestion, goals: Goals, found: Answers | None) -> tuple[Floats, Floats]:
    """A of the answers that are still to be reached or decided, and what the square of each one's error counts."""
    result = None if found is None else found.result
    A = question.moves(result)
    assert A is not None
    answers = question.answers
    wished, given = dict(goals.within), dict(goals.weights)
    each = np.array([given.get(name, 1.0) / wished.get(name, 1.0) ** 2 for name in answers])
    if wished:  # answers without a goal need no labels of their own
        each = np.where([name in wished for name in answers], each, 0.0)
    if isinstance(result, Leaderboard) and goals.decide is not None:
        return _apart(question, A, result, top=goals.decide == "top")
    if goals.decide is not None and found is not None and not found.done:
        by_name = {one.name: one for one in found.answers}
        each = np.where([by_name[name].decided is None for name in answers], each, 0.0)
    return A, each


def _apart(question: CampaignQuestion, A: Floats, board: Leaderboard, *, top: bool) -> tuple[Floats, Floats]:
    """The differences of neighbours that are not told apart, or of the first from those that may be it."""
    number = {name: k for k, name in enumerate(question.names)}
    listed = [m for m in board.models if m.rating is not None]
    if top:
        pairs = [(listed[0], m) for m in listed[1:] if m.rank_low == 1]
    else:
        pairs = [(m, n) for m, n in pairwise(listed) if (m.rank_high or 0) >= (n.rank_low or 0)]
    rows = [A[number[m.name]] - A[number[n.name]] for m, n in pairs]
    gaps = [max(abs((m.rating or 0.0) - (n.rating or 0.0)), _LEAST_GAP) for m, n in pairs]
    rows += [A[number[m.name]] for m in board.models if m.rating is None]  # those that cannot be rated yet
    gaps += [_LEAST_GAP] * (len(rows) - len(gaps))
    if not rows:
        return A, np.ones(len(A))
    return np.array(rows), 1.0 / np.array(gaps) ** 2


_LEAST_GAP = 20.0  # points: closer neighbours would take all labels, and be tied in the end


def _errors(history: History, group: "np.ndarray[tuple[int], np.dtype[np.intp]]", groups: int) -> tuple[Floats, Floats]:
    """The mean squared error of what is predicted of each group's ratings, of few labels near that of all.

    And for each label, how many times as important its group would be without it. Where groups have labels of their
    own, rates follow the error itself, so that importance goes by its square. A label that makes its group look
    uncertain would else shape its own weight, which is a bias.
    """
    seen = history.seen
    assert seen is not None
    if np.count_nonzero(seen.labelled) < FEWEST_TO_LEARN:
        return np.ones(groups), np.empty(0)
    known, at = seen.learned, group[seen.labelled]
    w = known.weights / known.weights.mean()
    overall = known.mean(known.squared)
    count = np.bincount(at, minlength=groups)
    top, bottom = np.bincount(at, w * known.squared, groups), np.bincount(at, w, groups)
    mean = np.divide(top, bottom, out=np.full(groups, overall), where=bottom > 0)
    error = (count * mean + _PRIOR * overall) / (count + _PRIOR)
    fewer, rest = count[at] - 1, bottom[at] - w
    left = np.divide(top[at] - w * known.squared, rest, out=np.full(at.size, overall), where=rest > 1e-9)
    without = (fewer * left + _PRIOR * overall) / (fewer + _PRIOR)
    return np.asarray(error), np.asarray((without / error[at]) ** 2)


def minimax(A: Floats, error: Floats, sizes: Floats, labels: Floats, weights: Floats, more: float) -> Floats:
    """ω of the answers for which the largest weight · squared error is least, with `more` labels to come.

    With m labels of the N items of each group, an answer's squared error is Σ A² N e (N/m − 1) over the groups.

    Limiting cases: one answer has all the weight; answers about groups of their own share the labels so that all
    weighted errors are the same, if none has as many as that already.
    """
    omega = np.where(weights > 0, 1.0, 0.0)
    if not omega.any():
        omega = weights = np.ones(A.shape[0])
    omega, total = omega / omega.sum(), float(labels.sum()) + more
    worst, best, squares = float("inf"), omega, A**2
    for _ in range(_STEPS if np.count_nonzero(omega) > 1 else 0):
        root = np.sqrt(np.maximum(omega @ squares * error, 0.0))
        wanted = _filled(sizes * root, np.minimum(labels, sizes), sizes, total)
        missed = np.divide(sizes, wanted, out=np.full(sizes.size, _NONE), where=wanted > 0) - 1.0
        squared = weights * (squares @ (sizes * error * np.maximum(missed, 0.0)))
        largest = float(squared.max())
        if largest < worst:
            worst, best = largest, omega
        if largest <= _EVEN * float(omega @ squared):  # the mean by ω is a bound from below
            break
        omega = omega * (squared / largest) ** _POWER
        omega = np.where(weights > 0, np.maximum(omega / omega.sum(), _LEAST_OMEGA), 0.0)
        omega = omega / omega.sum()
    return np.asarray(best)


_NONE = 1e6  # items for each label, of a group without any
_LEAST_OMEGA = 1e-6


def _filled(wanted: Floats, least: Floats, most: Floats, total: float) -> Floats:
    """Numbers in proportion to what is wanted, between least and most, that sum to the total if they can."""
    times = total / max(float(wanted.sum()), 1e-300)
    for _ in range(_STEPS):
        found = np.clip(times * wanted, least, most)
        off, loose = total - float(found.sum()), float(wanted[(found > least) & (found < most)].sum())
        if abs(off) <= 1e-6 * total or loose <= 0:
            break
        times += off / loose
    return np.asarray(np.clip(max(times, 0.0) * wanted, least, most))
