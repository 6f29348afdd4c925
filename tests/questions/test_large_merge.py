"""Sheets come back into tables that stay in their files as they do into tables in memory."""

import numpy as np
import pytest

import ratewise as rw
from ratewise.errors import InputError
from ratewise.questions import rated as readers
from ratewise.questions.sheets import merge_files

N = 5000


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """A table that was drawn, in two files that count as large, and its rows."""
    monkeypatch.setattr(readers, "MANY_ROWS", 1000)
    monkeypatch.setattr("ratewise.tables.relation.MOST_ROWS", 700)
    monkeypatch.setattr("ratewise.tables.relation._FEWEST_ROWS", 1)
    rng = np.random.default_rng(3)
    table = {
        "id": np.array([f"item-{i}" for i in range(N)]), "judge": rng.random(N), "rate": np.full(N, 0.02),
        "selected": rng.random(N) < 0.02,
    }  # fmt: skip
    place = tmp_path / "drawn"
    place.mkdir()
    for number, (start, stop) in enumerate([(0, 3100), (3100, N)]):
        rows = rw.read_table({name: values[start:stop] for name, values in table.items()})
        rw.write_table(rows, place / f"{number}.parquet")
    return place, table


def sheet_of(table, answer, *, more=()):
    at = np.flatnonzero(table["selected"])
    answers = [answer(k) for k in range(at.size)]
    return {"id": [*table["id"][at], *more], "human": [*answers, *["1"] * len(more)]}


@pytest.mark.parametrize(
    ("answer", "options"),
    [(lambda k: str(k % 2), {}), (lambda k: ["good", "bad", "", "cannot tell"][k % 4], {"positive": "good"})],
)
@pytest.mark.parametrize("output", ["rated.parquet", "rated.csv", "rated/"])
def test_the_same_table_is_written_as_in_memory(drawn, tmp_path, answer, options, output):
    place, table = drawn
    sheet = sheet_of(table, answer)
    found = merge_files(place, sheet, f"{tmp_path}/{output}", **options)
    right = rw.merge_sheet(table, sheet, **options)
    assert (found.answers, found.waiting, found.columns) == (right.answers, right.waiting, right.columns)
    assert found.notes == right.notes
    whole = tmp_path / ("whole.csv" if output.endswith("csv") else "whole.parquet")
    rw.write_table(right.table, whole)
    first, second = rw.read_table(f"{tmp_path}/{output}"), rw.read_table(whole)
    assert first.columns == second.columns
    for name in ("id", "human"):
        assert first.texts(name, missing="allow").tolist() == second.texts(name, missing="allow").tolist()
    assert rw.estimate_table(f"{tmp_path}/{output}", weak="judge", strong="human", **options).labels > 0


def test_answers_nobody_asked_for_are_told_apart_from_ids_that_are_nowhere(drawn, tmp_path):
    place, table = drawn
    other = table["id"][np.flatnonzero(~table["selected"])[5]]
    for more, told in ((other, "this item was not drawn"), ("item-x", "has no such id")):
        with pytest.raises(InputError, match=told):
            merge_files(place, sheet_of(table, lambda k: "1", more=[more]), str(tmp_path / "rated.parquet"))
    assert not (tmp_path / "rated.parquet").exists()


def test_small_tables_and_answers_that_are_there_already_are_left_to_memory(drawn, tmp_path, monkeypatch):
    place, table = drawn
    sheet = sheet_of(table, lambda k: "1")
    assert merge_files(place, {"id": sheet["id"], "judge": sheet["human"]}, str(tmp_path / "a.csv")) is None
    monkeypatch.setattr(readers, "MANY_ROWS", 10**6)
    assert merge_files(place, sheet, str(tmp_path / "a.csv")) is None
    assert not (tmp_path / "a.csv").exists()
