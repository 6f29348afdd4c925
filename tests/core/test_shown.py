"""Results at a prompt, in a notebook and under tab completion: the sentence, the notes, and no helpers."""

import dataclasses
import inspect

import numpy as np
import pytest

import ratewise as rw

RNG = np.random.default_rng(3)
G = RNG.beta(3, 1, 3000)
H = (RNG.random(3000) < G).astype(float)
SOME = np.where(RNG.random(3000) < 0.2, H, np.nan)
PRICES = {"weak": "g", "strong": "h", "weak_cost": 0.01, "strong_cost": 1.0}
TOPIC = np.array(["law", "art"] * 1500, dtype=object)
TABLE = {"g": G, "h": H, "topic": TOPIC}
RATED = {"g": G, "h": SOME, "rate": np.full(3000, 0.2), "topic": TOPIC}


@pytest.fixture(scope="module")
def results():
    plan = rw.plan(TABLE, **PRICES, budget=200)
    rated = {"weak": "g", "strong": "h"}
    return {
        "estimate": rw.estimate_mean(G, SOME, 0.2), "plan": plan, "transfer": plan.transfer,
        "drawn": rw.draw_pool({"g": G}, plan, seed=1), "slices": rw.estimate_slices(RATED, by="topic", **rated),
        "slice plan": rw.plan_slices(TABLE, by="topic", **PRICES, budget=200),
        "policy": rw.optimal_policy(G * (1 - G), variance=0.2, weak_cost=0.01, strong_cost=1.0),
        "quantiles": rw.quantile_table(RATED, **rated, at=(0.5,)),
        "calibration": rw.fit_calibration(G, H, kind="platt"),
        "simulation": rw.simulate(
            TABLE, weak="g", strong="h", cost_ratio=0.05, budgets=[50], burn_in=20, trials=4, workers=1,
            methods=["base", "auto"],
        ),
    }  # fmt: skip


NAMES = [
    "estimate", "plan", "transfer", "drawn", "slices", "slice plan", "policy", "quantiles", "calibration", "simulation",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_shows_the_sentence_and_the_notes_on_one_screen(results, name):
    one = results[name]
    text = repr(one)
    assert text.startswith(type(one).__name__)
    assert len(text) < 2500
    assert len(text.splitlines()) <= 30
    assert "array(" not in text
    if hasattr(one, "summary"):
        assert one.summary() in text
    for note in getattr(one, "notes", ()):
        assert f"note: {note}" in text


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_a_table_and_the_notes(results, name):
    one = results[name]
    noted = dataclasses.replace(one, notes=("<b>look</b>",)) if hasattr(one, "notes") else one
    page = noted._repr_html_()
    assert page.count("<table") == page.count("</table>") >= 1
    assert "<b>look" not in page
    assert not hasattr(one, "notes") or page.count("&lt;b&gt;look") == 1


@pytest.mark.parametrize("name", NAMES)
def test_tab_completion_offers_what_may_be_used(results, name):
    one = results[name]
    offered = dir(one)
    assert not [word for word in offered if word.startswith("_") and not word.startswith("__")]
    assert {field.name for field in dataclasses.fields(one) if not field.name.startswith("_")} <= set(offered)
    assert hasattr(one, "_repr_html_")


def test_the_package_offers_its_public_names_and_nothing_else():
    offered = {name for name in dir(rw) if not name.startswith("__")}
    assert offered == set(rw.__all__)
    assert not offered & {"Any", "TYPE_CHECKING", "import_module", "np", "numpy"}


RESULTS = [  # of public functions and methods; answers, questions and losses are what users make themselves
    name for name in rw.__all__
    if dataclasses.is_dataclass(getattr(rw, name))
    and name not in {"Answer", "Failure", "Question", "Table", "TableColumns", "Campaign", "Loss"}
]  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_html(name):
    record = getattr(rw, name)
    assert inspect.isclass(record)
    assert callable(record._repr_html_)


def test_every_public_result_that_has_numbers_is_a_frame():
    table = {"judge": [0.9, 0.1, 0.8, 0.4] * 5, "human": [1.0, 0.0, 1.0, 0.0] * 5, "rate": [1.0] * 20}
    found = rw.estimate_table(table, weak="judge", strong="human")
    for kind in ("pandas", "polars", "pyarrow"):
        frame = found.to_frame(kind)
        assert frame.shape[0] == 1
        assert float(frame["value"][0].as_py() if kind == "pyarrow" else frame["value"][0]) == found.value
    checked = rw.check(table, weak="judge", strong="human", at_least=0.1).to_frame("pandas")
    assert (checked["verdict"][0], checked["estimate_value"][0]) == ("yes", found.value)
    public = (getattr(rw, name) for name in rw.__all__)
    records = [one for one in public if isinstance(one, type) and hasattr(one, "to_dict")]
    assert [one.__name__ for one in records if not hasattr(one, "to_frame")] == []
