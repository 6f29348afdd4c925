"""HELM's per_instance_stats.json: one row per instance, trial and perturbation, one column per statistic.

    [{"instance_id": "id7", "train_trial_index": 0, "perturbation": {"name": "typos"},
      "stats": [{"name": {"name": "exact_match", "split": "test"}, "count": 1, "mean": 1.0}]}]

A statistic is its mean; one that counted nothing, or is not in a row, is missing there.
"""

from collections import Counter
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, TableBuilder
from ratewise.tables.adapters.source import Source

_COLUMNS = (
    Became("id", "id", "instance_id, train_trial_index and perturbation"),
    Became("instance_id", "cluster", "instance_id"),
    Became("train_trial_index", "epoch", "train_trial_index"),
    Became("perturbation", "more", "perturbation.name"),
    Became(
        "split", "more", "stats.name.split", lambda entry: next((s["name"].get("split") for s in entry["stats"]), None)
    ),
)


def looks(source: Source) -> bool:
    """Whether it is a list of instances with their statistics."""
    return isinstance(source.first, list) and {"instance_id", "stats"} <= source.first_row().keys()


def read(source: Source) -> Imported:
    """The table; `id` is the instance's, with trial and perturbation behind it where it would not be unique."""
    if not isinstance(source.document, list):
        raise TableError(f"{source.name} is no list of instances; give HELM's per_instance_stats.json")
    made = TableBuilder(source, "HELM per_instance_stats.json", _COLUMNS)
    what = "instance of HELM: each has instance_id and stats"
    for entry in made.objects(source.rows(), what, "instance_id", "stats"):
        row = made.row(entry)
        row["instance_id"] = str(row["instance_id"])
        for each in entry["stats"]:
            name = str(each["name"]["name"])
            made.score(row, name, _mean(each), f"stats of {name}: mean")
    seen = Counter(row["instance_id"] for row in made.rows.values())
    for row in made.rows.values():
        behind = [row["train_trial_index"], row["perturbation"]] if seen[row["instance_id"]] > 1 else []
        row["id"] = "/".join(str(part) for part in (row["instance_id"], *behind) if part is not None)
    return made.imported()


def _mean(statistic: dict[str, Any]) -> float:
    """The mean, which some versions leave out although they give the sum."""
    count, mean = statistic["count"], statistic.get("mean")
    if not count:
        return float("nan")
    return float(statistic["sum"] / count if mean is None else mean)
