"""Every error ratewise raises on purpose.

    RatewiseError            catch this one to catch them all
    ├── InputError           what was given cannot be used (exit code 2); also a ValueError
    │   ├── TableError       a table, file or column is missing, unreadable or of the wrong kind
    │   │   └── TooLargeError  a number is too large to be worked with
    │   ├── PolicyError      no optimal policy exists for these numbers
    │   ├── MissingAnswersError  answers did not come, and the ends of the scale to count them at cannot be used
    │   ├── SpecError        a campaign's TOML cannot be used; names every mistake in it
    │   │   └── ColumnsError it names columns that its table does not have; also a TableError
    │   └── AlreadyBegunError  a campaign of that name lies beside, in another store
    └── OutsideError         something outside failed (a rater, a database); what was done is kept (exit code 3)
        ├── StoreError       where a campaign is kept cannot be read or written
        └── RaterDownError   a rater failed again and again

A message says what is wrong, where, the legal range, and what to do, in one line; SpecError has one for each mistake.
"""

from collections.abc import Callable


class RatewiseError(Exception):
    """The root of the tree."""

    exit_code = 1


class InputError(RatewiseError, ValueError):
    """The input or the usage is wrong."""

    exit_code = 2


class TableError(InputError):
    """A table, a file or a column is missing, unreadable or of the wrong kind."""


class TooLargeError(TableError):
    """A number in a table is too large to be worked with."""


class PolicyError(InputError):
    """There is no optimal policy for these numbers."""


class MissingAnswersError(InputError):
    """Answers that were asked for did not come, and the ends of the scale to count them at cannot be used."""


class SpecError(InputError):
    """A campaign's TOML cannot be used: one line for each mistake, under a line that counts them if several."""

    def __init__(self, *mistakes: str) -> None:
        super().__init__(*mistakes)
        self.mistakes = mistakes

    def __str__(self) -> str:
        if len(self.mistakes) == 1:
            return self.mistakes[0]
        return "\n".join((f"{len(self.mistakes)} mistakes:", *self.mistakes))


class ColumnsError(SpecError, TableError):
    """A campaign names columns that its table does not have: one line for each."""


class AlreadyBegunError(InputError):
    """A campaign of this name has begun in another store; it must be said that a new one is meant."""


class OutsideError(RatewiseError):
    """Something outside failed; everything done so far is kept."""

    exit_code = 3


class StoreError(OutsideError):
    """The place where a campaign is kept cannot be read or written."""

    def __init__(self, message: str, *, may_pass: bool = False) -> None:
        super().__init__(message)
        self.may_pass = may_pass  # worth trying again in a moment: a full disk, a server that restarts


class RaterDownError(OutsideError):
    """A rater failed again and again; its questions stay open."""


class RatewiseWarning(UserWarning):
    """The input is legal, but probably not what was meant."""


# Messages are text with the arguments' Python names. Whoever shows one elsewhere, such as the command line, asks for
# the same words with the names that are typed there: nothing is found and replaced in text.


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
