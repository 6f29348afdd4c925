"""Plans that learn the rating and its error: from a pilot, with features, into a file and onto a pool."""

import json

import numpy as np
import pytest

import ratewise as rw
from ratewise import InputError


@pytest.fixture(scope="module")
def table():
    """A judge on another scale, wrong more often on long answers; a second judge; a group."""
    rng = np.random.default_rng(61)
    n = 2400
    quality, length = rng.normal(size=n), rng.gamma(2, 1, n)
    human = np.clip(np.round(3 + quality + rng.normal(size=n) * 0.3), 1, 5)
    judge = 40 + 12 * quality + rng.normal(size=n) * (2 + 6 * length)
    second = quality + rng.normal(size=n) * 0.6
    group = np.where(rng.random(n) < 0.3, "code", "chat")
    strong = np.where(np.arange(n) < 500, human, np.nan)
    return {"judge": judge, "human": strong, "second": second, "length": length, "group": group, "truth": human}


def planned(table, **options):
    asked = {"weak": "judge", "strong": "human", "weak_cost": 0.02, "strong_cost": 1.0, "budget": 400.0, **options}
    return rw.plan(table, **asked)


def test_auto_beats_raw_and_features_beat_auto(table):
    raw = planned(table)
    auto = planned(table, calibrate="auto")
    more = planned(table, calibrate="auto", features=["second", "length", "group"])
    best = [min(p.error_ratio for p in made.policies.values()) for made in (raw, auto, more)]
    assert best[0] == 1.0  # a judge on another scale is not worth buying as it is
    assert best[1] < 0.85
    assert best[2] < 0.75 * best[1]
    assert more.basis["features"] == ["second", "length", "group"]
    assert more.basis["error_source"] == "fitted"


def test_the_file_gives_the_same_rates_on_a_pool(table, tmp_path):
    made = planned(table, calibrate="auto", features=["second", "group"], uncertainty="length")
    made.save(tmp_path / "plan.json")
    json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    transfer = rw.load_transfer(tmp_path / "plan.json")
    assert transfer == made.transfer
    pool = {name: table[name][500:] for name in ("judge", "second", "group", "length")}
    drawn = rw.draw_pool(pool, transfer, seed=3)
    np.testing.assert_allclose(drawn.rates, made.rates[500:], rtol=1e-12)
    assert "weak_calibrated" in drawn.table.columns
    f = drawn.table.numbers("weak_calibrated")
    truth = table["truth"][500:]
    assert np.mean((truth - f) ** 2) < 0.45 * np.var(truth)
    assert f.min() >= 1
    assert f.max() <= 5


def test_features_need_auto(table):
    with pytest.raises(InputError, match="features are for calibrate 'auto'"):
        planned(table, features=["second"])


def test_estimate_with_recalibration_auto_is_unbiased_and_better(table):
    """300 draws: the bias within four standard errors; a smaller error than the raw judge by far."""
    h, g = table["truth"], table["judge"]
    errors = {"none": [], "auto": []}
    for seed in range(300):
        drawn = np.random.default_rng([5, seed]).random(h.size) < 0.1
        strong = np.where(drawn, h, np.nan)
        for how, found_errors in errors.items():
            found = rw.estimate_mean(
                g, strong, 0.1, recalibrate=how, method="difference", estimand="pool", interval="normal"
            )
            found_errors.append(found.value - h.mean())
    auto, raw = np.array(errors["auto"]), np.array(errors["none"])
    assert abs(auto.mean()) < 4 * auto.std() / 300**0.5
    assert auto.std() < 0.2 * raw.std()


def test_from_the_command_line(tmp_path, capsys, table):
    from ratewise.cli.main import main

    rw.write_table(rw.read_table(table), tmp_path / "pilot.parquet")
    with pytest.raises(SystemExit) as left:
        main(
            ["plan", str(tmp_path / "pilot.parquet"), "--weak", "judge", "--strong", "human", "--weak-cost", "0.02",
             "--strong-cost", "1", "--budget", "400", "--calibrate", "auto", "--features", "second, group", "--json"]
        )  # fmt: skip
    assert left.value.code == 0
    document = json.loads(capsys.readouterr().out)
    assert document["recommendation"] != "base"
    assert [coding["name"] for coding in document["transfer"]["models"]["features"]] == ["second", "group"]
