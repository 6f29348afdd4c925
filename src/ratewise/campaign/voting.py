"""How the answers of several people become one rating, by the settings of their rater."""

from ratewise.campaign.spec.spec import Spec
from ratewise.raters.people import PeopleSettings
from ratewise.store.desk import Rule, decided_by, median_of, name_key


def decides(settings: PeopleSettings, person: str) -> bool:
    """Whether this is the person who is asked only where the votes of others split."""
    return settings.adjudicator is not None and name_key(person) == name_key(settings.adjudicator)


def rule_of(settings: PeopleSettings) -> Rule:
    """The median of the votes; or with an adjudicator, what all say or what that person says."""
    if settings.adjudicator is not None:
        return decided_by(settings.votes, settings.adjudicator)
    return median_of(settings.votes)


def rules_in_words(spec: Spec) -> tuple[str, ...]:
    """The rule of each rater who is several people, in a sentence."""
    return tuple(
        f"{rater.name}: {rater.settings.votes} people rate each item; {_where_they_differ(rater.settings)}"
        for rater in spec.raters
        if isinstance(rater.settings, PeopleSettings) and rater.settings.votes > 1
    )


def _where_they_differ(settings: PeopleSettings) -> str:
    if settings.adjudicator is not None:
        return f"where they differ, {settings.adjudicator} decides"
    if settings.votes == 2:
        return "where they differ, the mean of the two counts"
    return "the median counts, and of an even split the mean of the two middle answers"
