"""Embedding models: sentence-transformers on this machine, or an OpenAI-compatible endpoint."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ratewise.errors import InputError
from ratewise.models.text_coding import Vectors
from ratewise.text.bill import LONGEST
from ratewise.text.vault import Embed

if TYPE_CHECKING:
    from ratewise.text.learner import Learner


def embedder(learner: "Learner") -> Embed:
    """The function that embeds a batch of texts; the model is loaded when the first batch comes."""
    if learner.base_url is not None:
        from ratewise.text.endpoint import endpoint_embedder

        return endpoint_embedder(learner)
    return _local(learner.model or "")


def _local(model: str) -> Embed:
    loaded: list[object] = []

    def embed(texts: Sequence[str]) -> Vectors:
        if not loaded:
            loaded.append(_loaded(model))
        found = loaded[
            0
        ].encode(  # type: ignore[attr-defined]
            [text[:LONGEST] for text in texts], batch_size=64, show_progress_bar=False, normalize_embeddings=True
        )
        return np.asarray(found, dtype=np.float32)

    return embed


def _loaded(model: str) -> object:
    if not Path(model).expanduser().is_dir() and (model.startswith((".", "~")) or Path(model).is_absolute()):
        raise InputError(f"the embedding model {model!r} cannot be loaded: there is no such folder; check the path")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError("embeddings need sentence-transformers; install it: pip install 'ratewise[text]'") from None
    try:
        return SentenceTransformer(model)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"the embedding model {model!r} cannot be loaded ({reason}); give the path of its folder"
        ) from None
