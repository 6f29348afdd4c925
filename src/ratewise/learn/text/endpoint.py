"""Embeddings from an OpenAI-compatible endpoint, batch by batch; what they cost is added up."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ratewise.errors import InputError
from ratewise.judges.client import CallError, Client, Endpoint
from ratewise.learn.text.bill import LONGEST, Bill, most_tokens
from ratewise.learn.text.vault import key_of
from ratewise.learn.text_coding import Vectors

if TYPE_CHECKING:
    from ratewise.learn.text.learner import Learner

_EMPTY = " "  # endpoints refuse texts without a character


@dataclass(slots=True, eq=False)
class EndpointEmbedder:
    """A function that embeds a batch of texts, and the bill."""

    learner: "Learner"
    bill: Bill

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """The vectors in the order of the texts."""
        try:
            return asyncio.run(self._asked(texts))
        except CallError as error:
            raise InputError(f"the embeddings at {self.learner.base_url} did not come: {error.reason}") from None

    async def _asked(self, texts: Sequence[str]) -> Vectors:
        client = Client(Endpoint(self.learner.base_url or "", self.learner.key_env, timeout=120.0))
        body = {"model": self.learner.model, "input": [text[:LONGEST] or _EMPTY for text in texts]}
        try:
            reply = await client.post(
                "embeddings", body, key=key_of("\n".join(texts)).hex(), tokens=sum(map(len, texts)) // 3
            )
        finally:
            await client.close()
        self.bill.tokens += _billed(reply, texts)
        self.bill.calls += 1
        return _read(reply, len(texts))


def endpoint_embedder(learner: "Learner") -> EndpointEmbedder:
    """The embedder behind the learner's address."""
    return EndpointEmbedder(learner, Bill())


def _billed(reply: dict[str, Any], texts: Sequence[str]) -> int:
    """Tokens that the reply says it counted; the most that there can be where it does not say."""
    used = reply.get("usage")
    said = used.get("prompt_tokens") if isinstance(used, dict) else None
    return said if isinstance(said, int) and said >= 0 else most_tokens(texts)


def _read(reply: dict[str, Any], count: int) -> Vectors:
    """The vectors of a reply, put into the order of the texts by their index."""
    rows = reply.get("data")
    try:
        found = {int(row["index"]): np.array(row["embedding"], dtype=np.float32) for row in rows or []}
        return np.stack([found[i] for i in range(count)])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"the endpoint's reply does not have {count} embeddings") from None
