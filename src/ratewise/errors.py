"""Every error ratewise raises on purpose.

    RatewiseError            catch this one to catch them all
    ├── InputError           what was given cannot be used (exit code 2); also a ValueError
    │   ├── TableError       a table, file or column is missing, unreadable or of the wrong kind
    │   └── PolicyError      no optimal policy exists for these numbers
    └── OutsideError         something outside failed (a rater, a database); what was done is kept (exit code 3)

A message says what is wrong, where, the legal range, and what to do, in one line.
"""


class RatewiseError(Exception):
    """The root of the tree."""

    exit_code = 1


class InputError(RatewiseError, ValueError):
    """The input or the usage is wrong."""

    exit_code = 2


class TableError(InputError):
    """A table, a file or a column is missing, unreadable or of the wrong kind."""


class PolicyError(InputError):
    """There is no optimal policy for these numbers."""


class OutsideError(RatewiseError):
    """Something outside failed; everything done so far is kept."""

    exit_code = 3


class RatewiseWarning(UserWarning):
    """The input is legal, but probably not what was meant."""
