"""Leaderboards from tables: votes as arenas write them, bad input, and what is said of it."""

import io

import numpy as np
import pandas as pd
import pytest
from scipy import special

import ratewise as rw
from ratewise.errors import InputError, TableError
from ratewise.questions.leaderboard import read_votes

NAMES = ["<b>ada</b>", "bo$x$", "cy", "di", "eve"]


def arena(seed=0, votes=1500, share=0.3):
    rng = np.random.default_rng(seed)
    r = np.linspace(1.5, -1.5, 5)
    a = rng.integers(0, 5, votes)
    b = (a + rng.integers(1, 5, votes)) % 5
    h = np.where(rng.random(votes) < 0.2, 0.5, (rng.random(votes) < special.expit(r[a] - r[b])) * 1.0)
    g = np.clip(0.2 + 0.6 * h + 0.2 * rng.normal(size=votes), 0, 1)
    asked = rng.random(votes) < share
    return pd.DataFrame(
        {
            "id": np.arange(votes), "model_a": np.array(NAMES)[a], "model_b": np.array(NAMES)[b], "judge": g,
            "all": h, "human": np.where(asked, h, np.nan), "rate": share, "selected": asked,
        }
    )  # fmt: skip


def test_words_and_numbers_are_the_same_votes():
    table = arena()
    words = table["all"].map({1.0: "model_a", 0.0: "Model_B", 0.5: "tie (bothbad)"})
    one = rw.leaderboard(table, strong="all")
    two = rw.leaderboard(table.assign(winner=words), strong="winner")
    np.testing.assert_array_equal(one.log_odds, two.log_odds)


def test_other_words_are_listed_from_the_second_models_win_to_the_firsts():
    table = arena()
    words = table["human"].map({1.0: "links", 0.0: "rechts", 0.5: "gleich"}).fillna("")
    scale = ["rechts", "gleich", "links"]
    found = rw.leaderboard(table.assign(human=words), strong="human", weak="judge", scale=scale)
    assert str(found) == str(rw.leaderboard(table, strong="human", weak="judge"))
    asked = rw.ask_votes(table.assign(human=words), votes=50, weak="judge", strong="human", scale=scale, seed=1)
    assert asked.table.texts("human", missing="allow").tolist() == words.tolist()
    np.testing.assert_array_equal(asked.new, rw.ask_votes(table, votes=50, weak="judge", strong="human", seed=1).new)
    with pytest.raises(TableError, match=r"a vote is model_a, model_b or tie.* with scale"):
        rw.leaderboard(table.assign(human=words), strong="human")


def test_several_peoples_votes_are_their_mean():
    table = arena()
    other = np.where(np.arange(len(table)) % 7 == 0, 1 - table["human"], table["human"])
    words = pd.Series(other).map({1.0: "model_a", 0.0: "model_b", 0.5: "tie"}).fillna("")
    both = table.assign(ann=words)
    found = rw.leaderboard(both, strong=["human", "ann"], weak="judge")
    same = rw.leaderboard(table.assign(human=(table["human"] + other) / 2), strong="human", weak="judge")
    np.testing.assert_array_equal(found.log_odds, same.log_odds)
    assert any(note.startswith("2 people gave") for note in found.notes)
    with pytest.raises(InputError, match="go with estimand population"):
        rw.leaderboard(both, strong=["human", "ann"], estimand="pool")


def test_missing_words_are_missing_votes():
    table = rw.read_table(pd.DataFrame({"w": ["a", None, "tie", ""]}))
    np.testing.assert_array_equal(read_votes(table, "w"), [1.0, np.nan, 0.5, np.nan])


def test_unknown_words_and_numbers_are_refused():
    with pytest.raises(TableError, match=r"has 'left-ish'; a vote is model_a, model_b or tie"):
        read_votes(rw.read_table(pd.DataFrame({"w": ["a", "left-ish"]})), "w")
    with pytest.raises(TableError, match=r"row 2 .* has 2 .* score from 0 to 1"):
        read_votes(rw.read_table(pd.DataFrame({"w": [1.0, 2.0]})), "w")


def test_a_model_may_not_meet_itself():
    table = pd.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "y"], "h": [1, 0]})
    with pytest.raises(TableError, match=r"row 2 .* compares 'y' with itself"):
        rw.leaderboard(table, strong="h")


def test_rates_count_in_the_ratings():
    table = arena()
    rates = np.where(table["model_a"] == "cy", 0.9, 0.2)
    rng = np.random.default_rng(5)
    table = table.assign(human=np.where(rng.random(len(table)) < rates, table["all"], np.nan), p=rates)
    table = table.drop(columns=["rate", "selected"])
    weighted = rw.leaderboard(table, strong="human", weak="judge", rate="p")
    with pytest.warns(rw.RatewiseWarning, match="they were not drawn at random"):
        flat = rw.leaderboard(table, strong="human", weak="judge")
    assert np.abs(weighted.log_odds - flat.log_odds).max() > 0.01


def test_every_vote_strong_gives_the_same_with_and_without_weak_ones():
    table = arena()
    one = rw.leaderboard(table, strong="all")
    two = rw.leaderboard(table, strong="all", weak="judge")
    np.testing.assert_allclose(one.log_odds, two.log_odds, atol=1e-10)


def test_the_pool_has_no_error_once_every_vote_is_strong():
    board = rw.leaderboard(arena(), strong="all", weak="judge", estimand="pool")
    assert all(m.standard_error == pytest.approx(0.0, abs=1e-9) for m in board.rated)


def test_ratings_have_mean_1000_and_400_points_are_tenfold_odds():
    board = rw.leaderboard(arena(), strong="all")
    assert np.mean([m.rating for m in board.rated]) == pytest.approx(1000)
    first, last = board.rated[0], board.rated[-1]
    odds = 10 ** ((first.rating - last.rating) / 400)
    assert board.win_probability(first.name, last.name) == pytest.approx(odds / (1 + odds))
    with pytest.raises(InputError, match="'nobody' has no rating here"):
        board.win_probability("nobody", first.name)


def test_a_model_that_never_lost_is_named_and_the_rest_rated():
    table = arena()
    beaten = table["all"].where(table["model_a"] != "cy", 1.0).where(table["model_b"] != "cy", 0.0)
    board = rw.leaderboard(table.assign(all=beaten), strong="all")
    assert board["cy"].rating is None
    assert "lost no vote" in board["cy"].reason
    rest = rw.leaderboard(table[(table["model_a"] != "cy") & (table["model_b"] != "cy")], strong="all")
    np.testing.assert_allclose(board.log_odds, rest.log_odds, atol=1e-10)
    assert any(note.startswith("cy: it lost no vote") for note in board.notes)


def test_a_model_beyond_reach_of_few_votes_does_not_stop_the_others():
    table = arena(votes=300, share=0.05)
    board = rw.leaderboard(table, strong="human")
    assert len(board.rated) >= 2
    assert all(m.reason for m in board.models if m.rating is None)


def test_models_that_no_vote_connects_are_named():
    island = pd.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "all": [1.0, 1.0]})
    board = rw.leaderboard(pd.concat([arena(), island]), strong="all")
    assert board["x"].rating is None
    assert "no vote connects it" in board["y"].reason
    assert len(board.rated) == 5


def test_nobody_to_rate_is_one_clear_error():
    table = pd.DataFrame({"model_a": ["x", "x"], "model_b": ["y", "y"], "h": [1, 1]})
    with pytest.raises(InputError, match="fewer than two models can be rated: it lost no vote"):
        rw.leaderboard(table, strong="h")
    with pytest.raises(TableError, match=r"no row of .* has a strong rating"):
        rw.leaderboard(table.assign(h=np.nan), strong="h")


def test_votes_asked_for_and_missing_are_not_dropped():
    table = arena()
    table.loc[np.flatnonzero(table["selected"])[3], "human"] = np.nan
    with pytest.raises(TableError, match="1 answers that were asked for are missing"):
        rw.leaderboard(table, strong="human", weak="judge", rate="rate", selected="selected")


def test_voters_as_clusters_widen_the_intervals():
    table = arena()
    twice = pd.concat([table.assign(voter=np.arange(len(table)))] * 2)
    alone = rw.leaderboard(table, strong="all")
    doubled = rw.leaderboard(twice, strong="all", clusters="voter")
    np.testing.assert_allclose(
        [m.standard_error for m in doubled.rated], [m.standard_error for m in alone.rated], rtol=0.01
    )


def test_it_prints_well_and_escapes_names():
    board = rw.leaderboard(arena(), strong="human", weak="judge", rate="rate")
    assert "<b>ada</b>" in str(board)
    assert "<b>" not in board._repr_html_()
    told = board.to_dict()
    assert [m["rank"] for m in told["models"]] == [1, 2, 3, 4, 5]
    assert len(told["win_probabilities"]["rows_beat_columns"]) == 5


def test_the_picture_takes_any_name():
    hostile = "bo$\\frac{x" + "y" * 300
    board = rw.leaderboard(arena().replace("bo$x$", hostile), strong="all")
    made = rw.plot_leaderboard(board)
    made.savefig(io.BytesIO(), format="svg")  # a formula that cannot be read would fail here
    shown = [label.get_text() for label in made.axes[0].get_yticklabels()]
    assert len(shown) == 5
    (own,) = [text for text in shown if text.startswith("bo")]
    assert own.startswith(r"bo\$\frac{x")
    assert own.endswith("…")
    assert len(own) < 60


def test_nothing_but_ties_says_nothing_of_the_spread():
    table = arena().assign(all=0.5)
    board = rw.leaderboard(table, strong="all")
    assert all(m.rating == pytest.approx(1000) and m.low is None and m.best is None for m in board.rated)
    assert all((m.rank_low, m.rank_high) == (1, 5) for m in board.rated)
    assert any("spread is unknown" in note for note in board.notes)
    assert "none" in str(board)
    board._repr_html_()
    rw.plot_leaderboard(board)


def test_a_model_without_a_rating_may_be_above_the_others():
    table = arena()
    beaten = table["all"].where(table["model_a"] != "cy", 1.0).where(table["model_b"] != "cy", 0.0)
    board = rw.leaderboard(table.assign(all=beaten), strong="all")
    assert board.rated[0].rank_high >= 2
    assert board.rated[0].best is None


def test_rate_and_selected_are_taken_from_columns_of_these_names():
    table = arena()
    named = rw.leaderboard(table, strong="human", weak="judge", rate="rate", selected="selected")
    np.testing.assert_array_equal(rw.leaderboard(table, strong="human", weak="judge").log_odds, named.log_odds)
    table.loc[np.flatnonzero(table["selected"])[3], "human"] = np.nan
    with pytest.raises(TableError, match="1 answers that were asked for are missing"):
        rw.leaderboard(table, strong="human", weak="judge")
