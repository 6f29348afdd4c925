"""Votes of Chatbot Arena and MT-Bench, for `ratewise leaderboard FILE --strong winner`.

Arena: question_id, model_a, model_b, winner, conversation_a, conversation_b, turn, language, tstamp; MT-Bench adds
judge. `winner` is model_a, model_b, tie or tie (bothbad), or a model's own name; the 55k table has winner_model_a,
winner_model_b and winner_tie, of which one is 1; FastChat's judgments have model_1, model_2, g1_winner and g2_winner,
the verdicts in both orders, which must agree to be one. A flat table keeps all its columns and gets `winner`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, Role, TableBuilder, damaged, text
from ratewise.tables.adapters.source import Source
from ratewise.tables.load import load_file

_ONE_HOT = {"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie"}
_WHAT = "vote: each has model_a, model_b and winner"
_TIES = frozenset(("tie", "tie (bothbad)", "both_bad", "bothbad"))
_FIRST, _SECOND = frozenset(("model_a", "model_1")), frozenset(("model_b", "model_2"))
_COLUMNS = (
    Became("id", "id", "the row's number, from 0"),
    Became("question_id", "cluster", "question_id"),
    Became("model_a", "system", "model_a (or model_1)", lambda vote: str(vote.get("model_a", vote.get("model_1")))),
    Became("model_b", "system", "model_b (or model_2)", lambda vote: str(vote.get("model_b", vote.get("model_2")))),
    Became("winner", "human score", "winner, or the one of winner_model_a, winner_model_b, winner_tie that is 1"),
    Became("judge", "more", "judge"),
    Became("turn", "more", "turn"),
    Became("language", "more", "language"),
    Became("tstamp", "more", "tstamp"),
    Became("prompt", "prompt", "conversation_a: what the user said", lambda vote: _said(vote, "a", "user")),
    Became("answer_a", "answer", "conversation_a: what the model said", lambda vote: _said(vote, "a", "assistant")),
    Became("answer_b", "answer", "conversation_b: what the model said", lambda vote: _said(vote, "b", "assistant")),
)


def looks(source: Source) -> bool:
    """Whether its rows compare two models and say who won, as these files do."""
    if source.columns:
        return {"winner_model_a", "winner_model_b"} <= source.columns
    return _is_vote(source.first_row())


def _is_vote(value: dict[str, Any]) -> bool:
    if {"model_1", "model_2", "g1_winner"} <= value.keys():
        return True
    return {"model_a", "model_b"} <= value.keys() and (
        "winner_model_a" in value or {"winner", "conversation_a"} <= value.keys()
    )


def read(source: Source) -> Imported:
    """A row per vote, in words that `leaderboard` knows: model_a, model_b, tie."""
    if source.first is None:
        return _flat(source)
    made, both = TableBuilder(source, "Arena votes", _COLUMNS), False
    for place, vote in enumerate(made.objects(source.rows(), _WHAT)):
        if not _is_vote(vote):
            raise damaged(source, source.row, _WHAT)
        row = made.row(vote)
        models = row["model_a"], row["model_b"]
        if "g1_winner" in vote:
            both, given = True, [_winner(vote.get(f"g{order}_winner"), models, source) for order in (1, 2)]
            winner = given[0] if given[0] == given[1] else None if None in given else "tie"
        else:
            hot = [word for name, word in _ONE_HOT.items() if vote.get(name) in (1, "1", True)]
            word = vote.get("winner") if "winner" in vote else hot[0] if len(hot) == 1 else None
            winner = _winner(word, models, source)
        row |= {"id": place, "winner": winner}
    left = sum(row["winner"] is None for row in made.rows.values())
    made.note(left, "votes have no winner: an error, or orders that do not agree")
    if both:
        told = Became("winner", "judge score", "g1_winner where g2_winner agrees; else a tie")
        made.columns = [told if each.column == "winner" else each for each in _COLUMNS]
    return made.imported()


def _winner(word: Any, models: tuple[str, str], source: Source) -> str | None:
    """The side that won, whether the file names the side or the model; None where nobody could tell."""
    if word is None or str(word).lower() in {"", "error"}:
        return None
    if str(word).lower() in _TIES:
        return str(word).lower()
    for side, names, model in (("model_a", _FIRST, models[0]), ("model_b", _SECOND, models[1])):
        if str(word) in names or word == model:
            return side
    raise TableError(f"row {source.row} of {source.name} has the winner {text(word)!r}, who is neither model nor a tie")


def _said(vote: Mapping[str, Any], side: str, role: str) -> str | None:
    """What one side said, its turns one below the other."""
    conversation = vote.get(f"conversation_{side}")
    turns = conversation if isinstance(conversation, list) else []
    said = [each.get("content") for each in turns if isinstance(each, dict) and each.get("role") == role]
    return "\n\n".join(map(str, said)) or None


def _flat(source: Source) -> Imported:
    """A CSV or Parquet table with one-hot winners, and `winner` beside them."""
    table = load_file(source.path, source.name)
    if "winner" in table.columns or "winner_model_a" not in table.columns:
        return Imported(table, "Arena votes", _plain(table.columns))
    hot = np.stack([table.numbers(name, missing="allow") == 1 for name in _ONE_HOT if name in table.columns])
    words = np.array([word for name, word in _ONE_HOT.items() if name in table.columns], dtype=object)
    winner = np.where(hot.sum(axis=0) == 1, words[hot.argmax(axis=0)], None)
    told = Became("winner", "human score", "the one of winner_model_a, winner_model_b, winner_tie that is 1")
    return Imported(table.with_columns({"winner": winner}), "Arena votes", (*_plain(table.columns), told))


def _plain(columns: tuple[str, ...]) -> tuple[Became, ...]:
    roles: dict[str, Role] = {
        "id": "id", "prompt": "prompt", "model_a": "system", "model_b": "system", "response_a": "answer",
        "response_b": "answer", "winner": "human score",
    }  # fmt: skip
    return tuple(Became(name, roles.get(name, "more"), name) for name in columns)
