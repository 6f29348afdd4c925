"""Labels that are there before a campaign begins: each way they may have been drawn."""

from decimal import Decimal

import numpy as np
import pytest

import ratewise as rw
from ratewise.campaign import findings
from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError, RatewiseWarning, SpecError, TableError

from .making import judged, scored, write

ITEMS = 300


def with_labels(columns, how, seed=3):
    """Some labels in a column of their own, drawn in one of the ways; `was` is the rate."""
    rng = np.random.default_rng(seed)
    judge, truth = np.array(columns["judge"], dtype=float), np.array(columns["human"], dtype=float)
    was = np.full(truth.size, 0.2) if how != "was" else np.clip(0.05 + 0.4 * (1 - judge), 0.01, 1)
    old = rng.random(truth.size) < was
    if how == "by hand":
        old = np.argsort(-judge) < truth.size // 5
    labels = [f"{truth[i]:g}" if old[i] else "" for i in range(truth.size)]
    return {**columns, "labelled": labels, "was": np.round(was, 6).tolist()}, old


def begun(folder, how, *, items=None, **keys):
    columns, old = with_labels(judged(ITEMS) if items is None else items, how)
    goal = keys.pop("goal", 'budget = "40"')
    start = f'{goal}\n[start]\nlabels = "labelled"\ndrawn = "{how}"'
    return Campaign.open(write(folder, columns, goal=start, **keys)), columns, old


@pytest.mark.parametrize("how", ["at random", "was", "by hand"])
@pytest.mark.parametrize("estimand", ["pool", "population"])
def test_old_labels_cost_nothing_are_not_asked_again_and_the_log_holds(tmp_path, how, estimand):
    campaign, columns, old = begun(tmp_path, how, estimand=estimand)
    campaign.run()
    assert campaign.verify().differences == []
    table = campaign.export(tmp_path / "out.csv")
    ids = table.texts("id")
    known = {i for i, is_old in zip(columns["id"], old, strict=True) if is_old}
    asked = {i for i, yes in zip(ids, table.numbers("selected"), strict=True) if yes}
    weak = Decimal("0.05") * int((table.texts("state_judge", missing="allow") == "answered").sum())
    status = campaign.status()
    paid = int((status.spent - weak) / 1)
    new = len(asked - known)
    assert paid == new
    assert status.spent <= 40
    if how == "at random":
        assert set(ids[: len(known)]) == known
    if how == "by hand" and estimand == "pool":
        assert not known & set(ids)
    found, reported = rw.estimate_table(tmp_path / "out.csv"), campaign.estimate()
    assert (found.value, found.interval, found.labels) == (reported.value, reported.interval, reported.labels)


def test_labels_at_random_are_the_first_round(tmp_path):
    campaign, _, old = begun(tmp_path, "at random")
    campaign.run()
    first = campaign.story()[0]
    assert campaign.status().labels > old.sum()
    with campaign.look() as now:
        rounds = now.store.rounds()
    assert rounds[0].items == old.sum()
    assert first is not None


def test_what_was_done_is_told(tmp_path):
    said = {
        ("at random", "pool"): "drawn at random: they are the first round",
        ("was", "pool"): "drawn by a column of rates: they are pooled with the new ones",
        ("by hand", "pool"): "they count as the known values of their items",
        ("by hand", "population"): "for a population's mean they are not used",
    }
    for number, ((how, estimand), words) in enumerate(said.items()):
        campaign, *_ = begun(tmp_path / str(number), how, estimand=estimand)
        campaign.begin()
        assert words in campaign.notes()[0][1]


def test_known_values_are_in_the_estimate_as_they_are(tmp_path):
    campaign, columns, old = begun(tmp_path, "by hand", goal='budget = "500"')
    campaign.run()
    found = campaign.estimate()
    assert found.value == pytest.approx(np.mean(columns["human"]), abs=1e-12)  # everything else was bought
    assert found.labels == found.items == ITEMS
    assert "labels picked by hand are counted as the known values of their items" in " ".join(found.notes)
    assert campaign.status().spent == ITEMS - int(old.sum())


@pytest.mark.parametrize("how", ["at random", "by hand"])
def test_chains_and_targets_take_old_labels_too(tmp_path, how):
    raters = (("judge", "0.02"), ("expert", "0.2"), ("human", "1"))
    rating = 'kind = "score"\nlow = 1\nhigh = 9'
    campaign, *_ = begun(tmp_path / "chain", how, items=scored(300), raters=raters, rating=rating)
    campaign.run()
    assert campaign.verify().differences == []
    campaign, *_ = begun(tmp_path / "target", how, goal="target_se = 0.03")
    campaign.run()
    assert campaign.verify().differences == []
    campaign.export(tmp_path / "out.csv")
    found, reported = rw.estimate_table(tmp_path / "out.csv"), campaign.estimate()
    assert (found.value, found.interval) == (reported.value, reported.interval)


def test_one_rater_alone_goes_on_from_old_labels(tmp_path):
    campaign, _, old = begun(tmp_path, "at random", raters=(("human", "1"),))
    campaign.run()
    assert campaign.status().spent == 40
    assert campaign.estimate().labels == 40 + int(old.sum())
    assert campaign.verify().differences == []


def test_what_does_not_fit_is_refused(tmp_path):
    columns, _ = with_labels(judged(60), "at random")
    bad = {**columns, "labelled": ["7", *columns["labelled"][1:]]}
    for number, (items, start, error, message) in enumerate([
        (bad, 'labels = "labelled"', TableError, "column 'labelled' of items.csv, row 1: "),
        (columns, 'labels = "labelled"\ndrawn = "nowhere"', InputError, "write 'at random', 'by hand', or the name"),
        ({**columns, "none": [""] * 60}, 'labels = "none"', TableError, "has no label; leave [start] out"),
        (columns, 'labels = "human"', InputError, "has a label for every item; there is nothing to ask"),
        ({**columns, "none": [0] * 60}, 'labels = "labelled"\ndrawn = "none"', TableError, "has no rate that it can"),
    ]):  # fmt: skip
        path = write(tmp_path / str(number), items, goal=f'budget = "9"\n[start]\n{start}')
        with pytest.raises(error) as refused:
            Campaign.open(path).begin()
        assert message in str(refused.value)


def test_strata_and_chains_with_rates_are_refused_in_the_toml(tmp_path):
    columns, _ = with_labels(judged(60), "at random")
    start = 'budget = "9"\n[start]\nlabels = "labelled"\ndrawn = "was"\n[inputs]\nstrata = "human"'
    with pytest.raises(SpecError, match=r"can only have one: delete \[inputs\] .* or delete \[start\]"):
        Campaign.open(write(tmp_path, columns, goal=start))
    raters = (("judge", "0.02"), ("was", "0.2"), ("human", "1"))
    start = 'budget = "9"\n[start]\nlabels = "labelled"\ndrawn = "was"'
    with pytest.raises(SpecError, match="needs one weak and one strong rater"):
        Campaign.open(write(tmp_path, columns, goal=start, raters=raters))


def test_a_campaign_keeps_the_start_it_began_with(tmp_path):
    campaign, columns, _ = begun(tmp_path, "at random")
    campaign.begin()
    with pytest.raises(InputError, match=r"start from .* to none: items were put into their order by it"):
        Campaign.open(write(tmp_path, columns, goal='budget = "40"'))


def test_a_label_that_was_changed_in_the_log_is_found(tmp_path):
    from .making import tamper

    campaign, *_ = begun(tmp_path, "at random")
    campaign.run()
    tamper(campaign, "UPDATE ratings SET value = 1 - value WHERE position = 0 AND step = 1")
    assert any("its label from before is" in text for text in campaign.verify().differences)


def test_labels_that_were_not_drawn_at_random_are_warned_of_before_anything_is_spent(tmp_path):
    """Somebody labelled what the judge likes, and says that it was at random."""
    columns = judged(ITEMS)
    likes = np.array(columns["judge"]) > np.quantile(columns["judge"], 0.7)
    columns["labelled"] = [x if liked else "" for x, liked in zip(columns["human"], likes, strict=True)]
    start = 'budget = "40"\n[start]\nlabels = "labelled"\ndrawn = "at random"'
    campaign = Campaign.open(write(tmp_path, columns, goal=start))
    with pytest.warns(RatewiseWarning, match="clearly higher values in column 'judge'.*say how they were drawn: start"):
        campaign.begin()
    assert campaign.status().spent == 0


@pytest.mark.parametrize("how", ["at random", "was", "by hand"])
def test_slices_count_the_labels_that_were_there(tmp_path, how):
    columns = judged(ITEMS)
    columns["lang"] = [("en", "de")[i % 2] for i in range(ITEMS)]
    campaign, columns, _ = begun(tmp_path, how, items=columns, goal='budget = "120"')
    campaign.run()
    with campaign.look() as now:
        found = findings.slices(now, ["lang"])
    assert sum(one.labels for one in found) == campaign.estimate().labels
    truth = np.array(columns["human"], dtype=float)
    for one in found:
        assert one.estimate.labels == one.labels
        assert abs(one.estimate.value - truth[np.array(columns["lang"]) == one.name].mean()) < 0.2
