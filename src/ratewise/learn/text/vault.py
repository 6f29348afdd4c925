"""Vectors of texts, kept in a folder by the hash of the text, so that no text is embedded twice.

Every batch is a file of its own, written whole or not at all, with the tokens that were billed for it: a run that was
killed goes on from the last batch, and nothing is paid for or counted twice.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ratewise.errors import InputError
from ratewise.learn.text.bill import Bill, Purse
from ratewise.learn.text.telling import tell
from ratewise.learn.text_coding import Vectors

BATCH = 256  # texts embedded and written at a time
_BOOKED = "booked.txt"  # in the folder: tokens that a campaign's ledger has

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
    tokens: int = 0  # that were billed for everything in it
    _known: dict[bytes, Vectors] = field(init=False, default_factory=dict)

    @classmethod
    def of(cls, folder: Path | None, identity: str) -> "Vault":
        """The vault of a model, read from its folder."""
        name = hashlib.sha256(identity.encode()).hexdigest()[:16]
        vault = cls((cache_folder() if folder is None else folder) / name)
        for file in sorted(vault.folder.glob("*.npz")):
            keys, vectors, tokens = _read(file)
            vault._known.update(zip(map(bytes, keys), vectors, strict=True))
            vault.tokens += tokens
        return vault

    def missing(self, texts: Sequence[str]) -> dict[bytes, str]:
        """Different texts without a vector, by their names."""
        return {key: text for text in texts if (key := key_of(text)) not in self._known}

    @property
    def booked(self) -> int:
        """Tokens that are in a ledger already; a campaign that begins anew does not pay for them again."""
        file = self.folder / _BOOKED
        return int(file.read_text(encoding="utf-8")) if file.exists() else 0

    def book(self, tokens: int) -> None:
        """Remember that a ledger has this many tokens; it never becomes fewer."""
        if tokens > self.booked:
            part = self.folder / f"{_BOOKED}.{os.getpid()}.part"
            part.write_text(str(tokens), encoding="utf-8")
            part.replace(self.folder / _BOOKED)

    def vectors(
        self, texts: Sequence[str], embed: Embed, *, bill: Bill | None = None, purse: Purse | None = None
    ) -> Vectors:
        """A vector for each text; those that are not known yet are embedded batch by batch, and kept.

        What `bill` counts on the way is kept with each batch. A batch that the `purse` cannot pay for is not sent.
        """
        items = list(self.missing(texts).items())
        for first in range(0, len(items), BATCH):
            keys, batch = zip(*items[first : first + BATCH], strict=True)
            if purse is not None:
                purse.check(self.tokens - self.booked, batch)
            self._embed(list(keys), batch, embed, Bill() if bill is None else bill)
            tell(min(first + BATCH, len(items)), len(items))
        found = [self._known[key_of(text)] for text in texts]
        if len({vector.size for vector in found}) > 1:
            raise InputError(
                f"vectors of different lengths are kept in {self.folder}, so that the model must have changed; delete "
                "the folder, and all texts are embedded anew"
            )
        return np.stack(found)

    def _embed(self, keys: list[bytes], texts: Sequence[str], embed: Embed, bill: Bill) -> None:
        """Embed and keep a batch. A reply that cannot be used was billed all the same, and so it counts."""
        before = bill.tokens
        try:
            found = _checked(embed(texts), len(texts))
        except InputError:
            if bill.tokens > before:
                self._keep([], np.empty((0, 0), dtype=np.float32), bill.tokens - before)
            raise
        self._keep(keys, found, bill.tokens - before)

    def _keep(self, keys: list[bytes], vectors: Vectors, tokens: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(b"".join(keys)).hexdigest()[:16] if keys else f"lost-{self.tokens + tokens}"
        file = self.folder / f"{name}.npz"
        part = file.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as out:
            names = np.array([np.frombuffer(key, dtype=np.uint8) for key in keys]).reshape(-1, 16)
            np.savez(out, keys=names, vectors=vectors, tokens=np.int64(tokens))
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
        self.tokens += tokens
        self._known.update(zip(keys, vectors, strict=True))


def _read(file: Path) -> tuple[Any, Vectors, int]:
    """Keys, vectors and tokens of a batch."""
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as part:
            keys, vectors = part["keys"], part["vectors"]
            tokens = int(part["tokens"]) if "tokens" in part else 0
    except (OSError, EOFError, TypeError, ValueError, KeyError, BadZipFile):
        keys, vectors, tokens = np.empty((0, 16), dtype=np.uint8), np.empty((1, 0)), 0
    if len(keys) != len(vectors):
        raise InputError(f"the embeddings in {file} are damaged; delete this file, and its texts are embedded anew")
    return keys, vectors, tokens


def _checked(vectors: Vectors, count: int) -> Vectors:
    found = np.asarray(vectors, dtype=np.float32)
    if found.ndim != 2 or found.shape[0] != count or not np.isfinite(found).all():
        raise InputError(f"the embedding model gave an array of shape {found.shape} for {count} texts")
    return found
