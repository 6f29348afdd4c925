"""What the tests of tables share."""

from collections.abc import Callable
from typing import Any

import pytest

from ratewise.errors import TableError


@pytest.fixture
def complaint() -> Callable[..., str]:
    """The message of the TableError that a call must raise: one line, whatever the input holds."""

    def message(call: Callable[..., Any], *args: Any, **options: Any) -> str:
        with pytest.raises(TableError) as caught:
            call(*args, **options)
        text = str(caught.value)
        assert text.isprintable(), text  # no line break, no control character
        assert caught.value.exit_code == 2
        return text

    return message
