"""LLM judges of a campaign, as their ratings show them; and a judge's ratings of a whole table, without a campaign.

Behind `judge_table` is a campaign with one rater that is asked about every item, so that all its care for money,
limits, crashes and repeated texts holds there, too. Its store lies beside the output, and a second run goes on.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ratewise.campaign.campaign import Campaign, Progress
from ratewise.campaign.load import LARGEST, id_column, item_prices, open_pool
from ratewise.campaign.raters import check_settings, fact_name
from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.spec.read import legal_name, spec_of
from ratewise.campaign.spec.spec import Spec
from ratewise.core.result import Result
from ratewise.errors import InputError
from ratewise.judges.judge import is_asked
from ratewise.judges.ladder import Rung
from ratewise.judges.prices import IN_TOML, TokenPrices
from ratewise.judges.template import load
from ratewise.judges.verdicts import MANY_ALIKE, PlaceEffect, alike_said, place_effect
from ratewise.raters.llm import LlmSettings
from ratewise.store import audit
from ratewise.store.money import to_money, total
from ratewise.store.queue import ANSWERED, MISSING
from ratewise.tables import Table, open_relation, read_table, write_table

_MOST_MODELS = 5  # that are named
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, repr=False)
class JudgeSummary(Result):
    """One judge of a campaign, as its ratings show it."""

    name: str
    model: str
    source: str | None  # of its probabilities: the whole sentence; None before its first answer
    priced: str | None  # where the prices of its tokens come from; None: the TOML gives a price for each rating
    rated: int
    missing: int  # asked, and no verdict came
    bare: int  # ratings with a verdict whose probability was promised by the source and not found
    alike: int | None  # samples for each item, where all were the same answer on all items; else None
    answered_as: Mapping[str, int]  # ratings by the name and fingerprint that the server gave, most first
    position_effect: PlaceEffect | None  # of comparisons

    @property
    def sentences(self) -> tuple[str, ...]:
        out = [f"{self.name} asked {self.model}: {self.rated:,} ratings, {self.missing:,} without a verdict"]
        out += [self.source] if self.source else []
        if self.bare:
            found = f"no probability was found in {self.bare:,} of {self.rated:,} ratings"
            out.append(f"{found}: their bare verdict counts, without uncertainty")
        out += [f"prices of its tokens: {self.priced}"] if self.priced else []
        out += [alike_said(self.rated, self.alike)] if self.alike is not None else []
        if len(self.answered_as) > 1:
            named = ", ".join(f"{name} ({count:,})" for name, count in islice(self.answered_as.items(), _MOST_MODELS))
            out.append(f"the server answered under several names: {named}")
        elif (name := self._answered) and not is_asked(self.model, name):
            out.append(f"the server answered as {name}, though {self.model} was asked for")
        out += [self.position_effect.said] if self.position_effect is not None else []
        return tuple(out)

    @property
    def _answered(self) -> str:
        """The first name that the server gave, without the fingerprint; empty where it gave none."""
        name = next(iter(self.answered_as), "").partition(" ")[0]
        return "" if name == _UNKNOWN else name


def judges_found(now: Snapshot) -> tuple[JudgeSummary, ...]:
    """Every LLM judge of a campaign."""
    raters = ((step, now.spec.at(step)) for step in now.spec.steps)
    return tuple(_found(now, step, rater) for step, rater in raters if isinstance(rater, LlmSettings))


def _found(now: Snapshot, step: int, asked: LlmSettings) -> JudgeSummary:
    ladder, prices = (now.store.meta(fact_name(asked.name, fact)) for fact in ("ladder", "prices"))
    rows = [row for row in audit.walk(audit.rating_rows, now.store, now.status.looked) if row.step == step]
    notes = [row.note or "" for row in rows if row.state == ANSWERED]
    is_alike = len(notes) >= MANY_ALIKE and all("alike" in _facts(note) for note in notes)
    return JudgeSummary(
        asked.name, asked.model, None if ladder is None else Rung.from_json(ladder).said,
        None if prices is None else TokenPrices.from_json(prices).source, len(notes),
        sum(row.state == MISSING for row in rows), sum("bare" in _facts(note) for note in notes),
        asked.samples if is_alike else None, dict(Counter(map(_who, notes)).most_common()), place_effect(notes),
    )  # fmt: skip


def _who(note: str) -> str:
    """Model and fingerprint that the server gave with a rating."""
    row = _facts(note)
    return f"{row.get('model', '')} {row.get('fingerprint', '')}".strip() if row else _UNKNOWN


def _facts(note: str) -> dict[str, Any]:
    """What is stored with a rating; empty where it is no record."""
    try:
        row = json.loads(note)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}


VALUE, DOUBT = "judge", "judge_uncertainty"
_RATER = "judge"
_ATTEMPTS = 3
_UNIT = 1  # billionth: a budget is above 0


@dataclass(frozen=True, slots=True, repr=False)
class JudgedTable(Result):
    """What came of judging a table."""

    output: str
    items: int
    rated: int
    missing: int
    spent: Decimal
    reason: str  # why it ended
    judge: JudgeSummary | None

    def summary(self) -> str:
        lost = f", {self.missing:,} without a verdict" if self.missing else ""
        lines = [f"{self.rated:,} of {self.items:,} items rated{lost}, {self.spent:f} spent; written to {self.output}."]
        return "\n".join(lines if self.judge is None else [*lines, *self.judge.sentences])


def judge_table(
    table: str, output: str, *, settings: Mapping[str, Any], low: float | None = None, high: float | None = None,
    id_column: str | None = None, budget: str | None = None, format: str | None = None,
    progress: Progress | None = None,
) -> JudgedTable:  # fmt: skip
    """Rate every row of a table and write it with two columns more; `settings` are keys of an llm rater."""
    source = Path(table)
    relation = open_relation(source, format=format)
    for name in (VALUE, DOUBT):
        if name in relation.columns:
            raise InputError(f"{table} has a column {name!r} already; rename it, since the judge's own is called so")
    given = {"id": id_column, "format": format, "at_most": rows if (rows := relation.count()) > LARGEST else None}
    items = {"table": str(source.absolute())} | {key: value for key, value in given.items() if value is not None}
    _check_shown(settings)
    spec = _spec(items, Path(output), settings, _scale(settings, low, high), budget)
    campaign = Campaign(spec)
    try:
        campaign.check()
    except InputError as error:
        raise InputError(
            f"{output} was begun otherwise: {error}; or choose another output, or delete {spec.store} to begin anew"
        ) from None
    ended = campaign.run(progress=progress)
    return _written(campaign, relation.table(), output, str(ended.reason))


def _check_shown(settings: Mapping[str, Any]) -> None:
    """Refuse settings without the columns that this kind of judge is shown, in the words of the command line."""
    kind = load(str(settings["judge"]), os.getcwd()).kind
    if kind == "pairwise" and not (settings.get("a") and settings.get("b")):
        raise InputError("a pairwise judge compares two answers; write --a answer_a --b answer_b")
    if kind != "pairwise" and not settings.get("show"):
        raise InputError(f"a {kind} judge needs the columns that it is shown; write --show question,answer")


def _scale(settings: Mapping[str, Any], low: float | None, high: float | None) -> tuple[float, float]:
    """The ends of the judge's scale."""
    template = load(str(settings["judge"]), os.getcwd())
    if template.kind in ("binary", "pairwise"):
        return 0.0, 1.0
    low, high = (template.low if low is None else low), (template.high if high is None else high)
    if low is None or high is None:
        raise InputError(f"a {template.kind} judge needs the ends of its scale; write --low 1 --high 5")
    return low, high


def _spec(
    items: Mapping[str, Any], output: Path, settings: Mapping[str, Any], scale: tuple[float, float], budget: str | None,
) -> Spec:  # fmt: skip
    path = output.with_name(output.name + ".judge.toml")  # is not written; messages and the store are named by it
    here = dict(settings)
    if os.path.exists(str(here["judge"])):
        here["judge"] = os.path.abspath(str(here["judge"]))
    document = {
        "name": legal_name(path.stem), "seed": 0, "method": "base", "store": output.name + ".judge.sqlite",
        "items": items, "rating": {"kind": "score", "low": scale[0], "high": scale[1]},
        "goal": {"budget": budget or "1"}, "raters": [{"name": _RATER, "kind": "llm", "attempts": _ATTEMPTS, **here}],
    }  # fmt: skip
    spec = spec_of(document, path)
    if budget is not None:
        return spec
    check_settings(spec)
    return spec_of({**document, "goal": {"budget": f"{_most(spec):f}"}}, path)


def _most(spec: Spec) -> Decimal:
    """The most that all items can cost, every attempt at each of them counted."""
    _, most, _ = item_prices(spec, spec.raters[0], open_pool(spec)[0])
    return to_money(_ATTEMPTS * total(most) + _UNIT)


def _written(campaign: Campaign, read: Table, output: str, reason: str) -> JudgedTable:
    with campaign.look() as now:
        found = _ratings(now.store, now.facts.items)
        judges = judges_found(now)
        spent = now.status.spent
    order = [found.get(name) for name in _ids(campaign.spec, read)]
    values = np.array([np.nan if one is None else one[0] for one in order])
    doubts = np.array([np.nan if one is None else one[1] for one in order])
    write_table(read_table({**read.arrays(), VALUE: values, DOUBT: doubts}), output)
    rated = int(np.count_nonzero(~np.isnan(values)))
    judge = judges[0] if judges else None
    if judge is not None and judge.priced == IN_TOML:  # there is none that anybody wrote
        judge = replace(judge, priced="as given")
    return JudgedTable(output, read.rows, rated, read.rows - rated, spent, reason, judge)


def _ratings(store: Any, items: int) -> dict[str, tuple[float, float]]:
    """id → (rating, uncertainty), NaN where there is none."""
    names = {row.position: row.id for row in audit.walk(audit.item_keys, store, items)}
    rows = (row for row in audit.walk(audit.rating_rows, store, items) if row.value is not None)
    return {names[row.position]: (row.value, np.nan if row.doubt is None else row.doubt) for row in rows}


def _ids(spec: Spec, table: Table) -> list[str]:
    """Ids as the campaign has them."""
    column = id_column(spec, table.columns)
    if column is None:
        return [str(i) for i in range(table.rows)]
    found: list[str] = table.texts(column).tolist()
    return found


def parsed_prices(text: str) -> dict[str, str]:
    """Prices as they are typed: input=0.15,output=0.60."""
    out: dict[str, str] = {}
    for part in text.split(","):
        name, mark, amount = (word.strip() for word in part.partition("="))
        if not mark:
            raise InputError("write prices per million tokens as --prices input=0.15,output=0.60")
        out[name] = amount
    return out
