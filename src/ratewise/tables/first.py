"""The first rows of a large table in a random order that a seed names, without sorting the table.

A row's turn is r of seed and id, as `core.mean.draw.uniform` computes it: the hexadecimal digits of a hash, whose order
is that of the numbers. One pass over the ids finds the rows whose turn is early; a second fetches them.
"""

import math

import duckdb

from ratewise.errors import TableError
from ratewise.tables.convert import text_sql
from ratewise.tables.engine import COUNTED, for_memory, quoted_text, reason
from ratewise.tables.parquet import ParquetFiles, parquet_files
from ratewise.tables.places import Folder

_DIGITS = 13  # hexadecimal, of r
_SURE = 8.0  # standard deviations of room: a second pass over the ids is needed once in 10¹⁵ times


def first_rows(files: ParquetFiles, column: str, *, seed: str, most: int) -> ParquetFiles:
    """The `most` rows with the smallest r of seed and id, in the order of the files; a file of their own holds them."""
    folder, share = Folder(), (most + _SURE * math.sqrt(most) + 1) / files.count()
    picked = folder / "picked.parquet"
    while not _pick(files, column, seed, min(share, 1.0), picked, most):
        share *= 2.0
    early = f"SELECT row FROM read_parquet({quoted_text(picked)}) ORDER BY turn, row LIMIT {most:d}"
    fields = ", ".join(f"c{number}" for number in range(len(files.columns)))
    target = folder / "first.parquet"
    _copy(files, f"SELECT {fields} FROM {files.numbered()} WHERE row IN ({early}) ORDER BY row", target)
    return parquet_files([target], files.name, folder, columns=[list(files.columns)])


def _pick(files: ParquetFiles, column: str, seed: str, share: float, picked: str, most: int) -> bool:
    """Write the numbers and turns of rows whose turn is below `share`; whether there are enough of them."""
    (number,) = files.numbers_of([column])
    text = f"nullif({text_sql(files.kinds[number], f'c{number}')}, '')"
    turn = f"left(md5({quoted_text(seed + ':')} || {text}), {_DIGITS})"
    early = "true" if share >= 1 else f"turn < {quoted_text(f'{int(share * 16**_DIGITS):0{_DIGITS}x}')}"
    rows = f"SELECT row, {turn} AS turn FROM {files.numbered()}"
    _copy(files, f"SELECT row, turn FROM ({rows}) WHERE coalesce({early}, true)", picked)
    found = files.ask(
        f"SELECT count(*) AS n, count(turn) AS known, min(row) FILTER (WHERE turn IS NULL) AS empty FROM "
        f"read_parquet({quoted_text(picked)})"
    )
    if found["n"][0] != found["known"][0]:
        raise TableError(
            f"column {column!r} of {files.name} has no value in row {int(found['empty'][0]) + 1:,} {COUNTED}; give "
            "every row an id of its own"
        )
    return share >= 1 or int(found["n"][0]) >= most


def _copy(files: ParquetFiles, query: str, target: str) -> None:
    with for_memory().cursor() as cursor:
        try:
            cursor.execute(f"COPY ({query}) TO {quoted_text(target)} (FORMAT parquet)")
        except (duckdb.Error, OSError) as error:
            raise TableError(f"{files.name} cannot be read as Parquet: {reason(error)}") from error
