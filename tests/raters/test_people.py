"""People as a kind: nobody calls them, and their settings have limits. Answers are in tests/campaign/clients."""

import pytest
from pydantic import ValidationError

from ratewise.raters.keys import keys_of
from ratewise.raters.kind import RaterSpec
from ratewise.raters.people import PeopleSettings


def test_they_are_not_called_and_their_votes_stay_as_they_are():
    assert PeopleSettings(name="r", kind="people").make(None) is None
    money = {"per_hour", "answer_seconds", "most_seconds", "checks", "repeats"}
    fixed = {name for name, key in keys_of(PeopleSettings).items() if key.fixed}
    assert fixed - set(RaterSpec.model_fields) == {"votes", "a", "b", "adjudicator"} | money
    assert PeopleSettings(name="r", kind="people") == PeopleSettings(name="r", kind="people", votes=1, lease=600.0)


@pytest.mark.parametrize("wrong", [{"votes": 0}, {"votes": 100}, {"lease": 0}, {"lease": 1e9}, {"votes": 1.5}])
def test_limits(wrong):
    with pytest.raises(ValidationError):
        PeopleSettings(name="r", kind="people", **wrong)


def test_settings_that_do_not_fit_together(tmp_path):
    (tmp_path / "guide.md").write_text("x")
    for settings, word in (
        (PeopleSettings(name="r", kind="people", a="x"), "go together"),
        (PeopleSettings(name="r", kind="people", adjudicator="ann"), "at least 2"),
        (PeopleSettings(name="r", kind="people", guidelines="none.md"), "no file"),
        (PeopleSettings(name="r", kind="people", guidelines="guide.md", a="x", b="y", votes=2, adjudicator="ann"), ""),
    ):
        said = settings.check(str(tmp_path))
        assert word in said
        assert bool(word) == bool(said)
