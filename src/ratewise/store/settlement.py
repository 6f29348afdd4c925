"""What outcomes do to questions and money: a pure computation, which every form of the queue carries out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ratewise.store.records import Outcome

Entry = tuple[str, int, int | None, int | None, int]  # (kind, position, step, attempt, amount) of the ledger
Attempt = tuple[int, int, int]  # (position, step, attempt)


@dataclass(slots=True)
class Settlement:
    """Ledger entries, questions that are done, those to be asked again, and the change of the sums."""

    entries: list[Entry] = field(default_factory=list)
    done: list[Outcome] = field(default_factory=list)
    again: list[Outcome] = field(default_factory=list)
    reserved: int = 0
    spent: int = 0


def settlement(
    outcomes: Sequence[Outcome], held: Mapping[Attempt, int], *, bound: int, budget: int | None
) -> Settlement:
    """`held` is the money of attempts that are still open, all else is settled already; `bound` is spent or reserved.

    A failed attempt is followed by another if the budget holds it once this one is paid.
    """
    out = Settlement()
    for o in outcomes:
        c = o.claim
        if (c.position, c.step, c.attempt) not in held:
            continue
        out.entries.append(("settle", c.position, c.step, c.attempt, o.paid))
        out.reserved -= held[c.position, c.step, c.attempt]
        out.spent += o.paid
        if o.again is not None and (budget is None or bound + out.reserved + out.spent + o.again <= budget):
            out.entries.append(("reserve", c.position, c.step, c.attempt + 1, o.again))
            out.reserved += o.again
            out.again.append(o)
        else:
            out.done.append(o)
    return out
