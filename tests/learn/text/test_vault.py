"""Vectors kept by the hash of their text."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ratewise.errors import InputError
from ratewise.learn.embeddings import Learner, Vault, cache_folder, embedding_progress

LEARNER = Learner("embeddings", "m")


class Model:
    """Counts what it embeds; stops after so many batches."""

    tokens = 0

    def __init__(self, batches: int = 1000) -> None:
        self.seen: list[str] = []
        self.left = batches

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.seen += texts
        return np.array([[len(text), ord(text[0])] for text in texts], dtype=np.float32)


class Wrong(Model):
    """Gives an array of this shape, whatever it is asked."""

    def __init__(self, shape: tuple[int, int]) -> None:
        super().__init__()
        self.shape = shape

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        return np.ones(self.shape, dtype=np.float32)


def test_each_text_is_embedded_once_and_kept(tmp_path: Path) -> None:
    model, told = Model(), []
    with embedding_progress(lambda *done: told.append(done)):
        first = Vault(LEARNER, tmp_path).vectors(["aa", "b", "aa"], embed=model)
    assert sorted(model.seen) == ["aa", "b"]
    assert told == [(2, 2)]
    again = Vault(LEARNER, tmp_path).vectors(["b", "aa", "c"], embed=model)
    assert model.seen[-1:] == ["c"]
    assert len(model.seen) == 3
    np.testing.assert_array_equal(again[1], first[0])


def test_another_model_has_vectors_of_its_own(tmp_path: Path) -> None:
    model = Model()
    for name in ("one", "other"):
        Vault(Learner("embeddings", name), tmp_path).vectors(["aa"], embed=model)
    assert model.seen == ["aa", "aa"]


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    texts = [f"{i} text" for i in range(600)]
    with pytest.raises(KeyboardInterrupt):
        Vault(LEARNER, tmp_path).vectors(texts, embed=Model(batches=2))
    model = Model()
    assert Vault(LEARNER, tmp_path).vectors(texts, embed=model).shape == (600, 2)
    assert len(model.seen) == 600 - 2 * 256


def test_a_model_that_gives_nonsense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"shape \(1, 1\) for 2 texts"):
        Vault(LEARNER, tmp_path).vectors(["a", "b"], embed=Wrong((1, 1)))


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 nothing", b"\x93NUMPY"])
def test_a_damaged_file_says_what_to_delete(damage: bytes, tmp_path: Path) -> None:
    vault = Vault(LEARNER, tmp_path)
    vault.vectors(["a", "b"], embed=Model())
    next(vault.folder.glob("*.npz")).write_bytes(damage)
    with pytest.raises(InputError, match=r"npz are damaged; delete this file"):
        Vault(LEARNER, tmp_path)


def test_a_model_that_was_changed_meanwhile_is_told(tmp_path: Path) -> None:
    Vault(LEARNER, tmp_path).vectors(["a", "b"], embed=Model())
    with pytest.raises(InputError, match="the model must have changed; delete the folder"):
        Vault(LEARNER, tmp_path).vectors(["a", "c"], embed=Wrong((1, 3)))


def test_the_cache_can_be_put_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RATEWISE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path / "vectors"
