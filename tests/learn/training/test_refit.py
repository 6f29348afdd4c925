"""The encoder that a campaign trains on its own labels."""

import shutil
import sys

import numpy as np
import pytest

from ratewise.errors import InputError
from ratewise.learn.cross_fit import cross_fitted, encoder_trainer

ROWS = [(f"{('bad', 'good')[i % 2]} w{i}", f"tree w{i % 5}") for i in range(80)]
STRONG = np.where(np.arange(80) % 4 < 3, np.arange(80) % 2, np.nan).astype(float)


def test_it_learns_what_tells_ratings_apart(encoder):
    trainer = encoder_trainer(("request", "reply"), init=encoder, epochs=8)
    said = cross_fitted(trainer, ROWS, STRONG)
    new = np.isnan(STRONG)
    assert said[new & (np.arange(80) % 2 == 1)].mean() > said[~new & (np.arange(80) % 2 == 0)].mean()
    assert np.all((said > 0) & (said < 1))


def test_training_is_seeded_and_knows_other_scales(encoder):
    trainer = encoder_trainer(("request", "reply"), init=encoder, epochs=1)
    first, again = (trainer(ROWS[:40], 1 + 4 * (np.arange(40.0) % 2), ROWS[40:], 3, lambda: None) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert np.all((first > 1) & (first < 5))


def test_it_says_what_to_install_and_what_to_name(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match="name a model to start from"):
        encoder_trainer(("request",))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"pip install 'ratewise\[train\]'"):
        encoder_trainer(("request",))


@pytest.mark.filterwarnings("ignore")
def test_without_a_name_it_starts_from_the_packaged_weights():
    rows = [(f"{('do it now', 'thank you kindly')[i % 2]}, number {i}",) for i in range(24)]
    said = encoder_trainer(("request",), epochs=1)(rows[:20], np.arange(20.0) % 2, rows[20:], 0, lambda: None)
    assert said.shape == (4,)
    assert np.all((said > 0) & (said < 1))
    assert said[[1, 3]].mean() > said[[0, 2]].mean()


def test_a_model_that_cannot_be_loaded_is_told_at_once(encoder, tmp_path):
    damaged = shutil.copytree(encoder, tmp_path / "model")
    (damaged / "model.safetensors").write_bytes(b"nothing")
    for init in (tmp_path / "none", damaged):
        with pytest.raises(InputError, match="cannot be loaded"):
            encoder_trainer(("request",), init=str(init))
