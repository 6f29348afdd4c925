"""Weights are read from safetensors and from nothing else."""

import pickle
import shutil

import pytest

from ratewise.errors import InputError
from ratewise.learn import trainer
from ratewise.learn.networks import Network, read_weights
from ratewise.learn.trainer import train_rater

pytestmark = pytest.mark.filterwarnings("ignore")


class Bomb:
    """A pickle that makes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.fixture
def bomb(tmp_path):
    """The bytes of a pickle, and the file that it would make."""
    return pickle.dumps(Bomb(tmp_path / "ran")), tmp_path / "ran"


@pytest.fixture(scope="module")
def raters(encoder, causal, tmp_path_factory):
    """A trained rater of each kind."""
    made = tmp_path_factory.mktemp("raters")
    table = {"text": [f"w{i} w{i // 2}" for i in range(40)], "human": [i % 2 for i in range(40)]}
    for kind, init in (("encoder", encoder), ("causal", causal)):
        train_rater(table, text=["text"], strong="human", kind=kind, init=init, output=made / kind, epochs=1)
    return made


@pytest.mark.parametrize(
    ("kind", "safe", "pickled"),
    [
        ("encoder", "head.safetensors", "head.pt"),
        ("encoder", "model.safetensors", "pytorch_model.bin"),
        ("causal", "adapter_model.safetensors", "adapter_model.bin"),
    ],
)
def test_a_rater_of_pickles_is_refused_and_nothing_runs(kind, safe, pickled, raters, bomb, tmp_path):
    folder = shutil.copytree(raters / kind, tmp_path / "rater")
    (folder / safe).unlink()
    (folder / pickled).write_bytes(bomb[0])
    with pytest.raises(InputError, match="safetensors"):
        Network.load(folder)
    assert not bomb[1].exists()


@pytest.mark.parametrize("damage", [b"", b"\x10\0\0\0\0\0\0\0{}", b"\xff" * 40])
def test_damaged_weights_say_what_to_do(damage, raters, tmp_path):
    folder = shutil.copytree(raters / "encoder", tmp_path / "rater")
    (folder / "head.safetensors").write_bytes(damage)
    with pytest.raises(InputError, match="train the rater again"):
        Network.load(folder)
    folder = shutil.copytree(raters / "causal", tmp_path / "other")
    (folder / "adapter_model.safetensors").write_bytes(damage)
    with pytest.raises(InputError, match="train the rater again"):
        Network.load(folder)


def test_a_damaged_checkpoint_is_as_good_as_none(encoder, noise, bomb, tmp_path):
    folder = tmp_path / "rater"
    folder.mkdir()
    (folder / trainer.CHECKPOINT).write_bytes(bomb[0])
    assert read_weights(folder / trainer.CHECKPOINT) is None
    seen = []
    how = {"text": ["text"], "strong": "human", "init": encoder, "epochs": 1}
    train_rater(noise, output=folder, progress=seen.append, **how)
    assert seen[0].epoch < 1.0
    assert not bomb[1].exists()
    assert not (folder / trainer.CHECKPOINT).exists()


def test_a_model_of_pickles_is_no_start(noise, encoder, bomb, tmp_path):
    start = shutil.copytree(encoder, tmp_path / "model")
    (start / "model.safetensors").unlink()
    (start / "pytorch_model.bin").write_bytes(bomb[0])
    with pytest.raises(InputError, match="safetensors"):
        train_rater(noise, text=["text"], strong="human", init=str(start), output=tmp_path / "rater", epochs=1)
    assert not bomb[1].exists()
