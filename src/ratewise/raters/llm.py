"""A language model as a rater, over HTTP: any OpenAI-compatible endpoint."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from ratewise.judges.client import CallError, Client
from ratewise.judges.judge import LADDER, Forgetful, Judge, Memory
from ratewise.judges.ladder import WISHES, Wish
from ratewise.judges.prices import PARTS, TokenPrices, given_prices, listed_prices
from ratewise.judges.prompt import LONGEST, JudgeSpec, columns_read
from ratewise.judges.template import KINDS, load
from ratewise.judges.verdicts import Verdicts
from ratewise.raters.keys import A_COLUMN, COLUMNS, STILL_THE_SAME, Money, Text, Texts, hint, key
from ratewise.raters.kind import Quote, RaterPlace, RaterSpec
from ratewise.raters.protocol import Answer, Failure, Question, Rater

_PRICES = "prices"  # the fact that keeps what tokens cost
_JUDGED = "the ratings so far came from the old judge, and a changed judge is another rater"
_LONGEST_MODEL = 200


def _address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise hint('write it as "https://api.example.com/v1"')
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise hint("take keys and options out of it; a key belongs into an environment variable: key_env")
    return value.rstrip("/")


def _variable(value: str) -> str:
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,63}", value):
        raise hint("name the variable in capitals; a key itself does not belong into this file")
    return value


def _model(value: str) -> str:
    if len(value) > _LONGEST_MODEL or not value.isprintable():
        raise hint("write the model's name as its server knows it")
    return value


def _parts(value: object) -> object:
    """Prices of what can be paid by them."""
    if not isinstance(value, Mapping) or not value or not set(value) <= set(PARTS):
        raise hint(f"its keys are {', '.join(PARTS)}")
    if "call" not in value and not {"input", "output"} <= set(value):
        raise hint("give both input and output, or the price of a call")
    return value


_Part = Literal["input", "output", "cached", "call"]


class LlmSettings(RaterSpec):
    """Kind "llm"."""

    model: Annotated[Text, AfterValidator(_model)] = key(
        ..., "a language model", must_be="the name of a model, as text", example='"small-judge"', fixed=_JUDGED
    )
    base_url: Annotated[Text, AfterValidator(_address)] = key(
        ..., "any OpenAI-compatible endpoint", must_be="the address of an endpoint", example='"http://127.0.0.1:8000/v1"',
        note=STILL_THE_SAME,
    )  # fmt: skip
    key_env: Annotated[str, AfterValidator(_variable)] | None = key(
        None, "the variable that holds the key; the key itself stands in no file",
        must_be="the name of an environment variable", example='"OPENAI_API_KEY"',
    )  # fmt: skip
    judge: Text = key(
        ..., "binary | likert | score | pairwise, or a template of your own",
        must_be=f"one of {', '.join(KINDS)}, or the path of a template", example='"binary"', fixed=_JUDGED,
    )  # fmt: skip
    criterion: Text = key(
        "The answer is correct.", "what is judged", must_be="what is judged, in a sentence", example='"It is correct."',
        fixed=_JUDGED,
    )  # fmt: skip
    show: Texts = key((), "the columns that it sees", must_be=COLUMNS, example='["question", "answer"]', fixed=_JUDGED)
    a: Text | None = key(
        None, "of pairwise: the column of one answer", must_be=A_COLUMN, example='"answer_a"', fixed=_JUDGED
    )
    b: Text | None = key(
        None, "of pairwise: the column of the other one", must_be=A_COLUMN, example='"answer_b"', fixed=_JUDGED
    )
    samples: int = key(1, "times that it is asked; of pairwise: in each order", ge=1, le=100, fixed=_JUDGED)
    probability: Wish = key("auto", " | ".join(WISHES), fixed=_JUDGED)
    structured: bool = key(True, "whether the server is asked to enforce the form of answers; false: never")
    prices: Annotated[dict[_Part, Annotated[Money, Field(ge=0, lt=1_000_000)]], BeforeValidator(_parts)] | None = key(
        None, "per million tokens; default: a dated price list",
        must_be='prices per million tokens, such as { input = "0.15", output = "0.60" }',
        example='{ input = "0.15", output = "0.60" }', fixed="ratings were chosen and paid for by them",
    )  # fmt: skip
    tokens_per_minute: float | None = key(None, "the service's limit", gt=0, example="200000")
    max_tokens: int | None = key(
        None, "of one answer; default: the template's", ge=1, le=1_000_000, example="32", fixed=_JUDGED
    )
    temperature: float | None = key(
        None, "default: 0 for one sample, else the model's own", ge=0, le=2, example="0", fixed=_JUDGED
    )
    longest: int = key(
        LONGEST, "characters of a cell; more is cut, with a note to the judge", ge=100, le=10_000_000, fixed=_JUDGED
    )

    own_limits: ClassVar[bool] = True
    quotes: ClassVar[bool] = True
    found_out: ClassVar[str | None] = LADDER

    def make(self, place: RaterPlace) -> Rater:
        return LlmRater(self, place)

    @property
    def reads(self) -> tuple[str, ...]:
        return columns_read(self.show, self.a, self.b)

    @property
    def answers(self) -> int:
        return self.samples

    @property
    def doubts(self) -> bool:
        return self.probability != "none" or self.samples > 1 or self.a is not None

    def quote(self, place: RaterPlace) -> Quote:
        spec, prices = spec_of(self, place), prices_of(self, place.memory or Forgetful())
        return Quote(lambda item: spec.quote(item, prices), spec.calls, prices.source, {_PRICES: prices.to_json()})

    def check(self, folder: str) -> str:
        kind = load(self.judge, folder).kind
        if kind == "pairwise" and not (self.a and self.b):
            return 'compares two answers; write a = "answer_a" and b = "answer_b"'
        if kind != "pairwise" and (self.a or self.b):
            return f'is a {kind} judge and has no a and b; write show = ["question", "answer"]'
        if kind != "pairwise" and not self.show:
            return 'needs to know what it is shown; write show = ["question", "answer"]'
        return ""

    def digests(self, folder: str) -> dict[str, str]:
        return {"its template": load(self.judge, folder).digest}


class LlmRater:
    """Asks a judge about each item; a call that failed is asked again by the campaign, which pays for it."""

    def __init__(self, settings: LlmSettings, place: RaterPlace) -> None:
        memory = place.memory or Forgetful()
        client = Client(
            settings.base_url, settings.key_env, timeout=settings.timeout, concurrency=settings.concurrency,
            per_minute=settings.per_minute, tokens_per_minute=settings.tokens_per_minute, patience=settings.patience,
        )  # fmt: skip
        prices = prices_of(settings, memory) if settings.is_quoted else None
        self._hard = place.strong
        self._flat = not settings.is_quoted
        self._judge = Judge(spec_of(settings, place), client, prices, memory)

    async def rate(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """One verdict after the other."""
        replies: list[Answer | Failure] = []
        for question in questions:
            try:
                verdict = await self._judge.rate(question.item, question.key, question.most)
            except CallError as error:
                paid = None if self._flat and error.billed else error.paid
                replies.append(Failure(error.reason, paid, error.after))
                continue
            value = verdict.hard if self._hard else verdict.value
            price = None if self._flat and not verdict.repeated else verdict.price
            replies.append(Answer(value, price, verdict.note, verdict.doubt))
        return replies

    async def close(self) -> None:
        """Close the connections."""
        await self._judge.client.close()


def prices_of(settings: LlmSettings, memory: Memory) -> TokenPrices:
    """What tokens cost: as it was when the campaign began, as the TOML says, or by the price list."""
    kept = memory.recall(_PRICES)
    if kept is not None:
        return TokenPrices.from_json(kept)
    if settings.prices is not None:
        return given_prices(settings.prices)
    return listed_prices(settings.model, settings.base_url)


def spec_of(settings: LlmSettings, place: RaterPlace) -> JudgeSpec:
    """The judge by its settings; its scale is the template's, or the campaign's."""
    template = _load(settings.judge, place.folder)
    low, high = place.scale
    if template.low is not None and template.high is not None:
        low, high = template.low, template.high
    return JudgeSpec(
        template=template, verdicts=Verdicts.of(template.kind, low, high), model=settings.model,
        criterion=settings.criterion, show=settings.show, a=settings.a or "", b=settings.b or "",
        longest=settings.longest, samples=settings.samples, wish=settings.probability,
        temperature=settings.temperature, max_tokens=settings.max_tokens, structured=settings.structured,
    )  # fmt: skip


_load = lru_cache(maxsize=16)(load)
