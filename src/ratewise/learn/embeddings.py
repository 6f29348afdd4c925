"""Embeddings of texts: which model makes them, what they cost, and the folder that keeps them.

A vector is kept by the hash of its text, so that no text is embedded twice. Every batch is a file of its own, written
whole or not at all, with the tokens that were billed for it: a run that was killed goes on from the last batch, and
nothing is paid for or counted twice.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ratewise.core.result import JsonRecord, fields_in_json
from ratewise.errors import InputError
from ratewise.learn.networks import check_place, load_model
from ratewise.tables.write import replacing, write_text

Vectors = NDArray[np.float32]
Kind = Literal["words", "embeddings", "vectors"]
Progress = Callable[[int, int], None]  # texts done, texts in all

BATCH = 256  # texts embedded and written at a time
LONGEST = 20_000  # characters of a text that are sent
_BOOKED = "booked.txt"  # in the folder: tokens that a campaign's ledger has
_TRAINED = "trained_on.json"  # in the folder of a model that has seen labels
_EMPTY = " "  # endpoints refuse texts without a character
_MARKS = 2  # tokens that a model adds to each text
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Learner(JsonRecord):
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
        return {name: value for name, value in fields_in_json(self).items() if value is not None}

    @property
    def identity(self) -> str:
        """Name under which vectors are kept: other models have other vectors for the same text."""
        return f"{self.kind}:{self.base_url or ''}:{self.model or ''}"

    def cost(self, tokens: int) -> Decimal:
        return Decimal(0) if self.price is None else tokens * Decimal(self.price) / _MILLION


def most_tokens(texts: Sequence[str]) -> int:
    """The most tokens that texts can have: no token is shorter than a byte."""
    return sum(len(text[:LONGEST].encode("utf-8", "replace")) + _MARKS for text in texts)


def usual_tokens(texts: Sequence[str]) -> int:
    """Tokens to be expected: about four letters each."""
    return sum(len(text[:LONGEST]) // 4 + _MARKS for text in texts)


# The models


class Embedder:
    """Embeds by the learner's endpoint, or by its model on this machine, which is loaded at the first batch."""

    def __init__(self, learner: Learner) -> None:
        self.learner, self.tokens = learner, 0  # billed for all calls so far
        self._model: Any = None

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """The vectors in the order of the texts."""
        if self.learner.base_url is not None:
            import asyncio

            return asyncio.run(self._asked(texts))
        if self._model is None:
            self._model = _loaded(self.learner.model or "")
        cut = [text[:LONGEST] for text in texts]
        found = self._model.encode(cut, batch_size=64, show_progress_bar=False, normalize_embeddings=True)
        return np.asarray(found, dtype=np.float32)

    async def _asked(self, texts: Sequence[str]) -> Vectors:
        from ratewise.judges.client import CallError, Client

        client = Client(self.learner.base_url or "", self.learner.key_env, timeout=120.0)
        body = {"model": self.learner.model, "input": [text[:LONGEST] or _EMPTY for text in texts]}
        key = key_of("\n".join(texts)).hex()
        try:
            reply = await client.post("embeddings", body, key=key, tokens=sum(map(len, texts)) // 3)
        except CallError as error:
            raise InputError(f"the embeddings at {self.learner.base_url} did not come: {error.reason}") from None
        finally:
            await client.close()
        used = reply.get("usage")
        said = used.get("prompt_tokens") if isinstance(used, dict) else None
        self.tokens += said if isinstance(said, int) and said >= 0 else most_tokens(texts)
        try:
            rows = {int(row["index"]): np.array(row["embedding"], dtype=np.float32) for row in reply.get("data") or []}
            return np.stack([rows[i] for i in range(len(texts))])
        except (KeyError, TypeError, ValueError):
            raise InputError(f"the endpoint's reply does not have {len(texts)} embeddings") from None


def _loaded(model: str) -> Any:
    folder = Path(model).expanduser()
    check_place("embedding model", model)
    if (folder / _TRAINED).is_file():
        raise InputError(
            f"{model!r} is a rater that was trained on labels, and its vectors may know those of your items; name the "
            'model it was trained from, or use it in a campaign as a rater of kind = "trained"'
        )
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError("embeddings need sentence-transformers; install it: pip install 'ratewise[text]'") from None
    place, safe = str(folder) if folder.is_dir() else model, {"use_safetensors": True}
    return load_model("embedding model", model, lambda: SentenceTransformer(place, model_kwargs=safe))


# The folder


def key_of(text: str) -> bytes:
    """The name of a text: the first half of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()[:16]


def cache_folder() -> Path:
    """Where commands without a campaign keep vectors."""
    place = os.environ.get("RATEWISE_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "ratewise")
    return Path(place).expanduser() / "vectors"


class Vault:
    """A folder of one learner's vectors; `tokens` were billed for everything in it."""

    def __init__(self, learner: Learner, folder: Path | None = None) -> None:
        name = hashlib.sha256(learner.identity.encode()).hexdigest()[:16]
        self.learner, self.folder, self.tokens = learner, (cache_folder() if folder is None else folder) / name, 0
        self._known: dict[bytes, Vectors] = {}
        for file in sorted(self.folder.glob("*.npz")):
            keys, vectors, tokens = _read(file)
            self._known.update(zip(map(bytes, keys), vectors, strict=True))
            self.tokens += tokens

    def missing(self, texts: Sequence[str]) -> dict[bytes, str]:
        return {key: text for text in texts if (key := key_of(text)) not in self._known}

    @property
    def booked(self) -> int:
        """Tokens that are in a ledger already; a campaign that begins anew does not pay for them again."""
        file = self.folder / _BOOKED
        return int(file.read_text(encoding="utf-8")) if file.exists() else 0

    def book(self, tokens: int) -> None:
        """Remember that a ledger has this many tokens; it never becomes fewer."""
        if tokens > self.booked:
            write_text(self.folder / _BOOKED, str(tokens))

    def vectors(self, texts: Sequence[str], *, most: Decimal | None = None, embed: Embedder | None = None) -> Vectors:
        """A vector for each text; unknown ones are embedded batch by batch, and kept with the tokens billed for them.

        A batch that could cost more than `most` of money together with what is paid is not sent.
        """
        items = list(self.missing(texts).items())
        embed = Embedder(self.learner) if embed is None else embed
        for first in range(0, len(items), BATCH):
            keys, batch = zip(*items[first : first + BATCH], strict=True)
            if most is not None:
                self._check_money(batch, most)
            self._embed(list(keys), batch, embed)
            if (listener := _listener.get()) is not None:
                listener(min(first + BATCH, len(items)), len(items))
        found = [self._known[key_of(text)] for text in texts]
        if len({vector.size for vector in found}) > 1:
            raise InputError(
                f"vectors of different lengths are kept in {self.folder}, so that the model must have changed; delete "
                "the folder, and all texts are embedded anew"
            )
        return np.stack(found)

    def _check_money(self, texts: Sequence[str], most: Decimal) -> None:
        paid, next_one = (self.learner.cost(n) for n in (self.tokens - self.booked, most_tokens(texts)))
        if paid + next_one > most:
            raise InputError(
                f"the embeddings of the texts may pass the budget: {paid:f} of {most:f} are paid, and the next "
                f'{len(texts):,} texts may cost {next_one:f}; raise goal.budget, or learn by kind = "words"'
            )

    def _embed(self, keys: list[bytes], texts: Sequence[str], embed: Embedder) -> None:
        """Embed and keep a batch. A reply that cannot be used was billed all the same, and so it counts."""
        before = embed.tokens
        try:
            found = np.asarray(embed(texts), dtype=np.float32)
            if found.ndim != 2 or found.shape[0] != len(texts) or not np.isfinite(found).all():
                raise InputError(f"the embedding model gave an array of shape {found.shape} for {len(texts)} texts")
        except InputError:
            if embed.tokens > before:
                self._keep([], np.empty((0, 0), dtype=np.float32), embed.tokens - before)
            raise
        self._keep(keys, found, embed.tokens - before)

    def _keep(self, keys: list[bytes], vectors: Vectors, tokens: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(b"".join(keys)).hexdigest()[:16] if keys else f"lost-{self.tokens + tokens}"
        with replacing(str(self.folder / f"{name}.npz")) as part, open(part, "wb") as out:
            names = np.array([np.frombuffer(key, dtype=np.uint8) for key in keys]).reshape(-1, 16)
            np.savez(out, keys=names, vectors=vectors, tokens=np.int64(tokens))
            out.flush()
            os.fsync(out.fileno())
        self.tokens += tokens
        self._known.update(zip(keys, vectors, strict=True))


def _read(file: Path) -> tuple[Any, Vectors, int]:
    """Keys, vectors and tokens of a batch."""
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as part:
            keys, vectors, tokens = part["keys"], part["vectors"], int(part["tokens"])
    except (OSError, EOFError, TypeError, ValueError, KeyError, BadZipFile):
        keys, vectors, tokens = np.empty((0, 16), dtype=np.uint8), np.empty((1, 0)), 0
    if len(keys) != len(vectors):
        raise InputError(f"the embeddings in {file} are damaged; delete this file, and its texts are embedded anew")
    return keys, vectors, tokens


# Progress


_listener: ContextVar[Progress | None] = ContextVar("ratewise_texts", default=None)


@contextmanager
def embedding_progress(listener: Progress | None) -> Iterator[None]:
    """Tell the listener of every batch that is embedded meanwhile, so that no function in between hands it on."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
