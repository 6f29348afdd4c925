"""The columns that a campaign names: all of them must be in its table before anything is asked or paid."""

import os
from collections.abc import Iterator
from contextlib import suppress

from ratewise.campaign.spec.document import read_text
from ratewise.campaign.spec.fields import keys_of
from ratewise.campaign.spec.places import Place, line_numbers, line_of
from ratewise.campaign.spec.raters import RaterSpec
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.spec.syntax import parse_all
from ratewise.errors import ColumnsError, SpecError
from ratewise.raters.kinds import KINDS
from ratewise.tables import Relation
from ratewise.tables.engine import one_line
from ratewise.tables.table import no_column

_OF_ITEMS = ("id", "uncertainty", "clusters")


def check_columns(spec: Spec, table: Relation) -> None:
    """Refuse a campaign that names columns its table does not have: every one of them, with its line in the TOML."""
    lacking = [(place, who, name) for place, who, name in _named(spec) if name not in table.columns]
    if not lacking:
        return
    lines, file = _lines(spec), one_line(os.path.relpath(spec.path))
    told = []
    for place, who, name in lacking:
        line = line_of(place, lines)
        where = file if line is None else f"{file}:{line}"
        complaint = no_column(table.name, name, table.columns)
        told.append((line or 0, f"{where}: {who} needs a column that is not there: {complaint}"))
    raise ColumnsError(*(sentence for _, sentence in sorted(told)))


def _named(spec: Spec) -> Iterator[tuple[Place, str, str]]:
    """(where it stands, who needs it, the column)."""
    for key in _OF_ITEMS:
        if (name := getattr(spec.items, key)) is not None:
            yield ("items", key), f"items.{key}", name
    for name in spec.items.features:
        yield ("items", "features"), "items.features", name
    for name in spec.items.text:
        yield ("items", "text"), "items.text", name
    if spec.inputs is not None:
        yield ("inputs", "strata"), "inputs.strata", spec.inputs.strata
    for number, rater in enumerate(spec.raters):
        for key, name in _of_rater(rater):
            yield ("raters", number, key), f"rater {rater.name!r}", name


def _of_rater(rater: RaterSpec) -> Iterator[tuple[str, str]]:
    """(key, column) of what a rater reads of an item."""
    kind = KINDS[rater.kind]
    values = {key: getattr(rater.settings, key) for key in keys_of(kind.settings)}
    for name in kind.columns(rater.settings):
        yield next((key for key, value in values.items() if value == name), "name"), name
    if rater.price_column is not None:
        yield "price_column", rater.price_column


def _lines(spec: Spec) -> dict[Place, int]:
    """Line numbers in the TOML; empty where the file is gone."""
    with suppress(SpecError):
        return line_numbers(parse_all(read_text(str(spec.path))).text)
    return {}
