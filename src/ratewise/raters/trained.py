"""A rater that was trained with `ratewise train`: it answers in this process, in batches."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from ratewise.errors import InputError
from ratewise.raters.keys import TEXT, Says, hint
from ratewise.raters.kind import Knows, Place, RaterKind
from ratewise.raters.protocol import Answer, Failure, Question, failure_from
from ratewise.training.answering import TrainedModel
from ratewise.training.folder import CARD, SETTINGS, TrainedOn, read_settings

_DEVICES = ("auto", "cpu", "cuda")


def _device(value: str) -> str:
    if value not in _DEVICES:
        raise hint("one of auto, cpu and cuda")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedSettings:
    """The keys of kind "trained"."""

    path: Annotated[str, TEXT, Says("the folder that ratewise train has written, as text", 'path = "judge/"')]
    device: Annotated[str, AfterValidator(_device), Says('"auto", "cpu" or "cuda"')] = "auto"


class TrainedRater:
    """Probability of a high rating, on the scale of the ratings; its doubt is p(1 − p) on that scale."""

    def __init__(self, settings: TrainedSettings, place: Place) -> None:
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
        said = self._model.probabilities([row_of(item, self._names) for item in items])
        return [Answer(low + (high - low) * p, doubt=(high - low) ** 2 * p * (1 - p)) for p in said.tolist()]


def row_of(item: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """The texts of an item, in the order that the model reads them."""
    return tuple("" if item.get(name) is None else str(item[name]) for name in names)


def folder_of(settings: TrainedSettings, folder: str) -> Path:
    """The rater's folder, seen from the TOML's."""
    return Path(folder) / settings.path


def _check(settings: TrainedSettings, folder: str) -> str:
    try:
        read_settings(folder_of(settings, folder))
    except InputError as error:
        return str(error)
    return ""


def _knows(settings: TrainedSettings, folder: str) -> Knows:
    """Whether an item, by id and row, was trained on."""
    place = folder_of(settings, folder)
    known, names = TrainedOn.read(place), read_settings(place).text
    return lambda id, row: known.knows(id, row_of(row, names))


def _sources(settings: TrainedSettings, folder: str) -> tuple[str, ...]:
    return tuple(str(folder_of(settings, folder) / name) for name in (SETTINGS, CARD))


KIND = RaterKind(
    settings=TrainedSettings,
    make=TrainedRater,
    example=(
        ('path = "judge/"', "the folder that ratewise train has written"),
        ('device = "auto"', "auto | cpu | cuda"),
    ),
    batch=64,
    fixed={"path": "the ratings so far came from the old one"},
    flat_price=True,
    sources=_sources,
    check=_check,
    doubts=lambda _: True,
    knows=_knows,
)
