"""The result in plain words, with the units of the TOML."""

from ratewise.report.markdown import snapshot_markdown
from ratewise.report.sentence import plain_answer

from ..campaign.making import judged, ran, scored, write


def test_a_manager_reads_it(tmp_path):
    campaign = ran(tmp_path, judged(400), goal='budget = "80"', currency="USD", claim="the assistant is right")
    with campaign.look() as now:
        said, found, status = plain_answer(now), now.estimate, now.status
    low, high = (f"{100 * end:.1f}" for end in found.interval)
    first = f"The assistant is right {100 * found.value:.1f} % of the time (95% interval {low}–{high} %). "
    assert said.startswith(first + f"It took {status.labels} labels from human and cost ")
    assert " USD" in said
    assert "; labels alone would have taken about " in said


def test_without_a_claim_it_names_who_said_yes(tmp_path):
    campaign = ran(tmp_path, judged(80), goal='budget = "30"')
    with campaign.look() as now:
        assert plain_answer(now).startswith(f"{100 * now.estimate.value:.1f} % of the items get a yes from human (95%")


def test_scores_stay_on_their_scale_and_money_has_no_name_of_its_own(tmp_path):
    columns = scored(60)
    keys = {"raters": (("judge", "0.05"), ("human", "1")), "rating": 'kind = "score"\nlow = 1\nhigh = 9'}
    campaign = ran(tmp_path, {name: columns[name] for name in ("id", "judge", "human")}, goal='budget = "30"', **keys)
    with campaign.look() as now:
        said, spent = plain_answer(now), now.status.spent
    assert said.startswith("The mean rating by human is ")
    assert "on a scale from 1 to 9" in said
    assert f"and cost {f'{spent:,.2f}'.removesuffix('.00')}" in said


def test_before_the_first_round(tmp_path):
    from ratewise.campaign.campaign import Campaign

    campaign = Campaign.open(write(tmp_path, judged(50)))
    campaign.begin()
    with campaign.look() as now:
        assert "no estimate" in plain_answer(now)
        assert "no estimate" in snapshot_markdown(now)
