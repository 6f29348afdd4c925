"""`arena-like`: the paper's pipeline end to end, on question answering: train on other systems, transfer, evaluate.

The paper fine-tunes a small model on the labels of other comparisons, learns the policies' parameters there as well
(A1), and evaluates a pair that neither has seen. Here the items are answers of five QA systems. The rater is trained
on a part of four systems' labels; another part, which it was not trained on, teaches the policies; the fifth system
is evaluated.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ratewise.core.draw import uniform
from ratewise.errors import InputError, TableError
from ratewise.lab.datasets import Dataset
from ratewise.learn.training.answering import TrainedModel
from ratewise.learn.training.folder import SETTINGS, TrainedOn
from ratewise.learn.training.train import train_rater
from ratewise.tables import Table, read_table

TEXT = ("question", "gold", "answer")
_TRAINED_ON = 12_000  # labels: a minute or two on a GPU, some hours without one
_TAUGHT_BY = 2000  # labels that teach the policies
_EVALUATED = 2500
_EPOCHS, _BATCH, _LONGEST = 3, 16, 64


def arena_like(
    tables: str | Path, folder: str | Path, *, system: str = "gpt4", init: str | None = None, seed: int = 0
) -> Dataset:
    """The rater's probabilities of a system that it has not seen, and of labels of the others that were kept aside.

    A rater that is in the folder already is used as it is.
    """
    path = Path(tables) / "evouna_qa.parquet"
    if not path.exists():
        raise TableError(f"there is no data for arena-like: {path} is missing; name the folder that has it (--tables)")
    table = read_table(path)
    systems, turn = table.texts("system"), uniform(table.ids(), seed=f"{seed}:arena-like")
    others = np.flatnonzero(systems != system)[np.argsort(turn[systems != system], kind="stable")]
    if others.size == table.rows:
        raise TableError(f"{path.name} has no system {system!r}")
    taught, teaching = others[:_TRAINED_ON], others[_TRAINED_ON : _TRAINED_ON + _TAUGHT_BY]
    model = _rater(table, taught, folder, init, seed)
    known = TrainedOn.read(Path(folder))
    here = np.flatnonzero(systems == system)
    here = here[np.argsort(turn[here], kind="stable")]
    rows, h = _rows(table), table.numbers("h")
    target, related = (
        np.array([i for i in part.tolist() if not known.knows(None, rows[i])]) for part in (here, teaching)
    )
    target = target[:_EVALUATED]
    weak, told = (model.probabilities([rows[i] for i in part.tolist()]) for part in (target, related))
    source = (
        f"Not the paper's data: answers of {system} to questions of EVOUNA with human verdicts; the weak rater is an "
        f"encoder with a head, trained here on {taught.size:,} labels of other systems; policies by transfer from "
        f"{related.size:,} further labels of those systems; {here.size - target.size:,} answers are left out, among "
        "them all whose texts it was trained on."
    )
    return Dataset("arena-like", source, weak, h[target], (told, h[related]))


def _rater(table: Table, taught: NDArray[np.intp], folder: str | Path, init: str | None, seed: int) -> TrainedModel:
    if not (Path(folder) / SETTINGS).exists():
        rows, h, ids, groups = _rows(table), table.numbers("h"), table.ids(), table.texts("qidx")
        columns = {name: [rows[i][k] for i in taught.tolist()] for k, name in enumerate(TEXT)}
        more = {"id": ids[taught], "q": groups[taught], "h": h[taught]}
        labelled = columns | {name: column.tolist() for name, column in more.items()}
        try:
            train_rater(
                labelled, text=TEXT, strong="h", output=folder, init=init, groups="q", epochs=_EPOCHS, batch=_BATCH,
                longest=_LONGEST, seed=seed,
            )  # fmt: skip
        except InputError as error:
            raise TableError(f"arena-like trains a rater first: {error}") from None
    return TrainedModel.load(folder)


def _rows(table: Table) -> list[tuple[str, ...]]:
    return list(zip(*(table.texts(name, missing="allow").tolist() for name in TEXT), strict=True))
