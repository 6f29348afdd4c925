"""A campaign as it was asked for: one frozen record for each table of the TOML, with every default filled in."""

import re
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, SerializeAsAny

from ratewise.core.names import Estimand
from ratewise.learn.embeddings import Kind as LearnerKind
from ratewise.learn.embeddings import Learner
from ratewise.questions.goal import target_of
from ratewise.questions.question import Kind as QuestionKind
from ratewise.raters.keys import (
    A_COLUMN,
    COLUMNS,
    DECIMALS,
    LARGEST_AMOUNT,
    PRICE,
    Money,
    Price,
    Text,
    Texts,
    TomlTable,
    hint,
    key,
    plain,
)
from ratewise.raters.kind import RaterSpec
from ratewise.raters.kinds import KINDS
from ratewise.raters.scale import LARGEST, RatingScale
from ratewise.raters.scale import Kind as ScaleKind
from ratewise.tables.words import meaning_of

LARGEST_SEED = 2**63 - 1
PriorKind = Literal["probability", "confidence", "votes", "similarity", "none"]  # kinds of scores
Refitting = Literal["each round"]  # when a model is trained on the campaign's own labels
Unanswered = Literal["keep open", "give up"]  # questions, when the deadline has passed
CampaignMethod = Literal["auto", "base"]

_DRAWN = "items were drawn from the table as it was"
_ASKED = "rates and order of the items went by it"
_ORDERED = "items were put into their order by it"


def _bound() -> Any:
    return key(None, ge=-LARGEST, le=LARGEST)


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


def _asked(kind: object) -> object:
    if kind in ("audit", "regress"):
        raise hint(f"leave [question] out, and {kind} the table that `ratewise export` writes")
    return kind


_Above0 = Annotated[float, Field(gt=0)]
_Weight = Annotated[float, Field(gt=0, le=1e9)]


class ItemsSpec(TomlTable):
    """[items]: the table of what is rated, and which of its columns are used."""

    table: Text = key(must_be="the path of a table, as text", example='"items.csv"', fixed=_DRAWN)
    format: Text | None = key(None, must_be='the format of the table, as text, such as "inspect_ai"', fixed=_DRAWN)
    at_most: int | None = key(None, ge=100, must_be="a whole number of items from 100 on", fixed=_DRAWN)
    id: Text | None = key(None, must_be=A_COLUMN, fixed=_DRAWN)
    features: Texts = key((), must_be='a list of names of columns, such as ["length", "topic"]', fixed=_DRAWN)
    text: Texts = key((), must_be=COLUMNS, fixed=_DRAWN)
    uncertainty: Text | None = key(None, must_be=A_COLUMN, fixed=_DRAWN)
    clusters: Text | None = key(None, must_be=A_COLUMN, fixed=_DRAWN)


class LearnerSpec(TomlTable):
    """[learner]: how the texts of [items] become numbers to learn from, and what scores mean before any label."""

    kind: LearnerKind = key("words")
    model: Text | None = key(None, must_be="the path or name of an embedding model, as text")
    base_url: Text | None = key(None, must_be="the address of an OpenAI-compatible endpoint, as text")
    key_env: Text | None = key(None, must_be="the name of an environment variable, as text")
    token_price: Price | None = key(None, must_be=PRICE)  # of a million tokens
    refit: Refitting | None = key(None)  # train on the labels of closed rounds
    prior: PriorKind = key("none")  # what the weak rater's scores are: what these mean counts while labels are few
    init: Text | None = key(None, must_be="the path or name of a model to start training from, as text")

    @property
    def learner(self) -> Learner:
        price = None if self.token_price is None else plain(self.token_price)
        return Learner(self.kind, self.model, self.base_url, self.key_env, price)


class Goal(TomlTable):
    """[goal]: when to stop; at least one of `budget`, `target_se` and `within` is there, the deadline is in UTC."""

    budget: Money | None = key(
        None, gt=0, must_be=f"an amount above 0 and below {LARGEST_AMOUNT:,}, with at most {DECIMALS} decimals"
    )
    target_se: float | None = key(None, gt=0)
    within: _Above0 | dict[Text, _Above0] | None = key(  # half-width of the interval
        None, must_be="a number above 0, or one by the name of an answer, such as { law = 0.05 }"
    )
    decide: float | Literal["order", "top"] | None = key(
        None, must_be='a number, on which side of it an answer is, or "order" or "top" of a leaderboard',
        fixed="it would be chosen after looking at ratings",
    )  # fmt: skip
    deadline: Annotated[datetime, BeforeValidator(_moment)] | None = key(
        None, must_be="a date-time, such as 2026-12-01T18:00:00Z"
    )
    unanswered: Unanswered | None = key(None)  # "keep open"


class QuestionSpec(TomlTable):
    """[question]: what is asked of all items together, besides the mean."""

    kind: Annotated[QuestionKind, BeforeValidator(_asked)] = key(example='"slices"')
    by: Text | None = key(None, must_be=A_COLUMN, example='"topic"')
    system: Text | None = key(None, must_be=A_COLUMN, example='"system"')
    baseline: Text | None = key(None, must_be="the name of a system, as text")
    pairs: dict[Text, Text] | None = key(None, must_be='two columns, { a = "model_a", b = "model_b" }')
    at: float | None = key(None, gt=0, lt=1)  # quantile
    weights: dict[Text, _Weight] | None = key(
        None, must_be="a number above 0 by the name of an answer, such as { law = 2 }"
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that say where an item stands."""
        if self.kind == "leaderboard":
            pairs = self.pairs or {}
            return pairs.get("a", "model_a"), pairs.get("b", "model_b")
        return tuple(name for name in (self.by, self.system) if name is not None)


class InputsSpec(TomlTable):
    """[inputs]: by which strata the items are chosen; without shares or a plan, in proportion to their sizes."""

    strata: Text = key(must_be=A_COLUMN, example='"topic"')
    shares: dict[Text, Annotated[float, Field(gt=0, le=1e9)]] | None = key(
        None, must_be="a number above 0 for each stratum, such as { easy = 1, hard = 4 }"
    )
    plan: Text | None = key(None, must_be="the path of a plan's JSON, as text")
    centre: float | None = _bound()


class StartSpec(TomlTable):
    """[start]: labels that are there already, and how they were drawn: at random, by a column of rates, or by hand."""

    labels: Text = key(must_be=A_COLUMN, example='"human"')
    drawn: Text = key("at random", must_be='"at random", "by hand", or the name of a column of rates')


class RatingSpec(TomlTable):
    """[rating], as it is written."""

    kind: ScaleKind = key(example='"binary", "likert", "score" or "pairwise"')
    low: float | None = _bound()
    high: float | None = _bound()
    positive: Text | Texts | None = key(None, must_be="a word that counts as 1, or a list of them")
    scale: Texts | dict[str, float] | None = key(
        None, must_be="a list of words from the worst to the best, or { bad = 0, good = 1 }"
    )


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

    name: str = key(
        pattern=r"^[A-Za-z0-9_-]{1,40}$", must_be="text of 1 to 40 letters, digits, - and _", fixed="it names the store"
    )
    seed: Annotated[Annotated[int, Field(ge=0, le=LARGEST_SEED)] | SecretSeed, BeforeValidator(_seed)] = key(
        must_be="a whole number from 0 to 2^63 − 1", example="7", fixed="the draws would be others"
    )
    method: CampaignMethod = key("auto", fixed="the draws so far followed the old one")
    estimand: Estimand = key("pool", fixed="it would be chosen after looking at ratings")
    level: float = key(0.95, gt=0, lt=1)
    currency: Annotated[Text, Field(max_length=12)] | None = key(None, must_be='a sign or a word, such as "€" or "USD"')
    claim: Annotated[Text, Field(max_length=200)] | None = key(
        None, must_be='what a yes means, such as "the assistant is right"'
    )
    store: Text = key(must_be="the path of a SQLite file or a postgresql:// address, as text")
    items: ItemsSpec = key(must_be="a table", example='a table [items] with table = "items.csv"')
    rating: RatingSpec = key(must_be="a table", example='a table [rating] with kind = "binary"')
    goal: Goal = key(must_be="a table", example='a table [goal] with budget = "200" or within = 0.02')
    raters: tuple[_Rater, ...] = key(
        must_be="a list", example="a table [[raters]] for each rater, from the cheapest to the one that is right"
    )
    learner: LearnerSpec | None = key(
        None, must_be="a table", example='a table [learner] with kind = "words"', fixed=_DRAWN
    )
    inputs: InputsSpec | None = key(
        None, must_be="a table", example='a table [inputs] with strata = "topic"', fixed=_ORDERED
    )
    question: QuestionSpec | None = key(
        None, must_be="a table", example='a table [question] with kind = "slices"', fixed=_ASKED
    )
    start: StartSpec | None = key(
        None, must_be="a table", example='a table [start] with labels = "human"', fixed=_ORDERED
    )
    teacher: Text | None = key(
        None, must_be="the path of a finished campaign's TOML, as text", fixed="plans went by what it taught"
    )  # start.from
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
        """The standard error of the mean to reach, however the precision was stated; None for another question."""
        if self.asks or isinstance(self.goal.within, dict):
            return None
        return target_of(self.goal.target_se, self.goal.within, self.level)

    @property
    def asks(self) -> bool:
        """Whether it has another question than the mean."""
        return self.question is not None and self.question.kind != "mean"

    @property
    def together(self) -> str | None:
        """The column of what is drawn as one: rows of the same prompt, where systems are compared."""
        return self.items.clusters if self.question is not None and self.question.kind == "compare" else None

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
