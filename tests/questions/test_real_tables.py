"""Real tables: the error ratios published with the data (Table 3 of its README), c_g/c_h = 0.05."""

import os
from pathlib import Path

import pytest

import ratewise as rw

FOLDER = Path(os.environ.get("RATEWISE_DATA") or Path(__file__).parents[2].parent / "shared" / "data")
TOLERANCE = 0.004

TABLE_3 = {  # random with raw g, random after Platt, active after Platt with u = g(1−g)
    "imagenet_resnet50": (0.906, 0.898, 0.756),
    "evouna_qa": (0.562, 0.563, 0.459),
    "ppi_galaxies": (0.702, 0.701, 0.578),
}


@pytest.fixture(scope="module", params=list(TABLE_3))
def name(request):
    if not (FOLDER / f"{request.param}.parquet").exists():
        pytest.skip(f"{request.param}.parquet is not in {FOLDER}; set RATEWISE_DATA to the folder of the real tables")
    return request.param


@pytest.fixture(scope="module")
def plans(name):
    table = rw.read_table(FOLDER / f"{name}.parquet")
    return {
        calibrate: rw.plan(
            table, weak="g", strong="h", weak_cost=0.05, strong_cost=1.0, budget=500, calibrate=calibrate
        )
        for calibrate in ("none", "platt")
    }


def test_published_error_ratios(name, plans):
    raw, platt, active = TABLE_3[name]
    assert plans["none"].policies["random"].error_ratio == pytest.approx(raw, abs=TOLERANCE)
    assert plans["platt"].policies["random"].error_ratio == pytest.approx(platt, abs=TOLERANCE)
    low = rw.plan(
        rw.read_table(FOLDER / f"{name}.parquet"), weak="g", strong="h", weak_cost=0.05, strong_cost=1.0, budget=500,
        calibrate="platt", floor=0.1 * plans["platt"].policies["random"].mean_rate,
    )  # fmt: skip
    assert low.policies["active"].error_ratio == pytest.approx(active, abs=TOLERANCE)


def test_the_active_policy_is_recommended(plans):
    assert plans["platt"].recommendation == "active"
    assert plans["platt"].basis["error_source"] == "binary"
