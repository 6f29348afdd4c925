"""`[learner] refit = "each round"`: predictions trained on earlier rounds' labels, in the record, used where better."""

import json
import shutil
import sqlite3
import sys
import threading
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest

from ratewise.campaign import campaign as campaign_module
from ratewise.campaign import engine as engine_module
from ratewise.campaign import planner as p
from ratewise.campaign.campaign import Campaign
from ratewise.campaign.learner import Refits
from ratewise.campaign.log import Reader
from ratewise.campaign.planner import LEAST_LABELS
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.errors import InputError

from ..parity_trainer import parity_trainer
from .making import judged, log_of, write

ITEMS = judged(500, seed=5, spread=0.5)
_RNG = np.random.default_rng(9)
_WORDS = np.where(_RNG.random(500) < 0.85, np.array(ITEMS["human"]), 1 - np.array(ITEMS["human"]))
ITEMS["request"] = [
    f"from {a} to {2 * b + (a + w) % 2}"
    for a, b, w in zip(*_RNG.integers(0, 5, (2, 500)).tolist(), _WORDS.tolist(), strict=True)
]
"""The sum of the two numbers is odd where the rating is 1, mostly."""
REFIT = 'text = ["request"]\n[learner]\nrefit = "each round"'
GOAL = 'budget = "250"'


@pytest.fixture
def fake(monkeypatch):
    """Training takes no time."""
    monkeypatch.setattr(campaign_module, "trainer_of", lambda spec: parity_trainer)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaign_module, "trainer_of", lambda spec: parity_trainer)
        made = Campaign.open(write(tmp_path_factory.mktemp("refit"), ITEMS, goal=GOAL, items=REFIT))
        made.run()
    return made


def rounds_of(campaign):
    with closing(sqlite3.connect(campaign.spec.folder / campaign.spec.store)) as store:
        return store.execute("SELECT DISTINCT round, labels FROM refits ORDER BY round").fetchall()


def test_a_refit_follows_closed_rounds_and_its_rates_can_be_replayed(folder, monkeypatch):
    found = rounds_of(folder)
    assert len(found) >= 2
    assert all(labels >= LEAST_LABELS for _, labels in found)
    monkeypatch.setitem(sys.modules, "torch", None)  # nothing is trained again
    assert folder.verify().differences == []
    rules = [json.loads(row[2]).get("rule") for row in log_of(folder)["rounds"]]
    assert any(rule is not None and "refit" in rule["model"] for rule in rules)


def test_it_is_used_where_it_is_better_and_status_says_so(folder, tmp_path):
    plain = Campaign.open(write(tmp_path, ITEMS, goal=GOAL))
    plain.run()
    with folder.look() as now, plain.look() as before:
        assert now.state.history.uses_refit
        assert now.estimate.standard_error < 0.9 * before.estimate.standard_error
        assert any("predictions are used" in said for said in now.told)
        assert now.status.to_dict()["refit"] == {"labels": rounds_of(folder)[-1][1], "used": True}
        assert before.status.to_dict()["refit"] is None


def test_a_changed_refit_is_found(folder, tmp_path):
    copy = tmp_path / "c.sqlite"
    folder.backup(copy)
    for name in ("c.toml", "items.csv"):
        shutil.copy(folder.spec.folder / name, tmp_path)
    with closing(sqlite3.connect(copy)) as store:
        with pytest.raises(sqlite3.IntegrityError, match="may not be changed"):
            store.execute("UPDATE refits SET labels = 1")
        store.execute("DROP TRIGGER guard_refits_update")
        store.execute("UPDATE refits SET labels = 1 WHERE round = (SELECT min(round) FROM refits)")
        store.commit()
    said = Campaign.open(tmp_path / "c.toml").verify().differences
    assert any("refits, round" in one and "the record has" in one for one in said)
    assert any("says that it was trained on 1 labels" in one for one in said)


def test_texts_in_a_wrong_order_are_not_used(fake, tmp_path):
    order = np.random.default_rng(2).permutation(500)
    mixed = ITEMS | {"request": [ITEMS["request"][i] for i in order]}
    campaign = Campaign.open(write(tmp_path, mixed, goal=GOAL, items=REFIT))
    campaign.run()
    with campaign.look() as now:
        assert now.state.history.refits >= 1
        assert not now.state.history.uses_refit
        assert any("not used" in said for said in now.told)


class Killed(BaseException):
    """As if the process had died."""


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_kill_around_the_refit_is_as_if_it_had_not_been(folder, fake, tmp_path, monkeypatch, where):
    right, keep = log_of(folder), engine_module.keep
    campaign = Campaign.open(write(tmp_path, ITEMS, goal=GOAL, items=REFIT))

    def killed(store, made):
        if where == "after":
            keep(store, made)
        raise Killed

    monkeypatch.setattr(engine_module, "keep", killed)
    with pytest.raises(Killed):
        campaign.run()
    assert len(rounds_of(campaign)) == (where == "after")
    monkeypatch.setattr(engine_module, "keep", keep)
    Campaign.open(campaign.spec.path).run()
    assert [row[2] for row in log_of(campaign)["rounds"]] == [row[2] for row in right["rounds"]]
    assert rounds_of(campaign) == rounds_of(folder)
    assert campaign.verify().differences == []


def test_a_run_that_is_stopped_while_it_trains_is_repeated(tmp_path, monkeypatch):
    stop, asked = threading.Event(), []

    def slow(rows, ratings, others, seed, check):
        asked.append(seed)
        stop.set()
        check()
        raise AssertionError

    monkeypatch.setattr(campaign_module, "trainer_of", lambda spec: slow)
    campaign = Campaign.open(write(tmp_path, ITEMS, goal=GOAL, items=REFIT))
    assert campaign.run(stop=stop).reason == "stopped"
    assert asked == [0]
    assert rounds_of(campaign) == []


def test_without_torch_it_says_what_to_install_before_anything_is_bought(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    path = write(tmp_path, ITEMS, goal=GOAL, items=REFIT)
    with pytest.raises(InputError, match=r"pip install 'ratewise\[train\]'"):
        Campaign.open(path).run()
    assert not (tmp_path / "c.sqlite").exists()


@pytest.mark.parametrize(
    ("items", "more", "words"),
    [
        ('[learner]\nrefit = "each round"', {}, "needs texts to learn from"),
        ('text = ["request"]\n[learner]\nrefit = "daily"', {}, "each round"),
        ('text = ["request"]\n[learner]\ninit = "model"', {}, 'is for refit = "each round"'),
        (f'clusters = "judge"\n{REFIT}', {}, "cannot be combined with"),
        (REFIT, {"raters": (("human", "1"),)}, "needs one weak and one strong rater"),
    ],
)
def test_mistakes_are_told(tmp_path, items, more, words):
    with pytest.raises(InputError, match=words):
        Campaign.open(write(tmp_path, ITEMS, items=items, **more))


# In memory


def _pool(seed, items=900):
    rng = np.random.default_rng([seed, 61])
    number = rng.integers(0, 50, items)
    h = (rng.random(items) < np.where(number % 2, 0.8, 0.2)).astype(float)
    g = np.clip(0.5 + 0.4 * (h - 0.5) + 0.2 * rng.standard_normal(items), 0.01, 0.99)
    pool = RehearsalPool.of(g, h, prices=(Decimal("0.05"), Decimal(1)), seed=seed)
    return pool, [(f"item {k}",) for k in number.tolist()]


def test_the_planner_asks_for_a_refit_with_a_hundred_labels_and_a_fifth_more():
    pool, texts = _pool(1)
    pool = replace(pool, texts=texts, trainer=parity_trainer)
    game = Rehearsal(pool, pool.terms(budget=Decimal(300)))
    game.play()
    made = [game.queue.refit(n) for n in game.queue.refit_rounds()]
    assert [refit.labels >= LEAST_LABELS for refit in made] == [True] * len(made)
    assert all(b.labels >= 1.2 * a.labels for a, b in pairwise(made))
    kinds = game.actions
    assert kinds.count(p.Command.TRAIN) == len(made) >= 2
    last = len(kinds) - 1 - kinds[::-1].index(p.Command.TRAIN)
    assert p.Command.CLOSE in kinds[:last]
    assert isinstance(kinds[-1], p.Done)
    assert made[-1].round == game.history.rounds  # the estimate rests on a refit of all labels
    assert made[0].labels == game.plans[0].items == LEAST_LABELS  # without a refit, the start would be shorter
    plain = Rehearsal(replace(pool, trainer=None), replace(game.terms, refit=False))
    plain.play()
    assert plain.plans[0].items < LEAST_LABELS


def test_a_plan_rests_on_the_refit_of_its_own_rounds():
    """What was trained later changes neither the rates of earlier rounds nor what was known then."""
    pool, texts = _pool(2)
    pool = replace(pool, texts=texts, trainer=parity_trainer)
    game = Rehearsal(pool, pool.terms(budget=Decimal(300)))
    known = []
    game.play(each_round=lambda now: known.append((now.history.rounds, now.history.seen.mass.copy())))
    again = Reader(game.queue, game, game.terms, pool.empty(game.terms), True, Refits(game.queue))
    again.state()
    for (rounds, mass), closed in zip(known, again.closed, strict=True):
        assert closed.rounds == rounds
        np.testing.assert_array_equal(closed.seen.mass, mass)
    np.testing.assert_array_equal(again.history.seen.x.refits, game.history.seen.x.refits)
