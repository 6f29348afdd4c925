"""Ratings as people give them, made ready for every reader: words become numbers, several columns their mean."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from ratewise.core.estimate import Estimate
from ratewise.core.votes import Agreement, VoteNoise, Votes, agreement, vote_noise
from ratewise.errors import TableError
from ratewise.questions.export_terms import exported_ends
from ratewise.questions.rated import RatedTable, Ready, Strong
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.spark import SqlTable
from ratewise.tables.words import Meaning, in_numbers


def made_ready(table: TableLike, strong: Strong, weak: str | None, meaning: Meaning) -> Ready:
    """Read the table and put its ratings into numbers; several columns of strong ratings become their mean."""
    read = read_table(table)
    names = strong_columns(read, strong)
    read, notes = in_numbers(read, strong=names, weak=() if weak is None else (weak,), meaning=meaning)
    return with_mean(read, names, meaning, notes)


def with_mean(table: Table, names: Sequence[str], meaning: Meaning, notes: tuple[str, ...] = ()) -> Ready:
    """The table, whose ratings are numbers, with the mean of these columns if there are several."""
    if len(names) == 1:
        ends = exported_ends(table, names[0]) if meaning.bounds is None else meaning.bounds
        return Ready(table, names[0], tuple(names), notes, scale=ends)
    votes = Votes(np.stack([table.numbers(name, missing="allow") for name in names], axis=1), tuple(names))
    column = f"mean of {', '.join(names)}"
    read = table.with_columns({column: votes.means})
    return Ready(read, column, tuple(names), notes, votes, ends_of(votes, meaning))


def strong_columns(table: Table | SqlTable, strong: Strong) -> list[str]:
    """One column or several: a list, or their names separated by commas."""
    if isinstance(strong, str):
        if strong in table.columns or "," not in strong:
            return [strong]
        strong = [name.strip() for name in strong.split(",") if name.strip()]
    names = list(strong)
    if not names or len(set(names)) < len(names):
        raise TableError(f"strong names no column, or one of them twice: {', '.join(names) or 'none'}")
    return names


def ends_of(votes: Votes, meaning: Meaning) -> tuple[float, float] | None:
    """The ends of the scale: as stated, or those of 0/1 votes."""
    known = votes.values[~np.isnan(votes.values)]
    binary = bool(known.size and np.all((known == 0) | (known == 1)))
    return meaning.bounds or ((0.0, 1.0) if binary else None)


# What votes do to an estimate


def with_votes(found: Estimate, rated: RatedTable) -> Estimate:
    """The estimate with its people's agreement; of a pool's own mean, with the room that their disagreement takes.

    The population's variance has it already: contributions vary by votes as by items (docs/statistics.md, votes).
    """
    votes = rated.votes
    if votes is None:
        return found
    items = None if rated.items.counts is None else rated.items.items  # only the first rows stand alone then
    rates = rated.items.rates[: votes.values.shape[0]]
    if found.estimand == "pool":
        found = _widened(found, vote_noise(votes, rates, items), rated.scale)
    all_rated = bool((votes.counts > 0).all()) and items in (None, rates.size)
    room = found.estimand == "population" or not all_rated
    told = agreement(votes, rates, standard_error=found.standard_error, room=room, items=items)
    return replace(found, agreement=told, notes=(*found.notes, *_in_words(told)))


def votes_in_words(rated: RatedTable) -> tuple[str, ...]:
    """Who voted and how well they agree, for questions about more than one mean."""
    if rated.votes is None:
        return ()
    return _in_words(agreement(rated.votes, rated.items.rates, standard_error=None, room=False))


def _widened(found: Estimate, noise: VoteNoise | None, scale: tuple[float, float] | None) -> Estimate:
    """The estimate with the votes' own variance added on either side: the squares of what each adds to it."""
    if noise is None:
        note = "no item has two votes, so the noise of votes is unknown: the interval holds for these votes only"
        return replace(found, notes=(*found.notes, note))
    if noise.beyond <= 0 or found.interval is None:
        return found
    own = math.sqrt(noise.beyond)
    more = float(special.ndtri(0.5 + found.level / 2)) * own
    low, high = found.interval
    low, high = found.value - math.hypot(found.value - low, more), found.value + math.hypot(high - found.value, more)
    if scale is not None:
        low, high = max(low, scale[0]), min(high, scale[1])
    notes = tuple(note for note in found.notes if "the value is exact" not in note)
    wider = math.hypot(found.standard_error or 0.0, own)
    return replace(found, standard_error=wider, interval=(low, high), notes=notes)


def _in_words(a: Agreement) -> tuple[str, ...]:
    each = f"{a.votes / max(a.items, 1):.1f}".removesuffix(".0")
    said = f"{a.people} people gave {a.votes:,} votes on {a.items:,} items ({each} each)"
    if a.percent is not None:
        alpha = "" if a.alpha is None else f", Krippendorff's alpha {a.alpha:.2f}"
        said += f"; {a.percent:.0%} of pairs agree{alpha}"
    out = [said]
    if a.standard_error is not None and a.with_another_vote is not None:
        out.append(_another_vote(a, each))
    for name, gap in a.differs:
        out.append(
            f"{name} rates {abs(gap):.2g} {'higher' if gap > 0 else 'lower'} than the others on the same items: the "
            "interval holds for people like these, and more items do not average it out"
        )
    return tuple(out)


def _another_vote(a: Agreement, each: str) -> str:
    said = (
        f"another vote on each of the {a.items:,} items ({a.items:,} votes) would bring the standard error from "
        f"{a.standard_error:.4f} to {a.with_another_vote:.4f}"
    )
    if a.with_other_items is None:
        return f"{said}; there are no other items to rate"
    more = max(round(a.items / (a.votes / a.items)), 1)
    return f"{said}; as many votes on {more:,} other items, {each} each, to {a.with_other_items:.4f}"
