"""Embedding models: sentence-transformers on this machine, or an OpenAI-compatible endpoint."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ratewise.errors import InputError
from ratewise.learn.hub import quiet_libraries, reason_of
from ratewise.learn.text.bill import LONGEST
from ratewise.learn.text.vault import Embed
from ratewise.learn.text_coding import Vectors

if TYPE_CHECKING:
    from ratewise.learn.text.learner import Learner

_TRAINED = "trained_on.json"  # in the folder of a model that has seen labels


def embedder(learner: "Learner") -> Embed:
    """The function that embeds a batch of texts; the model is loaded when the first batch comes."""
    if learner.base_url is not None:
        from ratewise.learn.text.endpoint import endpoint_embedder

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
    folder = Path(model).expanduser()
    if not folder.is_dir() and (model.startswith((".", "~")) or folder.is_absolute()):
        raise InputError(f"the embedding model {model!r} cannot be loaded: there is no such folder; check the path")
    if (folder / _TRAINED).is_file():
        raise InputError(
            f"{model!r} is a rater that was trained on labels, and its vectors may know those of your items; name the "
            'model it was trained from, or use it in a campaign as a rater of kind = "trained"'
        )
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError("embeddings need sentence-transformers; install it: pip install 'ratewise[text]'") from None
    try:
        with quiet_libraries():
            return SentenceTransformer(
                str(folder) if folder.is_dir() else model, model_kwargs={"use_safetensors": True}
            )
    except Exception as error:
        raise InputError(
            f"the embedding model {model!r} cannot be loaded ({reason_of(error)}); give the path of its folder, "
            "with weights in safetensors"
        ) from None
