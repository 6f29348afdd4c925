"""A rater that was trained with `ratewise train`: it answers in this process, in batches."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator

from ratewise.errors import InputError
from ratewise.learn.networks import TrainedModel, check_folder
from ratewise.learn.rater_folder import CARD, SETTINGS, TrainedOn, read_settings
from ratewise.raters.kind import TEXT, Knows, RaterKind, RaterPlace, Says, hint
from ratewise.raters.protocol import Answer, Failure, Question, Rater, failure_from

_DEVICES = ("auto", "cpu", "cuda")
_DEAREST = 1_000_000  # an hour
_SECONDS = 3600
_PLACES = Decimal("1e-12")  # of a price by the time that it took


def _device(value: str) -> str:
    if value not in _DEVICES:
        raise hint("one of auto, cpu and cuda")
    return value


def _per_hour(value: str) -> str:
    try:
        amount = Decimal(value)
    except InvalidOperation:
        amount = Decimal(0)
    if not (amount.is_finite() and 0 < amount < _DEAREST):
        raise hint('write digits and a point, such as "2.50"')
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedSettings(RaterKind):
    """The keys of kind "trained"."""

    path: Annotated[str, TEXT, Says("the folder that ratewise train has written, as text", 'path = "judge/"')]
    per_hour: Annotated[
        str | None, TEXT, AfterValidator(_per_hour), Says('an amount above 0, as text such as "2.50"')
    ] = None  # of the machine; the price is then what one rating is expected to cost
    device: Annotated[str, AfterValidator(_device), Says('"auto", "cpu" or "cuda"')] = "auto"

    example = (
        ('path = "judge/"', "the folder that ratewise train has written"),
        ('per_hour = "2.50"', "of its machine; price is then what to expect"),
        ('device = "auto"', "auto | cpu | cuda"),
    )
    batch = 64
    fixed: ClassVar[Mapping[str, str]] = {"path": "the ratings so far came from the old one"}
    doubts = True

    def make(self, place: RaterPlace) -> Rater:
        """The rater that asks the model."""
        return TrainedRater(self, place)

    @property
    def flat_price(self) -> bool:
        """Whether the time that the machine takes is not counted."""
        return self.per_hour is None

    def check(self, folder: str) -> str:
        """What is wrong with the model's folder."""
        try:
            check_folder(folder_of(self, folder))
        except InputError as error:
            return str(error)
        return ""

    def sources(self, folder: str) -> tuple[str, ...]:
        """The model's settings and its card."""
        return tuple(str(folder_of(self, folder) / name) for name in (SETTINGS, CARD))

    def knows(self, folder: str) -> Knows:
        """The items that it was trained on."""
        return knows_of(folder_of(self, folder))


class TrainedRater:
    """Probability of a high rating, on the scale of the ratings; its doubt is p(1 − p) on that scale.

    With a price per hour, the items of a call share the time that the model has computed on them; loading it and
    waiting for questions is not counted.
    """

    def __init__(self, settings: TrainedSettings, place: RaterPlace) -> None:
        self._per_hour = None if settings.per_hour is None else Decimal(settings.per_hour)
        self._folder, self._device = folder_of(settings, place.folder), settings.device
        self._names = read_settings(self._folder).text
        self._model: TrainedModel | None = None

    async def rate(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """All questions of a call in one go, beside everything else that runs."""
        try:
            return await asyncio.to_thread(self._rate, [question.item for question in questions])
        except InputError as error:
            return [failure_from(error)] * len(questions)

    async def close(self) -> None:
        """Let go of the model."""
        self._model = None

    def _rate(self, items: list[Mapping[str, Any]]) -> list[Answer | Failure]:
        if self._model is None:
            self._model = TrainedModel.load(self._folder, self._device)
        low, high = self._model.settings.low, self._model.settings.high
        began = time.perf_counter()
        said = self._model.probabilities([row_of(item, self._names) for item in items])
        price = self._price(time.perf_counter() - began, len(items))
        return [Answer(low + (high - low) * p, price, doubt=(high - low) ** 2 * p * (1 - p)) for p in said.tolist()]

    def _price(self, seconds: float, items: int) -> Decimal | None:
        """An item's share of what the machine has cost; None where the TOML's price counts."""
        if self._per_hour is None:
            return None
        return (self._per_hour * Decimal(seconds) / _SECONDS / items).quantize(_PLACES)


def row_of(item: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """The texts of an item, in the order that the model reads them."""
    return tuple("" if item.get(name) is None else str(item[name]) for name in names)


def folder_of(settings: TrainedSettings, folder: str) -> Path:
    """The rater's folder, seen from the TOML's."""
    return Path(folder) / Path(settings.path).expanduser()


def knows_of(place: Path) -> Knows:
    """Whether an item, by id and row, was trained on."""
    known, names = TrainedOn.read(place), read_settings(place).text
    return lambda id, row: known.knows(id, row_of(row, names))
