"""Vectors of texts, kept in a folder by the hash of the text, so that no text is embedded twice.

Every batch is a file of its own, written whole or not at all: a run that was killed goes on from the last batch.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ratewise.errors import InputError
from ratewise.models.text_coding import Vectors
from ratewise.text.telling import tell

_BATCH = 256  # texts embedded and written at a time

Embed = Callable[[Sequence[str]], Vectors]


def key_of(text: str) -> bytes:
    """The name of a text: the first half of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()[:16]


def cache_folder() -> Path:
    """Where commands without a campaign keep vectors."""
    place = os.environ.get("RATEWISE_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "ratewise")
    return Path(place).expanduser() / "vectors"


@dataclass(slots=True, eq=False)
class Vault:
    """A folder of vectors of one model."""

    folder: Path
    _known: dict[bytes, Vectors] = field(init=False, default_factory=dict)

    @classmethod
    def of(cls, folder: Path | None, identity: str) -> "Vault":
        """The vault of a model, read from its folder."""
        name = hashlib.sha256(identity.encode()).hexdigest()[:16]
        vault = cls((cache_folder() if folder is None else folder) / name)
        for file in sorted(vault.folder.glob("*.npz")):
            with np.load(file) as part:
                vault._known.update(zip(map(bytes, part["keys"]), part["vectors"], strict=True))
        return vault

    def vectors(self, texts: Sequence[str], embed: Embed) -> Vectors:
        """A vector for each text; those that are not known yet are embedded batch by batch, and kept."""
        keys = [key_of(text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        items = list(missing.items())
        for first in range(0, len(items), _BATCH):
            batch = items[first : first + _BATCH]
            self._keep([key for key, _ in batch], _checked(embed([text for _, text in batch]), len(batch)))
            tell(min(first + _BATCH, len(items)), len(items))
        return np.stack([self._known[key] for key in keys])

    def _keep(self, keys: list[bytes], vectors: Vectors) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{hashlib.sha256(b''.join(keys)).hexdigest()[:16]}.npz"
        part = file.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as out:
            np.savez(out, keys=np.array([np.frombuffer(key, dtype=np.uint8) for key in keys]), vectors=vectors)
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
        self._known.update(zip(keys, vectors, strict=True))


def _checked(vectors: Vectors, count: int) -> Vectors:
    found = np.asarray(vectors, dtype=np.float32)
    if found.ndim != 2 or found.shape[0] != count or not np.isfinite(found).all():
        raise InputError(f"the embedding model gave an array of shape {found.shape} for {count} texts")
    return found
