"""What texts are learned from: the one seam, with a vector for every text."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal

from ratewise.errors import InputError
from ratewise.learn.text.bill import Purse
from ratewise.learn.text.vault import Vault
from ratewise.learn.text_coding import Vectors

Kind = Literal["words", "embeddings", "vectors"]


@dataclass(frozen=True, slots=True)
class Learner:
    """Where vectors come from: hashed words, an embedding model (on this machine or behind an address), or a column."""

    kind: Kind = "words"
    model: str | None = None  # embeddings: path or name
    base_url: str | None = None  # embeddings: of an OpenAI-compatible endpoint
    key_env: str | None = None
    price: str | None = None  # embeddings behind an address: for a million tokens

    @classmethod
    def said(cls, learner: "str | Learner") -> "Learner":
        """From one word: "words", "vectors", or the path or name of a sentence-transformers model."""
        if isinstance(learner, Learner):
            return learner
        if learner in ("words", "vectors"):
            return cls(learner)  # type: ignore[arg-type]
        if not learner.strip():
            raise InputError("the learner is empty; write words, vectors, or the path or name of an embedding model")
        return cls("embeddings", learner)

    def to_dict(self) -> dict[str, str | None]:
        """A dictionary, ready for JSON."""
        names = ("kind", "model", "base_url", "key_env", "price")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def identity(self) -> str:
        """Name under which vectors are kept: other models have other vectors for the same text."""
        return f"{self.kind}:{self.base_url or ''}:{self.model or ''}"


def vectors_of(
    texts: Sequence[str], learner: Learner, *, folder: Path | None = None, most: Decimal | None = None
) -> Vectors:
    """An embedding for each text: worked out once for each different text, and kept in the folder.

    Embeddings that an endpoint is paid for may take `most` of money.
    """
    from ratewise.learn.text.embedding import embedder

    purse = None if most is None or learner.price is None else Purse(most, learner.price)
    embed = embedder(learner)
    return vault_of(learner, folder).vectors(texts, embed, bill=getattr(embed, "bill", None), purse=purse)


def vault_of(learner: Learner, folder: Path | None) -> Vault:
    """The vault of the learner's vectors."""
    return Vault.of(folder, learner.identity)
