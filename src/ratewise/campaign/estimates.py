"""Estimates from closed rounds: one for the end, and one that may be looked at after every round.

Looking again and again and stopping when one likes what one sees voids a plain interval. A round's estimate is all
there is to see until the next one closes, so it is enough to share the error among the rounds: the interval after
round k has level 1 − α/(k(k+1)), and the chance that any of them, ever, misses is at most α.

A campaign with a target keeps most of α for the one round that it stops at, and shares the rest in that way among
those before. Which round it stops at hangs on how narrow the interval is and not on where it lies, so that one interval
is as good as any other (Chow and Robbins 1965, as the target gets small). Shared evenly, the sixth round would have to
be at 99.9 %, and the same target would cost two and a half times as much.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ratewise.campaign.answers import Answers, Goals, answers_of, importance, labels_short
from ratewise.campaign.history import History
from ratewise.campaign.strata import Inputs, largest_rating_off
from ratewise.core.estimate import Estimate
from ratewise.core.names import Estimand
from ratewise.core.ratings import Ratings
from ratewise.design.chain import StepSeen, carried, pooled_steps
from ratewise.design.rounds import PooledDraw, pooled_draw
from ratewise.design.seen import FEWEST_TO_LEARN, Importance
from ratewise.errors import InputError, MissingAnswersError
from ratewise.questions.question import CampaignQuestion
from ratewise.questions.rated import UNSEEN, ExportTerms, Pooled, as_reported, estimate_pooled, widened

_AT_STOP = 0.8  # share of α that a campaign with a target keeps for the round that it stops at
_MORE = 1.05  # a little more than a precision is expected to take saves a round
_LEAST_STEP = 0.05  # of what was spent, that a round towards a precision is worth
_PLANNED = 0.9  # of the error of a decision, shared among the rounds that are planned; the rest is for those beyond
MEAN, NO_GOALS = CampaignQuestion(), Goals()
_FAR = 1e9  # times as wide as asked for: further than any money goes, and its square is still a number


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be estimated."""

    level: float
    estimand: Estimand
    pool: int  # items that can be looked at
    bounds: tuple[float, float]
    target_se: float | None = None
    inputs: Inputs | None = None  # where items are chosen by strata
    known: int = 0  # items besides those of the pool, whose ratings are known
    known_mean: float = 0.0
    rows: int = 0  # of the pool that these items are the first of, in random order; 0: they are all there are
    question: CampaignQuestion = MEAN
    goals: Goals = NO_GOALS
    looks: int = 0  # rounds that are planned, where something is to be decided; 0: unknown

    @property
    def aims(self) -> bool:
        """Whether it stops by how narrow intervals are."""
        return self.target_se is not None or bool(self.goals.within)

    @property
    def decides(self) -> bool:
        """Whether it stops by where intervals lie."""
        return self.goals.decide is not None

    @property
    def size(self) -> float:
        """Of the pool whose mean is wanted."""
        return float(max(self.rows, self.pool))


@dataclass(frozen=True, slots=True)
class Look:
    """Which interval a campaign ends with: that of an end that nobody chose by looking, or the one for looking."""

    anytime: bool
    ended: bool = False  # by the campaign's own rules
    more: bool = False  # rounds that were open meanwhile are still to come

    @classmethod
    def of(cls, wanted: Target, *, changed: bool, ended: bool, more: bool) -> "Look":
        """That for looking where there is a target, or where the goal was `changed` after somebody had looked."""
        if not wanted.aims and not wanted.decides and not changed:
            return cls(anytime=False)
        return cls(anytime=True, ended=ended and not changed, more=more)


LOOK_NOW = Look(anytime=True)


def level_of_look(wanted: Target, look: int) -> float:
    """Level of the interval after this many rounds, chosen so that the intervals of all rounds hold together.

    Where something is to be decided, most of the error is shared evenly among the rounds that are planned.
    """
    share = 1.0 - _AT_STOP if wanted.aims else 1.0
    if wanted.decides and wanted.looks:
        later = look - wanted.looks
        part = _PLANNED / wanted.looks if later <= 0 else (1.0 - _PLANNED) / (later * (later + 1))
        return 1.0 - part * (1.0 - wanted.level)
    return 1.0 - share * (1.0 - wanted.level) / (look * (look + 1))


def level_at_stop(wanted: Target) -> float:
    """Level of the interval at which a campaign with a target stops."""
    return 1.0 - _AT_STOP * (1.0 - wanted.level)


def estimate_history(history: History, wanted: Target, *, level: float | None = None) -> Estimate | None:
    """The estimate from all closed rounds; `None` before the first strong rating."""
    at = wanted.level if level is None else level
    pooled = pooled_rounds(history, wanted)

    def compute() -> Estimate | None:
        try:
            return None if pooled is None else estimate_pooled(pooled, level=at)
        except MissingAnswersError:
            return None

    return history.once(("estimate", wanted, at), compute)


def pooled_rounds(history: History, wanted: Target) -> Pooled | None:
    """Closed rounds as one draw: what stands in the weak rating's place, pooled rates, and how they are combined.

    `None` without a label, and while some stratum has no item looked at.
    """
    looked, seen, inputs = history.looked, history.seen, wanted.inputs
    if history.labels == 0 or (inputs is not None and inputs.lacks_any(looked)):
        return None
    strong, raters = looked.values[:, -1] if looked.rated is None else looked.rated[:, -1], tuple[int, ...]()
    if seen is not None:
        strong = seen.strong if inputs is None else strong
        p = history.once(
            ("pair", inputs),
            lambda: pooled_draw(
                seen if inputs is None else inputs.own_scale(history), missing=looked.missing, clusters=looked.clusters
            ),
        )
    elif history.steps is not None:
        p, design = stepped(history, history.steps), history.steps.design
        raters = (design.first[-1], *design.steps, looked.values.shape[1])
    else:
        p = chained(history, inputs)
    low, high = wanted.bounds
    sizes = None if inputs is None else dict(zip(inputs.names, map(float, inputs.sizes), strict=True))
    terms = ExportTerms(
        campaign="", method="auto" if seen is None and history.steps is None else "difference",
        estimand=wanted.estimand, pool_size=wanted.size if wanted.estimand == "pool" else None, low=low, high=high,
        variance_factor=p.factor, level=wanted.level, level_at=wanted.level, known=wanted.known,
        known_mean=wanted.known_mean, sizes=sizes,
        question=None if wanted.question == MEAN else wanted.question.to_dict(),
    )  # fmt: skip
    if inputs is None or looked.strata is None:
        return Pooled(terms, Ratings(p.weak, strong, p.rates, p.asked, looked.clusters), raters=raters)
    names = np.array(inputs.names)[looked.strata]
    return Pooled(terms, Ratings(np.clip(p.weak, low, high), strong, p.rates, p.asked), names)


def stepped(history: History, seen: StepSeen) -> PooledDraw:
    """All rounds of a chain with steps as one draw."""
    looked = history.looked
    reached, asked = looked.selected[:, [k - 1 for k in seen.design.steps]], np.asarray(looked.selected[:, -1])
    return history.once("steps", lambda: pooled_steps(seen, reached=reached, asked=asked, clusters=looked.clusters))


def chained(history: History, inputs: Inputs | None) -> PooledDraw:
    """All rounds of a chain without a design as one draw; strong ratings alone need no weak ratings and no rates."""
    looked, asked = history.looked, np.asarray(history.looked.selected[:, -1])
    if history.alone or history.hopes:  # of a start, everything has its strong rating
        return PooledDraw(np.zeros(history.items), np.ones(history.items), asked, 1.0)
    asked_before = np.column_stack([np.ones(history.items, dtype=np.bool_), looked.selected[:, :-1]])
    said = np.where(asked_before, looked.last_said, np.nan)
    if inputs is not None and looked.strata is not None:
        said = inputs.as_rated(said, looked.strata)
    return PooledDraw(said, looked.rates, asked, 1.0)


def anytime_estimate(history: History, wanted: Target, *, more: bool = False) -> Estimate | None:
    """The estimate with the interval that may be looked at after every round.

    `more` says that a campaign with a target does not stop at these rounds, as others were open meanwhile.
    """
    return final_estimate(history, wanted, Look(anytime=True, more=more))


def final_estimate(history: History, wanted: Target, look: Look) -> Estimate | None:
    """The estimate with the interval that the campaign ends with."""

    def compute() -> Estimate | None:
        pooled = pooled_of(history, wanted, look)
        found = None if pooled is None else estimate_history(history, wanted, level=pooled.terms.level_at)
        return None if pooled is None or found is None else as_reported(found, pooled.terms)

    return history.once(("look", wanted, look), compute)


def level_and_room(history: History, wanted: Target, look: Look) -> tuple[float, float]:
    """The level of this look's interval, and the variance it is widened by."""
    if not look.anytime:
        return wanted.level, 0.0
    stops = wanted.aims and not look.more and (look.ended or is_precise(history, wanted))
    if not stops or (wanted.target_se is not None and _at_stop(history, wanted) is None):
        return level_of_look(wanted, history.rounds), 0.0
    return level_at_stop(wanted), _unseen(history, wanted)


def pooled_of(history: History, wanted: Target, look: Look, *, campaign: str = "") -> Pooled | None:
    """What the estimate of this look is computed from, also by `estimate` from an export; `None` without a label."""
    pooled = pooled_rounds(history, wanted)
    if pooled is None:
        return None
    level, unseen = level_and_room(history, wanted, look)
    terms = replace(pooled.terms, campaign=campaign, level_at=level, unseen=unseen, anytime=look.anytime)
    return replace(pooled, terms=terms)


# The answers of a question


def final_answers(history: History, wanted: Target, look: Look) -> Answers | None:
    """All answers of the question, with the intervals that the campaign ends with; `None` before there are labels."""

    def compute() -> Answers | None:
        pooled = pooled_of(history, wanted, look)
        return None if pooled is None else _answers(history, wanted, pooled)

    return history.once(("answers", wanted, look), compute)


def _answers(history: History, wanted: Target, pooled: Pooled) -> Answers | None:
    try:
        result = wanted.question.answer(pooled, history.looked.x.place)
    except InputError:  # too few ratings for an answer yet
        return None
    return answers_of(wanted.question, wanted.goals, result, pooled.terms.level)


def answers_to_stop(history: History, wanted: Target) -> Answers | None:
    """All answers with the intervals that this round is judged by; `None` before there are labels."""

    def compute() -> Answers | None:
        pooled = pooled_rounds(history, wanted)
        if pooled is None:
            return None
        level = level_of_look(wanted, history.rounds) if wanted.decides else level_at_stop(wanted)
        unseen = 0.0 if wanted.decides else _unseen(history, wanted)
        return _answers(history, wanted, replace(pooled, terms=replace(pooled.terms, level_at=level, unseen=unseen)))

    return history.once(("answers to stop", wanted), compute)


def importance_next(history: History, wanted: Target, more: float) -> Importance | None:
    """How much each item counts for the next draw, with so many labels to come; `None` where all count the same."""
    found = answers_to_stop(history, wanted) if wanted.question.kind != "mean" and history.labels else None
    return importance(history, found, wanted.question, wanted.goals, more)


# Towards a precision or a decision


def is_precise(history: History, wanted: Target) -> bool:
    """Whether the interval is as narrow as the target asks, and every answer of a question as its goal."""
    if history.rounds == 0:
        return False
    if wanted.goals.any:
        answers = answers_to_stop(history, wanted)
        return answers is not None and answers.done
    if wanted.target_se is None:
        return False
    found = _at_stop(history, wanted)
    return found is not None and _is_narrow(found, wanted)


def money_to_precision(history: History, wanted: Target, spent: float, *, start: float, least: float) -> float:
    """Money that the precision is expected to take; `start` while nothing is known.

    Squared error around the population's mean falls as one over the money. That around the pool's own mean is smaller
    by the same amount whatever is spent.
    """
    if wanted.goals.within:
        answers = answers_to_stop(history, wanted) if history.labels > 1 else None
        labels = None if answers is None else labels_short(answers, pool=wanted.estimand == "pool")
        if answers is None or labels is None or spent <= 0:
            return start
        more = sum(labels.values()) if answers.question.kind == "slices" else max(labels.values(), default=0.0)
        return max(more / history.labels * spent * _MORE, least, _LEAST_STEP * spent)
    around: list[Target] = [wanted, replace(wanted, estimand="population")]
    found = [_at_stop(history, each) if history.labels > 1 else None for each in around]
    ends = [estimate.interval for estimate in found if estimate is not None and estimate.interval is not None]
    if len(ends) < 2 or spent <= 0:
        return start
    ours, of_population = (_over_target(interval, wanted) ** 2 for interval in ends)
    more = spent * (of_population / (1.0 + max(of_population - ours, 0.0)) - 1.0) * _MORE
    return max(more, least, _LEAST_STEP * spent)


def _at_stop(history: History, wanted: Target) -> Estimate | None:
    """The estimate with its stopping interval, widened for rare answers that have not come up yet.

    Campaigns that stop early are those whose variance looks small, and that is often so because the rare mistakes of
    the weak rater, or the rare ratings, have not come up yet.
    """
    level = level_at_stop(wanted)
    found = estimate_history(history, wanted, level=level)
    if found is None or found.interval is None or found.interval_method == "score":
        return found
    return widened(found, level, _unseen(history, wanted), wanted.bounds)


def _unseen(history: History, wanted: Target) -> float:
    """Variance that unseen kinds of answers would add: errors as large as the largest seen, or half a 0/1 scale."""
    looked = history.looked
    use = ~np.isnan(looked.values[:, -1])
    h, sampled = looked.values[use, -1], 1.0
    if wanted.estimand == "pool":
        sampled -= history.items / wanted.size
    if looked.selected[:, -1].all():
        off, rates = h - h.mean(), np.ones(h.size)
    elif history.seen is not None and h.size >= FEWEST_TO_LEARN:
        use = history.seen.labelled  # old labels among them
        h, off, rates = history.seen.strong[use], history.seen.learned.residual, history.seen.rates()[use]
    elif history.steps is not None and h.size >= FEWEST_TO_LEARN:
        p = stepped(history, history.steps)
        weak, all_rates = p.weak, p.rates
        off, rates = h - carried(weak)[use, -1], all_rates[use, -1]
    else:
        off, rates = h - looked.last_said[use, -1], looked.rates[use, -1]
    strata = None if looked.strata is None else looked.strata[use]
    furthest = max(float(np.abs(off).max()), largest_rating_off(wanted.inputs, h, strata))
    each = (1.0 - rates) / rates**2 + sampled
    share = wanted.size / (wanted.size + wanted.known)
    return share**2 * UNSEEN * furthest**2 * float(each.mean()) / history.items**2


def _is_narrow(found: Estimate, wanted: Target) -> bool:
    return found.interval is not None and _over_target(found.interval, wanted) <= 1.0


def _over_target(interval: tuple[float, float], wanted: Target) -> float:
    """Width of the interval relative to a plain interval with the target's standard error."""
    assert wanted.target_se is not None
    wide = 0.5 * (interval[1] - interval[0]) / float(special.ndtri(0.5 + wanted.level / 2))
    return min(wide / wanted.target_se, _FAR)
