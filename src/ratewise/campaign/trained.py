"""Models that were trained on labels: what they have seen may not be an item of the campaign."""

from collections.abc import Iterator
from pathlib import Path

from ratewise.campaign.content import plain_rows
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError
from ratewise.learn.training.folder import KNOWN
from ratewise.raters.kind import Knows
from ratewise.raters.kinds import KINDS
from ratewise.raters.trained import knows_of
from ratewise.tables import Relation

_ROWS = 1 << 13


def refuse_known(spec: Spec, relation: Relation, id_column: str | None) -> None:
    """Refuse items that a model was trained on: it knows their ratings, and would look better than it is."""
    for name, knows in _models(spec):
        found, texts, first, count = 0, 0, "", 0
        for rows in relation.scan(rows=_ROWS):
            for row in plain_rows(rows):
                id = None if id_column is None else str(row[id_column])
                if knows(id, row):
                    found, first = found + 1, first or (id if id is not None else str(count))
                    texts += knows(None, row)
                count += 1
        if found:
            raise InputError(
                f"{name} was trained on {found:,} of {count:,} items of {relation.name} (the first is {first!r}), so "
                f"that it knows their ratings: {_told(found, texts)}"
            )


def _told(found: int, texts: int) -> str:
    """By what items were known again, and what to do."""
    if not texts:
        return "the ids are the same, the texts are not; leave these items out, or give them other ids if they are new"
    by_id = f", {found - texts:,} have only the same id" if found > texts else ""
    return f"{texts:,} have the same texts or nearly the same{by_id}; leave them out of the table"


def _models(spec: Spec) -> Iterator[tuple[str, Knows]]:
    """The trained raters, and the model that a campaign's own training starts from if it has seen labels."""
    for rater in spec.raters:
        made = KINDS[rater.kind].knows
        if made is not None:
            yield f"rater {rater.name!r}", made(rater.settings, str(spec.folder))
    init = None if spec.learner is None else spec.learner.init
    if init is not None and (spec.folder / Path(init).expanduser() / KNOWN).is_file():
        yield f"the model {init!r} of [learner]", knows_of(spec.folder / Path(init).expanduser())
