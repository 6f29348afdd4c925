"""Vectors kept by the hash of their text."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ratewise.errors import InputError
from ratewise.learn.text import telling
from ratewise.learn.text.vault import Vault, cache_folder


class Model:
    """Counts what it embeds; stops after so many batches."""

    def __init__(self, batches: int = 1000) -> None:
        self.seen: list[str] = []
        self.left = batches

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.seen += texts
        return np.array([[len(text), ord(text[0])] for text in texts], dtype=np.float32)


def test_each_text_is_embedded_once_and_kept(tmp_path: Path) -> None:
    model, told = Model(), []
    with telling.told(lambda *done: told.append(done)):
        first = Vault.of(tmp_path, "m").vectors(["aa", "b", "aa"], model)
    assert sorted(model.seen) == ["aa", "b"]
    assert told == [(2, 2)]
    again = Vault.of(tmp_path, "m").vectors(["b", "aa", "c"], model)
    assert model.seen[-1:] == ["c"]
    assert len(model.seen) == 3
    np.testing.assert_array_equal(again[1], first[0])


def test_another_model_has_vectors_of_its_own(tmp_path: Path) -> None:
    model = Model()
    for name in ("one", "other"):
        Vault.of(tmp_path, name).vectors(["aa"], model)
    assert model.seen == ["aa", "aa"]


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    texts = [f"{i} text" for i in range(600)]
    with pytest.raises(KeyboardInterrupt):
        Vault.of(tmp_path, "m").vectors(texts, Model(batches=2))
    model = Model()
    assert Vault.of(tmp_path, "m").vectors(texts, model).shape == (600, 2)
    assert len(model.seen) == 600 - 2 * 256


def test_a_model_that_gives_nonsense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"shape \(1, 1\) for 2 texts"):
        Vault.of(tmp_path, "m").vectors(["a", "b"], lambda texts: np.ones((1, 1), dtype=np.float32))


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 nothing", b"\x93NUMPY"])
def test_a_damaged_file_says_what_to_delete(damage: bytes, tmp_path: Path) -> None:
    vault = Vault.of(tmp_path, "m")
    vault.vectors(["a", "b"], Model())
    next(vault.folder.glob("*.npz")).write_bytes(damage)
    with pytest.raises(InputError, match=r"npz are damaged; delete this file"):
        Vault.of(tmp_path, "m")


def test_a_model_that_was_changed_meanwhile_is_told(tmp_path: Path) -> None:
    Vault.of(tmp_path, "m").vectors(["a", "b"], Model())
    with pytest.raises(InputError, match="the model must have changed; delete the folder"):
        Vault.of(tmp_path, "m").vectors(["a", "c"], lambda texts: np.ones((len(texts), 3), dtype=np.float32))


def test_the_cache_can_be_put_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RATEWISE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path / "vectors"
