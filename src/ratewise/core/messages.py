"""Messages that name arguments: as Python writes them, or as the reader types them.

A message is text with the arguments' Python names. Whoever shows it elsewhere, such as the command line, asks for the
same words with the names that are typed there: nothing is found and replaced in text.
"""

from collections.abc import Callable

_MARK = "\x1f"  # never part of a message: separates arguments from words until the message is made


def argument(name: str) -> str:
    """An argument's name, for a message that is being written; a default or a value may stand with it."""
    return f"{_MARK}{name}{_MARK}"


class Message(str):
    """Text that knows where its arguments are named."""

    parts: tuple[str, ...]  # words and arguments by turns

    def __new__(cls, written: str) -> "Message":
        parts = tuple(written.split(_MARK))
        made = super().__new__(cls, "".join(parts))
        made.parts = parts
        return made

    def typed(self, name: Callable[[str], str]) -> str:
        return "".join(name(part) if k % 2 else part for k, part in enumerate(self.parts))

    def within(self, before: str, after: str = "") -> "Message":
        return Message(before + _MARK.join(self.parts) + after)

    def __reduce__(self) -> tuple[type["Message"], tuple[str]]:
        return Message, (_MARK.join(self.parts),)
