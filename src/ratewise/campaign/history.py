"""What closed rounds have shown, as arrays: the only thing that later rounds and estimates may look at."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.ratings import Mask
from ratewise.core.result import JsonRecord, fields_in_json, record_of
from ratewise.design.chain import ChainRule, Design, StepRule, StepSeen, carried, factors_of
from ratewise.design.chain_plan import Compared, seen_as_pair, worth_trying
from ratewise.design.rounds import pooled
from ratewise.design.second_look import again_rates
from ratewise.design.seen import Rule, Seen, times
from ratewise.learn.covariates import Covariates, TextColumns
from ratewise.learn.score_prior import ScorePrior
from ratewise.store.queue import AgainRows, Units

_T = TypeVar("_T")
_RULES: dict[str, Any] = {"rule": Rule, "chain": ChainRule, "steps": StepRule}  # by their key in JSON


@dataclass(frozen=True, slots=True, eq=False)
class RoundPlan(JsonRecord):
    """A round's plan, frozen when the round opens."""

    policy: str  # "base", "random", "active" or "chain"
    weak: bool  # whether weak ratings are bought; without them a rule goes by the features alone
    items: int | None  # exactly these many; None: until the money is spent
    spend: int  # money of the round, in units
    left: int  # money there was
    look: int  # rounds that were closed, whose estimates can have been looked at; it was learned from these alone
    rule: Rule | ChainRule | StepRule | None = None  # None: everyone is asked
    own_rates: Floats = field(default_factory=lambda: np.empty(0))
    expected_se: float | None = None  # of the estimate when all the money is spent
    aims: bool = False  # whether `left` is what a precision is expected to take
    again: int = 0  # a second look at items passed over: which one; 0: a look at new items
    design: Design | None = None  # how a chain's raters are used; None: as they are listed
    compared: tuple[Compared, ...] = ()  # where the design was chosen: all that there were
    people: int = 0  # at work when it was opened while answers were out; 0: all rounds before it were closed
    trial: int = 0  # items of a chain's whole start, where this round tries dear raters on its first ones; 0: no trial
    hopes: tuple[float, ...] = ()  # after a trial: of each rater but the last (`design/chain_plan.py`); out from 1 on

    @property
    def alone(self) -> bool:
        return not self.weak and self.rule is None

    @property
    def by_features(self) -> bool:
        return not self.weak and self.rule is not None

    @property
    def exact(self) -> bool:
        """Whether exactly so many are drawn that the money is spent: the last items of a pool."""
        return self.rule is not None and self.items is not None

    @property
    def asks_first(self) -> bool:
        return self.weak and (self.design is None or 0 in self.design.first)

    def asked(self, raters: int) -> Design:
        """Who is asked besides the last of so many raters."""
        if not self.weak:
            return Design(())
        return self.design or Design(worth_trying(self.hopes) or tuple(range(raters - 1)))

    def uses(self, raters: int) -> list[int]:
        """Raters that an item of this round may be shown to, by number."""
        asked = self.asked(raters)
        return [*asked.first, *asked.steps, raters - 1]

    def stages(self, later: int) -> tuple[slice, ...]:
        """Columns of the raters after the first that are drawn together, in turn."""
        return (slice(0, later),) if self.design is None or not self.weak else self.design.cuts(later)

    def item_costs(self, worst: Units) -> Units:
        """Money that must be there for each item before it is taken up; `worst` are the highest prices."""
        return self.sure_costs(worst) if self.exact else np.asarray(worst[:, self.uses(worst.shape[1])].sum(axis=1))

    def sure_costs(self, worst: Units) -> Units:
        """What each item costs whatever is drawn: the ratings of those who see every item."""
        return np.asarray(worst[:, list(self.asked(worst.shape[1]).first)].sum(axis=1))

    def first_costs(self, worst: Units) -> Units:
        """Cost of each item's first rating, asked for when it is taken up; 0 where it is not bought."""
        return worst[:, 0] if self.asks_first else np.zeros_like(worst[:, 0])

    def to_dict(self) -> dict[str, Any]:
        out = fields_in_json(self)
        rule = out.pop("rule")
        return out | {name: rule for name, kind in _RULES.items() if isinstance(self.rule, kind)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        rules: list[Any] = [kind.from_dict(data[name]) for name, kind in _RULES.items() if name in data]
        others = {name: value for name, value in data.items() if name not in _RULES}
        return replace(record_of(cls, others), rule=rules[0] if rules else None)


@dataclass(frozen=True, slots=True, eq=False)
class LookedItems:
    """Items that were looked at, in the campaign's order."""

    x: Covariates  # weak is NaN, or a stand-in, where it was not bought or did not come
    uniform: Floats
    rates: Floats  # items × raters after the first
    selected: Mask  # items × raters after the first
    values: Floats  # items × raters after the first, NaN where there is none
    strata: NDArray[np.intp] | None = None  # where items are chosen by strata: the number of each one's
    clusters: NDArray[np.intp] | None = None  # where items belong together: the number of each one's cluster
    rated: Floats | None = None  # where plans have a scale of their own: values as raters gave them
    old: Floats | None = None  # labels that were there before, NaN where none; used beside those of rounds
    given: Floats | None = None  # the rates that these were drawn with

    @property
    def missing(self) -> Mask:
        """Strong ratings that were asked for and did not come."""
        return np.asarray(self.selected[:, -1] & np.isnan(self.values[:, -1]))

    @property
    def last_said(self) -> Floats:
        """Of each rater but the last what it said, or those before it where it said nothing."""
        return carried(np.column_stack([self.x.weak, self.values[:, :-1]]))

    def unanswered(self) -> "LookedItems":
        """The same items while none of their strong ratings is in."""
        parts = {name: getattr(self, name) for name in ("values", "rated", "old")}
        return replace(self, **{name: np.full_like(part, np.nan) for name, part in parts.items() if part is not None})

    def joined(self, more: "LookedItems") -> "LookedItems":
        names = (one.name for one in fields(self) if one.name != "x")
        return LookedItems(self.x.joined(more.x), **{n: _then(getattr(self, n), getattr(more, n)) for n in names})


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """All closed rounds, with what was computed from them."""

    looked: LookedItems
    rounds: int = 0
    alone: bool = False  # strong ratings are bought alone
    seen: Seen | None = None  # pooled rounds, for one weak and one strong rater
    middle: float = 0.0  # of the scale: stands for weak ratings while none is known
    stratum_mass: Floats | None = None  # Σ_j T_js π_j of every item, T_js counting its own stratum's only
    again: int = 0  # second looks
    drew_nobody: bool = False  # the last round was a second look, and its money did not pay for the first in line
    steps: StepSeen | None = None  # pooled rounds of a chain with steps
    design: Design | None = None  # how a chain's raters are used, once that is chosen
    taught: int = 0  # labels that the last refit was trained on
    trial: int = 0  # items of the start, where dear raters were tried on those so far
    hopes: tuple[float, ...] = ()  # what a trial of dear raters has shown; empty where there was none
    _fits: dict[Hashable, Any] = field(init=False, default_factory=dict, repr=False)  # a changed copy begins anew

    @classmethod
    def empty(
        cls, later_raters: int, *, columns: int | None, uncertainty: bool, middle: float, text: int = 0,
        doubts: tuple[float | None, ...] = (), places: int = 0, prior: ScorePrior | None = None,
    ) -> "History":  # fmt: skip
        """A history without items; `columns` is the number of features, if any, `text` that of columns from texts.

        `doubts` has an entry for each rater between the first and the last, `None` where it tells nothing. `places` is
        the number of columns that say where an item stands in a question. `prior` is what the first rater's scores
        usually mean.
        """
        none, known = np.empty(0), None if columns is None else np.empty((0, columns))
        texts = TextColumns.of(np.empty((0, text))) if text else None
        told = tuple(None if own is None else none for own in doubts)
        place = np.empty((0, places)) if places else None
        x = Covariates(none, known, none if uncertainty else None, texts, doubts=told, place=place)
        table = np.empty((0, later_raters))
        looked = LookedItems(x, none, table, table.astype(np.bool_), table)
        return cls(looked, seen=Seen.of(x, none, (), prior) if later_raters == 1 else None, middle=middle)

    def once(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        """What is computed from this history under a key: at the first call, and kept as long as the history itself."""
        if key not in self._fits:
            self._fits[key] = compute()
        value: _T = self._fits[key]
        return value

    @property
    def items(self) -> int:
        return self.looked.x.items

    @property
    def labels(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.looked.values[:, -1])))

    @property
    def refits(self) -> int:
        return 0 if self.looked.x.refits is None else self.looked.x.refits.shape[1]

    @property
    def uses_refit(self) -> bool:
        """Whether the last refit predicts labels better than what there is without it, so that estimates go by it."""
        return self.refits > 0 and self.seen is not None and self.seen.learned.model.basis.refit is not None

    def refitted(self, predictions: Floats) -> "History":
        """The same rounds with what all refits so far predict of their items, items × refits."""
        assert self.seen is not None
        looked = replace(self.looked, x=replace(self.looked.x, refits=predictions))
        seen = replace(self.seen, x=replace(self.seen.x, refits=predictions))
        return replace(self, looked=looked, seen=seen, taught=int(np.count_nonzero(seen.labelled)))

    def filled(self, x: Covariates) -> Covariates:
        """Weak ratings, with missing ones at the mean of those known before: any value keeps the estimate unbiased."""
        known = self.looked.x.weak[~np.isnan(self.looked.x.weak)]
        stand_in = float(known.mean()) if known.size else self.middle
        return replace(x, weak=np.where(np.isnan(x.weak), stand_in, x.weak), filled=None if x.rated.all() else ~x.rated)

    def known_of(self, more: LookedItems) -> Covariates:
        """What is known of items before the last rater is asked: first ratings, or what a design goes by."""
        x = self.filled(more.x)
        return x if self.design is None else self.design.covariates(x, more.values[:, :-1])

    def joined(self, plan: RoundPlan, factor: float | None, more: LookedItems) -> "History":
        """One more round, as it was planned, drawn and answered."""
        if plan.design is not None and self.design is None:
            return self.designed(plan.design).joined(plan, factor, more)
        seen = None if self.seen is None else self._pooled(self.seen, plan, factor, more)
        stratum_mass = None if seen is None or more.strata is None else self._mass_of_strata(seen, more)
        return replace(
            self, looked=self.looked.joined(replace(more, x=self.filled(more.x) if plan.weak else more.x)),
            rounds=self.rounds + 1, alone=self.alone or plan.alone, seen=seen, stratum_mass=stratum_mass,
            steps=None if self.steps is None else self._more_steps(self.steps, plan, factor, more),
            drew_nobody=False, trial=plan.trial, hopes=plan.hopes or self.hopes,
        )  # fmt: skip

    def designed(self, design: Design | None) -> "History":
        """The history as a round of this design sees it: that round may be the first of its design."""
        if design is None or self.design is not None:
            return self
        if design.steps:
            return replace(self, design=design, steps=self.in_steps(design))
        return replace(self, design=design, seen=self.as_pair(design))

    def as_pair(self, design: Design) -> Seen:
        """The items as two raters would see them; made once, so that they are learned from once."""
        looked = self.looked
        of = looked.x, looked.values[:, :-1], looked.values[:, -1]
        return self.once(("pair", design), lambda: seen_as_pair(design, *of))

    def in_steps(self, design: Design) -> StepSeen:
        """The items as a chain with steps sees them; made once, as `as_pair`."""
        looked = self.looked
        of = looked.x, looked.values[:, :-1], looked.values[:, -1]
        return self.once(("steps of", design), lambda: StepSeen.start(design, *of))

    def _more_steps(self, steps: StepSeen, plan: RoundPlan, factor: float | None, more: LookedItems) -> StepSeen:
        assert isinstance(plan.rule, StepRule)
        rates = more.rates[:, [*(k - 1 for k in plan.rule.design.steps), -1]]
        x, said, rule = self.filled(more.x), more.values[:, :-1], plan.rule
        if factor is not None:
            rule = factors_of(rule, steps, x, said, rates, factor)
        return steps.joined(x, said, more.values[:, -1], rule, plan.own_rates, rates=rates)

    @property
    def passed_over(self) -> Mask:
        """Items that were looked at and not asked for, and have no label."""
        assert self.seen is not None
        return ~self.looked.selected[:, -1] & ~self.seen.labelled

    def looked_again(self, plan: RoundPlan, factor: float | None, more: AgainRows, values: Floats) -> "History":
        """One more round, in which items that were passed over were drawn again; `values` are all strong ratings."""
        assert self.seen is not None
        assert isinstance(plan.rule, Rule)
        scale = 1.0 if factor is None else factor
        p2 = again_rates(plan.rule, self.seen, scale)
        p2[self.seen.labelled] = times(plan.own_rates, scale)
        p2[more.positions] = more.rates
        asked = np.zeros(self.items, dtype=np.bool_)
        asked[more.positions] = more.selected
        old = np.zeros(self.items) if self.seen.given is None else self.seen.given
        strong = np.where(asked, values, self.seen.strong)
        seen = replace(self.seen, strong=strong, given=1.0 - (1.0 - old) * (1.0 - p2))
        selected, said = self.looked.selected.copy(), self.looked.values.copy()
        selected[:, -1] |= asked
        said[asked, -1] = values[asked]
        looked = replace(self.looked, selected=selected, values=said)
        return replace(
            self, looked=looked, rounds=self.rounds + 1, seen=seen, stratum_mass=None, again=plan.again,
            drew_nobody=not more.selected.any(),
        )  # fmt: skip

    def _pooled(self, seen: Seen, plan: RoundPlan, factor: float | None, more: LookedItems) -> Seen:
        assert plan.rule is None or isinstance(plan.rule, Rule)
        strong = more.values[:, -1]
        if more.old is not None:
            strong = np.where(np.isnan(strong), more.old, strong)
        return pooled(
            seen, self.known_of(more), strong, rule=plan.rule, weak=plan.weak, own_rates=plan.own_rates,
            factor=factor, rates=more.rates[:, -1], given=more.given,
        )  # fmt: skip

    def _mass_of_strata(self, seen: Seen, more: LookedItems) -> Floats:
        """Rates of the new round by what it added to the mass; those of earlier rounds for new items by their rules."""
        assert self.seen is not None
        assert more.strata is not None
        *earlier, phase = seen.phases
        strata = _then(self.looked.strata, more.strata)
        assert strata is not None
        n, size = self.items, int(strata.max()) + 1
        counts, first = [], 0
        for each in seen.phases:
            counts.append(np.bincount(strata[first : first + each.items], minlength=size))
            first += each.items
        x = seen.x.rows(slice(n, None))
        before, own = np.zeros(x.items), np.zeros(x.items)
        for each, count in zip(earlier, counts, strict=False):
            rates = np.ones(x.items) if each.rule is None else each.rule.rates(x, before)
            before, own = before + each.items * rates, own + count[more.strata] * rates
        old = np.empty(0) if self.stratum_mass is None else self.stratum_mass
        now = (seen.mass - np.concatenate([self.seen.mass, before])) / max(phase.items, 1)
        return np.asarray(np.concatenate([old, own]) + counts[-1][strata] * now)


def _then(first: NDArray[Any] | None, then: NDArray[Any] | None) -> Any:
    return then if first is None or then is None else np.concatenate([first, then])
