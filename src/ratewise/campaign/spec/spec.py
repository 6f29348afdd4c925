"""CAMPAIGN.toml → a frozen record, or one error that names every mistake with its line and a hint."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, get_args

from pydantic import Field

from ratewise.campaign.spec.checks import (
    check_budget,
    check_goal,
    check_inputs,
    check_learned,
    check_learner,
    check_raters,
    check_rating,
    check_refit,
    check_start,
    check_store,
)
from ratewise.campaign.spec.document import read_text
from ratewise.campaign.spec.fields import Keys, Section, keys_of, one_of, plain, read_keys
from ratewise.campaign.spec.mistakes import Mistakes, shown
from ratewise.campaign.spec.raters import RaterSpec, rater_keys, rater_of, rater_toml, read_raters
from ratewise.campaign.spec.syntax import parse_all
from ratewise.campaign.spec.tables import (
    Goal,
    InputsSpec,
    ItemsSpec,
    LearnerSpec,
    RatingSpec,
    Seed,
    StartSpec,
    rating_keys,
    rating_scale,
)
from ratewise.core.names import ESTIMANDS, Estimand
from ratewise.questions.goal import target_of
from ratewise.raters.kind import TEXT, Says
from ratewise.raters.kinds import KINDS
from ratewise.raters.scale import RatingScale

CampaignMethod = Literal["auto", "base"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A campaign as it was asked for: immutable, every default filled in, every amount exact."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$"), Says("text of 1 to 40 letters, digits, - and _")]
    seed: Seed
    method: Annotated[CampaignMethod, one_of(get_args(CampaignMethod))] = "auto"
    estimand: Annotated[Estimand, one_of(ESTIMANDS)] = "pool"
    level: Annotated[float, Field(gt=0, lt=1), Says("a number between 0 and 1")] = 0.95
    currency: Annotated[str | None, TEXT, Field(max_length=12), Says('a sign or a word, such as "€" or "USD"')] = None
    claim: Annotated[
        str | None, TEXT, Field(max_length=200), Says('what a yes means, such as "the assistant is right"')
    ] = None
    store: Annotated[str, TEXT, Says("the path of a SQLite file or a postgresql:// address, as text")]
    items: ItemsSpec
    learner: LearnerSpec | None = None
    inputs: InputsSpec | None = None
    start: StartSpec | None = None
    teacher: str | None = None  # start.from: the TOML of a finished campaign
    scale: RatingScale
    goal: Goal
    raters: tuple[RaterSpec, ...]
    path: Path

    @property
    def folder(self) -> Path:
        """The folder of the TOML; its relative paths start here."""
        return self.path.parent

    @property
    def table_path(self) -> Path:
        """The table of items, from the root."""
        return self.folder / self.items.table

    @property
    def refits(self) -> bool:
        """Whether a model is trained on the labels of closed rounds."""
        return self.learner is not None and self.learner.refit is not None

    @property
    def target_se(self) -> float | None:
        """The standard error to reach, however the precision was stated."""
        return target_of(self.goal.target_se, self.goal.within, self.level)

    @property
    def strong(self) -> RaterSpec:
        """The rater that is right."""
        return self.raters[-1]

    @property
    def weak(self) -> RaterSpec | None:
        """The cheapest rater; None if there is only the strong one."""
        return self.raters[0] if len(self.raters) > 1 else None

    def number(self, rater: int, raw: object) -> float:
        """A rater's answer as a number; a ValueError where it is none, or a strong rating is off the scale."""
        return self.scale.strong(raw) if rater == len(self.raters) - 1 else self.scale.weak(raw)

    def rating(self, rater: int, raw: object) -> float:
        """What a rater's answers to a question come to, as a number: an answer, or the mean of two that differ."""
        strong, made = rater == len(self.raters) - 1, self.raters[rater]
        split = KINDS[made.kind].votes(made.settings) > 1
        return self.scale.strong(raw, split=split) if strong else self.scale.weak(raw)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary for JSON, in the form of the TOML; amounts are text, and `None` and the path are left out."""
        document = asdict(self)
        del document["path"]
        document["raters"] = tuple(rater_toml(rater) for rater in document["raters"])
        document["rating"] = rating_keys(self.scale)
        del document["scale"], document["teacher"]
        if self.teacher is not None:
            document["start"] = {"from": self.teacher}
        return {name: _for_json(value) for name, value in document.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], path: str | os.PathLike[str]) -> "Spec":
        """The inverse of `to_dict`; what is not one is a SpecError."""
        file = os.fsdecode(path)
        return _spec(_with_moment(data), Path(file), Mistakes(file, data))


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """Read a campaign's TOML; every mistake in it is reported at once, as one SpecError."""
    file = os.fsdecode(path)
    read = parse_all(read_text(file))
    return _spec(read.values, Path(file), Mistakes(file, read.values, read.text, wrong=read.wrong, broken=read.broken))


_TOP = "at the top of the file, above the first [table]"
_TABLES = {
    "items": ItemsSpec,
    "rating": RatingSpec,
    "goal": Goal,
    "raters": RaterSpec,
    "learner": LearnerSpec,
    "inputs": InputsSpec,
    "start": StartSpec,
}
_EXAMPLES = {
    "items": 'a table [items] with table = "items.csv"',
    "rating": 'a table [rating] with kind = "binary"',
    "goal": 'a table [goal] with budget = "200" or within = 0.02',
    "learner": 'a table [learner] with kind = "words"',
    "inputs": 'a table [inputs] with strata = "topic"',
    "start": 'a table [start] with labels = "human"',
}


def _homes() -> dict[str, str]:
    """The table that each key belongs to; keys such as name and kind, which fit several, are left out."""
    tables = {name: keys_of(record) for name, record in _TABLES.items()} | {"raters": rater_keys()}
    owners = [(_TOP, keys_of(Spec)), *((f"under [{name}]", keys) for name, keys in tables.items())]
    listed = [(name, where.replace("[raters]", "[[raters]]")) for where, keys in owners for name in keys]
    names = [name for name, _ in listed]
    return {name: where for name, where in listed if names.count(name) == 1} | dict.fromkeys(_TABLES, _TOP)


def _spec(document: Mapping[str, Any], path: Path, mistakes: Mistakes) -> Spec:
    """Every table is read and checked before the first mistake is raised."""
    homes = _homes()
    top = read_keys(keys_of(Spec), document, (), mistakes, homes=homes, also=_TABLES)
    items, rating, goal = (_table(document, name, mistakes, homes) for name in ("items", "rating", "goal"))
    inputs = _table(document, "inputs", mistakes, homes) if document.get("inputs") is not None else None
    learner = _table(document, "learner", mistakes, homes) if document.get("learner") is not None else None
    begun = _start(document, mistakes, homes)
    raters = read_raters(document, mistakes, homes)
    check_start(begun, inputs, raters, mistakes)
    check_store(top, mistakes)
    check_inputs(inputs, items, mistakes)
    check_learner(learner, items, mistakes)
    check_learned(items, begun, raters, mistakes)
    check_refit(learner, items, (inputs, begun), raters, mistakes)
    check_rating(rating, mistakes)
    check_goal(goal, mistakes)
    check_raters(raters, mistakes)
    check_budget(goal, raters, mistakes)
    mistakes.raise_any()
    name = top.good.get("name", legal_name(path.stem))
    return Spec(
        **{"name": name, "store": f"{name}.sqlite", **top.good},
        items=ItemsSpec(**items.good), inputs=None if inputs is None else InputsSpec(**inputs.good),
        learner=None if learner is None else LearnerSpec(**learner.good),
        start=None if begun is None or "labels" not in begun.good else StartSpec(**begun.good),
        teacher=None if begun is None or "labels" in begun.good else begun.good.get("from"),
        scale=rating_scale(rating.good), goal=Goal(**goal.good),
        raters=tuple(rater_of(rater.good) for rater in raters), path=path.absolute(),
    )  # fmt: skip


_From = TypedDict("_From", {"from": Annotated[str, TEXT, Says("the path of a finished campaign's TOML, as text")]})


def _start(document: Mapping[str, Any], mistakes: Mistakes, homes: Mapping[str, str]) -> Section | None:
    """[start]: old labels, or a finished campaign to learn from."""
    raw = document.get("start")
    if not isinstance(raw, dict):
        return None if raw is None else _table(document, "start", mistakes, homes)
    keys: Keys = {**keys_of(StartSpec), **keys_of(_From)}
    if raw.get("from") is not None:
        keys = {name: (replace(said, needed=""), taken) for name, (said, taken) in keys.items()}
    return read_keys(keys, raw, ("start",), mistakes, homes=homes)


def _table(document: Mapping[str, Any], name: str, mistakes: Mistakes, homes: Mapping[str, str]) -> Section:
    raw = document.get(name)
    if isinstance(raw, dict):
        return read_keys(keys_of(_TABLES[name]), raw, (name,), mistakes, homes=homes)
    if raw is None:
        mistakes.lacks((name,), f"is missing; write {_EXAMPLES[name]}")
    else:
        mistakes.add((name,), f"must be a table; got {shown(raw)}; write {_EXAMPLES[name]}")
    return Section()


def legal_name(stem: str) -> str:
    """A file's name without its ending, as the name of a campaign."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-")[:40] or "campaign"


def _with_moment(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The deadline as a date and time, which JSON writes as text; anything else is left to the checks."""
    goal = data.get("goal")
    if not isinstance(goal, dict) or not isinstance(goal.get("deadline"), str):
        return data
    with suppress(ValueError):
        return {**data, "goal": {**goal, "deadline": datetime.fromisoformat(goal["deadline"])}}
    return data


def _for_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _for_json(part) for name, part in value.items() if part is not None}
    if isinstance(value, tuple):
        return [_for_json(part) for part in value]
    if isinstance(value, Decimal):
        return plain(value)
    return value.isoformat() if isinstance(value, datetime) else value
