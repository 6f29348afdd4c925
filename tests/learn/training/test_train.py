"""Trained raters with tiny models of random weights: they memorise, stop on noise, and go on after a kill."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from ratewise.errors import InputError, TableError
from ratewise.learn import trainer
from ratewise.learn.networks import Network
from ratewise.learn.rater_folder import Settings, TrainedOn
from ratewise.learn.trainer import train_rater

pytestmark = pytest.mark.filterwarnings("ignore")


def _fitted(settings, texts, target, recipe, folder):
    """A network trained on all rows, the same ones held out: it may memorise."""
    held = np.repeat([False, True], len(texts))
    rows = [(text,) for text in texts]
    return trainer.fit(
        settings, trainer.Examples(rows * 2, np.tile(target, 2), held), **recipe, device="cpu", folder=folder
    )


@pytest.mark.parametrize("kind", ["causal", "encoder"])
def test_it_can_memorise_fifty_items(kind, request, noise, tmp_path):
    settings = Settings(kind=kind, text=("text",), template="{text} Answer : ", init=request.getfixturevalue(kind))
    recipe = {"epochs": 20, "patience": 20, "batch": 25, "rate": 2e-2, "seed": 0}
    target = np.array(noise["human"][:50], dtype=float)
    fitted = _fitted(settings, noise["text"][:50], target, recipe, tmp_path)
    assert fitted.held_out[fitted.best] < 0.1 < fitted.held_out[0]
    assert np.all((fitted.unseen > 0) == (target > 0.5))


def test_it_stops_early_on_noise_and_says_little(causal, noise, tmp_path):
    made = train_rater(
        noise, text=["text"], strong="human", output=tmp_path, kind="causal", init=causal, epochs=40, batch=8
    )
    assert made.card["training"]["epochs"] < 40
    p = Network.load(tmp_path).probabilities([(text,) for text in noise["text"]])
    assert 0.2 < p.min() <= p.max() < 0.8


def test_batches_do_not_matter(causal, noise, tmp_path, monkeypatch):
    train_rater(noise, text=["text"], strong="human", output=tmp_path, kind="causal", init=causal, epochs=1)
    model = Network.load(tmp_path)
    rows = [(" ".join(text.split()[: 1 + i % 6]),) for i, text in enumerate(noise["text"])]
    found = []
    for size in (1, 64):
        monkeypatch.setattr("ratewise.learn.networks._BATCH", size)
        found.append(model.probabilities(rows))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


class Killed(BaseException):
    """As if the process had been killed."""


@pytest.mark.parametrize("kind", ["causal", "encoder"])
def test_a_killed_run_goes_on_and_ends_as_if_nothing_had_happened(kind, request, noise, tmp_path):
    noise = {name: column[:30] for name, column in noise.items()}
    how = {"text": ["text"], "strong": "human", "kind": kind, "init": request.getfixturevalue(kind), "epochs": 3}
    whole = train_rater(noise, output=tmp_path / "whole", **how)
    steps = []

    def kill(step):
        steps.append(step)
        if step.epoch > 1.5:
            raise Killed

    with pytest.raises(Killed):
        train_rater(noise, output=tmp_path / "killed", progress=kill, **how)
    assert (tmp_path / "killed" / trainer.CHECKPOINT).exists()
    seen = []
    again = train_rater(noise, output=tmp_path / "killed", progress=seen.append, **how)
    assert min(step.epoch for step in seen) > 1.0  # the first epoch was not trained again
    assert again.card["training"]["losses"] == pytest.approx(whole.card["training"]["losses"], rel=1e-6)
    assert not (tmp_path / "killed" / trainer.CHECKPOINT).exists()
    assert all(step.seconds_left >= 0 for step in steps)
    said = [Network.load(tmp_path / name).probabilities([("w1 w2",), ("w3",)]) for name in ("whole", "killed")]
    np.testing.assert_allclose(said[0], said[1], rtol=1e-6)


def test_a_checkpoint_of_other_data_is_not_used(encoder, noise, tmp_path):
    def kill(step):
        if step.epoch > 1.0:
            raise Killed

    how = {"text": ["text"], "strong": "human", "output": tmp_path, "init": encoder, "epochs": 2}
    with pytest.raises(Killed):
        train_rater(noise, progress=kill, **how)
    noise["human"] = [1 - h for h in noise["human"]]
    seen = []
    train_rater(noise, progress=seen.append, **how)
    assert seen[0].epoch < 1.0


def test_the_folder_can_be_read_by_transformers_and_has_a_card(encoder, noise, tmp_path):
    from transformers import AutoModel

    noise["human"] = [1 + 4 * h for h in noise["human"]]  # a scale from 1 to 5
    noise["system"] = [f"s{i % 6}" for i in range(60)]
    made = train_rater(noise, text=["text"], strong="human", output=tmp_path, init=encoder, groups="system", epochs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert AutoModel.from_pretrained(tmp_path).config.hidden_size == 32
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["data"]["held_out"] == 10
    assert card["data"]["groups"] == "system"
    assert card["held_out"]["reliability"]
    assert "10 labels held out" in made.summary()
    settings = json.loads((tmp_path / "ratewise.json").read_text())
    assert (settings["low"], settings["high"]) == (1.0, 5.0)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"text": []}, InputError, "name the columns of text"),
        ({"kind": "tree"}, InputError, "encoder, causal"),
        ({"init": "/nowhere/model"}, InputError, "there is no such folder"),
        ({"strong": "same"}, TableError, "nothing can be learned"),
        ({"strong": "few"}, TableError, "training needs 20"),
        ({"device": "abacus"}, InputError, "cpu or cuda"),
        ({"kind": "causal", "init": None}, InputError, "name a model to start from"),
        ({"text": ["text", "human"]}, InputError, "holds the labels"),
        ({"epochs": 0}, InputError, "epochs must be 1 at least"),
        ({"batch": -2}, InputError, "batch must be 1 at least"),
        ({"longest": 0}, InputError, "longest must be 1 at least"),
        ({"template": "Is {txt} good?"}, InputError, "has no {text}"),
    ],
)
def test_what_cannot_be_trained_says_what_to_do(change, error, words, encoder, noise, tmp_path):
    noise |= {"same": [1] * 60, "few": [1, 0, 1] + [None] * 57}
    how = {"text": ["text"], "strong": "human", "output": tmp_path, "init": encoder} | change
    with pytest.raises(error, match=words):
        train_rater(noise, **how)


def test_other_peoples_folders_are_left_alone(encoder, noise, tmp_path):
    how = {"text": ["text"], "strong": "human", "init": encoder, "epochs": 1}
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "config.json").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for output in (tmp_path / "notes", tmp_path / "file", encoder):
        with pytest.raises(InputError, match="name a new folder with --output"):
            train_rater(noise, output=output, **how)
    with pytest.raises(InputError, match="cannot be made"):
        train_rater(noise, output=tmp_path / "file" / "below", **how)
    assert (tmp_path / "notes" / "config.json").read_text() == "mine"


def test_numbers_of_rows_are_no_ids_and_earlier_labels_stay_known(encoder, noise, tmp_path):
    how = {"text": ["text"], "strong": "human", "epochs": 1}
    del noise["id"]
    train_rater(noise, init=encoder, output=tmp_path / "first", **how)
    first = TrainedOn.read(tmp_path / "first")
    assert not first.knows("0", ("something else",))
    assert first.knows("0", (noise["text"][0],))
    more = {"id": [f"m{i}" for i in range(24)], "text": [f"w{i} w9 w8" for i in range(24)], "human": [0, 1] * 12}
    train_rater(more, init=str(tmp_path / "first"), output=tmp_path / "second", **how)
    second = TrainedOn.read(tmp_path / "second")
    assert second.knows(None, (noise["text"][0],))
    assert second.knows("m3", ("something else",))
    with pytest.raises(InputError, match="name a new folder"):
        train_rater(more, init=str(tmp_path / "second"), output=tmp_path / "second", **how)


@pytest.mark.parametrize("kind", ["causal", "encoder"])
def test_texts_longer_than_the_model_are_cut(kind, request, noise, tmp_path):
    noise = {name: column[:24] for name, column in noise.items()} | {"text": [f"w{i} " * 2000 for i in range(24)]}
    how = {"text": ["text"], "strong": "human", "kind": kind, "init": request.getfixturevalue(kind), "epochs": 1}
    train_rater(noise, output=tmp_path, longest=1000, **how)  # the models have 64 places
    assert np.isfinite(Network.load(tmp_path).probabilities([("w1 " * 5000,), ("",)])).all()


def test_a_causal_rater_finds_its_model_from_everywhere(causal, noise, tmp_path, monkeypatch):
    monkeypatch.chdir(Path(causal).parent)
    noise = {name: column[:30] for name, column in noise.items()}
    how = {"text": ["text"], "strong": "human", "kind": "causal", "epochs": 1}
    train_rater(noise, init=Path(causal).name, output=tmp_path / "rater", **how)
    monkeypatch.chdir(tmp_path)
    assert Network.load("rater").probabilities([("w1",)]).shape == (1,)


def test_an_encoder_starts_from_the_packaged_weights(tmp_path):
    rng = np.random.default_rng(3)
    kind, rude = ["thank you so much", "that was very kind"], ["do it now", "this is useless"]
    human = rng.integers(0, 2, 48).tolist()
    texts = [f"{rng.choice(kind if h else rude)}, ticket {rng.integers(100)}" for h in human]
    table = {"id": list(range(48)), "text": texts, "human": human}
    made = train_rater(table, text=["text"], strong="human", output=tmp_path, epochs=2, batch=8, longest=24)
    assert made.card["training"]["init"].endswith("model")
    p = Network.load(tmp_path).probabilities([("thanks, how kind of you",), ("useless, redo it now",)])
    assert p[0] > p[1]
