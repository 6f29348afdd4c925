"""`[learner] refit = "each round"`: predictions of a model that is trained again on the labels of closed rounds.

After a round has closed, the planner says whether a refit is due. It is trained on all labels of closed rounds, by
folds (`learn/training/cross_fit.py`), and written down before the next round is planned. A refit belongs to the number
of rounds that were closed: what was known after these includes it, and a plan that rests on fewer does not.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ratewise.campaign.history import History
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.verification import Verification
from ratewise.core.checks import Floats
from ratewise.learn.training.cross_fit import Check, Rows, Trainer, cross_fitted
from ratewise.store import audit
from ratewise.store.queue import PlanningQueue, Refit
from ratewise.store.store import Store


@dataclass(slots=True, eq=False)
class Refits:
    """The refits that a queue has, each read once."""

    queue: PlanningQueue
    kept: dict[int, Refit] = field(default_factory=dict)

    def read_on(self) -> None:
        """Read those that were added since."""
        for number in self.queue.refit_rounds():
            if number not in self.kept:
                self.kept[number] = self.queue.refit(number)

    def columns(self, first: int, end: int, rounds: int | None = None) -> Floats | None:
        """Predictions of items, items × refits: of those after at most so many rounds; `None` where there are none."""
        of = [refit.predictions[first:end] for n, refit in self.kept.items() if rounds is None or n <= rounds]
        return np.column_stack(of) if of else None

    def added_to(self, history: History) -> History:
        """The history with the refits that belong to it; itself where it has them."""
        self.read_on()
        if sum(n <= history.rounds for n in self.kept) == history.refits:
            return history
        columns = self.columns(0, history.items, history.rounds)
        assert columns is not None
        return history.refitted(columns)


def check_refits(store: Store, closed: Sequence[History], found: Verification) -> None:
    """Check that each refit is of rounds that are closed, of their labels, and of all items; `closed` is by rounds."""
    items = int(store.meta("items") or 0)
    for number in store.refit_rounds():
        refit, where = store.refit(number), f"the refit after round {number}"
        if not 0 < number < len(closed):
            found.differ(f"{where} is of a round that is not closed")
            continue
        seen = closed[number].seen
        labels = 0 if seen is None else int(np.count_nonzero(seen.labelled))
        if refit.labels != labels:
            found.differ(f"{where} says that it was trained on {refit.labels} labels; there were {labels}")
        if refit.predictions.size != items:
            found.differ(f"{where} is of {refit.predictions.size} items; there are {items}")


def keep(store: Store, made: Refit) -> None:
    """Write a refit down, with a note for users."""
    with store.together():
        if store.keep_refit(made):
            rounds = "the first round" if made.round == 1 else f"{made.round} closed rounds"
            store.note(f"a model was trained on the {made.labels:,} labels of {rounds}")


def texts_of(spec: Spec, store: Store) -> Rows:
    """The texts of all items, in the campaign's order."""
    out: list[tuple[str, ...]] = []
    for first, end in audit.pieces(int(store.meta("items") or 0)):
        for row in audit.item_contents(store, first, end):
            content = json.loads(row.content)
            out.append(tuple("" if content[name] is None else str(content[name]) for name in spec.items.text))
    return out


def trainer_of(spec: Spec) -> Trainer | None:
    """What trains on the campaign's labels; `None` where nothing does. What is not installed is an InputError."""
    if spec.learner is None or spec.learner.refit is None:
        return None
    from ratewise.learn.training.refit import encoder_trainer

    init = spec.learner.init
    beside = None if init is None else spec.folder / init
    return encoder_trainer(spec.items.text, init=str(beside) if beside is not None and beside.is_dir() else init)


def refit_of(history: History, rows: Rows, trainer: Trainer, check: Check = lambda: None) -> Refit:
    """Train on the labels of these rounds; `rows` are the texts of all items, in the campaign's order."""
    assert history.seen is not None
    strong = np.full(len(rows), np.nan)
    strong[: history.items] = history.seen.strong
    return Refit(history.rounds, int(np.count_nonzero(~np.isnan(strong))), cross_fitted(trainer, rows, strong, check))
