"""Votes of Chatbot Arena and MT-Bench, for `ratewise leaderboard FILE --strong winner`.

Arena: question_id, model_a, model_b, winner, conversation_a, conversation_b, turn, language, tstamp; MT-Bench adds
judge. `winner` is model_a, model_b, tie or tie (bothbad), or a model's own name; the 55k table has winner_model_a,
winner_model_b and winner_tie, of which one is 1; FastChat's judgments have model_1, model_2, g1_winner and g2_winner,
the verdicts in both orders, which must agree to be one. A flat table keeps all its columns and gets `winner`.
"""

from typing import Any

import numpy as np

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, Role, Row, damaged, imported, shown, text
from ratewise.tables.adapters.source import Source
from ratewise.tables.load import load_file

_ONE_HOT = {"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie"}
_TIES = frozenset(("tie", "tie (bothbad)", "both_bad", "bothbad"))
_FIRST, _SECOND = frozenset(("model_a", "model_1")), frozenset(("model_b", "model_2"))
_TOLD = (
    Became("id", "id", "the row's number, from 0"),
    Became("question_id", "cluster", "question_id"),
    Became("model_a", "system", "model_a (or model_1)"),
    Became("model_b", "system", "model_b (or model_2)"),
    Became("winner", "human score", "winner, or the one of winner_model_a, winner_model_b, winner_tie that is 1"),
    Became("judge", "more", "judge"),
    Became("turn", "more", "turn"),
    Became("language", "more", "language"),
    Became("tstamp", "more", "tstamp"),
    Became("prompt", "prompt", "conversation_a: what the user said"),
    Became("answer_a", "answer", "conversation_a: what the model said"),
    Became("answer_b", "answer", "conversation_b: what the model said"),
)


def looks_like_arena(source: Source) -> bool:
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


def read_arena(source: Source) -> Imported:
    """A row per vote, in words that `leaderboard` knows: model_a, model_b, tie."""
    if source.first is None:
        return _flat(source)
    rows = [_vote(value, row, source) for row, value in source.rows()]
    left = sum(row["winner"] is None for row in rows)
    notes = [f"{left} votes have no winner: an error, or orders that do not agree"] if left else []
    told = [_by_judge(each) if any("g1" in row for row in rows) and each.column == "winner" else each for each in _TOLD]
    return imported(source, "Arena votes", rows, told, notes=notes)


def _by_judge(each: Became) -> Became:
    return Became(each.column, "judge score", "g1_winner where g2_winner agrees; else a tie")


def _vote(value: Any, row: int, source: Source) -> Row:
    if not isinstance(value, dict) or not _is_vote(value):
        raise damaged(source, row, "vote: each has model_a, model_b and winner")
    models = [str(value.get(f"model_{one}", value.get(f"model_{other}"))) for one, other in (("a", 1), ("b", 2))]
    out: Row = {name: value.get(name) for name in ("question_id", "turn", "language", "tstamp")}
    out |= {"id": row - 1, "model_a": models[0], "model_b": models[1], "judge": shown(value.get("judge"))}
    if "g1_winner" in value:
        given = [_winner(value.get(f"g{order}_winner"), models, row, source) for order in (1, 2)]
        return out | {"winner": given[0] if given[0] == given[1] else None if None in given else "tie", "g1": True}
    hot = [word for name, word in _ONE_HOT.items() if value.get(name) in (1, "1", True)]
    word = value.get("winner") if "winner" in value else hot[0] if len(hot) == 1 else None
    out["winner"] = _winner(word, models, row, source)
    for side in "ab":
        out[f"answer_{side}"] = _said(value.get(f"conversation_{side}"), "assistant")
    return out | {"prompt": _said(value.get("conversation_a"), "user")}


def _winner(word: Any, models: list[str], row: int, source: Source) -> str | None:
    """The side that won, whether the file names the side or the model; None where nobody could tell."""
    if word is None or str(word).lower() in {"", "error"}:
        return None
    if str(word).lower() in _TIES:
        return str(word).lower()
    for side, names, model in (("model_a", _FIRST, models[0]), ("model_b", _SECOND, models[1])):
        if str(word) in names or word == model:
            return side
    raise TableError(f"row {row} of {source.name} has the winner {text(word)!r}, who is neither model nor a tie")


def _said(conversation: Any, role: str) -> str | None:
    """What one side said, its turns one below the other."""
    if not isinstance(conversation, list):
        return None
    turns = [each.get("content") for each in conversation if isinstance(each, dict) and each.get("role") == role]
    return "\n\n".join(str(turn) for turn in turns) or None


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
