"""Campaigns that learn from texts: they ask better, and their log can be replayed without the texts' model."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.cost import campaign_cost
from ratewise.campaign.estimates import estimate_history
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.design.teacher import Teacher
from ratewise.errors import InputError, SpecError

from ..bounds import most
from ..embedding_server import embedding_server
from .making import judged, log_of, ran, write

ITEMS = judged(300)
ITEMS["request"] = [
    f"{'thank you so much' if h else 'do it now'} {'please' if (i * h) % 3 else 'again'} {i % 5}"
    for i, h in enumerate(ITEMS["human"])
]
TEXT = 'text = ["request"]'


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory):
    """The same campaign, without and with the texts."""
    plain = ran(tmp_path_factory.mktemp("plain"), ITEMS, goal='budget = "70"')
    return plain, ran(tmp_path_factory.mktemp("text"), ITEMS, goal='budget = "70"', items=TEXT)


def test_texts_that_tell_the_rating_make_the_interval_narrower(campaigns):
    without, with_text = (campaign.estimate() for campaign in campaigns)
    assert with_text.standard_error < 0.7 * without.standard_error
    assert abs(with_text.value - np.mean(ITEMS["human"])) < 4 * with_text.standard_error


def test_the_log_can_be_replayed(campaigns):
    assert campaigns[1].verify().differences == []
    assert any("learns from the texts request by words" in note for _, note in campaigns[1].notes())


def test_texts_may_not_change_on_the_way(campaigns):
    spec = campaigns[1].spec
    path = write(spec.folder, ITEMS, goal='budget = "70"', items='text = ["id"]')
    with pytest.raises(InputError, match=r"items\.text"):
        Campaign.open(path).run()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('[learner]\nkind = "embeddings"', "needs a model"),
        ('[learner]\nkind = "words"\nmodel = "x"', 'is for kind = "embeddings"'),
        ('[learner]\nkind = "letters"', "letters"),
    ],
)
def test_mistakes_in_the_learner_are_told(tmp_path, more, words):
    with pytest.raises(InputError, match=words):
        Campaign.open(write(tmp_path, ITEMS, items=f"{TEXT}\n{more}"))


def test_labels_are_nothing_to_learn_from(tmp_path):
    for key in ("text", "features"):
        with pytest.raises(InputError, match=rf"items\.{key} names 'human', which holds the strong ratings"):
            Campaign.open(write(tmp_path, ITEMS, items=f'{key} = ["human"]'))


def test_a_learner_needs_texts(tmp_path):
    with pytest.raises(InputError, match="needs texts to learn from"):
        Campaign.open(write(tmp_path, ITEMS, items='[learner]\nkind = "words"'))


# A finished campaign that has learned from texts teaches the next one


HINTS = judged(300, seed=3)
"""The texts say something beside the judge, but do not make it superfluous."""
WRONG = np.random.default_rng(1).random(300) < 0.15
HINTS["request"] = [
    f"{'thanks' if h ^ wrong else 'do it now'} {i % 5}"
    for i, (h, wrong) in enumerate(zip(HINTS["human"], WRONG.tolist(), strict=True))
]
CHEAP = (("judge", "0.001"), ("human", "1"))


def _autumn(folder, more=TEXT):
    """The next release's campaign beside the old one's folder."""
    path = write(folder, HINTS, name="autumn", goal='budget = "60"', items=more, raters=CHEAP)
    path.write_text(path.read_text(encoding="utf-8") + '\n[start]\nfrom = "../old/c.toml"\n', encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def spring(tmp_path_factory):
    """The folder of two campaigns: the old one, which has ended, is in `old`."""
    folder = tmp_path_factory.mktemp("taught")
    ran(folder / "old", HINTS, goal='budget = "120"', items=TEXT, raters=CHEAP)
    return folder


def test_texts_are_handed_on_to_the_next_campaign(spring):
    taught = Campaign.open(_autumn(spring / "new"))
    taught.run()
    with taught.look() as now:
        teacher = now.facts.teacher
        first = json.loads(log_of(taught)["rounds"][1][2])
    assert teacher.x.text.columns == now.facts.parts.widths["text"]
    assert teacher.learned.model.text is not None
    np.testing.assert_allclose(first["rule"]["model"]["text"], teacher.learned.model.text)
    assert taught.verify().differences == []


def test_other_texts_or_another_learner_are_refused(spring):
    for more in ('text = ["request", "id"]', "", f'{TEXT}\n[learner]\nkind = "vectors"'):
        with pytest.raises(InputError, match=r"make items\.text and \[learner\] the same"):
            Campaign.open(_autumn(spring / "other", more)).run()


# Embeddings that are paid for


@pytest.fixture(scope="module")
def server():
    with embedding_server() as made:
        yield made


def _paid(folder, server, *, price="100", goal='budget = "20"'):
    """A campaign of 300 different texts, two batches: at 10 tokens a text and 100 for a million, they cost 0.3."""
    columns = HINTS | {"request": [f"{'thanks' if h else 'do it'} {i}" for i, h in enumerate(HINTS["human"])]}
    learner = f'kind = "embeddings"\nmodel = "small"\nbase_url = "{server.base_url}"\ntoken_price = "{price}"'
    server.asked.clear()
    return write(folder, columns, goal=goal, items=f"{TEXT}\n[learner]\n{learner}")


def test_embeddings_are_paid_from_the_budget_and_in_the_ledger(server, tmp_path):
    path = _paid(tmp_path, server)
    cost = campaign_cost(Campaign.open(path).spec).to_dict()
    assert (cost["raters"][0]["name"], cost["raters"][0]["calls"]) == ("[learner]", 2)
    assert 0.1 < float(cost["raters"][0]["cost_expected"]) < 0.3 < float(cost["raters"][0]["cost_most"])
    assert server.asked == []
    campaign = Campaign.open(path)
    campaign.run()
    status = campaign.status()
    assert status.spent_by["[learner]"] == Decimal("0.3")
    assert status.spent == sum(status.spent_by.values()) <= 20
    assert campaign.verify().differences == []
    ledger = campaign.export(tmp_path / "ledger.csv", ledger=True)
    first = [ledger.texts(name, missing="allow")[0] for name in ("kind", "position", "rater", "amount")]
    assert first == ["texts", "", "[learner]", "0.3"]
    assert any("2 columns, for 0.30" in note for _, note in campaign.notes())
    assert campaign_cost(campaign.spec).to_dict()["raters"][0]["calls"] == 0  # all of them are there


def test_a_kill_pays_for_no_batch_twice_and_a_new_beginning_for_none(server, tmp_path):
    path = _paid(tmp_path, server)
    server.calls_left = 1
    with pytest.raises(InputError, match="HTTP 402"):
        Campaign.open(path).begin()
    server.calls_left = 1_000_000
    Campaign.open(path).begin()
    assert [len(texts) for *_, texts, _ in server.asked] == [256, 44, 44]
    assert server.asked[1][-1] == server.asked[2][-1] is not None  # the same call, by its key
    assert Campaign.open(path).status().spent == Decimal("0.3")
    for file in filter(Path.is_file, tmp_path.glob("c.sqlite*")):
        file.unlink()
    Campaign.open(path).begin()
    assert len(server.asked) == 3
    assert Campaign.open(path).status().spent == 0


def test_texts_that_could_pass_the_budget_are_not_sent(server, tmp_path):
    path = _paid(tmp_path, server, price="100000")
    with pytest.raises(InputError, match=r"may pass the budget.*raise goal\.budget"):
        Campaign.open(path).begin()
    assert server.asked == []


# `[start] from`: a finished campaign teaches the next one.


PRICES = (Decimal("0.05"), Decimal(1))


def taught(folder, *, start='from = "spring.toml"', seed=2, **keys):
    """The campaign of the next release, its TOML with a [start]."""
    path = write(folder, judged(400, seed=seed), name="autumn", **({"goal": 'budget = "60"'} | keys))
    path.write_text(path.read_text(encoding="utf-8") + f"\n[start]\n{start}\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Spring, and autumn that has learned from it; spring's files are gone."""
    folder = tmp_path_factory.mktemp("releases")
    spring = ran(folder / "old", judged(400), name="spring", goal='budget = "60"')
    path = taught(folder / "new", start='from = "../old/spring.toml"')
    autumn = Campaign.open(path)
    autumn.run()
    for file in (folder / "old").iterdir():
        file.unlink()
    return spring, autumn


def test_the_start_shrinks_and_the_first_plan_goes_by_the_teacher(releases):
    _, autumn = releases
    rounds = log_of(autumn)["rounds"]
    assert rounds[0][4] == 8  # labels: 20 without a teacher
    assert json.loads(rounds[1][2])["own_rates"] == []  # its rule was made without the labels


def test_it_verifies_without_the_old_campaign(releases):
    _, autumn = releases
    found = Campaign.open(autumn.spec.path).verify()
    assert found.passed


def test_notes_tell_who_taught_and_whether_it_still_fits(releases):
    _, autumn = releases
    with autumn.look() as now:
        assert any("of the campaign 'spring' teach this one" in text for _, text in now.notes)
        assert any("what spring has taught still fits" in line for line in now.told)


def test_the_teacher_is_part_of_the_record(releases):
    _, autumn = releases
    with autumn.look() as now:
        kept = Teacher.from_dict(json.loads(now.store.meta("teacher")))
    assert kept.campaign == "spring"
    assert kept.strong.size > 20


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"rating": 'kind = "score"\nlow = 0\nhigh = 2'}, "another rating scale"),
        ({"items": 'features = ["judge"]'}, "has other features"),
    ],
)
def test_another_kind_of_campaign_is_refused(tmp_path, keys, said):
    ran(tmp_path, judged(60), name="spring", goal='budget = "30"')
    with pytest.raises(InputError, match=said):
        Campaign.open(taught(tmp_path, **keys)).run()


def test_a_judge_that_tells_its_uncertainty_teaches_only_its_like(tmp_path, monkeypatch):
    ran(tmp_path, judged(60), name="spring", goal='budget = "30"')
    monkeypatch.setattr("ratewise.campaign.lifecycle.doubtful", lambda spec: 0.25 if spec.name == "autumn" else None)
    with pytest.raises(InputError, match="tells its uncertainty"):
        Campaign.open(taught(tmp_path)).run()


def test_a_campaign_that_has_not_ended_is_refused(tmp_path):
    Campaign.open(write(tmp_path, judged(60), name="spring")).begin()
    with pytest.raises(InputError, match=r"has not ended; let it end with: ratewise run spring\.toml"):
        Campaign.open(taught(tmp_path)).run()


@pytest.mark.parametrize(
    ("start", "raters", "said"),
    [
        ('from = "spring.toml"\nlabels = "human"', 2, "from and labels are both given"),
        ('from = "spring.toml"', 1, "needs one weak and one strong rater"),
        ("from = 3", 2, "the path of a finished campaign's TOML"),
    ],
)
def test_mistakes_in_the_toml_are_told(tmp_path, start, raters, said):
    names = (("judge", "0.05"), ("human", "1"))[-raters:]
    with pytest.raises(SpecError, match=said):
        Campaign.open(taught(tmp_path, start=start, raters=names))


@pytest.mark.parametrize("when", ["spring", "autumn"])
def test_a_judge_that_was_silent_on_some_items_is_no_drift(tmp_path, when):
    """Items without its rating stand at the mean in plans; they are none of its ratings."""
    spring, autumn = judged(400), judged(400, seed=2)
    for rows in (spring if when == "spring" else autumn,):
        rows["judge"] = ["" if i % 2 else g for i, g in enumerate(rows["judge"])]
    ran(tmp_path, spring, name="spring", goal='budget = "90"')
    path = write(tmp_path, autumn, name="autumn", goal='budget = "90"')
    path.write_text(path.read_text(encoding="utf-8") + '\n[start]\nfrom = "spring.toml"\n', encoding="utf-8")
    campaign = Campaign.open(path)
    campaign.run()
    with campaign.look() as now:
        assert any("what spring has taught still fits" in line for line in now.told)
    assert campaign.verify().passed


def test_a_campaign_with_too_little_to_teach_is_no_reason_to_stop(tmp_path):
    """Its money was enough for a few strong ratings alone; the next one says so, and starts afresh."""
    ran(tmp_path, judged(60), name="spring", goal='budget = "5"')
    campaign = Campaign.open(taught(tmp_path))
    campaign.run()
    with campaign.look() as now:
        assert any("too few to teach; this one starts afresh" in line for line in now.told)
    rounds = log_of(campaign)["rounds"]
    assert rounds[0][4] > 8  # a start of its own
    assert campaign.verify().passed


# Coverage


def release(seed, *, mean=0.7, items=400, teacher=None, wrong=0.0):
    columns = judged(items, seed=seed, mean=mean)
    weak, strong = np.array(columns["judge"]), np.array(columns["human"], dtype=float)
    pool = RehearsalPool.of(np.clip(weak + wrong, 0.001, 0.999), strong, prices=PRICES, seed=seed)
    game = Rehearsal(pool, pool.terms(budget=Decimal(50), teacher=teacher))
    game.play()
    return game, float(strong.mean())


def missed(trials, **keys):
    first, _ = release(0)
    teacher = Teacher.of("spring", first.history.seen)
    out, labels = [], []
    for seed in range(1, trials + 1):
        game, truth = release(seed, teacher=teacher, **keys)
        low, high = estimate_history(game.history, game.terms.wanted).interval
        out.append(not low <= truth <= high)
        labels.append(game.plans[0].items)
    return np.mean(out), labels


def test_intervals_of_taught_campaigns_cover():
    """At most 5 % of 60 miss; a check fails by chance with probability 1e-4."""
    share, labels = missed(60)
    assert share <= most(0.05, 60)
    assert set(labels) == {8}


def test_a_teacher_that_is_wrong_costs_money_and_no_coverage():
    """The judge has become far too generous since: drift is noticed, and a start of its own follows."""
    share, _ = missed(40, wrong=0.3)
    assert share <= most(0.05, 40)
    first, _ = release(0)
    game, _ = release(3, teacher=Teacher.of("spring", first.history.seen), wrong=0.4)
    assert game.terms.teacher.drift(game.history.seen).drifted


@pytest.mark.soak
def test_taught_campaigns_cover_in_many_trials():
    for keys in ({}, {"mean": 0.93}, {"wrong": 0.3}):
        share, _ = missed(600, **keys)
        assert share <= most(0.06, 600)
