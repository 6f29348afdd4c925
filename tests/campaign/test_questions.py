"""Campaigns that are asked more than a mean: each kind from the TOML to the export, and what a command says of that."""

import shutil

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError, SpecError, TableError
from ratewise.questions.comparison import compare_long
from ratewise.questions.leaderboard import leaderboard
from ratewise.questions.quantiles import quantile_table
from ratewise.questions.slices import estimate_slices

from .making import forge, holds, tamper, write

KINDS = ("slices", "compare", "many", "leaderboard", "quantile")


def _yes(rng, p):
    return (rng.random(p.size) < p).astype(int)


def table_of(kind, items=600, seed=1):
    """Columns of made-up items, and the TOML's [question], [items] and [rating] for them."""
    rng = np.random.default_rng([seed, 4011])
    if kind == "slices":
        p = rng.beta(4, 1.5, items).round(3)
        topics = np.array(["law", "code", "art"])[rng.choice(3, items, p=[0.6, 0.3, 0.1])]
        columns = {"id": [f"q{i}" for i in range(items)], "topic": topics.tolist(), "judge": p, "human": _yes(rng, p)}
        return columns, 'kind = "slices"\nby = "topic"', {}
    if kind in ("compare", "many"):
        systems = ("new", "old") if kind == "compare" else ("new", "old", "older")
        hard, rows = rng.normal(0, 1, items // len(systems)), []
        for k, system in enumerate(systems):
            p = (1 / (1 + np.exp(-(hard + 1.2 - 0.6 * k + 0.5 * rng.normal(size=hard.size))))).round(3)
            rows += list(zip([f"p{i}" for i in range(hard.size)], [system] * hard.size, p, _yes(rng, p), strict=True))
        rows = [rows[i] for i in rng.permutation(len(rows))]
        columns = dict(zip(("prompt", "system", "judge", "human"), map(list, zip(*rows, strict=True)), strict=True))
        return columns, 'kind = "compare"\nsystem = "system"\nbaseline = "old"', {"items": 'clusters = "prompt"'}
    if kind == "leaderboard":
        strength, a = np.linspace(1.5, -1.5, 5), rng.integers(0, 5, items)
        b = (a + rng.integers(1, 5, items)) % 5
        p = 1 / (1 + np.exp(strength[b] - strength[a]))
        human = np.where(rng.random(items) < 0.15, 0.5, _yes(rng, p))
        judge = np.clip(p + 0.15 * rng.normal(size=items), 0, 1).round(3)
        models = np.array(list("ABCDE"))
        columns = {
            "id": [f"v{i}" for i in range(items)], "model_a": models[a].tolist(), "model_b": models[b].tolist(),
            "judge": judge, "human": human,
        }  # fmt: skip
        return columns, 'kind = "leaderboard"', {"rating": 'kind = "pairwise"'}
    human = np.clip(rng.normal(6, 1.5, items), 1, 9).round(3)
    columns = {
        "id": [f"q{i}" for i in range(items)],
        "judge": (human + rng.normal(size=items)).round(3),
        "human": human,
    }
    return columns, 'kind = "quantile"\nat = 0.9', {"rating": 'kind = "score"\nlow = 1\nhigh = 9'}


def asked(folder, kind, goal='budget = "150"', *, alone=False, items=600, raters=None, **keys):
    """The TOML's path of a campaign with a question."""
    columns, question, more = table_of(kind, items)
    raters = raters or ((("human", "1"),) if alone else (("judge", "0.01"), ("human", "1")))
    path = write(folder, columns, goal=goal, raters=raters, **{**more, **keys})
    path.write_text(path.read_text().replace("[goal]", f"[question]\n{question}\n[goal]"))
    return path


def played(folder, kind, goal='budget = "150"', **keys):
    campaign = Campaign.open(asked(folder, kind, goal, **keys))
    campaign.run()
    return campaign


ONE_SHOT = {
    "slices": lambda table: estimate_slices(table, by="topic"),
    "compare": lambda table: compare_long(table, system="system"),
    "many": lambda table: compare_long(table, system="system"),
    "leaderboard": leaderboard,
    "quantile": lambda table: quantile_table(table, at=[0.9]),
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A function: an ended campaign of a kind, with or without a weak rater."""
    made = {}

    def find(kind, alone=False):
        if (kind, alone) not in made:
            made[kind, alone] = played(tmp_path_factory.mktemp(kind), kind, alone=alone)
        return made[kind, alone]

    return find


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_an_export_gives_the_same_figures_to_the_bit(ended, kind, alone, tmp_path):
    campaign = ended(kind, alone)
    status, answers = holds(campaign), campaign.answers()
    assert status.ended is not None
    for name in ("out.csv", "out.parquet"):
        campaign.export(tmp_path / name)
        assert ONE_SHOT[kind](str(tmp_path / name)).to_dict() == answers.result.to_dict(), name
    assert [one.to_dict() for one in answers.answers] == status.to_dict()["answers"]
    assert all(one.low < one.value < one.high for one in answers.answers)
    assert answers.summary() in status.summary()


@pytest.mark.parametrize("kind", KINDS)
def test_the_answers_are_near_the_truth_of_the_table(ended, kind):
    columns, _, _ = table_of(kind)
    human = np.array(columns["human"], dtype=float)
    found = {one.name: one for one in ended(kind).answers().answers}
    truth = {}
    if kind == "slices":
        truth = {name: human[np.array(columns["topic"]) == name].mean() for name in found}
    elif kind in ("compare", "many"):
        means = {name: human[np.array(columns["system"]) == name].mean() for name in set(columns["system"])}
        truth = {name: means[name] - means["old"] for name in found}
    elif kind == "quantile":
        truth = {"0.9": np.quantile(human, 0.9, method="inverted_cdf")}
    else:
        whole = leaderboard({k: list(v) for k, v in columns.items()}, strong="human", estimand="pool")
        truth = {model.name: model.rating for model in whole.models}
    for name, one in found.items():
        assert one.low <= truth[name] <= one.high, name


@pytest.mark.parametrize("kind", KINDS)
def test_an_export_while_people_still_answer_says_what_the_status_says(kind, tmp_path):
    """Rows of a round that is not complete are there without a rate; people may leave questions out."""
    path = asked(tmp_path, kind)
    path.write_text(path.read_text().replace('kind = "column"\ncolumn = "human"', 'kind = "people"'))
    campaign = Campaign.open(path)
    campaign.run(wait=False)
    for count in (29, 12):
        answered(campaign, count)
        campaign.run(wait=False)
    assert campaign.status().pending > 0
    assert campaign.status().rounds == 1
    campaign.export(tmp_path / "out.parquet")
    assert ONE_SHOT[kind](str(tmp_path / "out.parquet")).to_dict() == campaign.answers().result.to_dict()
    assert campaign.verify().differences == []


def answered(campaign, count):
    """Somebody answers so many questions, but leaves one in ten out."""
    with campaign.people() as desk:
        for n in range(count):
            asked = desk.next("ann")
            if asked is None:
                return
            desk.answer("ann", asked.key, None if n % 10 == 9 else asked.item["human"])


# Goals


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    ("kind", "goal"),
    [
        ("slices", "within = 0.12"), ("slices", "within = { law = 0.1 }"), ("compare", "within = 0.13"),
        ("leaderboard", "within = 120"), ("quantile", "within = 0.5"), ("slices", "decide = 0.5"),
        ("compare", "decide = -0.2"), ("leaderboard", 'decide = "top"'), ("leaderboard", 'decide = "order"'),
        ("quantile", "decide = 6"),
    ],
)  # fmt: skip
def test_it_ends_when_its_goal_is_reached(kind, goal, alone, tmp_path):
    campaign = played(tmp_path, kind, goal, alone=alone)
    status, answers = holds(campaign), campaign.answers()
    if status.ended == "every item has been looked at":  # as far as this table goes
        assert status.looked == status.pool
        return
    assert answers.done
    assert status.ended == (
        "what was to be decided is known" if "decide" in goal else "the precision asked for is reached"
    )
    wished = [one for one in answers.answers if one.reached is not None]
    if "within" in goal:
        assert [one.name for one in wished] == (["law"] if "law" in goal else [one.name for one in answers.answers])
        half = float(goal.split("=")[-1].strip(" }"))
        assert all((one.high - one.low) / 2 <= half for one in wished)
    campaign.export(tmp_path / "out.csv")
    assert ONE_SHOT[kind](str(tmp_path / "out.csv")).to_dict() == answers.result.to_dict()


def test_a_mean_is_decided_as_soon_as_it_is_known_on_which_side_it_is(tmp_path):
    columns, _, _ = table_of("slices")
    campaign = Campaign.open(write(tmp_path, columns, goal="decide = 0.5", raters=(("judge", "0.01"), ("human", "1"))))
    assert campaign.run() == "what was to be decided is known"
    status = holds(campaign)
    assert status.labels < 200
    (one,) = campaign.answers().answers
    assert one.decided == "above"
    assert one.low == status.final.low > 0.5


def test_what_the_money_will_not_reach_is_said_after_the_first_round(tmp_path):
    path = asked(tmp_path, "slices", 'budget = "60"\nwithin = 0.03')
    path.write_text(path.read_text().replace('kind = "column"\ncolumn = "human"', 'kind = "people"'))
    campaign = Campaign.open(path)
    campaign.run(wait=False)
    assert campaign.status().short is None
    answered(campaign, 40)
    campaign.run(wait=False)
    said = campaign.status().short
    assert "law needs about" in said
    assert "more labels" in said


def test_rates_move_to_the_slice_that_is_furthest_from_its_goal(tmp_path):
    """A small slice with the same goal gets a larger share of its items labelled; a weight moves labels, too."""
    even, small = (played(tmp_path / goal[-3:-1], "slices", goal, items=1500) for goal in (
        'budget = "200"', 'budget = "200"\nwithin = 0.001'
    ))  # fmt: skip
    for campaign in (even, small):
        shares = {one.name: one.labels for one in campaign.answers().answers}
        assert shares["art"] > 0.2 * sum(shares.values())  # a tenth of the items
    text = (tmp_path / even.spec.folder / "c.toml").read_text()
    heavy = tmp_path / "heavy"
    shutil.copytree(even.spec.folder, heavy)
    (heavy / "c.sqlite").unlink()
    (heavy / "c.toml").write_text(text.replace('by = "topic"', 'by = "topic"\nweights = { art = 4 }'))
    weighted = Campaign.open(heavy / "c.toml")
    weighted.run()
    labels = {one.name: one.labels for one in weighted.answers().answers}
    assert labels["art"] > 1.15 * {one.name: one.labels for one in even.answers().answers}["art"]


def test_both_rows_of_a_prompt_are_drawn_together(ended):
    campaign = ended("compare")
    with campaign.look() as now:
        looked = now.state.history.looked
    order = np.argsort(looked.clusters, kind="stable")
    pairs = looked.uniform[order].reshape(-1, 2)
    assert np.all(pairs[:, 0] == pairs[:, 1])
    both = looked.selected[order, -1].reshape(-1, 2)
    apart = np.outer(both.mean(axis=0), both.mean(axis=0))[0, 1]
    assert both.all(axis=1).mean() > 1.5 * apart  # more often than by two draws of their own


# What does not go together


@pytest.mark.parametrize(
    ("question", "goal", "said"),
    [
        ('kind = "audit"', 'budget = "9"', "and audit the table that `ratewise export` writes"),
        ('kind = "regress"', 'budget = "9"', "and regress the table that `ratewise export` writes"),
        ('kind = "slices"', 'budget = "9"', 'question.by is missing; write by = "the name of a column"'),
        ('kind = "slices"\nby = "id"\nat = 0.5', 'budget = "9"', 'question.at is for kind = "quantile"'),
        ('kind = "slices"\nby = "id"', "target_se = 0.1", "goal.target_se is for the mean"),
        ('kind = "slices"\nby = "id"', 'within = 0.1\ndecide = 0.1', "goal.decide and within are both given"),
        ('kind = "slices"\nby = "id"', 'decide = "order"', 'needs a number'),
        ('kind = "leaderboard"', 'budget = "9"', 'rating.kind must be "pairwise"'),
        ('kind = "quantile"', 'within = { a = 1 }', "goal.within is a table"),
        ('kind = "quantile"\nweights = { a = 1 }', 'budget = "9"', "question.weights is for several answers"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_one_clear_error(question, goal, said, tmp_path):
    path = write(tmp_path, {"id": ["a"], "judge": [1], "human": [1]}, goal=goal)
    path.write_text(path.read_text().replace("[goal]", f"[question]\n{question}\n[goal]"))
    with pytest.raises(SpecError, match="(?s)" + said.replace("(", r"\(")) as caught:
        Campaign.open(path)
    assert len(caught.value.args) == 1


def test_names_that_are_no_answers_and_tables_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(InputError, match="names 'laws'; the answers are art, code, law"):
        played(tmp_path / "1", "slices", "within = { laws = 0.1 }")
    columns, question, more = table_of("many")
    path = write(tmp_path / "2", columns, goal='budget = "9"', **more)
    path.write_text(path.read_text().replace("[goal]", '[question]\nkind = "compare"\nsystem = "system"\n[goal]'))
    with pytest.raises(InputError, match="3 systems need a baseline"):
        Campaign.open(path).run()
    twice = {name: [*values, values[0]] for name, values in columns.items()}
    path = write(tmp_path / "3", twice, goal='budget = "9"', **more)
    path.write_text(path.read_text().replace("[goal]", f"[question]\n{question}\n[goal]"))
    with pytest.raises(TableError, match="two rows of the same 'prompt' and system"):
        Campaign.open(path).run()


# Changes behind its back


@pytest.mark.parametrize("how", ["plain", "a new record"])
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE meta SET value = replace(value, '0.9', '0.8') WHERE key = 'question'",
        "UPDATE rounds SET plan = replace(plan, 'group\": [', 'group\": [1.0, ') WHERE plan LIKE '%group\": [_%'",
        "UPDATE rounds SET plan = replace(plan, '\"at\": 7', '\"at\": 6') WHERE plan LIKE '%\"at\": 7%'",
        "UPDATE items SET numbers = zeroblob(length(numbers)) WHERE position = 5",
        "UPDATE meta SET value = replace(value, '\"sizes\": [', '\"sizes\": [1') WHERE key = 'question'",
    ],
    ids=["the quantile", "importance", "the quantile's place", "an item's place", "sizes"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_verify_finds_what_was_changed(ended, kind, change, how, tmp_path):
    applies = "quantile" if "0.8" in change or "at" in change.split("replace")[-1][:20] else "grouped"
    if (applies == "quantile") != (kind == "quantile"):
        return
    shutil.copytree(ended(kind).spec.folder, tmp_path / "copy")
    campaign = Campaign.open(tmp_path / "copy" / "c.toml")
    assert campaign.verify().differences == []
    tamper(campaign, change)
    if how != "plain":
        forge(campaign)
    assert campaign.verify().differences


# What works for the mean works for each


@pytest.mark.parametrize("kind", KINDS)
def test_more_money_goes_on_where_it_ended(ended, kind, tmp_path):
    shutil.copytree(ended(kind).spec.folder, tmp_path / "copy")
    path = tmp_path / "copy" / "c.toml"
    path.write_text(path.read_text().replace('budget = "150"', 'budget = "220"'))
    campaign = Campaign.open(path)
    campaign.run()
    assert holds(campaign).labels > ended(kind).status().labels + 50
    campaign.export(tmp_path / "out.csv")
    assert ONE_SHOT[kind](str(tmp_path / "out.csv")).to_dict() == campaign.answers().result.to_dict()


@pytest.mark.parametrize("drawn", ["at random", "chance"])
@pytest.mark.parametrize("kind", KINDS)
def test_labels_that_are_there_count(kind, drawn, tmp_path):
    columns, question, more = table_of(kind)
    known = np.random.default_rng(5).random(len(columns["human"])) < 0.1
    columns["before"] = [x if here else "" for x, here in zip(columns["human"], known, strict=True)]
    columns["chance"] = [0.1] * known.size
    path = write(tmp_path, columns, goal='budget = "80"', raters=(("judge", "0.01"), ("human", "1")), **more)
    start = f'[start]\nlabels = "before"\ndrawn = "{drawn}"\n'
    path.write_text(path.read_text().replace("[goal]", f"[question]\n{question}\n{start}[goal]"))
    campaign = Campaign.open(path)
    campaign.run()
    holds(campaign)
    answers = campaign.answers()
    assert answers.answers[0].value is not None
    campaign.export(tmp_path / "out.csv")
    assert ONE_SHOT[kind](str(tmp_path / "out.csv")).to_dict() == answers.result.to_dict()


def test_slices_of_a_chain_of_three(tmp_path):
    columns, question, _ = table_of("slices")
    rng = np.random.default_rng(6)
    columns["expert"] = np.clip(np.array(columns["human"]) * 0.7 + 0.15 + 0.1 * rng.normal(size=600), 0, 1).round(3)
    raters = (("judge", "0.01"), ("expert", "0.1"), ("human", "1"))
    path = write(tmp_path, columns, goal='budget = "120"', raters=raters)
    path.write_text(path.read_text().replace("[goal]", f"[question]\n{question}\n[goal]"))
    campaign = Campaign.open(path)
    campaign.run()
    holds(campaign)
    campaign.export(tmp_path / "out.csv")
    assert ONE_SHOT["slices"](str(tmp_path / "out.csv")).to_dict() == campaign.answers().result.to_dict()
