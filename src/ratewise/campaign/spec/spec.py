"""A campaign as it was asked for: one frozen record for each table of the TOML, with every default filled in."""

import re
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, SerializeAsAny

from ratewise.core.names import ESTIMANDS, Estimand
from ratewise.learn.embeddings import Kind as LearnerKind
from ratewise.learn.embeddings import Learner
from ratewise.questions.goal import target_of
from ratewise.raters.keys import (
    A_COLUMN,
    DECIMALS,
    LARGEST_AMOUNT,
    PRICE,
    Money,
    Positive,
    Price,
    Text,
    Texts,
    TomlKey,
    TomlTable,
    hint,
    one_of,
    plain,
)
from ratewise.raters.kind import RaterSpec
from ratewise.raters.kinds import KINDS
from ratewise.raters.scale import LARGEST, RatingScale
from ratewise.raters.scale import Kind as ScaleKind
from ratewise.tables.words import meaning_of

LARGEST_SEED = 2**63 - 1
Refitting = Literal["each round"]  # when a model is trained on the campaign's own labels
Unanswered = Literal["keep open", "give up"]  # questions, when the deadline has passed
CampaignMethod = Literal["auto", "base"]

_DRAWN = "items were drawn from the table as it was"
_ORDERED = "items were put into their order by it"
_Bound = Annotated[Annotated[float, Field(ge=-LARGEST, le=LARGEST)] | None, TomlKey(
    f"a number from -{LARGEST:g} to {LARGEST:g}"
)]  # fmt: skip


def _moment(value: object) -> datetime:
    """A moment in UTC; what has no offset is local time."""
    if isinstance(value, str):
        raise hint("leave the quotes out")
    if not isinstance(value, datetime):
        raise hint("add the time of day" if isinstance(value, date) else "write a day and a time of day")
    try:
        return value.astimezone(UTC)
    except (OverflowError, OSError, ValueError):
        raise hint("choose a year that clocks can count") from None


class ItemsSpec(TomlTable):
    """[items]: the table of what is rated, and which of its columns are used."""

    table: Annotated[Text, TomlKey("the path of a table, as text", 'table = "items.csv"', fixed=_DRAWN)]
    format: Annotated[Text | None, TomlKey('the format of the table, as text, such as "inspect_ai"', fixed=_DRAWN)] = (
        None
    )
    at_most: Annotated[
        Annotated[int, Field(ge=100)] | None, TomlKey("a whole number of items from 100 on", fixed=_DRAWN)
    ] = None
    id: Annotated[Text | None, TomlKey(A_COLUMN, fixed=_DRAWN)] = None
    features: Annotated[Texts, TomlKey('a list of names of columns, such as ["length", "topic"]', fixed=_DRAWN)] = ()
    text: Annotated[Texts, TomlKey('a list of names of columns, such as ["question", "answer"]', fixed=_DRAWN)] = ()
    uncertainty: Annotated[Text | None, TomlKey(A_COLUMN, fixed=_DRAWN)] = None
    clusters: Annotated[Text | None, TomlKey(A_COLUMN, fixed=_DRAWN)] = None


class LearnerSpec(TomlTable):
    """[learner]: how the texts of [items] become numbers to learn from."""

    kind: Annotated[LearnerKind, one_of(get_args(LearnerKind))] = "words"
    model: Annotated[Text | None, TomlKey("the path or name of an embedding model, as text")] = None
    base_url: Annotated[Text | None, TomlKey("the address of an OpenAI-compatible endpoint, as text")] = None
    key_env: Annotated[Text | None, TomlKey("the name of an environment variable, as text")] = None
    token_price: Annotated[Price | None, TomlKey(PRICE)] = None  # of a million tokens
    refit: Annotated[Refitting | None, one_of(get_args(Refitting))] = None  # train on the labels of closed rounds
    init: Annotated[Text | None, TomlKey("the path or name of a model to start training from, as text")] = None

    @property
    def learner(self) -> Learner:
        price = None if self.token_price is None else plain(self.token_price)
        return Learner(self.kind, self.model, self.base_url, self.key_env, price)


class Goal(TomlTable):
    """[goal]: when to stop; at least one of `budget`, `target_se` and `within` is there, the deadline is in UTC."""

    budget: Annotated[
        Annotated[Money, Field(gt=0)] | None,
        TomlKey(f"an amount above 0 and below {LARGEST_AMOUNT:,}, with at most {DECIMALS} decimals"),
    ] = None
    target_se: Annotated[Positive | None, TomlKey("a number above 0")] = None
    within: Annotated[Positive | None, TomlKey("a number above 0")] = None  # half-width of the interval
    deadline: Annotated[
        Annotated[datetime, BeforeValidator(_moment)] | None,
        TomlKey("a date-time, such as 2026-12-01T18:00:00Z"),
    ] = None
    unanswered: Annotated[Unanswered | None, one_of(get_args(Unanswered))] = None  # "keep open"


class InputsSpec(TomlTable):
    """[inputs]: by which strata the items are chosen; without shares or a plan, in proportion to their sizes."""

    strata: Annotated[Text, TomlKey("the name of a column of the table, as text", 'strata = "topic"')]
    shares: Annotated[
        dict[Text, Annotated[float, Field(gt=0, le=1e9)]] | None,
        TomlKey("a number above 0 for each stratum, such as { easy = 1, hard = 4 }"),
    ] = None
    plan: Annotated[Text | None, TomlKey("the path of a plan's JSON, as text")] = None
    centre: _Bound = None


class StartSpec(TomlTable):
    """[start]: labels that are there already, and how they were drawn: at random, by a column of rates, or by hand."""

    labels: Annotated[Text, TomlKey("the name of a column of the table, as text", 'labels = "human"')]
    drawn: Annotated[Text, TomlKey('"at random", "by hand", or the name of a column of rates')] = "at random"


class RatingSpec(TomlTable):
    """[rating], as it is written."""

    kind: Annotated[ScaleKind, one_of(get_args(ScaleKind), 'kind = "binary", "likert", "score" or "pairwise"')]
    low: _Bound = None
    high: _Bound = None
    positive: Annotated[Text | Texts | None, TomlKey("a word that counts as 1, or a list of them")] = None
    scale: Annotated[
        Texts | dict[str, float] | None,
        TomlKey("a list of words from the worst to the best, or { bad = 0, good = 1 }"),
    ] = None


class SecretSeed(TomlTable):
    """A seed that is in an environment variable, so that it stands in no file."""

    env: str


def _seed(value: object) -> object:
    if not isinstance(value, dict):
        return value
    if set(value) != {"env"} or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", str(value["env"])):
        raise hint('for one in the environment write seed = { env = "NAME" }')
    return SecretSeed(**value)


def _rater(value: object) -> RaterSpec:
    """A rater by its kind; of one without a kind, what it has in common with all."""
    if isinstance(value, RaterSpec):
        return value
    kind = value.get("kind") if isinstance(value, dict) else None
    return (KINDS.get(kind, _AnyRater) if isinstance(kind, str) else _AnyRater).model_validate(value)


def _known(kind: object) -> object:
    raise ValueError("unknown")


_Rater = Annotated[SerializeAsAny[RaterSpec], BeforeValidator(_rater)]


class Spec(TomlTable):
    """A campaign as it was asked for: immutable, every default filled in, every amount exact."""

    name: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")],
        TomlKey("text of 1 to 40 letters, digits, - and _", fixed="it names the store"),
    ]
    seed: Annotated[
        Annotated[int, Field(ge=0, le=LARGEST_SEED)] | SecretSeed, BeforeValidator(_seed),
        TomlKey("a whole number from 0 to 2^63 − 1", "seed = 7", fixed="the draws would be others"),
    ]  # fmt: skip
    method: Annotated[
        CampaignMethod, one_of(get_args(CampaignMethod), fixed="the draws so far followed the old one")
    ] = "auto"
    estimand: Annotated[Estimand, one_of(ESTIMANDS, fixed="it would be chosen after looking at ratings")] = "pool"
    level: Annotated[float, Field(gt=0, lt=1), TomlKey("a number between 0 and 1")] = 0.95
    currency: Annotated[
        Annotated[Text, Field(max_length=12)] | None, TomlKey('a sign or a word, such as "€" or "USD"')
    ] = None
    claim: Annotated[
        Annotated[Text, Field(max_length=200)] | None,
        TomlKey('what a yes means, such as "the assistant is right"'),
    ] = None
    store: Annotated[Text, TomlKey("the path of a SQLite file or a postgresql:// address, as text")]
    items: Annotated[ItemsSpec, TomlKey("a table", 'a table [items] with table = "items.csv"')]
    rating: Annotated[RatingSpec, TomlKey("a table", 'a table [rating] with kind = "binary"')]
    goal: Annotated[Goal, TomlKey("a table", 'a table [goal] with budget = "200" or within = 0.02')]
    raters: Annotated[
        tuple[_Rater, ...],
        TomlKey("a list", "a table [[raters]] for each rater, from the cheapest to the one that is right"),
    ]  # fmt: skip
    learner: Annotated[
        LearnerSpec | None, TomlKey("a table", 'a table [learner] with kind = "words"', fixed=_DRAWN)
    ] = None
    inputs: Annotated[
        InputsSpec | None, TomlKey("a table", 'a table [inputs] with strata = "topic"', fixed=_ORDERED)
    ] = None
    start: Annotated[StartSpec | None, TomlKey("a table", 'a table [start] with labels = "human"', fixed=_ORDERED)] = (
        None
    )
    teacher: Annotated[
        Text | None, TomlKey("the path of a finished campaign's TOML, as text", fixed="plans went by what it taught")
    ] = None  # start.from
    path: Path

    @cached_property
    def scale(self) -> RatingScale:
        """The scale that [rating] stands for; one of words runs between their lowest and highest number."""
        rating, said = self.rating, meaning_of(self.rating.positive, self.rating.scale)
        low, high = 0.0 if rating.low is None else rating.low, 1.0 if rating.high is None else rating.high
        low, high = said.bounds if said.scale and said.bounds is not None else (low, high)
        return RatingScale(rating.kind, low, high, said.positive, said.scale)

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

    def rating_of(self, step: int, raw: object) -> float:
        """What a rater's answers to a question come to, as a number: an answer, or the mean of two that differ."""
        return self.number(step, raw, split=self.at(step).answers > 1)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary for JSON, in the form of the TOML; amounts are text, and `None` and the path are left out."""
        document = self.model_dump(mode="json", exclude_none=True, exclude={"path", "teacher"})
        return document if self.teacher is None else {**document, "start": {"from": self.teacher}}


class _AnyRater(RaterSpec):
    """A rater whose kind is unknown."""

    model_config = ConfigDict(extra="ignore")

    kind: Annotated[str, BeforeValidator(_known)]
