"""DeepEval's test runs, as the file has them and as Python dumps them."""

import numpy as np
import pytest

from ratewise.errors import TableError
from ratewise.tables import read_table
from ratewise.tables.adapters import adapted


def metric(name="Correctness", score=0.8, **more):
    return {
        "name": name,
        "threshold": 0.5,
        "success": score > 0.5,
        "score": score,
        "reason": "so",
        "error": None,
        **more,
    }


def case(number=0, **more):
    return {
        "name": f"test_case_{number}", "input": "2+2?", "actualOutput": "4", "expectedOutput": "four", "success": True,
        "metricsData": [metric()], "metadata": {"topic": "sums"}, "order": number, **more,
    }  # fmt: skip


def test_a_test_case_is_a_row_with_its_metrics(file, roles):
    broken = metric("Tone", 0.0, error="no judge")
    path = file("run.json", {"testCases": [case(), case(1, metricsData=[metric(score=0.2), broken])], "testPassed": 1})
    found = adapted(path)
    table = found.table
    assert found.tool == "DeepEval test run"
    assert table.numbers("Correctness").tolist() == [0.8, 0.2]
    assert "Tone" not in table.columns  # never had a value: an error is no score of 0
    assert found.notes == ("1 scores are missing: the metric ended in an error",)
    assert [table.texts(name)[0] for name in ("id", "prompt", "answer", "target")] == ["0", "2+2?", "4", "four"]
    assert table.texts("metadata.topic").tolist() == ["sums", "sums"]
    assert (roles(path)["Correctness"], roles(path)["success"]) == ("judge score", "judge score")


def test_what_python_dumps_is_the_same(file):
    dumped = {"name": "t", "input": "2+2?", "actual_output": "4", "success": False, "metrics_data": [metric("success")]}
    table = read_table(file("run.json", {"test_results": [dumped]}))
    assert table.texts("answer").tolist() == ["4"]
    assert (table.numbers("success")[0], table.numbers("success score")[0]) == (0, 0.8)


def test_a_conversation_is_its_turns(file):
    turns = [{"role": "user", "content": "2+2?", "order": 0}, {"role": "assistant", "content": "4", "order": 1}]
    talk = {"name": "c", "success": True, "metricsData": [metric()], "turns": turns, "expectedOutcome": "four"}
    table = read_table(file("run.json", {"testCases": [], "conversationalTestCases": [talk]}))
    assert (table.texts("prompt")[0], table.texts("answer")[0]) == ("2+2?", "user: 2+2?\n\nassistant: 4")
    assert np.isclose(table.numbers("Correctness")[0], 0.8)


@pytest.mark.parametrize("cases", [[case(), 7], [case(metricsData=[{"score": 1}])]])
def test_damage_is_one_line(file, cases):
    with pytest.raises(TableError, match=r"run\.json"):
        read_table(file("run.json", {"testCases": cases}))
