"""The texts of a campaign's items as columns to learn from, made once, when the campaign begins.

The columns are kept with the items, so that rates can be replayed without the model that made them. Embeddings are kept
in a folder beside the store, so that a campaign that begins anew pays for none of them twice.
"""

from dataclasses import dataclass
from pathlib import Path

from ratewise.campaign.spec.spec import LearnerSpec, Spec
from ratewise.core.checks import Floats
from ratewise.tables import Relation
from ratewise.text.reading import read_texts


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Items × columns, and what the store should know of them."""

    columns: Floats
    facts: dict[str, str]

    @property
    def count(self) -> int:
        """Columns."""
        return int(self.columns.shape[1])


def load_texts(spec: Spec, relation: Relation) -> Texts | None:
    """The columns of the texts that the TOML names; `None` where it names none."""
    if not spec.items.text:
        return None
    learner = (spec.learner or LearnerSpec()).learner
    table = relation.table(*spec.items.text)
    found = read_texts(table, spec.items.text, learner, folder=vectors_folder(spec))
    assert found is not None
    columns = found[0].matrix.astype("f8")
    names = ", ".join(spec.items.text)
    said = f"learns from the texts {names} by {learner.model or learner.kind}: {columns.shape[1]} columns"
    return Texts(columns, {"text": str(columns.shape[1]), "text note": said})


def vectors_folder(spec: Spec) -> Path:
    """The folder beside the store where embeddings are kept; beside the TOML where the store is a server."""
    place = spec.name if "://" in spec.store else spec.store
    return spec.folder / f"{place}.vectors"
