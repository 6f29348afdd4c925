"""A plain JSON document that is a list of objects: it is read as the JSON lines that it could have been."""

import json
import os
import tempfile

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, damaged
from ratewise.tables.adapters.source import Source
from ratewise.tables.engine import no_rows
from ratewise.tables.formats import Format
from ratewise.tables.load import loaded


def looks_like_json_list(source: Source) -> bool:
    """Whether it is a .json document that is a list of objects."""
    first = source.first if source.ending == ".json" else None
    return isinstance(first, list) and bool(first) and isinstance(first[0], dict)


def read_json_list(source: Source) -> Imported:
    """One row per object; what lies in an object is a column by its path, such as scores.Human."""
    document = source.document
    if not isinstance(document, list):
        raise TableError(f"{source.name} is no list of objects; write one, or JSONL with an object a line")
    if not document:
        raise no_rows(source.name)
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        lines = os.path.join(folder, "lines")
        with open(lines, "w", encoding="utf-8") as file:
            for number, value in enumerate(document, start=1):
                if not isinstance(value, dict):
                    raise damaged(source, number, "object")
                file.write(json.dumps(value) + "\n")
        table = loaded(lines, Format("JSONL"), source.name)
    return Imported(table, "JSON list", tuple(Became(name, "more", name) for name in table.columns))
