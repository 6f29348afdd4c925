"""What Parquet files say about their columns at their ends: ranges, and how many rows have a value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ratewise.tables.cells import unmasked
from ratewise.tables.engine import quoted_text

if TYPE_CHECKING:
    from ratewise.tables.parquet import ParquetFiles

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Told:
    """A range that holds all numbers of a column, and how many rows have a value, NaN included; nothing if unknown."""

    range: Range | None = None
    given: int | None = None


def told(files: "ParquetFiles", columns: Sequence[str]) -> dict[str, Told]:
    """What all files together say about these columns, in one question; nothing where files are laid out unlike."""
    numbers = dict(zip(columns, files.numbers_of(columns), strict=True))
    first = files.parts[0]
    if not columns or any(part.positions != first.positions for part in files.parts):
        return {column: Told() for column in columns}
    inside = {column: first.positions[number] for column, number in numbers.items()}
    found = {
        name: unmasked(values).tolist() for name, values in files.ask(_query(files, list(inside.values()))).items()
    }
    rows = dict(zip(found["column_id"], zip(*(found[name] for name in "abun"), strict=True), strict=True))
    return {column: _told(*rows[at]) if at in rows else Told() for column, at in inside.items()}


def _query(files: "ParquetFiles", inside: Sequence[int]) -> str:
    paths = ", ".join(quoted_text(part.path) for part in files.parts)
    some = "coalesce(stats_null_count, 0) < num_values"
    least, most = (f"TRY_CAST(stats_{end}_value AS DOUBLE)" for end in ("min", "max"))
    return (
        f"SELECT column_id, min({least}) AS a, max({most}) AS b,"
        f" count(*) FILTER (WHERE ({least} IS NULL OR {most} IS NULL) AND {some}) AS u,"
        " CASE WHEN count(stats_null_count) = count(*) THEN sum(num_values - stats_null_count) END AS n"
        f" FROM parquet_metadata([{paths}]) WHERE column_id IN ({', '.join(f'{at:d}' for at in inside)})"
        " AND num_values > 0 GROUP BY column_id"
    )


def _told(least: float | None, most: float | None, unknown: int, given: float | None) -> Told:
    ends = None if unknown or least is None or most is None else (float(least), float(most))
    known = ends is not None and bool(np.isfinite(ends).all())
    return Told(ends if known else None, None if given is None or np.isnan(given) else int(given))
