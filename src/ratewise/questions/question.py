"""What a campaign is asked besides one mean: slices, a comparison, a board, a quantile.

A question reads an item's place in it (its group, or the two models of a vote) from the
table, says by A how much a rating there moves each of its answers (METHODS 14), and computes the answers from all
rounds as one draw: a campaign's report and a command on its export call the same function.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.result import JsonRecord, Result
from ratewise.errors import InputError, TableError
from ratewise.questions.comparison import compare_pooled
from ratewise.questions.leaderboard import ELO, Leaderboard, Pairs, centring, pooled_board, read_models
from ratewise.questions.quantiles import pooled_quantile
from ratewise.questions.rated import Pooled, estimate_pooled, group_sizes
from ratewise.questions.slices import pooled_slices
from ratewise.questions.strata import NO_GROUP, in_order
from ratewise.tables import Table
from ratewise.tables.cells import Texts

Kind = Literal["mean", "slices", "compare", "leaderboard", "quantile"]
MOST_GROUPS, MOST_MODELS = 200, 50  # slices or systems of a campaign, and models of a board


@dataclass(frozen=True, slots=True)
class CampaignQuestion(JsonRecord):
    """What is asked of all items together, as it was when the campaign began."""

    kind: Kind = "mean"
    columns: tuple[str, ...] = ()  # that an item's place is read from
    names: tuple[str, ...] = ()  # of the slices, systems or models
    sizes: tuple[int, ...] = ()  # items of each in the table; of a board, of each pair of models, models × models
    baseline: str | None = None
    at: float = 0.5  # the quantile

    @property
    def grouped(self) -> bool:
        """Whether items belong to groups that a rating can be worth more in."""
        return self.kind in ("slices", "compare", "leaderboard")

    @property
    def answers(self) -> tuple[str, ...]:
        """Names of the answers."""
        if self.kind == "compare":
            return tuple(name for name in self.names if name != self.baseline)
        if self.kind == "quantile":
            return (f"{self.at:g}",)
        return self.names or ("mean",)

    @property
    def items_of_answers(self) -> dict[str, float]:
        """How many items of the table each answer is about."""
        if self.kind == "leaderboard":
            counts = np.array(self.sizes, dtype=np.float64).reshape(len(self.names), -1)
            return dict(zip(self.names, (counts.sum(axis=0) + counts.sum(axis=1)).tolist(), strict=True))
        sizes = dict(zip(self.names, map(float, self.sizes), strict=True))
        if self.kind == "compare":
            return {name: sizes[name] + sizes[str(self.baseline)] for name in self.answers}
        return sizes

    @classmethod
    def of(
        cls, kind: Kind, columns: tuple[str, ...], table: Table, *, baseline: str | None = None, at: float = 0.5
    ) -> "CampaignQuestion":
        """The question with the groups that a table has."""
        if kind in ("mean", "quantile"):
            return cls(kind, at=at)
        if kind == "leaderboard":
            names, pairs = read_models(table, *columns)
            sizes = np.bincount(pairs.a * len(names) + pairs.b, minlength=len(names) ** 2).tolist()
        else:
            texts = _groups(table, columns[0])
            found, first = np.unique(texts.astype(np.str_), return_index=True)
            listed = [str(name) for name in found]
            in_table = [str(name) for name in found[np.argsort(first)]]
            names = in_order(listed) if kind == "slices" else in_table
            counted = dict(zip(listed, np.unique(texts.astype(np.str_), return_counts=True)[1].tolist(), strict=True))
            sizes = [counted[name] for name in names]
        if len(names) > (MOST_MODELS if kind == "leaderboard" else MOST_GROUPS):
            raise TableError(
                f"column {columns[0]!r} of {table.name} has {len(names):,} different values; a campaign answers for "
                f"{MOST_GROUPS} slices or systems and {MOST_MODELS} models at most: group them first"
            )
        if len(names) < 2:
            raise TableError(f"column {columns[0]!r} of {table.name} has {names[0]!r} only; there is nothing to tell")
        if kind == "compare":
            if baseline is None and len(names) > 2:
                raise InputError(f"{len(names)} systems need a baseline: write baseline = {names[0]!r} in [question]")
            baseline = names[1] if baseline is None else baseline
            if baseline not in names:
                raise InputError(f"the baseline {baseline!r} is no system; there are {', '.join(map(repr, names))}")
        return cls(kind, columns, tuple(names), tuple(sizes), baseline, at)

    def place(self, table: Table) -> Floats | None:
        """Where each row stands, items × columns; `None` where every row stands alike."""
        if not self.grouped:
            return None
        number = {name: k for k, name in enumerate(self.names)}
        if self.kind == "leaderboard":
            a, b = (self._codes(table.texts(column), number, table.name) for column in self.columns)
            return np.asarray((a * len(self.names) + b)[:, None], dtype=np.float64)
        return self._codes(_groups(table, self.columns[0]), number, table.name)[:, None].astype(np.float64)

    def _codes(self, texts: Texts, number: Mapping[str, int], name: str) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
        codes = np.array([number.get(str(text), -1) for text in texts.tolist()], dtype=np.intp)
        if codes.size and codes.min() < 0:
            row = int(np.argmin(codes))
            raise TableError(f"row {row + 1} of {name} is of {str(texts[row])!r}, which the campaign does not know")
        return codes

    def groups(self, place: Floats) -> Texts:
        """The name of each item's slice or system."""
        return np.array(self.names, dtype=object)[place[:, 0].astype(np.intp)]

    def pairs(self, place: Floats) -> Pairs:
        """The two models of each vote."""
        a, b = np.divmod(place[:, 0].astype(np.intp), len(self.names))
        return Pairs(a, b, len(self.names))

    def features(self, place: Floats) -> Floats | None:
        """Columns for the models: one for each group; of a vote, 1 for the first model and −1 for the second."""
        if len(self.names) > _MOST_COLUMNS:
            return None
        each = np.arange(len(self.names))
        if self.kind == "leaderboard":
            pairs = self.pairs(place)
            return np.asarray((pairs.a[:, None] == each) * 1.0 - (pairs.b[:, None] == each))
        return np.asarray(place[:, :1] == each, dtype=np.float64)

    # The answers

    def answer(self, pooled: Pooled, place: Floats | None) -> Result:
        """The answers from all rounds as one draw, at the level that the pooled terms say."""
        t = pooled.terms
        if place is None:
            return pooled_quantile(pooled, self.at) if self.kind == "quantile" else estimate_pooled(pooled)
        if self.kind == "leaderboard":
            return pooled_board(pooled, self.pairs(place), self.names)
        sizes = group_sizes(self.names, self.sizes, t.pool_size)
        if self.kind == "slices":
            return pooled_slices(pooled, self.groups(place), self.columns[0], sizes)
        return compare_pooled(pooled, self.groups(place), sizes, str(self.baseline), pooled.items.clusters)

    # How much a rating moves each answer

    def moves(self, result: Result | None) -> Floats | None:
        """A of every answer and group of items, answers × groups; `None` where every item moves all answers alike.

        Of a board it depends on the ratings so far; before there are any, all pairs count the same.
        """
        if self.kind == "slices":
            return np.diag(1.0 / np.array(self.sizes))
        if self.kind == "compare":
            base = self.names.index(str(self.baseline))
            each = 1.0 / np.array(self.sizes)
            rivals = [k for k in range(len(self.names)) if k != base]
            A = np.zeros((len(rivals), len(self.names)))
            A[np.arange(len(rivals)), rivals] = each[rivals]
            A[:, base] = -each[base]
            return A
        return self._board_moves(result) if self.kind == "leaderboard" else None

    def _board_moves(self, board: Result | None) -> Floats:
        """How far a vote on each pair moves each rating, in points: A W⁻¹ (e_a − e_b)/N at the present ratings."""
        K = len(self.names)
        ratings = np.zeros(K)
        if isinstance(board, Leaderboard):
            known = {m.name: m.rating for m in board.models if m.rating is not None}
            ends = min(known.values()), max(known.values())
            worst = {m.name for m in board.models if m.rating is None and "won no" in (m.reason or "")}
            ratings = np.array([known.get(name, ends[0] if name in worst else ends[1]) for name in self.names]) / ELO
        a, b = np.divmod(np.arange(K * K), K)
        counts = np.array(self.sizes, dtype=np.float64)
        X = (np.eye(K)[a] - np.eye(K)[b])[:, :-1]
        p = special.expit(ratings[a] - ratings[b])
        W = (X * (counts * p * (1 - p))[:, None]).T @ X
        return np.asarray(ELO * centring(K) @ np.linalg.pinv(W) @ X.T)


_MOST_COLUMNS = 20  # groups that become columns to learn from


def _groups(table: Table, column: str) -> Texts:
    texts = table.texts(column, missing="allow")
    return np.where(texts == "", NO_GROUP, texts)
