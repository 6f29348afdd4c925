"""A rater that was trained with `ratewise train`: it answers in this process, in batches."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from ratewise.errors import InputError
from ratewise.learn.networks import Network, check_folder
from ratewise.learn.rater_folder import CARD, SETTINGS, TrainedOn, read_settings
from ratewise.raters.keys import Money, Text, key
from ratewise.raters.kind import OLD_ONE, Knows, RaterPlace, RaterSpec, batch
from ratewise.raters.protocol import Answer, Failure, Question, Rater, failure_from

_DEAREST = 1_000_000  # an hour
_SECONDS = 3600
_PLACES = Decimal("1e-12")  # of a price by the time that it took


class TrainedSettings(RaterSpec):
    """Kind "trained"."""

    batch: int = batch(64)
    path: Text = key(
        ..., "the folder that ratewise train has written", example='"judge/"', fixed=OLD_ONE,
        must_be="the folder that ratewise train has written, as text",
    )  # fmt: skip
    per_hour: Money | None = key(
        None, "of its machine; price is then what to expect", gt=0, lt=_DEAREST,
        must_be=f'an amount above 0 and below {_DEAREST:,}, such as "2.50"', example='"2.50"',
    )  # fmt: skip
    device: Literal["auto", "cpu", "cuda"] = key("auto", "auto | cpu | cuda")

    def make(self, place: RaterPlace) -> Rater:
        return TrainedRater(self, place)

    @property
    def doubts(self) -> bool:
        return True

    @property
    def flat_price(self) -> bool:
        return self.per_hour is None  # else the time that the machine takes counts

    def check(self, folder: str) -> str:
        try:
            check_folder(folder_of(self, folder))
        except InputError as error:
            return str(error)
        return ""

    def sources(self, folder: str) -> tuple[str, ...]:
        return tuple(str(folder_of(self, folder) / name) for name in (SETTINGS, CARD))

    def knows(self, folder: str) -> Knows:
        return knows_of(folder_of(self, folder))


class TrainedRater:
    """Probability of a high rating, on the scale of the ratings; its doubt is p(1 − p) on that scale.

    With a price per hour, the items of a call share the time that the model has computed on them; loading it and
    waiting for questions is not counted, and nothing beyond what was reserved.
    """

    def __init__(self, settings: TrainedSettings, place: RaterPlace) -> None:
        self._per_hour = settings.per_hour
        self._folder, self._device = folder_of(settings, place.folder), settings.device
        self._names = read_settings(self._folder).text
        self._model: Network | None = None

    async def rate(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """All questions of a call in one go, beside everything else that runs."""
        try:
            return await asyncio.to_thread(self._rate, questions)
        except InputError as error:
            return [failure_from(error)] * len(questions)

    async def close(self) -> None:
        """Let go of the model."""
        self._model = None

    def _rate(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        if self._model is None:
            self._model = Network.load(self._folder, self._device)
        low, high = self._model.settings.low, self._model.settings.high
        began = time.perf_counter()
        said = self._model.probabilities([row_of(question.item, self._names) for question in questions])
        seconds = (time.perf_counter() - began) / len(questions)
        return [
            Answer(low + (high - low) * p, self._price(seconds, question), doubt=(high - low) ** 2 * p * (1 - p))
            for question, p in zip(questions, said.tolist(), strict=True)
        ]

    def _price(self, seconds: float, question: Question) -> Decimal | None:
        """An item's share of what the machine has cost; None where the TOML's price counts."""
        if self._per_hour is None:
            return None
        cost = (self._per_hour * Decimal(seconds) / _SECONDS).quantize(_PLACES)
        return cost if question.most is None else min(cost, question.most)


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
