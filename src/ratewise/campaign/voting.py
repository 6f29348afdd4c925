"""How the answers of several people become one rating, by the settings of their rater."""

from ratewise.queue.votes import Rule, decided_by, median_of, name_key
from ratewise.raters.people import PeopleSettings


def decides(settings: PeopleSettings, person: str) -> bool:
    """Whether this is the person who is asked only where the votes of others split."""
    return settings.adjudicator is not None and name_key(person) == name_key(settings.adjudicator)


def rule_of(settings: PeopleSettings) -> Rule:
    """The median of the votes; or with an adjudicator, what all say or what that person says."""
    if settings.adjudicator is not None:
        return decided_by(settings.votes, settings.adjudicator)
    return median_of(settings.votes)
