"""Embeddings from an OpenAI-compatible endpoint on this machine."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from ratewise.errors import InputError
from ratewise.learn.embeddings import Embedder, Learner, Vault

from ...embedding_server import EmbeddingServer, embedding_server


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as made:
        yield made


@pytest.fixture
def learner(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> Learner:
    monkeypatch.setenv("EMBED_KEY", "secret-1")
    return Learner("embeddings", "small", server.base_url, "EMBED_KEY", "0.5")


def test_vectors_come_in_the_order_of_the_texts_and_are_billed(learner: Learner, server: EmbeddingServer) -> None:
    embed = Embedder(learner)
    np.testing.assert_array_equal(embed(["aaa", "", "bb"])[:, 0], [3, 1, 2])
    path, key, model, texts, _ = server.asked[0]
    assert (path, key, model, texts[1]) == ("/v1/embeddings", "Bearer secret-1", "small", " ")
    assert float(learner.cost(embed.tokens)) == pytest.approx(30 * 0.5e-6)


def test_each_text_is_paid_for_once(learner: Learner, server: EmbeddingServer, tmp_path: Path) -> None:
    for _ in range(2):
        Vault(learner, tmp_path).vectors(["a", "bb", "a"])
    assert [sorted(texts) for *_, texts, _ in server.asked] == [["a", "bb"]]


def test_a_reply_that_cannot_be_used_was_billed_and_counts(learner: Learner, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(InputError, match="does not have 2 embeddings"):
            Vault(learner, tmp_path).vectors(["a", "break"])
    Vault(learner, tmp_path).vectors(["a", "bb"])
    vault = Vault(learner, tmp_path)
    assert (vault.tokens, vault.booked) == (60, 0)
    vault.book(60)
    vault.book(20)
    assert Vault(learner, tmp_path).booked == 60


def test_no_batch_is_sent_that_could_cost_too_much(learner: Learner, server: EmbeddingServer, tmp_path: Path) -> None:
    texts = [f"text {i}" for i in range(300)]
    with pytest.raises(InputError, match=r"0\.00128 of 0\.0014 are paid, and the next 44 texts may cost 0\.00022"):
        Vault(learner, tmp_path).vectors(texts, most=Decimal("0.0014"))
    assert [len(texts) for *_, texts, _ in server.asked] == [256]
    assert Vault(learner, tmp_path).vectors(texts, most=Decimal("0.0015")).shape == (300, 2)


@pytest.mark.parametrize(
    ("text", "words"), [("break", "does not have 2 embeddings"), ("pay", "did not come: HTTP 402")]
)
def test_trouble_is_told_in_one_line(learner: Learner, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Embedder(learner)(["a", text])
