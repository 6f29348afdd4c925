"""`compare_long`: a row for each item and system, put side by side or compared as two tables."""

import numpy as np
import pytest

import ratewise as rw

COLUMNS = {"weak": "judge", "strong": "human", "system": "model"}


def wide(names=("new", "old"), items=400, seed=3):
    rng = np.random.default_rng(seed)
    out = {"id": [f"q{i}" for i in range(items)], "rate": rng.choice([0.3, 0.6], items)}
    asked = rng.random(items) < out["rate"]
    for k, name in enumerate(names):
        human = (rng.random(items) < 0.8 - 0.15 * k).astype(float)
        out[f"judge_{name}"] = np.where(rng.random(items) < 0.1, 1 - human, human)
        out[f"human_{name}"] = np.where(asked, human, np.nan)
    return out


def long(table, names=("new", "old"), seed=4):
    """The same with a row for each item and system, shuffled."""
    items = len(table["id"])
    columns = {
        "id": np.tile(table["id"], len(names)),
        "model": np.repeat(names, items),
        "judge": np.concatenate([table[f"judge_{name}"] for name in names]),
        "human": np.concatenate([table[f"human_{name}"] for name in names]),
        "rate": np.tile(table["rate"], len(names)),
    }
    order = np.random.default_rng(seed).permutation(items * len(names))
    return {name: np.asarray(column)[order] for name, column in columns.items()}


def ordered(table):
    """The wide table as by_system sorts it: by id."""
    order = np.argsort(np.asarray(table["id"], dtype=str), kind="stable")
    return {name: np.asarray(column)[order] for name, column in table.items()}


def test_two_systems_give_the_paired_comparison():
    table = wide()
    found = rw.compare_long(long(table), **COLUMNS, baseline="old")
    pair = {"weak": ("judge_new", "judge_old"), "strong": ("human_new", "human_old"), "names": ("new", "old")}
    assert found.to_dict() == rw.compare(ordered(table), **pair).to_dict()


def test_many_systems_against_a_baseline():
    names = ("new", "old", "mini")
    table = wide(names)
    found = rw.compare_long(long(table, names), **COLUMNS, baseline="old")
    columns = {kind: {name: f"{column}_{name}" for name in names} for kind, column in
               (("weak", "judge"), ("strong", "human"))}  # fmt: skip
    same = rw.compare_many(ordered(table), baseline="old", **columns)
    assert {r.name: r.difference.value for r in found.rivals} == {
        r.name: pytest.approx(r.difference.value) for r in same.rivals
    }


def test_systems_rated_apart_are_two_tables():
    table = long(wide())
    other = np.random.default_rng(8).random(800) < 0.5
    table["human"] = np.where(other, np.random.default_rng(9).integers(0, 2, 800), np.nan)
    table["rate"] = np.full(800, 0.5)
    found = rw.compare_long(table, **COLUMNS, baseline="old")
    assert not found.paired
    parts = [
        {name: np.asarray(column)[table["model"] == system] for name, column in table.items()}
        for system in ("new", "old")
    ]
    same = rw.compare_tables(*parts, weak="judge", strong="human")
    assert found.difference.value == pytest.approx(same.difference.value)
    fewer = {name: column[5:] for name, column in table.items()}
    assert not rw.compare_long(fewer, **COLUMNS, baseline="old").paired


def test_words_and_labels_without_rates():
    table = long(wide())
    del table["rate"]
    table["human"] = np.select([np.isnan(table["human"]), table["human"] == 1], ["", "good"], "bad")
    found = rw.compare_long(table, **COLUMNS, baseline="old", positive="good")
    assert found.paired
    assert found.notes[0] == "words as ratings: 'good' counts as 1 and 'bad' as 0"


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({"model": "one"}, {}, "has one system, 'one'"),
        ({"id": "same"}, {}, "are both item 'same' of system"),
        ({}, {"baseline": "mini"}, "'mini' is no system; choose one of"),
        ({}, {"id": "nope"}, "no column 'nope'"),
        ({}, {"system": "nope"}, "no column 'nope'"),
    ],
)
def test_refusals(change, options, words):
    table = {**long(wide()), **{name: np.full(800, value) for name, value in change.items()}}
    with pytest.raises(rw.InputError, match=words):
        rw.compare_long(table, **{**COLUMNS, **options})
