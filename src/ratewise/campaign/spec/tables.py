"""The tables of CAMPAIGN.toml as frozen records: each key says its type, its legal values and its default."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field

from ratewise.campaign.spec.fields import (
    LARGEST_SEED,
    Budget,
    Columns,
    Moment,
    PriceText,
    Shares,
    Words,
    one_of,
)
from ratewise.learn.text.learner import Kind as LearnerKind
from ratewise.learn.text.learner import Learner
from ratewise.raters.kind import TEXT, Column, Says, hint
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
        """The learner that the keys stand for."""
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
