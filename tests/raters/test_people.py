"""People as a kind: nobody calls them, and their settings have limits. Answers are in tests/campaign/clients."""

import pytest
from pydantic import TypeAdapter, ValidationError

from ratewise.raters.people import KIND, PeopleSettings


def test_they_are_not_called_and_their_votes_stay_as_they_are():
    assert KIND.make is None
    assert set(KIND.fixed) == {"votes"}
    assert PeopleSettings() == PeopleSettings(votes=1, lease=600.0)


@pytest.mark.parametrize("wrong", [{"votes": 0}, {"votes": 100}, {"lease": 0}, {"lease": 1e9}, {"votes": 1.5}])
def test_limits(wrong):
    with pytest.raises(ValidationError):
        TypeAdapter(PeopleSettings).validate_python(wrong)
