"""What a campaign learns from beside ratings: the items' texts, models trained on its labels, a finished campaign.

Texts become columns once, when the campaign begins. The columns are kept with the items, so that rates can be replayed
without the model that made them. Embeddings are kept in a folder beside the store, batch by batch with what each has
cost, so that none is paid for twice: not by a run that was killed before the campaign had begun, and not by a campaign
that begins anew. What was paid is the first entry of the ledger, and no batch is sent that could pass the budget.

With `refit = "each round"` a model is trained again on the labels of closed rounds, by folds
(`learn/cross_fit.py`), and its predictions are written down before the next round is planned. They belong to
the number of rounds that were closed: what was known after these includes them, a plan that rests on fewer does not.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ratewise.campaign.history import History
from ratewise.campaign.spec.spec import LearnerSpec, Spec
from ratewise.core.checks import Floats
from ratewise.design.teacher import FEWEST_TO_TEACH, Teacher
from ratewise.learn.cross_fit import Check, Rows, Trainer, cross_fitted
from ratewise.learn.embeddings import Learner, Vault
from ratewise.learn.features import Coding
from ratewise.learn.texts import TextReading, read_texts
from ratewise.store import audit
from ratewise.store.memory import PlanningQueue
from ratewise.store.money import shown, to_units
from ratewise.store.queue import Refit
from ratewise.store.store import Store
from ratewise.tables import Relation

READING = "text reading"  # the fact of how texts became numbers
LEARNER = "[learner]"  # stands among the raters where money is told
_TOKENS = "text tokens"  # the fact of how many tokens had been billed when the campaign began


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Items × columns, and what the store should know of them."""

    columns: Floats
    note: str  # for users
    facts: dict[str, str]
    paid: int = 0  # for embeddings, in units; not yet in any ledger


def learner_of(spec: Spec) -> Learner:
    """How the TOML says that texts become numbers."""
    said = (spec.learner or LearnerSpec()).learner
    beside = None if said.model is None or said.base_url is not None else spec.folder / said.model
    return said if beside is None or not beside.is_dir() else replace(said, model=str(beside))


def load_texts(spec: Spec, relation: Relation, taught: TextReading | None = None) -> Texts | None:
    """The columns of the texts that the TOML names; `None` where it names none.

    `taught` is how the campaign of [start] from has read its texts: these are read in the same way.
    """
    if not spec.items.text:
        return None
    learner, table, folder = learner_of(spec), relation.table(*spec.items.text), vectors_folder(spec)
    if taught is None:
        found = read_texts(table, spec.items.text, learner, folder=folder, most=spec.goal.budget)
        assert found is not None
        made, reading = found
    else:
        reading = replace(taught, learner=learner)
        made = reading.columns(table, folder=folder, most=spec.goal.budget)
    columns = made.matrix.astype("f8")
    said = f"learns from the texts {', '.join(spec.items.text)} by {learner.model or learner.kind}: "
    vault = Vault(learner, folder)
    paid = to_units(learner.cost(vault.tokens - vault.booked))
    cost = f", for {shown(paid)}" if paid else ""
    facts = {READING: json.dumps(reading.to_dict()), _TOKENS: str(vault.tokens)}
    return Texts(columns, f"{said}{columns.shape[1]} columns{cost}", facts, paid)


def book_texts(spec: Spec, store: Store) -> None:
    """Remember beside the embeddings that the store's ledger has them; does nothing where that was done."""
    tokens = int(store.meta(_TOKENS) or 0)
    if tokens:
        Vault(learner_of(spec), vectors_folder(spec)).book(tokens)


def vectors_folder(spec: Spec) -> Path:
    """The folder beside the store where embeddings are kept; beside the TOML where the store is a server."""
    place = spec.name if "://" in spec.store else spec.store
    return spec.folder / f"{place}.vectors"


@dataclass(slots=True, eq=False)
class Refits:
    """The refits that a queue has, each read once."""

    queue: PlanningQueue
    kept: dict[int, Refit] = field(default_factory=dict)

    def read_on(self) -> None:
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


def keep(store: Store, made: Refit) -> None:
    """Write a refit down, with a note for users."""
    with store.writing():
        if store.keep_refit(made):
            rounds = "the first round" if made.round == 1 else f"{made.round} closed rounds"
            store.note(f"a model was trained on the {made.labels:,} labels of {rounds}")


def texts_of(spec: Spec, store: Store) -> Rows:
    """The texts of all items, in the campaign's order."""
    items = int(store.meta("items") or 0)
    contents = (json.loads(row.content) for row in audit.walk(audit.item_contents, store, items))
    return [
        tuple("" if one[name] is None else str(one[name]) for name in spec.items.text) for one in contents
    ]  # fmt: skip


def trainer_of(spec: Spec) -> Trainer | None:
    """What trains on the campaign's labels; `None` where nothing does. What is not installed is an InputError."""
    if spec.learner is None or spec.learner.refit is None:
        return None
    from ratewise.learn.cross_fit import encoder_trainer

    init = spec.learner.init
    beside = None if init is None else spec.folder / init
    return encoder_trainer(spec.items.text, init=str(beside) if beside is not None and beside.is_dir() else init)


def refit_of(history: History, rows: Rows, trainer: Trainer, check: Check = lambda: None) -> Refit:
    """Train on the labels of these rounds; `rows` are the texts of all items, in the campaign's order."""
    assert history.seen is not None
    strong = np.full(len(rows), np.nan)
    strong[: history.items] = history.seen.strong
    return Refit(history.rounds, int(np.count_nonzero(~np.isnan(strong))), cross_fitted(trainer, rows, strong, check))


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """The teacher, and how its features and texts became numbers: the new table's are made in the same way."""

    teacher: Teacher
    codings: tuple[Coding, ...]
    text: TextReading | None = None


def too_little(teacher: str) -> str:
    """What is told where the named campaign has nothing to hand on."""
    return (
        f"start.from: the campaign of {teacher} has fewer than {FEWEST_TO_TEACH} labels of items with weak ratings, "
        f"too few to teach; this one starts afresh"
    )
