"""A trained rater in a campaign: it answers with its doubt, and may not be asked about what it was trained on."""

import asyncio
import shutil
import warnings
from decimal import Decimal

import numpy as np
import pytest
from tests.learn.training.tiny import bert

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError
from ratewise.learn.trainer import train_rater
from ratewise.raters.kind import RaterPlace
from ratewise.raters.protocol import Answer, Question
from ratewise.raters.trained import TrainedRater, TrainedSettings

pytestmark = pytest.mark.filterwarnings("ignore")

TOML = """
name = "c"
seed = 3
[items]
table = "items.jsonl"
[rating]
kind = "binary"
[goal]
budget = "40"
[[raters]]
name = "small"
kind = "trained"
path = "judge"
price = "0.01"
[[raters]]
name = "people"
kind = "column"
column = "human"
price = "1"
"""


def _items(first, count):
    rng = np.random.default_rng([first, 5])
    human = rng.integers(0, 2, count).tolist()
    words = [" ".join(["good" if h else "bad", *(f"w{k}" for k in rng.integers(0, 80, 5))]) for h in human]
    return {"id": [f"i{first + k}" for k in range(count)], "text": words, "human": human}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a trained rater."""
    place = tmp_path_factory.mktemp("campaign")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        init = bert(tmp_path_factory.mktemp("bert"))
    train_rater(_items(0, 60), text=["text"], strong="human", output=place / "judge", init=init, epochs=1)
    return place


def _campaign(folder, items, toml=TOML):
    import json

    rows = [dict(zip(items, row, strict=True)) for row in zip(*items.values(), strict=True)]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "c.toml").write_text(toml)
    (folder / "c.sqlite").unlink(missing_ok=True)
    return Campaign.open(folder / "c.toml")


def test_it_answers_in_batches_with_its_doubt(folder):
    items = _items(100, 5)
    rater = TrainedRater(TrainedSettings(name="r", kind="trained", path="judge"), RaterPlace(str(folder)))
    asked = [Question(str(i), str(i), {"text": text}) for i, text in enumerate(items["text"])]
    said = asyncio.run(rater.rate([*asked, Question("x", "x", {"text": None})]))
    assert all(isinstance(reply, Answer) and 0 < reply.value < 1 for reply in said)
    assert said[0].doubt == pytest.approx(said[0].value * (1 - said[0].value))
    asyncio.run(rater.close())


@pytest.mark.parametrize("per_hour", ["", 'per_hour = "3600"'])
def test_a_campaign_runs_with_it_and_can_be_verified(folder, per_hour):
    campaign = _campaign(folder, _items(100, 120), TOML.replace('path = "judge"', f'path = "judge"\n{per_hour}'))
    campaign.run()
    status = campaign.status()
    assert status.labels > 10
    assert campaign.verify().differences == []
    assert (status.spent_by["small"] == Decimal("0.01") * status.looked) == (not per_hour)


def test_an_hour_on_the_machine_is_shared_by_the_items_of_a_call(folder, monkeypatch):
    clock = iter([100.0, 101.5])
    monkeypatch.setattr("ratewise.raters.trained.time.perf_counter", lambda: next(clock))
    settings = TrainedSettings(name="r", kind="trained", path="judge", per_hour="2.40")
    rater = TrainedRater(settings, RaterPlace(str(folder)))
    said = asyncio.run(rater.rate([Question(str(i), str(i), {"text": f"good w{i}"}) for i in range(5)]))
    assert [reply.price for reply in said] == [Decimal("0.0002")] * 5  # 1.5 s of 2.40 an hour are 0.001


def test_items_that_it_was_trained_on_are_refused_with_their_count(folder):
    known, new = _items(0, 60), _items(100, 40)
    mixed = {name: [*new[name], *known[name][:3]] for name in new}
    with pytest.raises(
        InputError, match=r"'small' was trained on 3 of 43 items .* \(the first is 'i0'.*3 have the same"
    ):
        _campaign(folder, mixed).run()
    same_ids = new | {"id": known["id"][:40]}
    with pytest.raises(InputError, match=r"the ids are the same, the texts are not; .* give them other ids"):
        _campaign(folder, same_ids).run()


def test_a_model_that_has_seen_an_items_label_is_no_start_for_refits(folder):
    learner = 'text = ["text"]\n[learner]\nrefit = "each round"\ninit = "judge"\n'
    toml = TOML.replace("[rating]", f"{learner}[rating]").replace('kind = "trained"', 'kind = "column"')
    toml = toml.replace('path = "judge"', 'column = "weak"')
    items = _items(0, 60)
    with pytest.raises(InputError, match=r"the model 'judge' of \[learner\] was trained on 60 of 60 items"):
        _campaign(folder, items | {"weak": [0.5] * 60}, toml).run()


def test_a_folder_that_is_no_rater_is_told_before_anything_is_bought(folder, tmp_path):
    campaign = _campaign(tmp_path, _items(100, 40))
    with pytest.raises(InputError, match="no trained rater"):
        campaign.run()
    shutil.copytree(folder / "judge", tmp_path / "judge")
    (tmp_path / "judge" / "head.safetensors").unlink()
    with pytest.raises(InputError, match=r"has no head\.safetensors"):
        _campaign(tmp_path, _items(100, 40)).run()
