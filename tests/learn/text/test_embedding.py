"""An embedding model on this machine; the library itself is played by a fake one here."""

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ratewise.errors import InputError
from ratewise.learn.embeddings import Embedder, Learner, Vault


class _Fake:
    loaded = 0

    def __init__(self, model: str, model_kwargs: dict[str, bool]) -> None:
        assert model_kwargs == {"use_safetensors": True}  # pickles can run any program
        logging.getLogger("huggingface_hub").warning("retrying")
        if model == "unknown":
            raise OSError("no such\nmodel")
        _Fake.loaded += 1

    def encode(self, texts: Sequence[str], **options: object) -> np.ndarray:
        assert options["normalize_embeddings"]
        return np.array([[len(text), 1.0] for text in texts])


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = _Fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    _Fake.loaded = 0


def test_the_model_is_loaded_once_and_only_if_a_text_is_new(tmp_path: Path) -> None:
    learner = Learner("embeddings", "mini")
    texts = [f"text {i}" for i in range(300)]
    first = Vault(learner, tmp_path).vectors(texts)
    assert first.shape == (300, 2)
    assert _Fake.loaded == 1
    np.testing.assert_array_equal(Vault(learner, tmp_path).vectors(texts), first)
    assert _Fake.loaded == 1


def test_a_model_that_has_seen_labels_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trained_on.json").write_text("{}")
    with pytest.raises(InputError, match=r"trained on labels.*name the model it was trained from"):
        Embedder(Learner("embeddings", str(tmp_path)))(["a"])


def test_a_model_that_cannot_be_loaded_is_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InputError, match=r"'unknown' cannot be loaded \(no such model\)"):
        Embedder(Learner("embeddings", "unknown"))(["a"])
    assert caplog.text == ""  # retries and warnings of the libraries are not shown


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"pip install 'ratewise\[text\]'"):
        Embedder(Learner("embeddings", "mini"))(["a"])
