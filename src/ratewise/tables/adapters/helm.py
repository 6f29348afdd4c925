"""HELM's per_instance_stats.json: one row per instance, trial and perturbation, one column per statistic.

    [{"instance_id": "id7", "train_trial_index": 0, "perturbation": {"name": "typos"},
      "stats": [{"name": {"name": "exact_match", "split": "test"}, "count": 1, "mean": 1.0}]}]

A statistic is its mean; one that counted nothing, or is not in a row, is missing there.
"""

from collections import Counter
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, imported
from ratewise.tables.adapters.source import Source
from ratewise.tables.engine import COUNTED, no_rows

_TOLD = (
    Became("id", "id", "instance_id, train_trial_index and perturbation"),
    Became("instance_id", "cluster", "instance_id"),
    Became("train_trial_index", "epoch", "train_trial_index"),
    Became("perturbation", "more", "perturbation.name"),
    Became("split", "more", "stats.name.split"),
)
_KEYS = tuple(each.column for each in _TOLD)


def looks_like_helm(source: Source) -> bool:
    """Whether it is a list of instances with their statistics."""
    return isinstance(source.first, list) and {"instance_id", "stats"} <= source.first_row().keys()


def read_helm(source: Source) -> Imported:
    """The table; `id` is the instance's, with trial and perturbation behind it where it would not be unique."""
    document = source.document
    if not isinstance(document, list):
        raise TableError(f"{source.name} is no list of instances; give HELM's per_instance_stats.json")
    if not document:
        raise no_rows(source.name)
    rows = [_row(entry, number, source.name) for number, entry in enumerate(document, start=1)]
    _name_rows(rows)
    statistics = dict.fromkeys(key for row in rows for key in row if key not in _KEYS)
    told = [*_TOLD, *(Became(key, "judge score", f"stats of {key}: mean") for key in statistics)]
    return imported(source, "HELM per_instance_stats.json", rows, told)


def _row(entry: Any, number: int, name: str) -> dict[str, Any]:
    try:
        perturbation = entry.get("perturbation") or {}
        row: dict[str, Any] = {
            "id": None,
            "instance_id": str(entry["instance_id"]),
            "train_trial_index": entry.get("train_trial_index"),
            "perturbation": perturbation.get("name"),
            "split": next((each["name"].get("split") for each in entry["stats"]), None),
        }
        return row | {f"{each['name']['name']}": _mean(each) for each in entry["stats"]}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TableError(
            f"row {number} of {name} is no instance of HELM {COUNTED}: each has instance_id and stats"
        ) from error


def _mean(statistic: dict[str, Any]) -> float:
    """The mean, which some versions leave out although they give the sum."""
    count, mean = statistic["count"], statistic.get("mean")
    if not count:
        return float("nan")
    return float(statistic["sum"] / count if mean is None else mean)


def _name_rows(rows: list[dict[str, Any]]) -> None:
    seen = Counter(row["instance_id"] for row in rows)
    for row in rows:
        behind = [row["train_trial_index"], row["perturbation"]] if seen[row["instance_id"]] > 1 else []
        row["id"] = "/".join(str(part) for part in (row["instance_id"], *behind) if part is not None)
