"""Choosing the items of a campaign by strata: the order in which they are looked at, and what each of them counts.

Items are put into an order in which every beginning has the strata in the wanted shares Q; within a stratum the order
is random. Nothing else of the engine knows of strata: rounds, rates and draws see ratings on a scale of their own,

    H' = c + w (H − m),    w = W/Q,    W the stratum's share of the table, m its centre, c = Σ W m

and G likewise, so that u' = w² u and the variance of H' is the one that counts, Σ Q w² Var(H|s) if the centres are the
strata's means (Prop. 7 and METHODS section 8; other centres only make plans less sharp). The estimate does not rest on
that scale: it is Σ W mean_s from what was looked at of each stratum, whatever that was (`core/stratified.py`).
Rounds are pooled within strata, too: π̄ = Σ_j T_js π_j / Σ_j T_js with T_js the items of stratum s in round j, since a
stratum that is used up is no longer in later rounds, and π̄ over all items would then weigh its labels wrongly.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.campaign.history import History, LookedItems
from ratewise.campaign.spec.spec import InputsSpec
from ratewise.core.checks import Floats
from ratewise.core.result import JsonRecord
from ratewise.design.seen import Seen
from ratewise.errors import InputError, TableError
from ratewise.questions.strata import Codes, InputPlan, read_strata
from ratewise.tables import Table

_FIRST = 2  # items of every stratum that come before all others: an estimate needs them
_MOST_COLUMNS = 20  # strata that become columns to learn from


@dataclass(frozen=True, slots=True)
class Inputs(JsonRecord):
    """The strata of a campaign, as they were when it began."""

    column: str
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    shares: tuple[float, ...]  # Q: of the items looked at, as long as there are some; they sum to 1
    centres: tuple[float, ...]  # m

    @property
    def weights(self) -> Floats:
        """w = W/Q of each stratum."""
        W = np.array(self.sizes, dtype=np.float64)
        return np.asarray(W / W.sum() / np.array(self.shares))

    @property
    def middle(self) -> float:
        """c = Σ W m."""
        return float(np.average(self.centres, weights=self.sizes))

    def order(self, code: Codes, uniforms: Floats) -> NDArray[np.intp]:
        """Items in the order they are looked at: the first of every stratum, then by quota; random within strata."""
        by_stratum = np.lexsort((uniforms, code))
        starts = np.searchsorted(code[by_stratum], np.arange(len(self.names)))
        rank = np.empty(code.size)
        rank[by_stratum] = np.arange(code.size) - starts[code[by_stratum]]
        turn = np.where(rank < _FIRST, -1.0, (rank + 0.5) / np.array(self.shares)[code])
        return np.lexsort((uniforms, turn))

    def columns(self, code: Codes) -> Floats:
        """Columns for the models: one for each stratum, unless there are many."""
        several = len(self.names) if len(self.names) <= _MOST_COLUMNS else 0
        return np.asarray(code[:, None] == np.arange(several), dtype=np.float64)

    # Two scales

    def scaled(self, looked: LookedItems) -> LookedItems:
        """The items on the scale that plans use."""
        assert looked.strata is not None
        code = looked.strata
        w, m, c = self.weights[code], np.array(self.centres)[code], self.middle
        own = looked.x.uncertainty
        x = replace(looked.x, weak=c + w * (looked.x.weak - m), uncertainty=None if own is None else w**2 * own)
        return replace(looked, x=x, values=c + w[:, None] * (looked.values - m[:, None]), rated=looked.values)

    def as_rated(self, values: Floats, code: Codes) -> Floats:
        """The inverse of `scaled`: on the scale of the ratings."""
        w, m = self.weights[code], np.array(self.centres)[code]
        if values.ndim == 2:
            w, m = w[:, None], m[:, None]
        return np.asarray(m + (values - self.middle) / w)

    def own_scale(self, history: History) -> Seen:
        """What was bought on the scale of the ratings, to learn f on, with rates that are pooled within strata.

        On the scale of plans a rating near its stratum's mean and one at the end of the scale look alike, and the range
        that f is kept in would hang on whether a rare rating of a heavy stratum has a label: a bias.
        """
        seen, code, mass = history.seen, history.looked.strata, history.stratum_mass
        assert seen is not None
        assert code is not None
        assert mass is not None
        own = seen.x.uncertainty
        uncertainty = None if own is None else own / self.weights[code] ** 2
        x = replace(seen.x, weak=self.as_rated(seen.x.weak, code), uncertainty=uncertainty)
        strong = _whole(self.as_rated(seen.strong, code))
        return Seen(x, strong, seen.phases, mass / np.bincount(code)[code] * seen.items)

    def lacks_any(self, looked: LookedItems) -> bool:
        """Whether some stratum has no item looked at."""
        assert looked.strata is not None
        return bool(np.bincount(looked.strata, minlength=len(self.names)).min() == 0)

    def item_weights(self, code: Codes) -> Floats:
        """W_s T/T_s of items that were looked at: 1 on average."""
        W, counts = np.array(self.sizes) / sum(self.sizes), np.bincount(code, minlength=len(self.names))
        return np.asarray((W * code.size / np.maximum(counts, 1))[code])


# From the TOML and the table


def inputs_of(spec: InputsSpec, table: Table, *, folder: Path, middle: float) -> tuple[Inputs, Codes]:
    """The strata of the items, with shares and centres as the TOML or the plan it names says; else in proportion."""
    names, code = read_strata(table, spec.strata)
    sizes = np.bincount(code, minlength=len(names)).astype(np.float64)
    if sizes.min() < _FIRST:
        s = int(np.argmin(sizes))
        raise TableError(f"the stratum {names[s]!r} of column {spec.strata!r} has one item only; merge it with another")
    planned = None if spec.plan is None else _plan(folder / spec.plan, spec.strata)
    if planned is not None:
        wanted = _of_each(names, {s.name: s.items for s in planned.strata}, f"the plan {spec.plan}")
        centres = _of_each(names, {s.name: s.mean for s in planned.strata}, f"the plan {spec.plan}")
    else:
        wanted = sizes if spec.shares is None else _of_each(names, spec.shares, "inputs.shares")
        centres = np.full(len(names), middle)
    if spec.centre is not None:
        centres = np.full(len(names), spec.centre)
    counts = tuple(int(n) for n in sizes)
    shares = tuple((wanted / wanted.sum()).tolist())
    return Inputs(spec.strata, names, counts, shares, tuple(centres.tolist())), code


def _of_each(names: tuple[str, ...], values: Mapping[str, float], where: str) -> Floats:
    missing = [name for name in names if name not in values]
    if missing:
        raise InputError(f"{where} says nothing of the stratum {missing[0]!r}; give every stratum of the table a share")
    unknown = [name for name in values if name not in names]
    if unknown:
        raise InputError(f"{where} has a stratum {unknown[0]!r} that no item is of; remove it, or check its name")
    return np.array([values[name] for name in names], dtype=np.float64)


def _plan(path: Path, column: str) -> InputPlan:
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        plan = InputPlan.from_dict(data["inputs_by_stratum"])
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise TableError(f"{path} cannot be read as a plan: {str(error).splitlines()[0]}") from None
    except (AttributeError, KeyError, TypeError, IndexError, ArithmeticError, RecursionError):
        raise TableError(
            f"{path} is no plan by strata; make it with `ratewise plan … --strata {column} --json > {path.name}`"
        ) from None
    if plan.column != column:
        raise InputError(f"{path} is a plan by {plan.column!r}, and inputs.strata is {column!r}; give them the same")
    return plan


def _whole(values: Floats) -> Floats:
    """Round values that were whole numbers before they were scaled."""
    near = np.round(values)
    return np.asarray(np.where(np.abs(values - near) < 1e-9, near, values))


def largest_rating_off(inputs: Inputs | None, strong: Floats, code: Codes | None) -> float:
    """Half a scale of 0 and 1, on the scale of plans; 0 where ratings are no such."""
    if inputs is not None and code is not None:
        strong = _whole(inputs.as_rated(strong, code))
    if not set(np.unique(strong)) <= {0.0, 1.0}:
        return 0.0
    return 0.5 * (1.0 if inputs is None else float(inputs.weights.max()))
