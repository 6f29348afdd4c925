"""A campaign at one moment, read from one look at its log: estimate, story of the rounds, worth of each rater."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ratewise.campaign import planner as p
from ratewise.campaign.answers import Answers
from ratewise.campaign.estimates import Look, anytime_estimate, estimate_history, final_estimate, pooled_of
from ratewise.campaign.history import RoundPlan
from ratewise.campaign.items import Facts, LoggedItems, empty_history, terms_of
from ratewise.campaign.learner import Refits, too_little
from ratewise.campaign.log import Reader
from ratewise.campaign.raters import CHANGED
from ratewise.campaign.seed import seed_words
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.status import Status, answers_at, look_at, status_of
from ratewise.campaign.verify import Verification, verify_log
from ratewise.core.checks import Floats
from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.result import Result
from ratewise.design.chain import Design
from ratewise.design.diagnostics import Diagnosis, diagnose
from ratewise.design.rounds import estimate_seen
from ratewise.questions.rated import Pooled
from ratewise.store.store import Store


@dataclass(frozen=True, slots=True, repr=False)
class Chapter(Result):
    """One closed round, and what was known after it."""

    number: int
    policy: str
    items: int
    labels: int
    mean_rate: float
    spent: int  # in units, by all rounds so far
    estimate: Estimate | None  # with the interval that may be looked at after every round
    by_features: bool = False  # weak ratings were not bought, and rates go by the features


def worth_of_raters(names: Sequence[str], plans: Sequence[RoundPlan], asked: Floats) -> list[str]:
    """A sentence for each rater but the last; none before the way they are used was chosen.

    `asked` is the share of the items of later rounds that each rater after the first was asked about.
    """
    plan = next((one for one in plans if one.compared), None)
    if plan is None:
        return []
    design = plan.design if plan.design is not None and plan.weak else Design(())
    used = {*design.first, *design.steps}
    ways = [(one.design, {*one.design.first, *one.design.steps}, one.variance) for one in plan.compared]
    end = next((n for n, one in enumerate(plans) if one.hopes), 0)  # of a trial of dear raters
    hopes, tried, said = plans[end].hopes, sum(one.items or 0 for one in plans[:end]), []
    for k, name in enumerate(names[:-1]):
        left_out = f"{name} is never worth its price here, and is left out"
        if k < len(hopes) and hopes[k] >= 1:
            said.append(f"{left_out} after a trial on {tried} items: with it, at its best, {_times(hopes[k])}.")
            continue
        with_it, without = (min(v for _, who, v in ways if (k in who) == inside) for inside in (True, False))
        if k not in used:
            said.append(f"{left_out}{'' if with_it <= without else f': with it, {_times(with_it / without)}'}.")
        else:
            how = "sees every item" if k in design.first else f"is a step, asked about {asked[k - 1]:.0%} of the items"
            said.append(f"{name} {how}: without it, {_times(without / with_it)}.")
    ours = next((v for way, _, v in ways if way == design), None)
    others = [v for way, who, v in ways if who == used and bool(way.steps) != bool(design.steps)]
    if len(used) > 1 and ours is not None and others:  # they could all see every item or be steps: which was better
        chosen, rival = ("in steps", "all at once") if design.steps else ("all at once", "in steps")
        who = " and ".join(names[k] for k in sorted(used))
        said.append(f"{who} are asked {chosen}: {rival}, {_times(min(others) / ours)}.")
    return said


def _times(ratio: float) -> str:
    return f"the same money was expected to give {ratio:.2f} times the squared error"


def reader_of(spec: Spec, store: Store, *, keeps: bool = False) -> Reader:
    """A reader that has read only the facts; with `keeps`, it can tell what was known after each round."""
    facts = Facts.of(store)
    terms = terms_of(spec, facts)
    if store.meta("goal changed") is not None:  # more money after the end, which must buy something
        plain = spec.inputs is None and not terms.alone and terms.later_raters == 1
        one_price = spec.strong.price is not None  # else what is left might pay for none of those passed over
        terms = replace(terms, again=plain and one_price)
    refits = Refits(store) if spec.refits else None
    items = LoggedItems(spec, store, facts, refits)
    return Reader(store, items, terms, empty_history(spec, facts, terms), keeps, refits)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What status, report, verify and estimate say of one moment; valid while its store is held still."""

    spec: Spec  # as the store has it
    store: Store
    reader: Reader
    edited: tuple[str, ...] = ()  # where the TOML differs: no run has used it yet

    @property
    def items(self) -> LoggedItems:
        assert isinstance(self.reader.items, LoggedItems)
        return self.reader.items

    @property
    def facts(self) -> Facts:
        return self.items.facts

    @cached_property
    def state(self) -> p.State:
        return self.reader.state()

    @cached_property
    def status(self) -> Status:
        return status_of(self.spec, self.store, self.state, by_rater=True)

    @cached_property
    def estimate(self) -> Estimate | None:
        """The estimate from all complete rounds; its interval is anytime-valid if the campaign stopped on its data."""
        return final_estimate(self.state.history, self.state.terms.wanted, self.last_look)

    @cached_property
    def answers(self) -> Answers | None:
        """The answers of its question from all complete rounds, with the intervals that the campaign ends with.

        `None` for a mean of which nothing is to be decided, and before there are labels.
        """
        return answers_at(self.state, self.last_look)

    @cached_property
    def last_look(self) -> Look:
        """Which interval the campaign ends with."""
        return look_at(self.store, self.state)

    @cached_property
    def pooled(self) -> Pooled | None:
        """What the estimate is computed from, for the export."""
        if self.estimate is None:
            return None
        return pooled_of(self.state.history, self.reader.terms.wanted, self.last_look, campaign=self.spec.name)

    @cached_property
    def came(self) -> Estimate | None:
        """The estimate if no answers were missing: what labels are worth, and none to report."""
        history = self.state.history
        seen, missing = history.seen, history.looked.missing
        found = estimate_history(history, self.reader.terms.wanted)
        if found is None or seen is None or not (missing.any() and seen.labelled.any()):
            return found
        how = EstimateOptions(estimand=self.spec.estimand, pool_size=self._pool_size)
        return estimate_seen(seen, how, missing=missing, clusters=history.looked.clusters, left_aside=True)

    @property
    def _pool_size(self) -> float | None:
        return float(self.facts.pool) if self.spec.estimand == "pool" else None

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """What the labels say about the weak rater and the rates; `None` for chains, and where there is none."""
        seen, missing = self.state.history.seen, self.state.history.looked.missing
        if self.spec.weak is None or self.came is None or seen is None:
            return None
        return diagnose(seen, self.came, missing=missing, pool_size=self._pool_size or math.inf)

    @cached_property
    def worth(self) -> list[str]:
        """What each rater of a chain is worth; empty for two raters, and before the start is complete."""
        history, rounds = self.state.history, self.reader.rounds()
        if len(self.spec.raters) < 3 or not rounds:
            return []
        chosen = next((row.first for row in rounds if row.plan.compared), history.items)
        later = history.looked.selected[chosen:]
        asked = later.mean(axis=0) if len(later) else np.zeros(history.looked.selected.shape[1])
        return worth_of_raters([r.name for r in self.spec.raters], [row.plan for row in rounds], asked)

    @cached_property
    def story(self) -> list[Chapter]:
        """Round by round: what was bought, and what was known after it."""
        wanted = self.state.terms.wanted  # of the state, so that the log is read up to now
        rounds, out, before = self.reader.rounds(), list[Chapter](), 0
        for row, known in zip(rounds, self.reader.closed, strict=False):
            policy = "start" if row.number == 1 and row.plan.weak else row.plan.policy
            items, labels = known.items - row.first, known.labels - before
            if items:
                rate = float(known.looked.rates[row.first :, -1].mean())
            else:  # a second look, at items that were passed over
                rate = labels / max(int(known.passed_over.sum()) + labels, 1)
            spent = self.store.settled_before(known.items, known.again)
            more = any(later.plan.look < row.number for later in rounds[row.number :])
            found = anytime_estimate(known, wanted, more=more)
            out.append(Chapter(row.number, policy, items, labels, rate, spent, found, row.plan.by_features))
            before = known.labels
        return out

    @cached_property
    def notes(self) -> list[tuple[str, str]]:
        return self.store.notes()

    @cached_property
    def is_running(self) -> bool:
        return self.store.running()

    @cached_property
    def told(self) -> list[str]:
        """Notes beside the numbers: where the TOML differs from the store, and which raters changed on the way."""
        return [
            *(
                f"{self.spec.path.name} has changed, and no run has used it yet: {what}; the figures here follow the "
                "store"
                for what in self.edited
            ),
            *self._drift, *self._refit, *(f"{at}: {text}" for at, text in self.notes if text.startswith(CHANGED)),
        ]  # fmt: skip

    @property
    def _refit(self) -> list[str]:
        """Whether the predictions of the model that was trained on this campaign's labels are used."""
        if not self.spec.refits:
            return []
        history = self.state.history
        if not history.refits:
            return [f"no model is trained yet: that takes {p.LEAST_LABELS} labels of closed rounds that differ"]
        used = "are used" if history.uses_refit else "are not used: labels are predicted no better with them"
        return [f"a model was trained on {history.taught:,} labels of this campaign; its predictions {used}"]

    @property
    def _drift(self) -> list[str]:
        """Whether this pool still looks like that of the campaign it has learned from; or that there was too little."""
        teacher = self.facts.teacher
        if teacher is None:
            return [] if self.spec.teacher is None else [too_little(self.spec.teacher)]
        seen = self.state.history.seen
        if seen is None or not seen.items or seen.by_features or not seen.phases[0].weak:
            return []
        found = self.state.history.once("drift", lambda: teacher.drift(seen))
        return [found.summary(teacher.campaign)]

    @cached_property
    def seed(self) -> str | None:
        """What may be shown of a secret seed; `None` where the seed is in the TOML."""
        return seed_words(self.store)

    @cached_property
    def head(self) -> str:
        return self.store.head()

    def verify(self, head: str | None = None) -> Verification:
        """Verify the store, also against a head that somebody kept: all that it stands for must still be there."""
        found = verify_log(self.spec, self.store, self.reader, head=head)
        found.told += self.told
        return found
