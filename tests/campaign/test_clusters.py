"""Campaigns whose items belong together: the interval counts clusters, and all else stays as it was."""

import numpy as np
import pytest

import ratewise as rw
from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError, SpecError

from .making import looked_at, ran, write

CLUSTERS = 'id = "id"\nclusters = "conversation"'


def conversations(count=60, size=10, seed=1):
    """Items of one conversation are alike: some conversations go well, some do not."""
    rng = np.random.default_rng([seed, 4211])
    good = np.repeat(rng.beta(1.2, 0.6, count), size)
    h = (rng.random(count * size) < good).astype(int)
    g = np.round(np.clip(0.6 * h + 0.2 + 0.15 * rng.normal(size=h.size), 0, 1), 3)
    names = [f"talk {k // size}" for k in range(h.size)]
    ids = [f"q{i}" for i in range(h.size)]
    return {"id": ids, "conversation": names, "judge": g.tolist(), "human": h.tolist()}


def run(folder, items, **keys):
    return ran(folder, conversations(), items=items, goal='budget = "150"', estimand="population", **keys)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clusters")
    return run(folder / "with", CLUSTERS), run(folder / "without", 'id = "id"')


def test_the_same_is_bought_and_the_interval_is_wider(both):
    clustered, plain = both
    one, two = (campaign.estimate() for campaign in both)
    assert clustered.status().spent == plain.status().spent
    assert one.labels == two.labels
    assert one.standard_error > 1.2 * two.standard_error
    assert one.clusters == len(np.unique(looked_at(clustered)[0].looked.clusters))
    assert any("clusters" in note for note in one.notes)


def test_the_interval_is_that_of_the_exported_table(both, tmp_path):
    """By another route: the library's own estimate, from the export's columns."""
    table = both[0].export(tmp_path / "out.csv")
    history, _ = looked_at(both[0])
    codes = history.looked.clusters
    names = table.texts("conversation")
    assert all(np.unique(names[codes == k]).size == 1 for k in np.unique(codes))
    again = rw.estimate_mean(
        table.numbers("rating_judge"), table.numbers("rating_human", missing="allow"), history.seen.rates(),
        recalibrate="auto", clusters=names.astype(str),
    )  # fmt: skip
    found = both[0].estimate()
    assert again.value == pytest.approx(found.value, abs=1e-9)
    factor = (1 + 25 / (found.labels + 100)) ** 0.5  # a campaign's interval is widened for what learning adds
    assert found.standard_error == pytest.approx(factor * again.standard_error, rel=1e-9)


def test_verify_passes_and_the_column_cannot_change(both):
    assert both[0].verify().passed
    path = both[0].spec.path
    path.write_text(path.read_text(encoding="utf-8").replace('clusters = "conversation"', ""), encoding="utf-8")
    with pytest.raises(InputError, match=r"items\.clusters"):
        Campaign.open(path).run()


def test_features_go_with_clusters(tmp_path):
    columns = conversations(30)
    columns["length"] = np.random.default_rng(1).integers(1, 90, len(columns["id"])).tolist()
    campaign = ran(tmp_path, columns, items=CLUSTERS + '\nfeatures = ["length"]', goal='budget = "60"')
    history, _ = looked_at(campaign)
    assert history.looked.x.features.shape[1] == 1
    assert set(history.looked.x.features[:, 0]) <= set(columns["length"])
    assert campaign.estimate().clusters is not None


def test_a_column_that_is_not_there_and_strata_beside_are_refused(tmp_path):
    path = write(tmp_path, conversations(5), items='id = "id"\nclusters = "talk"')
    with pytest.raises(InputError, match="talk"):
        Campaign.open(path).run()
    more = CLUSTERS + '\n[inputs]\nstrata = "conversation"'
    with pytest.raises(SpecError, match=r"items\.clusters and \[inputs\] are both given"):
        Campaign.open(write(tmp_path / "more", conversations(5), items=more))


def test_a_chain_counts_clusters_too(tmp_path):
    columns = conversations(40)
    rng = np.random.default_rng(2)
    columns["expert"] = [int(h if rng.random() < 0.9 else 1 - h) for h in columns["human"]]
    raters = (("judge", "0.02"), ("expert", "0.2"), ("human", "1"))
    campaign = ran(tmp_path, columns, items=CLUSTERS, goal='budget = "80"', raters=raters, estimand="population")
    assert campaign.estimate().clusters is not None
