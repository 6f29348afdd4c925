"""Words and several people's columns in every function that reads a rated table."""

import numpy as np
import pytest

import ratewise as rw

NAN = np.nan


def votes(seed=1, items=900, people=3, rate=0.4, share=0.8):
    """Items of their own difficulty; each person votes 0 or 1, and not on every item that was drawn."""
    rng = np.random.default_rng(seed)
    p = rng.beta(4, 1, items)
    drawn = rng.random(items) < rate
    table = {"id": np.arange(items), "judge": p, "rate": np.full(items, rate), "topic": rng.choice(["a", "b"], items)}
    for j in range(people):
        voted = drawn & ((rng.random(items) < share) | (j == 0))
        table[f"ann{j + 1}"] = np.where(voted, rng.random(items) < p, NAN)
    return table


PEOPLE = ["ann1", "ann2", "ann3"]


def mean_of(table):
    v = np.stack([table[name] for name in PEOPLE], axis=1)
    k = (~np.isnan(v)).sum(axis=1)
    return np.where(k > 0, np.nansum(v, axis=1) / np.maximum(k, 1), NAN)


def test_the_mean_of_votes_is_the_rating():
    table = votes()
    found = rw.estimate_table(table, weak="judge", strong=PEOPLE)
    same = rw.estimate_table({**table, "human": mean_of(table)}, weak="judge", strong="human", bounds=(0, 1))
    assert (found.value, found.interval) == (same.value, same.interval)
    typed = rw.estimate_table(table, weak="judge", strong="ann1, ann2,ann3")
    assert typed.to_dict() == found.to_dict()


def test_agreement_is_reported_with_what_a_vote_would_buy():
    table = votes(share=1.0)
    found = rw.estimate_table(table, weak="judge", strong=PEOPLE, weak_cost=0.01, strong_cost=1)
    a = found.agreement
    assert (a.people, a.items) == (3, found.labels)
    assert a.votes == sum(np.count_nonzero(~np.isnan(table[name])) for name in PEOPLE)
    assert found.spend == pytest.approx(9.0 + a.votes)
    assert 0.5 < a.percent < 1
    assert 0 < a.alpha < 1
    assert a.with_other_items < a.with_another_vote < found.standard_error
    assert found.to_dict()["agreement"]["alpha"] == a.alpha
    text = "; ".join(found.notes)
    assert f"{a.percent:.0%} of pairs agree, Krippendorff's alpha {a.alpha:.2f}" in text
    assert f"from {found.standard_error:.4f} to {a.with_another_vote:.4f}; as many votes on" in text


def test_a_pool_that_is_rated_whole_is_not_exact_where_votes_are_noisy():
    table = votes(rate=1.0, share=1.0, items=300)
    del table["rate"]
    found = rw.estimate_table(table, weak="judge", strong=PEOPLE, estimand="pool")
    v = np.stack([table[name] for name in PEOPLE], axis=1)
    noise = (v.var(axis=1, ddof=1) / 3).sum() / 300**2
    assert found.value == pytest.approx(v.mean())
    assert found.standard_error == pytest.approx(np.sqrt(noise))
    assert found.high - found.low == pytest.approx(2 * 1.959964 * np.sqrt(noise), rel=1e-4)
    assert not any("exact" in note for note in found.notes)
    assert any("there are no other items to rate" in note for note in found.notes)


def test_one_vote_each_says_nothing_of_noise():
    table = votes()
    one = {**table, "ann2": np.full(900, NAN), "ann3": np.full(900, NAN)}
    found = rw.estimate_table(one, weak="judge", strong=PEOPLE, estimand="pool")
    assert found.agreement.percent is None
    assert any("the noise of votes is unknown" in note for note in found.notes)


def test_slices_plans_comparisons_and_checks_take_people_and_words():
    table = votes()
    human = {**table, "human": mean_of(table)}
    slices = rw.estimate_slices(table, by="topic", weak="judge", strong=PEOPLE)
    same = rw.estimate_slices(human, by="topic", weak="judge", strong="human", bounds=(0, 1))
    assert [s.estimate.value for s in slices.slices] == [s.estimate.value for s in same.slices]
    prices = {"weak_cost": 0.01, "strong_cost": 1.0, "budget": 300}
    made = rw.plan(table, weak="judge", strong=PEOPLE, **prices)
    assert made.policies == rw.plan(human, weak="judge", strong="human", **prices).policies
    assert any("mean of up to 3 people's votes" in note for note in made.notes)
    checked = rw.check(table, weak="judge", strong=PEOPLE, at_least=0.5)
    assert (checked.verdict, checked.estimate.agreement.people) == ("yes", 3)
    with pytest.raises(rw.InputError, match="go with estimand population here"):
        rw.estimate_slices(table, by="topic", weak="judge", strong=PEOPLE, estimand="pool")


def test_words_give_what_their_numbers_give():
    table = votes()
    words = {name: [{1.0: "Good", 0.0: "bad"}.get(x, "") for x in table[name]] for name in ("ann1", "ann2")}
    spoken = {**table, **words, "judge": np.where(table["judge"] > 0.5, "good", "bad")}
    plain = {**table, "judge": (table["judge"] > 0.5).astype(float)}
    for function, options in (
        (rw.estimate_table, {}),
        (rw.estimate_slices, {"by": "topic"}),
        (rw.check, {"at_least": 0.8}),
        (rw.plan, {"weak_cost": 0.01, "strong_cost": 1, "budget": 200}),
        (rw.plan_slices, {"weak_cost": 0.01, "strong_cost": 1, "budget": 200, "by": "topic"}),
    ):
        found = function(spoken, weak="judge", strong="ann1", positive="good", **options)
        assert str(found) == str(function(plain, weak="judge", strong="ann1", **options))
        note = "words as ratings: 'good' counts as 1 and 'bad' as 0"
        assert note in (found.notes if hasattr(found, "notes") else ())
    both = {"weak": ("judge", "judge"), "strong": ("ann1", "ann2")}
    found = rw.compare(spoken, **both, positive="good", bounds=(0, 1))
    assert found.difference.to_dict() == rw.compare(plain, **both).difference.to_dict()
    with pytest.raises(rw.TableError, match="which word counts as 1"):
        rw.estimate_table(spoken, weak="judge", strong="ann1")


def test_well_known_words_need_no_option_and_are_noted():
    table = votes()
    spoken = {**table, "ann1": [{1.0: "yes", 0.0: "no"}.get(x, "") for x in table["ann1"]]}
    found = rw.estimate_table(spoken, weak="judge", strong="ann1")
    assert found.value == rw.estimate_table(table, weak="judge", strong="ann1").value
    assert found.notes[0] == "words as ratings: yes counts as 1 and no as 0"


def test_a_stated_scale_gives_its_ends_and_refuses_other_words():
    table = votes()
    words = np.select([np.isnan(table["ann1"]), np.asarray(table["ann1"]) == 1], ["", "good"], "ok")
    found = rw.estimate_table({**table, "h": words}, weak="judge", strong="h", scale=["bad", "ok", "good"])
    numbers = np.where(np.isnan(table["ann1"]), NAN, 0.5 + 0.5 * np.asarray(table["ann1"]))
    same = rw.estimate_table({**table, "h": numbers}, weak="judge", strong="h", bounds=(0, 1))
    assert (found.value, found.interval) == (same.value, same.interval)
    with pytest.raises(rw.TableError, match="row 7 of table has 'fine' in column 'h'"):
        rw.estimate_table(
            {**table, "h": np.where(np.arange(900) == 6, "fine", words)}, weak="judge", strong="h",
            scale=["bad", "ok", "good"],
        )  # fmt: skip


def test_a_drawn_pool_may_have_a_judge_in_words():
    table = votes()
    judge = np.where(table["judge"] > 0.7, "fine", "poor")
    made = rw.plan(
        {"judge": judge, "human": np.where(np.nan_to_num(table["ann1"]) > 0, "fine", "poor")}, weak="judge",
        strong="human", weak_cost=0.01, strong_cost=1, budget=200, pool_size=900, positive="fine",
    )  # fmt: skip
    pool = {"id": table["id"], "judge": judge}
    drawn = rw.draw_pool(pool, made.transfer, seed=3)
    assert drawn.table.texts("judge").tolist() == judge.tolist()
    again = type(made.transfer).from_dict(made.transfer.to_dict())
    np.testing.assert_array_equal(rw.draw_pool(pool, again, seed=3).rates, drawn.rates)


@pytest.mark.parametrize(("strong", "words"), [([], "names no column"), (["ann1", "ann1"], "one of them twice")])
def test_columns_of_people_are_checked(strong, words):
    with pytest.raises(rw.TableError, match=words):
        rw.estimate_table(votes(), weak="judge", strong=strong)


def test_regressions_and_quantiles_take_words_and_people():
    table = votes(share=1.0)
    spoken = {**table, "ann1": [{1.0: "Good", 0.0: "bad"}.get(x, "") for x in table["ann1"]]}
    human = {**table, "human": mean_of(table)}
    for function, options in (
        (rw.regress, {"on": ["topic"], "family": "logistic"}),
        (rw.quantile_table, {"at": [0.5]}),
    ):
        plain = function(table, weak="judge", strong="ann1", **options)
        found = function(spoken, weak="judge", strong="ann1", positive="good", **options)
        assert str(found) == str(plain)
        assert found.notes[0] == "words as ratings: 'good' counts as 1 and 'bad' as 0"
        together = function(table, weak="judge", strong=PEOPLE, **options)
        assert str(together) == str(function(human, weak="judge", strong="human", **options))
        assert any(note.startswith("3 people gave") and "of pairs agree" in note for note in together.notes)
        with pytest.raises(rw.InputError, match="go with estimand population here"):
            function(table, weak="judge", strong=PEOPLE, estimand="pool", **options)
        with pytest.raises(rw.TableError, match="which word counts as 1"):
            function(spoken, weak="judge", strong="ann1", **options)


def test_plans_of_regressions_quantiles_and_comparisons_take_words_and_their_pools_too():
    table = votes()
    words = {name: [{1.0: "Good", 0.0: "bad"}.get(x, "") for x in table[name]] for name in ("ann1", "ann2")}
    spoken = {**table, **words, "judge": np.where(table["judge"] > 0.5, "good", "bad")}
    plain = {**table, "judge": (table["judge"] > 0.5).astype(float)}
    prices = {"weak_cost": 0.01, "strong_cost": 1, "budget": 200}
    one = {"weak": "judge", "strong": "ann1"}
    both = {"weak": ("judge", "judge"), "strong": ("ann1", "ann2")}
    many = {
        "weak": {"a": "judge", "b": "judge"}, "strong": {"a": "ann1", "b": "ann2"}, "baseline": "a",
    }  # fmt: skip
    for function, options in (
        (rw.plan_regression, {**one, "on": ["topic"]}),
        (rw.plan_quantile, {**one, "quantile": 0.1}),
        (rw.plan_comparison, both),
        (rw.plan_comparisons, many),
    ):
        made = function(spoken, positive="good", **options, **prices)
        same = function(plain, **options, **prices)
        assert str(made) == str(same)
        drawn = rw.draw_pool({name: spoken[name] for name in ("id", "judge")}, made, seed=1)
        wanted = rw.draw_pool({name: plain[name] for name in ("id", "judge")}, same, seed=1)
        np.testing.assert_array_equal(drawn.rates, wanted.rates)
        assert drawn.table.texts("judge").tolist() == spoken["judge"].tolist()


@pytest.mark.parametrize("drawn", ["at random", "by hand"])
def test_labels_in_words_that_are_there_already_are_planned_with_and_drawn_beside(drawn):
    table = votes(rate=0.15)
    plain = {name: table[name] for name in ("id", "judge")} | {"human": table["ann1"]}
    spoken = {**plain, "human": [{1.0: "right", 0.0: "wrong"}.get(x, "") for x in table["ann1"]]}
    options = {"weak": "judge", "strong": "human", "weak_cost": 0, "strong_cost": 1, "budget": 90, "drawn": drawn}
    made, same = rw.plan(spoken, positive="right", **options), rw.plan(plain, **options)
    assert made.reason == same.reason
    assert made.notes[0] == "words as ratings: 'right' counts as 1 and 'wrong' as 0"
    found, wanted = rw.draw_pool(spoken, made, seed=2), rw.draw_pool(plain, same, seed=2)
    np.testing.assert_array_equal(found.selected, wanted.selected)
    said = found.table.texts("human", missing="allow")
    kept = wanted.table.numbers("human", missing="allow")
    assert said.tolist() == [{1.0: "right", 0.0: "wrong"}.get(x, "") for x in kept]


def test_several_people_who_labelled_already_are_planned_with():
    table = votes(rate=0.15)
    pool = {name: table[name] for name in ("id", "judge", *PEOPLE)}
    made = rw.plan(pool, weak="judge", strong=PEOPLE, weak_cost=0, strong_cost=3, budget=90, drawn="at random")
    assert made.basis["strong"] == "ann1,ann2,ann3"
    found = rw.draw_pool(pool, made, seed=2)
    assert found.selected[~np.isnan(mean_of(table))].all()
    sheet = rw.blind_sheet(found.table, seed=1, fill=PEOPLE, hide=["judge"])
    assert sheet.columns == ("id", *PEOPLE)
