"""`[start] from`: a finished campaign teaches the next one."""

import json
from decimal import Decimal

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.estimates import estimate_history
from ratewise.campaign.rehearsal import Pool, Rehearsal
from ratewise.design.teacher import Teacher
from ratewise.errors import InputError, SpecError

from ..bounds import most
from .making import judged, log_of, ran, write

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
        kept = Teacher.from_json(now.store.meta("teacher"))
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
    pool = Pool.of(np.clip(weak + wrong, 0.001, 0.999), strong, prices=PRICES, seed=seed)
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
