"""A list of objects in one JSON document, which no tool wrote."""

import json

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, damaged
from ratewise.tables.adapters.source import Source
from ratewise.tables.engine import no_rows
from ratewise.tables.files import Folder
from ratewise.tables.load import loaded


def looks(source: Source) -> bool:
    """Whether it is a .json document that is a list of objects."""
    first = source.first if source.ending == ".json" else None
    return isinstance(first, list) and bool(first) and isinstance(first[0], dict)


def read(source: Source) -> Imported:
    """One row per object; what lies in an object is a column by its path, such as scores.Human."""
    document = source.document
    if not isinstance(document, list):
        raise TableError(f"{source.name} is no list of objects; write one, or JSONL with an object a line")
    if not document:
        raise no_rows(source.name)
    folder = Folder()
    with open(folder / "lines", "w", encoding="utf-8") as file:
        for number, value in enumerate(document, start=1):
            if not isinstance(value, dict):
                raise damaged(source, number, "object")
            file.write(json.dumps(value) + "\n")
    table = loaded(folder / "lines", "JSONL", source.name, folder)
    return Imported(table, "JSON list", tuple(Became(name, "more", name) for name in table.columns))
