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

from pydantic import AfterValidator, BeforeValidator, Field

from ratewise.campaign.spec.checks import Document, reserved
from ratewise.campaign.spec.fields import (
    LARGEST_SEED,
    LONGEST_WAIT,
    NAME,
    Budget,
    Columns,
    Keys,
    Mistakes,
    Moment,
    Price,
    PriceText,
    Section,
    Shares,
    Words,
    either,
    keys_of,
    one_of,
    plain,
    read_keys,
    shown,
)
from ratewise.campaign.spec.toml import Parsed, parse_all, read_text
from ratewise.core.names import ESTIMANDS, Estimand
from ratewise.learn.embeddings import Kind as LearnerKind
from ratewise.learn.embeddings import Learner
from ratewise.questions.goal import target_of
from ratewise.raters.kind import TEXT, Column, RaterKind, Says, hint
from ratewise.raters.kinds import KINDS
from ratewise.raters.people import hourly_prices
from ratewise.raters.scale import LARGEST, RatingScale
from ratewise.raters.scale import Kind as ScaleKind
from ratewise.tables.words import meaning_of

Refitting = Literal["each round"]  # when a model is trained on the campaign's own labels
Unanswered = Literal["keep open", "give up"]  # questions, when the deadline has passed

_BOUND = Field(ge=-LARGEST, le=LARGEST)
_BOUND_WORDS = Says(f"a number from -{LARGEST:g} to {LARGEST:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsSpec:
    """[items]: the table of what is rated, and which of its columns are used."""

    table: Annotated[str, TEXT, Says("the path of a table, as text", 'table = "items.csv"')]
    format: Annotated[str | None, TEXT, Says('the format of the table, as text, such as "inspect_ai"')] = None
    at_most: Annotated[int | None, Field(ge=100), Says("a whole number of items from 100 on")] = None
    id: Column = None
    features: Annotated[Columns, Says('a list of names of columns, such as ["length", "topic"]')] = ()
    text: Annotated[Columns, Says('a list of names of columns, such as ["question", "answer"]')] = ()
    uncertainty: Column = None
    clusters: Column = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerSpec:
    """[learner]: how the texts of [items] become numbers to learn from."""

    kind: Annotated[LearnerKind, one_of(get_args(LearnerKind))] = "words"
    model: Annotated[str | None, TEXT, Says("the path or name of an embedding model, as text")] = None
    base_url: Annotated[str | None, TEXT, Says("the address of an OpenAI-compatible endpoint, as text")] = None
    key_env: Annotated[str | None, TEXT, Says("the name of an environment variable, as text")] = None
    token_price: PriceText = None  # of a million tokens
    refit: Annotated[Refitting | None, one_of(get_args(Refitting))] = None  # train on the labels of closed rounds
    init: Annotated[str | None, TEXT, Says("the path or name of a model to start training from, as text")] = None

    @property
    def learner(self) -> Learner:
        return Learner(self.kind, self.model, self.base_url, self.key_env, self.token_price)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """[goal]: when to stop; at least one of `budget`, `target_se` and `within` is there, the deadline is in UTC."""

    budget: Budget = None
    target_se: Annotated[float | None, Field(gt=0), Says("a number above 0")] = None
    within: Annotated[float | None, Field(gt=0), Says("a number above 0")] = None  # half-width of the interval
    deadline: Moment = None
    unanswered: Annotated[Unanswered | None, one_of(get_args(Unanswered))] = None  # "keep open"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputsSpec:
    """[inputs]: by which strata the items are chosen; without shares or a plan, in proportion to their sizes."""

    strata: Annotated[str, TEXT, Says("the name of a column of the table, as text", 'strata = "topic"')]
    shares: Annotated[Shares | None, Says("a number above 0 for each stratum, such as { easy = 1, hard = 4 }")] = None
    plan: Annotated[str | None, TEXT, Says("the path of a plan's JSON, as text")] = None
    centre: Annotated[float | None, _BOUND, _BOUND_WORDS] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSpec:
    """[start]: labels that are there already, and how they were drawn: at random, by a column of rates, or by hand."""

    labels: Annotated[str, TEXT, Says("the name of a column of the table, as text", 'labels = "human"')]
    drawn: Annotated[str, TEXT, Says('"at random", "by hand", or the name of a column of rates')] = "at random"


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingSpec:
    """[rating], as it is written."""

    kind: Annotated[ScaleKind, one_of(get_args(ScaleKind), 'kind = "binary", "likert", "score" or "pairwise"')]
    low: Annotated[float, _BOUND, _BOUND_WORDS] = 0.0
    high: Annotated[float, _BOUND, _BOUND_WORDS] = 1.0
    positive: Annotated[str | Words | None, Says("a word that counts as 1, or a list of them")] = None
    scale: Annotated[
        Words | dict[str, float] | None, Says("a list of words from the worst to the best, or { bad = 0, good = 1 }")
    ] = None


def rating_scale(good: Mapping[str, Any]) -> RatingScale:
    """The scale that the keys of [rating] stand for."""
    ends = {name: good[name] for name in ("low", "high") if name in good}
    return RatingScale.of(good["kind"], **ends, said=meaning_of(good.get("positive"), good.get("scale")))


def rating_keys(scale: RatingScale) -> dict[str, Any]:
    """The keys of [rating] that stand for a scale."""
    keys: dict[str, Any] = {"kind": scale.kind}
    if scale.words:
        return keys | {"scale": dict(scale.words)}
    if scale.kind in {"likert", "score"}:
        keys |= {"low": scale.low, "high": scale.high}
    return keys | ({"positive": scale.positive} if scale.positive else {})


@dataclass(frozen=True, slots=True)
class SecretSeed:
    """A seed that is in an environment variable, so that it stands in no file."""

    env: str


def _seed(value: object) -> object:
    if not isinstance(value, dict):
        return value
    name = value.get("env")
    if set(value) != {"env"} or not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise hint('for one in the environment write seed = { env = "NAME" }')
    return SecretSeed(name)


_Number = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
Seed = Annotated[_Number | SecretSeed, BeforeValidator(_seed), Says("a whole number from 0 to 2^63 − 1", "seed = 7")]


LostCalls = Literal["ask again", "count as paid"]

_LARGEST_BATCH = 1_000_000
_WAIT = Says(f"a number of seconds from 0 to {LONGEST_WAIT:,.0f}")
_EXAMPLE = "a table [[raters]] for each rater, from the cheapest to the one that is right"


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError("unknown")
    return kind


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterSpec:
    """[[raters]]: one rater, with every default filled in; the keys that only its kind has are in `settings`.

    With `price_column` the price is the item's own: `price` is None, and so are `max_price` and `failed_price` unless
    they are given.
    """

    name: Annotated[str, NAME, Says("a name, as text", 'name = "judge"')]
    kind: Annotated[str, AfterValidator(_known), one_of(tuple(KINDS), f"kind = {either(KINDS)}")]
    settings: RaterKind
    price: Price = None
    price_column: Column = None
    max_price: Price = None
    failed_price: Price = None
    concurrency: Annotated[int, Field(ge=1, le=1000), Says("a whole number from 1 to 1,000")] = 1
    batch: Annotated[int, Field(ge=1, le=_LARGEST_BATCH), Says(f"a whole number from 1 to {_LARGEST_BATCH:,}")] = 1
    timeout: Annotated[
        float, Field(gt=0, le=LONGEST_WAIT), Says(f"a number of seconds above 0, at most {LONGEST_WAIT:,.0f}")
    ] = 60.0
    attempts: Annotated[int, Field(ge=1, le=1000), Says("a whole number from 1 to 1,000")] = 3
    backoff: Annotated[float, Field(ge=0, le=LONGEST_WAIT), _WAIT] = 1.0
    per_minute: Annotated[float | None, Field(gt=0), Says("a number above 0")] = None
    lost_calls: Annotated[LostCalls, one_of(get_args(LostCalls))] = "ask again"


def rater_keys(kind: object = None) -> Keys:
    """All that may stand in a [[raters]]: first what every rater has, and where kinds share a word, this kind's."""
    own = [its for name, its in KINDS.items() if name == kind]
    common = dict(keys_of(RaterSpec))
    out = {name: common.pop(name) for name in ("name", "kind")}
    for its in (*KINDS.values(), *own):
        out |= {name: (replace(said, needed=""), taken) for name, (said, taken) in keys_of(its).items()}
    return out | common


def keys_of_kind(kind: object) -> list[str]:
    """What may stand in a [[raters]] of this kind; of all kinds where it is none."""
    if not isinstance(kind, str) or kind not in KINDS:
        return list(rater_keys())
    common = [name for name in keys_of(RaterSpec) if name not in ("name", "kind")]
    return ["name", "kind", *keys_of(KINDS[kind]), *common]


def _raters(document: Mapping[str, Any], mistakes: Mistakes) -> tuple[Section, ...]:
    """What of each [[raters]] can be read; an empty section where one is no table."""
    raw = document.get("raters")
    if not isinstance(raw, list) or not raw:
        problem = "is missing" if raw is None else "is empty" if raw == [] else f"must be a list; got {shown(raw)}"
        tell = mistakes.lacks if raw is None else mistakes.add
        tell(("raters",), f"{problem}; write {_EXAMPLE}")
        return ()
    sections = []
    for number, rater in enumerate(raw):
        place = ("raters", number)
        if isinstance(rater, dict):
            kind = rater.get("kind")
            sections.append(read_keys(rater_keys(kind), rater, place, mistakes, listed=keys_of_kind(kind)))
        else:
            mistakes.add(place, f"must be a table; got {shown(rater)}; write {_EXAMPLE}")
            sections.append(Section(mistakes))
    return tuple(sections)


def rater_of(good: Mapping[str, Any]) -> RaterSpec:
    """A rater with the defaults that depend on other keys; the other defaults stand in the record."""
    kind = KINDS[good["kind"]]
    own = keys_of(kind)
    settings = kind(**{name: value for name, value in good.items() if name in own})
    common = {name: value for name, value in good.items() if name not in own}
    by_hour = hourly_prices(good)
    price = good.get("price", None if by_hour is None else by_hour[0])
    derived = {"batch": kind.batch, "price": price, "max_price": reserved(good), "failed_price": price}
    return RaterSpec(**{**derived, **common, "settings": settings})


def rater_toml(rater: Mapping[str, Any]) -> dict[str, Any]:
    """The values as they stand in the TOML: the keys of the kind beside the others."""
    out: dict[str, Any] = {}
    for name, value in rater.items():
        out |= value if name == "settings" else {name: value}
    return out


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
        return self.path.parent

    @property
    def table_path(self) -> Path:
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
        return self.raters[-1]

    @property
    def weak(self) -> RaterSpec | None:
        """The cheapest rater; None if there is only the strong one."""
        return self.raters[0] if len(self.raters) > 1 else None

    @property
    def steps(self) -> range:
        """Numbers of the raters in the log; there is no step 0 where there is just one, who is the strong one."""
        return range(0 if len(self.raters) > 1 else 1, max(len(self.raters), 2))

    def at(self, step: int) -> RaterSpec:
        return self.raters[self.index(step)]

    def index(self, step: int) -> int:
        """Which of the raters a step's is."""
        return step - self.steps[0]

    def number(self, step: int, raw: object, *, split: bool = False) -> float:
        """A rater's answer as a number; a ValueError where it is none, or a strong rating is off the scale."""
        return self.scale.strong(raw, split=split) if step == self.steps[-1] else self.scale.weak(raw)

    def rating(self, step: int, raw: object) -> float:
        """What a rater's answers to a question come to, as a number: an answer, or the mean of two that differ."""
        return self.number(step, raw, split=self.at(step).settings.votes > 1)

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
        return _spec(Parsed(_with_moment(data)), file)


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """Read a campaign's TOML; every mistake in it is reported at once, as one SpecError."""
    file = os.fsdecode(path)
    return _spec(parse_all(read_text(file)), file)


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
_NEEDED = ("items", "rating", "goal")
_EXAMPLES = {
    "items": 'a table [items] with table = "items.csv"',
    "rating": 'a table [rating] with kind = "binary"',
    "goal": 'a table [goal] with budget = "200" or within = 0.02',
    "inputs": 'a table [inputs] with strata = "topic"',
    "learner": 'a table [learner] with kind = "words"',
    "start": 'a table [start] with labels = "human"',
}


def _homes() -> dict[str, str]:
    """The table that each key belongs to; keys such as name and kind, which fit several, are left out."""
    tables = {name: keys_of(record) for name, record in _TABLES.items()} | {"raters": rater_keys()}
    owners = [(_TOP, keys_of(Spec)), *((f"under [{name}]", keys) for name, keys in tables.items())]
    listed = [(name, where.replace("[raters]", "[[raters]]")) for where, keys in owners for name in keys]
    names = [name for name, _ in listed]
    return {name: where for name, where in listed if names.count(name) == 1} | dict.fromkeys(_TABLES, _TOP)


def _spec(read: Parsed, file: str) -> Spec:
    """Every table is read and checked before the first mistake is raised."""
    values, path, mistakes = read.values, Path(file), Mistakes(file, read, _homes())
    top = read_keys(keys_of(Spec), values, (), mistakes, also=_TABLES)
    tables = {name: _table(values, name, mistakes) for name in _EXAMPLES}
    document = Document(top=top, **tables, raters=_raters(values, mistakes))
    document.check()
    mistakes.raise_any()
    name = top.good.get("name", legal_name(path.stem))
    records = {
        name: _TABLES[name](**table.good) if table.place else None for name, table in tables.items()
        if name not in ("rating", "start")
    }  # fmt: skip
    start = tables["start"].good
    return Spec(
        **{"name": name, "store": f"{name}.sqlite", **top.good, **records},
        start=StartSpec(**start) if "labels" in start else None,
        teacher=None if "labels" in start else start.get("from"), scale=rating_scale(tables["rating"].good),
        raters=tuple(rater_of(rater.good) for rater in document.raters), path=path.absolute(),
    )  # fmt: skip


def _table(document: Mapping[str, Any], name: str, mistakes: Mistakes) -> Section:
    """What of a table can be read; an empty section where it is left out, or no table."""
    raw = document.get(name)
    if isinstance(raw, dict):
        keys = keys_of(_TABLES[name])
        if name == "start":  # old labels, or a finished campaign to learn from
            keys = {**keys, **keys_of(_From)}
            if raw.get("from") is not None:
                keys = {name: (replace(said, needed=""), taken) for name, (said, taken) in keys.items()}
        return read_keys(keys, raw, (name,), mistakes)
    if raw is not None:
        mistakes.add((name,), f"must be a table; got {shown(raw)}; write {_EXAMPLES[name]}")
    elif name in _NEEDED:
        mistakes.lacks((name,), f"is missing; write {_EXAMPLES[name]}")
    return Section(mistakes)


_From = TypedDict("_From", {"from": Annotated[str, TEXT, Says("the path of a finished campaign's TOML, as text")]})


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
