"""A pilot: what the labelled rows say, every number by models that did not see the row."""

import numpy as np
import pytest

from ratewise import InputError, TableError, fit_calibration, read_table
from ratewise.questions.policies import PilotColumns, read_pilot


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(307)
    g = rng.gamma(3, 2, 400)
    h = np.round(1 + 0.5 * g + rng.normal(0, 0.2 + 0.2 * g), 2)
    return {"g": g, "h": np.where(rng.random(400) < 0.7, h, np.nan), "u": rng.random(400) + 0.1}


def read(columns, **options):
    return read_pilot(read_table(columns), PilotColumns(**{"weak": "g", "strong": "h", **options}))


def test_what_the_labelled_rows_say(columns):
    g, h = columns["g"], columns["h"]
    has = ~np.isnan(h)
    pilot = read(columns)
    np.testing.assert_array_equal(pilot.labelled, has)
    np.testing.assert_array_equal(pilot.weak, g)
    np.testing.assert_array_equal(pilot.residual, (h - g)[has])
    assert pilot.variance == pytest.approx(np.var(h[has]))
    assert pilot.weak_error == pytest.approx(np.mean((h - g)[has] ** 2))
    assert pilot.error.shape == (400,)
    assert pilot.calibration is None


def test_where_u_comes_from(columns):
    assert read(columns).error_model.source == "fitted"
    assert read(columns, uncertainty="u").error_model.source == "column"
    binary = {"g": columns["u"] / 2, "h": (columns["h"] > 4).astype(float)}
    assert read(binary).error_model.source == "binary"
    few = {name: values[:60] for name, values in columns.items()}
    constant = read(few).error_model
    assert constant.source == "fitted"
    assert np.ptp(constant.predict(np.linspace(0, 20, 9))) == 0


def test_a_column_is_scaled_on_the_labelled_rows(columns):
    pilot = read(columns, uncertainty="u")
    assert pilot.held_out_error.mean() == pytest.approx(pilot.weak_error)
    np.testing.assert_allclose(pilot.error / columns["u"], pilot.error[0] / columns["u"][0])


@pytest.mark.parametrize("kind", ["platt", "affine", "isotonic"])
def test_calibration_is_used_on_all_rows_and_scored_on_others(columns, kind):
    g, h = columns["g"], columns["h"]
    has = ~np.isnan(h)
    pilot = read(columns, calibrate=kind)
    whole = fit_calibration(g[has], h[has], kind=kind)
    assert pilot.calibration == whole
    np.testing.assert_array_equal(pilot.weak, whole.predict(g))
    flattered = np.mean((h[has] - whole.predict(g[has])) ** 2)
    assert pilot.weak_error > flattered


def test_no_row_shapes_its_own_numbers(columns):
    """Another label of one row moves neither its own calibrated rating nor its own u."""
    h = columns["h"].copy()
    row = int(np.flatnonzero(~np.isnan(h))[8])
    h[row] += 3.0
    for options in ({}, {"calibrate": "affine"}):
        before, after = read(columns, **options), read({**columns, "h": h}, **options)
        place = int(before.labelled[:row].sum())
        assert after.residual[place] - before.residual[place] == pytest.approx(3.0, abs=1e-12)
    before, after = read(columns), read({**columns, "h": h})
    moved = before.held_out_error != after.held_out_error
    assert not moved[place]
    assert moved.sum() > 100
    assert np.any(before.error != after.error)


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({"h": np.full(400, np.nan)}, {}, "no row"),
        ({"h": np.append(np.full(399, np.nan), 2.0)}, {}, "only one row"),
        ({"h": np.full(400, 2.5)}, {}, r"all 400 strong ratings .* are 2\.5"),
        ({"u": np.linspace(-1, 1, 400)}, {"uncertainty": "u"}, "below 0"),
    ],
)
def test_refusals(columns, change, options, words):
    with pytest.raises(InputError, match=words):
        read({**columns, **change}, **options)
    with pytest.raises(TableError, match="no column"):
        read(columns, weak="judge")
