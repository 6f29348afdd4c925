"""`compare_many`: several systems against a baseline, with intervals that hold together."""

import io
import json

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from ratewise.errors import InputError
from ratewise.questions.comparison import compare, compare_many
from ratewise.report.pictures import plot_comparison
from ratewise.report.terminal import text_of

from ..worlds import SYSTEMS, many_systems

COLUMNS = {"weak": {n: f"g_{n}" for n in SYSTEMS}, "strong": {n: f"h_{n}" for n in SYSTEMS}, "baseline": "old"}


def test_each_difference_is_compare_s():
    data = many_systems()
    found = compare_many(data, **COLUMNS)
    for name in SYSTEMS[1:]:
        alone = compare(data, weak=(f"g_{name}", "g_old"), strong=(f"h_{name}", "h_old"))
        row = found.of(name)
        assert row.difference.value == alone.difference.value
        assert row.difference.standard_error == alone.difference.standard_error
        assert row.probability_better == alone.probability_better
        assert row.p_value == pytest.approx(2 * min(alone.probability_better, 1 - alone.probability_better))
        assert row.difference.low < alone.difference.low < alone.difference.high < row.difference.high
        assert row.difference.level == 0.95
    assert 0.95 < found.each_level < 1 - 0.05 / 3


def test_one_rival_is_a_plain_comparison():
    data = many_systems()
    two = {"weak": {"old": "g_old", "new": "g_new"}, "strong": {"old": "h_old", "new": "h_new"}}
    found = compare_many(data, baseline="old", **two)
    alone = compare(data, weak=("g_new", "g_old"), strong=("h_new", "h_old"))
    assert found.rivals[0].difference.interval == alone.difference.interval
    assert found.rivals[0].adjusted_p_value == found.rivals[0].p_value


def test_the_joint_level_by_brute_force():
    """Correlation of the contributions, the maximum of a multivariate normal by SciPy: another route."""
    data = many_systems()
    found = compare_many(data, **COLUMNS, method="difference")
    D_g = np.stack([data[f"g_{n}"] - data["g_old"] for n in SYSTEMS[1:]], axis=1)
    D_h = np.stack([data[f"h_{n}"] - data["h_old"] for n in SYSTEMS[1:]], axis=1)
    delta = D_g + np.where(np.isnan(D_h), 0.0, (D_h - D_g) / data["rate"][:, None])
    R = np.corrcoef(delta.T)
    c = stats.norm.ppf(0.5 + found.each_level / 2)
    draws = np.random.default_rng(1).multivariate_normal(np.zeros(3), R, 400_000)
    assert np.mean(np.abs(draws).max(axis=1) <= c) == pytest.approx(0.95, abs=0.004)


def test_adjusted_p_values_agree_with_the_intervals():
    for seed in range(25):
        found = compare_many(many_systems(seed, items=150, level=(0, 0.2, -0.15, 0.1)), **COLUMNS, level=0.9)
        for row in found.rivals:
            assert row.p_value <= row.adjusted_p_value <= min(1.0, 3 * row.p_value)
            if abs(row.adjusted_p_value - 0.1) > 0.005:  # the draws know both to about this
                assert (row.adjusted_p_value < 0.1) == (row.verdict != "undecided")


def test_rows_are_sorted_and_the_sentence_says_who_is_what():
    found = compare_many(many_systems(), **COLUMNS)
    assert [r.name for r in found.rivals] == ["new", "twin", "mini"]
    assert {r.name: r.verdict for r in found.rivals} == {"new": "better", "twin": "undecided", "mini": "worse"}
    assert found.sentence == (
        "new is better than old; mini is worse than old; twin is not told apart from old "
        "(95% intervals that hold together)."
    )
    with pytest.raises(InputError, match="no system is called 'nobody'"):
        found.of("nobody")


def test_a_system_equal_to_the_baseline_does_not_disturb_the_others():
    data = many_systems() | {"g_twin": many_systems()["g_old"], "h_twin": many_systems()["h_old"]}
    found = compare_many(data, **COLUMNS)
    twin = found.of("twin")
    assert (twin.difference.value, twin.difference.interval, twin.adjusted_p_value) == (0, None, None)
    assert twin.verdict == "undecided"
    assert found.of("new").verdict == "better"
    assert any(note.startswith("twin: ") for note in found.notes)
    json.dumps(found.to_dict(), allow_nan=False)


def test_all_equal_to_the_baseline():
    data = many_systems()
    for name in SYSTEMS[1:]:
        data |= {f"g_{name}": data["g_old"], f"h_{name}": data["h_old"]}
    found = compare_many(data, **COLUMNS)
    assert {r.verdict for r in found.rivals} == {"undecided"}
    assert all(r.adjusted_p_value is None for r in found.rivals)


def test_missing_answers_are_counted_by_bonferroni():
    data = many_systems()
    row = int(np.flatnonzero(~np.isnan(data["h_new"]))[0])
    data["h_new"][row] = np.nan
    with pytest.raises(InputError, match="'new'"):
        compare_many(data, **COLUMNS)
    found = compare_many(data, **COLUMNS, bounds=(-10, 14))
    assert found.each_level == pytest.approx(1 - 0.05 / 3)
    assert any("Bonferroni" in note for note in found.notes)
    assert found.of("new").difference.interval is not None
    assert found.of("mini").adjusted_p_value == pytest.approx(min(1, 3 * found.of("mini").p_value))


def test_clusters_go_into_every_difference_and_their_covariance():
    data = many_systems(items=120)
    three = {name: np.repeat(x, 3) for name, x in data.items()} | {"talk": np.repeat(np.arange(120), 3)}
    found = compare_many(three, **COLUMNS, clusters="talk", method="difference")
    alone = compare_many(data, **COLUMNS, method="difference")
    assert found.each_level == pytest.approx(alone.each_level, abs=1e-9)
    for row in found.rivals:
        assert row.difference.standard_error == pytest.approx(alone.of(row.name).difference.standard_error)


@pytest.mark.parametrize("estimand", ["population", "pool"])
def test_both_estimands(estimand):
    found = compare_many(many_systems(), **COLUMNS, estimand=estimand)
    assert found.of("new").verdict == "better"
    assert 0.95 < found.each_level < 1 - 0.05 / 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "best"}, "'best' is no system"),
        ({"weak": {"old": "g_old"}}, "needs a weak and a strong column"),
        ({"weak": {"old": "g_old"}, "strong": {"old": "h_old"}}, "besides the baseline"),
        ({"weak": COLUMNS["weak"] | {" ": "g_old"}, "strong": COLUMNS["strong"] | {" ": "h_old"}}, "empty"),
    ],
)
def test_what_makes_no_sense(options, message):
    with pytest.raises(InputError, match=message):
        compare_many(many_systems(), **(COLUMNS | options))


def test_hostile_names_everywhere():
    names = ("<b>$x^</b>", "[red]new[/red]", "a&b", "$\\frac")
    data = many_systems(names=SYSTEMS)
    columns = {
        "weak": dict(zip(names, COLUMNS["weak"].values(), strict=True)),
        "strong": dict(zip(names, COLUMNS["strong"].values(), strict=True)),
    }
    found = compare_many(data, baseline=names[0], **columns)
    assert "<b>" not in found._repr_html_()
    assert "a&amp;b" in found._repr_html_()
    console = Console(width=140, file=io.StringIO())
    console.print(text_of(found))
    assert "[red]new[/red]" in console.file.getvalue()
    plot_comparison(found).savefig(io.BytesIO(), format="svg")
