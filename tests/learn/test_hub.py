"""Libraries that load models say nothing themselves."""

import logging

import pytest

from ratewise.learn.networks import quiet_libraries, reason_of


def test_libraries_are_quiet_while_a_model_is_loaded_and_speak_again(caplog: pytest.LogCaptureFixture) -> None:
    import transformers.utils  # noqa: F401 - which sets the levels when it is imported

    library = logging.getLogger("huggingface_hub")
    before = library.level
    with quiet_libraries():
        library.warning("retrying in 8 s")
    assert caplog.text == ""
    assert library.level == before


def test_a_reason_is_one_short_line() -> None:
    assert reason_of(OSError("no\nsuch   file")) == "no such file"
    assert len(reason_of(OSError("word " * 100))) <= 200
