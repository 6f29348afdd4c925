"""Files that other tools write → tables. Read-only: nothing is written in these formats.

An adapter is a function from a `Source`, which is a path that is parsed once, to an `Imported` table, in a file of its
own, and one that looks whether a file is of its kind. A new one is that file and a line here.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ratewise.errors import RatewiseError, TableError
from ratewise.tables.adapters.arena import looks_like_arena, read_arena
from ratewise.tables.adapters.braintrust import looks_like_braintrust, read_braintrust
from ratewise.tables.adapters.deepeval import looks_like_deepeval, read_deepeval
from ratewise.tables.adapters.documents import looks_like_excel, looks_like_json_list, read_excel, read_json_list
from ratewise.tables.adapters.helm import looks_like_helm, read_helm
from ratewise.tables.adapters.imported import Became, Imported, joined
from ratewise.tables.adapters.inspect_ai import looks_like_inspect, read_inspect
from ratewise.tables.adapters.label_studio import looks_like_label_studio, read_label_studio
from ratewise.tables.adapters.langfuse import looks_like_langfuse, read_langfuse
from ratewise.tables.adapters.lm_eval import looks_like_lm_eval, read_lm_eval
from ratewise.tables.adapters.openai_evals import looks_like_openai_evals, read_openai_evals
from ratewise.tables.adapters.promptfoo import looks_like_promptfoo, read_promptfoo
from ratewise.tables.adapters.source import Source
from ratewise.tables.engine import one_line
from ratewise.tables.files import files_among, is_table, name_of

__all__ = ["ADAPTERS", "Adapter", "Became", "Imported", "adapted"]

PLAIN_JSON = "json"


@dataclass(frozen=True, slots=True)
class Adapter:
    """How a format is known, and how it is read."""

    looks: Callable[[Source], bool]
    read: Callable[[Source], Imported]


ADAPTERS: dict[str, Adapter] = {
    "excel": Adapter(looks_like_excel, read_excel),
    "inspect_ai": Adapter(looks_like_inspect, read_inspect),
    "lm_eval": Adapter(looks_like_lm_eval, read_lm_eval),
    "helm": Adapter(looks_like_helm, read_helm),
    "openai_evals": Adapter(looks_like_openai_evals, read_openai_evals),
    "promptfoo": Adapter(looks_like_promptfoo, read_promptfoo),
    "langfuse": Adapter(looks_like_langfuse, read_langfuse),
    "braintrust": Adapter(looks_like_braintrust, read_braintrust),
    "deepeval": Adapter(looks_like_deepeval, read_deepeval),
    "arena": Adapter(looks_like_arena, read_arena),
    "label_studio": Adapter(looks_like_label_studio, read_label_studio),
    PLAIN_JSON: Adapter(looks_like_json_list, read_json_list),  # last: what no tool wrote
}


def adapted(path: str, format: str | None = None, *, name: str | None = None) -> Imported | None:
    """The table of another tool's file, of `format` or known by its content; None of a plain table.

    The path may be packed by gzip. Of a folder or a pattern, the tables of all its files become one. `name` is what
    messages call the table.
    """
    if format is not None and format not in ADAPTERS:
        raise TableError(f"{format!r} is no format; the formats of other tools are {', '.join(map(repr, ADAPTERS))}")
    several = several_files(path)
    if several is None:
        return _of_file(Source(path, name), format)
    sources = [Source(file) for file in several]
    if format is None:
        format = known(sources[0]) if sources else None
        if format is None:
            return None
        _refuse_others(sources, format)
    elif not sources:
        raise TableError(f"{one_line(path)} has no file in it that could be of {format!r}; check the path")
    return joined([_read(source, format) for source in sources], several, name or name_of(path))


def known(source: Source) -> str | None:
    """The format that a file is known to be of by its content."""
    return next((name for name, adapter in ADAPTERS.items() if adapter.looks(source)), None)


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
    return logs or tuple(
        file for file in found if _ends_in_json(file) and known(Source(file)) not in {None, PLAIN_JSON}
    )


def _ends_in_json(file: str) -> bool:
    return file.lower().removesuffix(".gz").endswith(".json")


def _refuse_others(sources: Sequence[Source], format: str) -> None:
    """Refuse a folder in which one tool's files lie beside another's, or beside plain tables."""
    for source in sources[1:]:
        if not ADAPTERS[format].looks(source):
            raise TableError(
                f"{sources[0].name} is a file of {format!r}, and {source.name} beside it is none; name those of one "
                "kind with a pattern in quotation marks"
            )


def _of_file(source: Source, format: str | None) -> Imported | None:
    if format is None:
        format = known(source)
        return None if format is None else _read(source, format)
    if not os.path.exists(source.path):
        raise TableError(f"{one_line(source.path)} does not exist; check the path")
    if not os.path.isfile(source.path):
        raise TableError(f"{one_line(source.path)} is no file; give the path of a file of {format!r}")
    return _read(source, format)


def _read(source: Source, format: str) -> Imported:
    """The table; values of kinds that the tool never writes, wherever they are, are damage."""
    try:
        return ADAPTERS[format].read(source)
    except RatewiseError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise TableError(f"{source.name} is damaged, or no file of {format!r}; export it once more") from error
