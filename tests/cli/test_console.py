"""What every command prints through: JSON that is JSON, one line for an error, names as they are typed."""

import json
import sys
import warnings

import pytest

from ratewise.cli.console import STOPPED, as_typed, live, one_line_errors, print_json, print_notes, progress_bar
from ratewise.errors import InputError, Message, RatewiseWarning, SpecError, StoreError, argument

SMALL = Message(f"{argument('pool_size')} must be above 0;\n got 0")


def test_json_has_no_number_that_json_has_not(capsys):
    print_json({"a": float("nan"), "b": [1.5, float("inf")], "ü": "é"})
    out = capsys.readouterr().out
    assert json.loads(out) == {"a": None, "b": [1.5, None], "ü": "é"}
    assert "é" in out


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (
            InputError(Message(f"{argument('pool_size')} must be above 0;\n got 0")),
            2,
            "ratewise: --pool-size must be above 0; got 0\n",
        ),
        (StoreError("it failed"), 3, "ratewise: it failed\n"),
        (SpecError("a", "b"), 2, "ratewise: 2 mistakes:\na\nb\n"),
        (KeyboardInterrupt(), STOPPED, "ratewise: stopped\n"),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(capsys, error, code, said):
    with pytest.raises(SystemExit) as left, one_line_errors():
        raise error
    assert left.value.code == code
    assert capsys.readouterr() == ("", said)


def test_warnings_and_notes_are_lines_too(capsys):
    with one_line_errors():
        warnings.warn("few labels", RatewiseWarning, stacklevel=1)
        assert capsys.readouterr().err == "ratewise: warning: few labels\n"  # at once: a command may take days
    print_notes(("seen",))
    assert capsys.readouterr().err == "note: seen\n"


def test_a_command_that_is_stopped_has_told_its_warnings(capsys):
    def stopped() -> None:
        with one_line_errors():
            warnings.warn("few labels", RatewiseWarning, stacklevel=1)
            raise KeyboardInterrupt

    with pytest.raises(SystemExit):
        stopped()
    assert capsys.readouterr().err == "ratewise: warning: few labels\nratewise: stopped\n"


def test_names_are_options_and_no_bar_where_nobody_looks():
    said = Message(f"give {argument('weak_cost')} for every weak_cost.csv")
    assert as_typed(said) == "give --weak-cost for every weak_cost.csv"
    with progress_bar("trials", quiet=True) as told:
        assert told is None


def test_bars_and_the_live_view_are_there_at_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for shown in (live(quiet=False), progress_bar("trials", quiet=False)):
        with shown as told:
            assert told is not None
