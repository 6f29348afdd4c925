"""Words for the keys of a campaign's TOML: what a value must be, in plain words, and checks that many keys share."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError


@dataclass(frozen=True, slots=True)
class Says:
    """What a key must be, in plain words; `needed` is a line to write where the key may not be left out."""

    expected: str
    needed: str = ""
    choices: tuple[str, ...] = ()


def hint(sentence: str) -> PydanticCustomError:
    """An error for a value's check to raise; the sentence says what to type instead."""
    return PydanticCustomError("hint", sentence)


def text(value: str) -> str:
    """Text that is not blank."""
    if not value.strip():
        raise hint("write something between the quotes")
    if "\0" in value:
        raise hint("take the NUL sign out")
    return value


TEXT = AfterValidator(text)
A_COLUMN = "the name of a column of the table, as text"
Column = Annotated[str | None, TEXT, Says(A_COLUMN)]
