"""`rescue`: a new store of what a damaged one still holds, of the table, and of answers that were not saved."""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ratewise.campaign.clients.patience import kept_line
from ratewise.campaign.head import unheld
from ratewise.campaign.load import is_same, load_items
from ratewise.campaign.spec.read import read_spec
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError, RatewiseError
from ratewise.store.money import to_money
from ratewise.store.queue import Outcome
from ratewise.store.rescue import Rescued, rescue_store
from ratewise.store.store import Store
from ratewise.store.unsaved import kept_outcomes
from ratewise.tables.write import write_text


def rescue(source: str, output: str) -> Rescued:
    """Rescue whatever `source` is: a TOML and everything beside it, a store, or a file of unsaved answers."""
    if os.path.exists(output):
        raise InputError(f"{output} is there already; name another file, so that nothing is lost")
    if not os.path.isfile(source):
        raise InputError(f"{source} is not there; name the campaign's TOML, its store, or its file of unsaved answers")
    if source.endswith(".jsonl"):
        return _answers_alone([Path(source)], output)
    if not source.endswith(".toml"):
        return rescue_store(source, output)
    spec = read_spec(source)
    if "://" in spec.store:
        raise InputError(
            "a PostgreSQL server keeps its own files; copy what can be read with: ratewise backup "
            f"{spec.path.name} -o copy.sqlite"
        )
    unsaved = sorted(spec.folder.glob(f"{spec.path.stem}.unsaved*.jsonl"))
    store = spec.folder / spec.store
    if not store.exists():
        return _answers_alone(unsaved, output)
    found = rescue_store(str(store), output, fill=lambda digest: _items(spec, digest))
    new = Store.at(os.path.abspath(output), "", spec.name)
    try:
        found.answers = _settle(spec, unsaved, new)
        found.missing += unheld(spec, new, anew=not found.whole)
    finally:
        new.close()
    return found


def _items(spec: Spec, digest: str | None) -> list[tuple[Any, ...]]:
    """Rows from the table, where it is the one that the campaign began with."""
    with suppress(RatewiseError, OSError):
        if is_same(spec.table_path, digest):
            return [tuple(row) for row in load_items(spec).rows]
    return []


def _settle(spec: Spec, files: Sequence[Path], store: Store) -> int:
    """Settle answers that were paid for but not saved, in the new store; their files stay."""
    read = partial(kept_line, spec, store, store.meta("campaign") or "")
    outcomes = [outcome for file in files for outcome in kept_outcomes(file, read)]
    if not outcomes:
        return 0
    open_before = sum(store.open_by_step().values())
    store.settle(outcomes, None, for_anyone=True)
    return open_before - sum(store.open_by_step().values())


def _answers_alone(files: Sequence[Path], output: str) -> Rescued:
    """Export the answers without a store, as a recording that a rater of kind "recorded" plays."""
    outcomes = [outcome for file in files for outcome in kept_outcomes(file)]
    if not outcomes:
        raise InputError("there is neither a store nor a file of unsaved answers with anything in it")
    if not output.endswith(".jsonl"):
        raise InputError(f"without a store only answers can be saved; name a file such as {Path(output).stem}.jsonl")
    lines = [json.dumps(_line(o), ensure_ascii=False) for o in outcomes if o.value is not None]
    write_text(output, "".join(f"{line}\n" for line in lines))
    return Rescued(answers=len(lines), missing=["the store: items, rounds, draws and money"], whole=True)


def _line(o: Outcome) -> dict[str, Any]:
    price = f"{to_money(o.paid):f}"
    return {"id": o.claim.id, "rating": o.value, "price": price, "step": o.claim.step, "note": o.note or ""}
