"""Files that other tools write → tables. Read-only: nothing is written in these formats.

An adapter is a module with two functions of a `Source`, which is a path that is parsed once: `looks` says whether the
file is of its kind, and `read` makes an `Imported` table of it, with a `TableBuilder`. A new one is that file and a
line here.
"""

import os
from typing import Protocol

from ratewise.errors import RatewiseError, TableError
from ratewise.tables.adapters import (
    arena,
    braintrust,
    deepeval,
    excel,
    helm,
    inspect_ai,
    json_list,
    label_studio,
    langfuse,
    lm_eval,
    openai_evals,
    promptfoo,
)
from ratewise.tables.adapters.imported import Became, Imported, joined
from ratewise.tables.adapters.source import Source
from ratewise.tables.engine import one_line
from ratewise.tables.files import files_among, is_table, name_of

__all__ = ["ADAPTERS", "Adapter", "Became", "Imported", "adapted"]

PLAIN_JSON = "json"


class Adapter(Protocol):
    """A module that knows a format."""

    def looks(self, source: Source) -> bool:
        """Whether a file is of the format."""

    def read(self, source: Source) -> Imported:
        """The table of such a file."""


ADAPTERS: dict[str, Adapter] = {
    "excel": excel,
    "inspect_ai": inspect_ai,
    "lm_eval": lm_eval,
    "helm": helm,
    "openai_evals": openai_evals,
    "promptfoo": promptfoo,
    "langfuse": langfuse,
    "braintrust": braintrust,
    "deepeval": deepeval,
    "arena": arena,
    "label_studio": label_studio,
    PLAIN_JSON: json_list,  # last: what no tool wrote
}

_AS_TABLES = ("langfuse", "arena")  # whose files may be CSV or Parquet, too: all others are JSON or zip archives


def adapted(path: str, format: str | None = None, *, name: str | None = None) -> Imported | None:
    """The table of another tool's file, of `format` or known by its content; None of a plain table.

    The path may be packed by gzip. Of a folder or a pattern, the tables of all its files become one. `name` is what
    messages call the table.
    """
    if format is not None and format not in ADAPTERS:
        raise TableError(f"{format!r} is no format; the formats of other tools are {', '.join(map(repr, ADAPTERS))}")
    several = several_files(path)
    if several is None:
        source = Source(path, name)
        format = format or known(source)
        return None if format is None else _read(source, format)
    sources = [Source(file) for file in several]
    if format is None:
        format = known(sources[0]) if sources else None
        if format is None:
            return None
        for source in sources[1:]:
            if not ADAPTERS[format].looks(source):
                raise TableError(
                    f"{sources[0].name} is a file of {format!r}, and {source.name} beside it is none; name those of "
                    "one kind with a pattern in quotation marks"
                )
    elif not sources:
        raise TableError(f"{one_line(path)} has no file in it that could be of {format!r}; check the path")
    return joined([_read(source, format) for source in sources], several, name or name_of(path))


def known(source: Source) -> str | None:
    """The format that a file is known to be of by its content."""
    names = ADAPTERS if source.is_zip or source.first is not None else _AS_TABLES if source.columns else ()
    return next((name for name in names if ADAPTERS[name].looks(source)), None)


def several_files(path: str) -> tuple[str, ...] | None:
    """The files of a folder or a pattern that may be another tool's; None of a single file.

    Tables come first: a folder with some is one of tables. Else it is a folder of .eval files, or of those .json files
    that a tool wrote.
    """
    found = files_among(path)
    if found is None:
        return None
    tables = tuple(file for file in found if is_table(os.path.basename(file)))
    if tables:
        return tables
    logs = tuple(file for file in found if file.lower().endswith(".eval"))
    documents = (file for file in found if file.lower().removesuffix(".gz").endswith(".json"))
    return logs or tuple(file for file in documents if known(Source(file)) not in {None, PLAIN_JSON})


def _read(source: Source, format: str) -> Imported:
    """The table; values of kinds that the tool never writes, wherever they are, are damage."""
    if not os.path.isfile(source.path):
        shown = one_line(source.path)
        if not os.path.exists(source.path):
            raise TableError(f"{shown} does not exist; check the path")
        raise TableError(f"{shown} is no file; give the path of a file of {format!r}")
    try:
        return ADAPTERS[format].read(source)
    except RatewiseError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        where = f"row {source.row} of " if source.row else ""
        raise TableError(f"{where}{source.name} is damaged, or no file of {format!r}; export it once more") from error
