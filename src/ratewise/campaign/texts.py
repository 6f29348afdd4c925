"""The texts of a campaign's items as columns to learn from, made once, when the campaign begins.

The columns are kept with the items, so that rates can be replayed without the model that made them. Embeddings are kept
in a folder beside the store, so that a campaign that begins anew pays for none of them twice.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from ratewise.campaign.spec.spec import LearnerSpec, Spec
from ratewise.core.checks import Floats
from ratewise.tables import Relation
from ratewise.text.learner import Learner
from ratewise.text.reading import TextReading, read_texts

READING = "text reading"  # the fact of how texts became numbers


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Items × columns, and what the store should know of them."""

    columns: Floats
    facts: dict[str, str]

    @property
    def count(self) -> int:
        """Columns."""
        return int(self.columns.shape[1])


def learner_of(spec: Spec) -> Learner:
    """How the TOML says that texts become numbers."""
    return (spec.learner or LearnerSpec()).learner


def load_texts(spec: Spec, relation: Relation, taught: TextReading | None = None) -> Texts | None:
    """The columns of the texts that the TOML names; `None` where it names none.

    `taught` is how the campaign of [start] from has read its texts: these are read in the same way.
    """
    if not spec.items.text:
        return None
    learner, table, folder = learner_of(spec), relation.table(*spec.items.text), vectors_folder(spec)
    if taught is None:
        found = read_texts(table, spec.items.text, learner, folder=folder)
        assert found is not None
        made, reading = found
    else:
        reading = replace(taught, learner=learner)
        made = reading.columns(table, folder=folder)
    columns = made.matrix.astype("f8")
    said = f"learns from the texts {', '.join(spec.items.text)} by {learner.model or learner.kind}: "
    facts = {"text": str(columns.shape[1]), "text note": f"{said}{columns.shape[1]} columns"}
    return Texts(columns, facts | {READING: json.dumps(reading.to_dict())})


def vectors_folder(spec: Spec) -> Path:
    """The folder beside the store where embeddings are kept; beside the TOML where the store is a server."""
    place = spec.name if "://" in spec.store else spec.store
    return spec.folder / f"{place}.vectors"
