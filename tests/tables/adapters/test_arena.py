"""The files are made from the field names of the published data sets."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratewise.questions.leaderboard import leaderboard
from ratewise.tables import read_table
from ratewise.tables.adapters import adapted


def chat(question, answer):
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def vote(winner, number=1, a="gpt", b="llama", **more):
    said = {"conversation_a": chat("hi", "hello"), "conversation_b": chat("hi", "yo")}
    return {"question_id": number, "model_a": a, "model_b": b, "winner": winner, "turn": 1, **said, **more}


WINNERS = ["model_a", "llama", "tie", "tie (bothbad)", "gpt", "model_b"]


@pytest.mark.parametrize("name", ["votes.json", "votes.jsonl"])
def test_winners_by_side_by_name_and_ties(name, file, roles):
    path = file(name, [vote(winner, number) for number, winner in enumerate(WINNERS)])
    table = read_table(path)
    assert table.texts("winner").tolist() == ["model_a", "model_b", "tie", "tie (bothbad)", "model_a", "model_b"]
    assert (table.texts("prompt")[0], table.texts("answer_a")[0], table.texts("answer_b")[0]) == ("hi", "hello", "yo")
    assert (roles(path)["winner"], roles(path)["question_id"]) == ("human score", "cluster")
    board = leaderboard(path, strong="winner")
    assert board["gpt"].rating == pytest.approx(1000)
    assert board.labels == 6


def test_one_hot_winners_in_flat_files(file, tmp_path):
    columns = {"model_a": ["x", "x", "y"], "model_b": ["y", "y", "x"], "winner_model_a": [1, 0, 0]}
    columns |= {"winner_model_b": [0, 0, 1], "winner_tie": [0, 1, 0]}
    pq.write_table(pa.table(columns), tmp_path / "votes.parquet")
    text = "\n".join([",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))])
    for path in (str(tmp_path / "votes.parquet"), file("votes.csv", text)):
        table = read_table(path)
        assert table.columns == (*columns, "winner")
        assert table.texts("winner").tolist() == ["model_a", "tie", "model_b"]
        assert leaderboard(path, strong="winner").models[0].name == "x"


def test_one_hot_winners_in_lines(file):
    rows = [
        {"id": 9, "model_a": "x", "model_b": "y", "winner_model_a": 0, "winner_model_b": 0, "winner_tie": 1},
        {"id": 8, "model_a": "x", "model_b": "y", "winner_model_a": 0, "winner_model_b": 0, "winner_tie": 0},
    ]
    found = adapted(file("votes.jsonl", rows))
    assert found.table.texts("winner", missing="allow").tolist() == ["tie", ""]
    assert found.notes == ("1 votes have no winner: an error, or orders that do not agree",)


def test_judgments_of_mt_bench_in_both_orders(file, roles):
    given = [("model_1", "model_1"), ("model_1", "model_2"), ("tie", "tie"), ("error", "model_1"), ("model_2",) * 2]
    rows = [
        {"question_id": n, "model_1": "x", "model_2": "y", "g1_winner": one, "g2_winner": two, "judge": ["gpt", "pair"]}
        for n, (one, two) in enumerate(given)
    ]
    path = file("judgment.jsonl", rows)
    assert read_table(path).texts("winner", missing="allow").tolist() == ["model_a", "tie", "tie", "", "model_b"]
    assert roles(path)["winner"] == "judge score"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([vote("claude")], "row 1 of v.json has the winner 'claude', who is neither model nor a tie"),
        ([vote("tie"), {}], "row 2 of v.json is no vote: each has model_a, model_b and winner; export the file once"),
    ],
)
def test_damage_is_one_line(rows, message, file, complaint):
    assert complaint(read_table, file("v.json", rows)).startswith(message)


def test_a_plain_table_of_votes_stays_as_it_is(file):
    assert adapted(file("votes.jsonl", [{"model_a": "x", "model_b": "y", "winner": "model_a"}])) is None
