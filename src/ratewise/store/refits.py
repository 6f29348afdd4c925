"""Refits in the store: what a model that was trained on closed rounds' labels predicts of every item.

They are written once and never change, so that rates can be replayed without the model and without training again. The
record holds them as text: four bytes for each item, in base 64.
"""

import base64

import numpy as np
import sqlalchemy as sa

from ratewise.errors import StoreError
from ratewise.store import chain
from ratewise.store import schema as t
from ratewise.store import statements as sql
from ratewise.store.records import Floats, Refit, now

_EACH = 20_000  # items in one row

ROUNDS = sa.select(t.refits.c.round).where(t.refits.c.first == 0).order_by(t.refits.c.round)
_ONE = sa.select(t.refits).where(t.refits.c.round == sa.bindparam("number")).order_by(t.refits.c.first)


def keep(connection: sa.Connection, refit: Refit) -> bool:
    """Write a refit down; False where there is one of these rounds already."""
    sql.take_turn(connection)
    if connection.scalar(sa.select(sa.exists().where(t.refits.c.round == refit.round))):
        return False
    at = now()
    rows = [
        {"round": refit.round, "first": first, "labels": refit.labels, "at": at,
         "predictions": _packed(refit.predictions[first : first + _EACH])}
        for first in range(0, refit.predictions.size, _EACH)
    ]  # fmt: skip
    chain.insert(connection, t.refits, rows)
    return True


def read(connection: sa.Connection, number: int) -> Refit:
    """The refit after so many closed rounds."""
    rows = connection.execute(_ONE, {"number": number}).all()
    parts, at = [], 0
    for row in rows:
        part = _unpacked(row.predictions)
        if row.first != at or not np.all(np.isfinite(part)):
            raise StoreError(f"the refit after round {number} is not whole in the store; restore it from a backup")
        parts.append(part)
        at += part.size
    return Refit(number, int(rows[0].labels), np.concatenate(parts))


def _packed(predictions: Floats) -> str:
    return base64.b64encode(predictions.astype("<f4").tobytes()).decode()


def _unpacked(text: str) -> Floats:
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").astype(np.float64)
    except ValueError:
        return np.array([np.nan])
