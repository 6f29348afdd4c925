"""The texts of a campaign's items as columns to learn from, made once, when the campaign begins.

The columns are kept with the items, so that rates can be replayed without the model that made them. Embeddings are kept
in a folder beside the store, batch by batch with what each has cost, so that none is paid for twice: not by a run that
was killed before the campaign had begun, and not by a campaign that begins anew. What was paid is the first entry of
the ledger, and no batch is sent that could pass the budget.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from ratewise.campaign.rater_cost import RaterCost
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.spec.tables import LearnerSpec
from ratewise.core.checks import Floats
from ratewise.learn.text.bill import cost_of, most_tokens, usual_tokens
from ratewise.learn.text.learner import Learner, vault_of
from ratewise.learn.text.reading import TextReading, read_texts
from ratewise.learn.text.vault import BATCH
from ratewise.store.money import shown, to_units
from ratewise.store.store import Store
from ratewise.tables import Relation

READING = "text reading"  # the fact of how texts became numbers
LEARNER = "[learner]"  # stands among the raters where money is told
_TOKENS = "text tokens"  # the fact of how many tokens had been billed when the campaign began


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Items × columns, and what the store should know of them."""

    columns: Floats
    facts: dict[str, str]
    paid: int = 0  # for embeddings, in units; not yet in any ledger

    @property
    def count(self) -> int:
        """Columns."""
        return int(self.columns.shape[1])


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
    vault = vault_of(learner, folder)
    paid = to_units(cost_of(vault.tokens - vault.booked, learner.price))
    cost = f", for {shown(paid)}" if paid else ""
    facts = {"text": str(columns.shape[1]), "text note": f"{said}{columns.shape[1]} columns{cost}"}
    facts |= {READING: json.dumps(reading.to_dict()), _TOKENS: str(vault.tokens)}
    return Texts(columns, facts, paid)


def book_texts(spec: Spec, store: Store) -> None:
    """Remember beside the embeddings that the store's ledger has them; does nothing where that was done."""
    tokens = int(store.meta(_TOKENS) or 0)
    if tokens:
        vault_of(learner_of(spec), vectors_folder(spec)).book(tokens)


def text_cost(spec: Spec, relation: Relation) -> RaterCost | None:
    """What embeddings are still to cost; `None` where nobody is paid for them."""
    learner = learner_of(spec)
    if not spec.items.text or learner.base_url is None or learner.price is None:
        return None
    table, vault = relation.table(*spec.items.text), vault_of(learner, vectors_folder(spec))
    texts = [text for name in spec.items.text for text in table.texts(name, missing="allow").tolist()]
    new = list(vault.missing(texts).values())
    usual, most = (cost_of(tokens, learner.price) for tokens in (usual_tokens(new), most_tokens(new)))
    return RaterCost(LEARNER, len(new), -(-len(new) // BATCH), usual, most, "TOML", "embeddings")


def vectors_folder(spec: Spec) -> Path:
    """The folder beside the store where embeddings are kept; beside the TOML where the store is a server."""
    place = spec.name if "://" in spec.store else spec.store
    return spec.folder / f"{place}.vectors"
