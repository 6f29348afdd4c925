"""Files that other tools write → tables. Read-only: nothing is written in these formats.

An adapter is a function from a `Source`, which is a path that is parsed once, to an `Imported` table, in a file of its
own, and one that looks whether a file is of its kind. A new one is that file and a line here.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

from ratewise.errors import RatewiseError, TableError
from ratewise.tables.adapters.arena import looks_like_arena, read_arena
from ratewise.tables.adapters.helm import looks_like_helm, read_helm
from ratewise.tables.adapters.imported import Became, Imported
from ratewise.tables.adapters.inspect_ai import looks_like_inspect, read_inspect
from ratewise.tables.adapters.label_studio import looks_like_label_studio, read_label_studio
from ratewise.tables.adapters.langfuse import looks_like_langfuse, read_langfuse
from ratewise.tables.adapters.lm_eval import looks_like_lm_eval, read_lm_eval
from ratewise.tables.adapters.openai_evals import looks_like_openai_evals, read_openai_evals
from ratewise.tables.adapters.promptfoo import looks_like_promptfoo, read_promptfoo
from ratewise.tables.adapters.source import Source
from ratewise.tables.engine import one_line

__all__ = ["ADAPTERS", "Adapter", "Became", "Imported", "adapted"]


@dataclass(frozen=True, slots=True)
class Adapter:
    """How a format is known, and how it is read."""

    looks: Callable[[Source], bool]
    read: Callable[[Source], Imported]


ADAPTERS: dict[str, Adapter] = {
    "inspect_ai": Adapter(looks_like_inspect, read_inspect),
    "lm_eval": Adapter(looks_like_lm_eval, read_lm_eval),
    "helm": Adapter(looks_like_helm, read_helm),
    "openai_evals": Adapter(looks_like_openai_evals, read_openai_evals),
    "promptfoo": Adapter(looks_like_promptfoo, read_promptfoo),
    "langfuse": Adapter(looks_like_langfuse, read_langfuse),
    "arena": Adapter(looks_like_arena, read_arena),
    "label_studio": Adapter(looks_like_label_studio, read_label_studio),
}


def adapted(path: str, format: str | None = None) -> Imported | None:
    """The table of another tool's file, of `format` or known by its content; None of a plain table."""
    if format is not None and format not in ADAPTERS:
        raise TableError(f"{format!r} is no format; the formats of other tools are {', '.join(map(repr, ADAPTERS))}")
    source = Source(path)
    if format is None:
        format = next((name for name, adapter in ADAPTERS.items() if adapter.looks(source)), None)
        return None if format is None else _read(source, format)
    if not os.path.exists(path):
        raise TableError(f"{one_line(path)} does not exist; check the path")
    if not os.path.isfile(path):
        raise TableError(f"{one_line(path)} is no file; give the path of a file of {format!r}")
    return _read(source, format)


def _read(source: Source, format: str) -> Imported:
    """The table; values of kinds that the tool never writes, wherever they are, are damage."""
    try:
        return ADAPTERS[format].read(source)
    except RatewiseError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise TableError(f"{source.name} is damaged, or no file of {format!r}; export it once more") from error
