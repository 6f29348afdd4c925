"""A plain CSV, JSONL or Parquet file → a `Table`, read whole, once."""

import os
import tempfile

import duckdb

from ratewise.errors import TableError
from ratewise.tables.cells import Stored
from ratewise.tables.engine import Own, count, no_rows, one_line, reason
from ratewise.tables.formats import Format, Kind
from ratewise.tables.loaders import LOADERS
from ratewise.tables.plain import checked_file, plain_file
from ratewise.tables.table import Table


def load_file(path: str, name: str | None = None, kind: Kind | None = None) -> Table:
    """The table of a file, whose format is `kind`, else that of its ending."""
    form = checked_file(path, kind)
    name = name or one_line(os.path.basename(path))
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        return loaded(plain_file(path, form, name, os.path.join(folder, "table")), form, name)


def loaded(path: str, form: Format, name: str) -> Table:
    """The table of a file that is unpacked already, under a path that DuckDB takes literally."""
    own = Own()
    with own.cursor() as cursor:
        try:
            names = LOADERS[form.kind](cursor, path, name)
        except (duckdb.Error, OSError) as error:
            why = reason(error).replace(path, name)
            raise TableError(f"{name} cannot be read as {form.kind}: {why}") from error
        rows = count(cursor)
    if rows == 0:
        raise no_rows(name)
    cells = {column: Stored(f"c{number}") for number, column in enumerate(names)}
    return Table(name, rows, tuple(names), cells, own)
