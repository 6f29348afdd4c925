"""A plan by strata: how many items of each to look at and at what rate, as records that go into a file and back."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats, choice, number, share
from ratewise.core.document import Column, DataTable
from ratewise.core.result import JsonRecord, Result, fields_in_json, record_of
from ratewise.errors import InputError, TableError
from ratewise.tables import Table, TableLike, count_groups
from ratewise.tables.cells import Texts

MOST_STRATA = 200
_POLICIES = ("random", "active")

Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True, repr=False)
class StratumPlan(JsonRecord, Result):
    """One stratum: what the pilot says of it, and what to buy."""

    name: str
    share: float  # W, of the target
    size: float | None  # items there are
    labels: int  # strong ratings in the pilot
    mean: float  # of the strong ratings; where labels are few, towards that of all, as are the next two
    variance: float  # Var(H|s)
    weak_error: float  # E[(H−G)²|s]
    items: float  # to look at
    rate: float  # of strong ratings among them, on average
    scale: float | None  # γ of the rates clip(γ·sqrt(u), floor, 1); None: one rate
    floor: float
    buys_weak: bool  # False: strong ratings alone

    @property
    def strong_labels(self) -> float:
        """Expected number of strong labels."""
        return self.items * self.rate

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return fields_in_json(self) | {"strong_labels": self.strong_labels}


@dataclass(frozen=True, slots=True, repr=False)
class InputPlan(Result):
    """How many items of each stratum to look at, what that gives, and what not choosing would."""

    column: str
    policy: Literal["random", "active"]  # within strata: one rate in each, or rates that follow u(x)
    strata: tuple[StratumPlan, ...]
    spend: float
    expected_se: float
    error_ratio: float  # squared error times spend, over that of the best policy that does not choose
    worth_it: bool

    @property
    def items(self) -> float:
        """Number of items to look at, over all strata."""
        return sum(stratum.items for stratum in self.strata)

    @property
    def strong_labels(self) -> float:
        """Expected number of strong labels, over all strata."""
        return sum(stratum.strong_labels for stratum in self.strata)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return fields_in_json(self) | {"items": self.items, "strong_labels": self.strong_labels}

    def table(self) -> DataTable:
        """How many items of each stratum to look at, and at what rate."""
        table = DataTable([
            Column(self.column, "name"), Column("share", leaves=1), Column("items"), Column("of them", leaves=2),
            Column("rate"), Column("strong"), Column("mean", leaves=5), Column("variance", leaves=4),
            Column("weak error", leaves=3),
        ])  # fmt: skip
        for s in self.strata:
            rate = f"{s.rate:.3f}" if s.buys_weak else "alone"
            figures = (f"{s.mean:.4g}", f"{s.variance:.4g}", f"{s.weak_error:.4g}")
            of = f"{s.items / self.items:.0%}"
            table.add(s.name, f"{s.share:.1%}", f"{s.items:,.0f}", of, rate, f"{s.strong_labels:,.0f}", *figures)
        return table

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "InputPlan":
        """The inverse of `to_dict`; a file that was edited by hand must still make sense."""
        choice(data["policy"], _POLICIES, name="policy")
        found = record_of(cls, data)
        for stratum in found.strata:
            share(stratum.share, name=f"the share of stratum {stratum.name!r}", one=True)
            share(stratum.rate, name=f"the rate of stratum {stratum.name!r}", one=True)
            number(stratum.items, name=f"the items of stratum {stratum.name!r}", above=0)
        return found


def read_strata(table: Table, column: str, names: tuple[str, ...] | None = None) -> tuple[tuple[str, ...], Codes]:
    """The strata in order, and each row's by number; with `names` those and no others, −1 for what is none of them."""
    texts = table.texts(column)
    if names is None:
        names = tuple(sorted(set(texts.tolist())))
        refuse_odd_number(len(names), table.name, column)
    number_of = {name: s for s, name in enumerate(names)}
    return names, np.array([number_of.get(text, -1) for text in texts.tolist()], dtype=np.intp)


def refuse_odd_number(strata: int, table: str, column: str) -> None:
    """Refuse a column with one value, or with too many."""
    if not 2 <= strata <= MOST_STRATA:
        raise TableError(
            f"column {column!r} of {table} has {strata:,} different values; strata need from 2 to "
            f"{MOST_STRATA}: give another column, or groups made from it"
        )


def strata_sizes(pool: TableLike, column: str) -> dict[str, int]:
    """The strata of a pool in the order of their names, and how many rows each has; the pool stays where it is."""
    sizes = count_groups(pool, column)
    named = os.path.basename(os.fsdecode(pool)) if isinstance(pool, str | os.PathLike) else "table"
    if "" in sizes:
        raise TableError(f"column {column!r} of {named} has {sizes['']:,} empty rows; fill them or leave them out")
    refuse_odd_number(len(sizes), named, column)
    return sizes


def shrunk(values: Floats, code: Codes, strata: int, *, prior: float = 2.0) -> Floats:
    """The strata's means, each shrunk to the mean of all as far as its few values are noise (empirical Bayes).

    With σ² the variance within strata and τ² that of the strata's true means (DerSimonian and Laird 1986), a stratum
    of n values keeps τ²/(τ² + σ²/n) of its own; and `prior` values of all the others stand beside it in any case.
    """
    n = np.bincount(code, minlength=strata).astype(np.float64)
    total, N = float(values.mean()), float(values.size)
    own = np.divide(np.bincount(code, weights=values, minlength=strata), n, out=np.full(strata, total), where=n > 0)
    free = N - np.count_nonzero(n)
    noise = float(((values - own[code]) ** 2).sum()) / free if free > 0 else 0.0
    heterogeneity = float(n @ (own - total) ** 2) - (np.count_nonzero(n) - 1) * noise
    between = max(heterogeneity / (N - float(n @ n) / N), 0.0) if float(n @ n) < N**2 else 0.0
    kept = np.divide(between, between + noise / np.maximum(n, 1.0), out=np.ones(strata), where=between + noise > 0)
    near = kept * own + (1 - kept) * total
    return np.asarray((n * near + prior * total) / (n + prior))


def check_known(code: Codes, table: Table, column: str) -> None:
    """Refuse rows of a stratum that the plan does not know: they cannot be given a rate."""
    if (code < 0).any():
        row = int(np.argmax(code < 0))
        name = str(table.texts(column)[row])
        raise InputError(
            f"row {row + 1} of {table.name} is of the stratum {name!r}, which the plan does not know: plan again with "
            "this pool, or give it another stratum"
        )


# Slices by the names in a column


NO_GROUP = "(missing)"
_MOST_SLICES = 1000


def slice_names(table: Table, by: str) -> tuple[list[str], Texts]:
    """The slices in the order of names, and every row's; rows without a group are the slice "(missing)", the last."""
    groups = table.texts(by, missing="allow")
    return _names_of(table.name, by, set(groups.tolist())), np.where(groups == "", NO_GROUP, groups)


def _names_of(table: str, by: str, found: set[str]) -> list[str]:
    if {NO_GROUP, ""} <= found:
        raise TableError(f"column {by!r} of {table} has both rows without a group and a group named {NO_GROUP}")
    names = in_order([name or NO_GROUP for name in found])
    if len(names) > _MOST_SLICES:
        raise TableError(
            f"column {by!r} of {table} has {len(names):,} different values; slices are at most {_MOST_SLICES:,}"
        )
    return names


def slice_sizes(table: TableLike, by: str) -> dict[str, float]:
    """How many rows every slice of a table has."""
    counts = count_groups(table, by)
    named = os.path.basename(os.fsdecode(table)) if isinstance(table, str | os.PathLike) else "table"
    return {name: float(counts["" if name == NO_GROUP and "" in counts else name])
            for name in _names_of(named, by, set(counts))}  # fmt: skip


def in_order(groups: Iterable[str]) -> list[str]:
    """Groups in alphabetical order, or by size where all are numbers; rows without a group last."""
    names = sorted(set(groups), key=lambda name: (name == NO_GROUP, name))
    try:
        return sorted(names, key=lambda name: (name == NO_GROUP, 0.0 if name == NO_GROUP else float(name)))
    except ValueError:
        return names
