"""What a campaign's tables must be together: each check looks at what could be read and adds what is wrong."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from ratewise.campaign.spec.fields import Mistakes, Section, either, keys_of, plain, quoted
from ratewise.errors import InputError
from ratewise.raters.kinds import KINDS
from ratewise.raters.people import hourly_prices
from ratewise.raters.text import address_problem
from ratewise.tables.words import meaning_of

_BOUNDED = ("likert", "score")
_STORES = ("postgresql", "postgresql+psycopg", "postgres")


def check_store(top: Section, mistakes: Mistakes) -> None:
    """Check that the store is a file or PostgreSQL; the address is not shown, since it may hold a password."""
    scheme, mark, _ = str(top.good.get("store", "")).partition("://")
    if mark and scheme not in _STORES:
        mistakes.add(
            ("store",), f"is an address of {quoted(scheme + mark)}; write the path of a SQLite file, or postgresql://…"
        )
    elif mark:
        check_address(top, mistakes)


def check_address(top: Section, mistakes: Mistakes) -> None:
    """Check an address; no part of a password may be taken for a host."""
    problem = address_problem(str(top.good["store"]))
    if problem:
        mistakes.add(("store",), problem)


def check_rating(rating: Section, mistakes: Mistakes) -> None:
    """Check that likert and score have bounds, and the other kinds none."""
    kind = rating.good.get("kind")
    if kind:
        _check_words(rating, kind, mistakes)
    if "scale" in rating.raw:
        for name in sorted({"low", "high"} & set(rating.raw)):
            mistakes.add((*rating.place, name), "is said by the scale of words already; remove it")
    elif kind in _BOUNDED:
        _check_bounds(rating, kind, mistakes)
    elif kind:
        for name in sorted({"low", "high"} & set(rating.raw), reverse=True):
            mistakes.add((*rating.place, name), f"is not for a {kind} scale; remove it (likert and score have bounds)")


def _check_words(rating: Section, kind: str, mistakes: Mistakes) -> None:
    """Check that binary ratings have a positive word, and scores a scale of words."""
    for name, whose in (("positive", "binary"), ("scale", "score")):
        if name in rating.raw and kind != whose:
            mistakes.add((*rating.place, name), f"is for kind = {quoted(whose)}; remove it, or change the kind")
    try:
        meaning_of(rating.good.get("positive"), rating.good.get("scale"))
    except InputError as error:
        mistakes.add((*rating.place, "positive" if "positive" in rating.good else "scale"), f"cannot be used: {error}")


def _check_bounds(rating: Section, kind: str, mistakes: Mistakes) -> None:
    for name, example in (("low", "low = 1"), ("high", "high = 5")):
        place, value = (*rating.place, name), rating.good.get(name)
        if name not in rating.raw:
            mistakes.lacks(place, f"is missing; a {kind} scale needs both bounds, so write {example}")
        elif kind == "likert" and value is not None and not value.is_integer():
            mistakes.add(place, f'must be a whole number on a likert scale; got {value!r}; or write kind = "score"')
    low, high = rating.good.get("low"), rating.good.get("high")
    if low is not None and high is not None and not low < high:
        mistakes.add((*rating.place, "high"), f"must be above low = {low:g}; got {high:g}")


def check_inputs(inputs: Section | None, items: Section, mistakes: Mistakes) -> None:
    """Check that shares come from one place only, and that clusters and strata are not combined."""
    if inputs is not None and "clusters" in items.raw:
        mistakes.add((*items.place, "clusters"), "and [inputs] are both given; an interval knows one of them: keep one")
    if inputs is not None and {"shares", "plan"} <= set(inputs.raw):
        mistakes.add((*inputs.place, "plan"), "and shares are both given; keep the one that says how to choose")


def check_learner(learner: Section | None, items: Section, mistakes: Mistakes) -> None:
    """Check that there are texts to learn from, and that an embedding model, and nothing else, is named."""
    if learner is None:
        return
    if not items.good.get("text"):
        mistakes.add(learner.place, 'needs texts to learn from; write text = ["question", "answer"] under [items]')
    kind = learner.good.get("kind", "words")
    if kind == "embeddings" and "model" not in learner.raw:
        mistakes.add((*learner.place, "kind"), 'needs a model; write model = "path/to/model" below it')
    for name in ("model", "base_url", "key_env", "token_price"):
        if name in learner.raw and kind != "embeddings":
            mistakes.add((*learner.place, name), 'is for kind = "embeddings"; remove it, or change the kind')


def check_learned(items: Section, start: Section | None, raters: Sequence[Section], mistakes: Mistakes) -> None:
    """Check that no column of labels is learned from: it would tell every label, and nothing of other items."""
    labels = {raters[-1].raw.get("column")} if raters and raters[-1].good.get("kind") == "column" else set()
    labels |= set() if start is None else {start.raw.get("labels")}
    for key in ("features", "text"):
        for name in items.good.get(key) or ():
            if name in labels:
                mistakes.add((*items.place, key), f"names {name!r}, which holds the strong ratings; leave it out")


def check_refit(
    learner: Section | None, items: Section, others: tuple[Section | None, Section | None], raters: Sequence[Section],
    mistakes: Mistakes,
) -> None:  # fmt: skip
    """Check that a model may be trained on the campaign's own labels: one weak and one strong rater, and no groups."""
    if learner is None:
        return
    if "refit" not in learner.raw:
        if "init" in learner.raw:
            mistakes.add((*learner.place, "init"), 'is for refit = "each round"; add that, or remove it')
        return
    place, (inputs, start) = (*learner.place, "refit"), others
    if len(raters) != 2:
        mistakes.add(place, "needs one weak and one strong rater; leave it out, or list two [[raters]]")
    if any(rater.good.get("kind") == "trained" for rater in raters):
        mistakes.add(place, "is for campaigns without a trained rater; leave it out, or take another weak rater")
    if inputs is not None or "clusters" in items.raw:
        mistakes.add(place, "cannot be combined with [inputs] or items.clusters; leave one of them out")
    if start is not None and "from" in start.raw:
        mistakes.add(place, "cannot be combined with start.from; leave one of them out")


def check_start(
    start: Section | None, inputs: Section | None, raters: Sequence[Section], mistakes: Mistakes
) -> None:  # fmt: skip
    """Check that old labels are not combined with strata, nor, where they have rates, with a chain."""
    if start is None:
        return
    if inputs is not None:
        mistakes.add(
            start.place,
            "and [inputs] are both given, and a campaign can only have one: delete [inputs] and its strata to use the "
            "old labels, or delete [start] to choose inputs by strata",
        )
    if {"from", "labels"} <= set(start.raw):
        mistakes.add((*start.place, "from"), "and labels are both given; a campaign begins with one of them: keep one")
    if "from" in start.raw and len(raters) != 2:
        mistakes.add((*start.place, "from"), "needs one weak and one strong rater; leave it out")
    if len(raters) > 2 and start.good.get("drawn", "at random") not in ("at random", "by hand"):
        place = (*start.place, "drawn")
        mistakes.add(place, 'is a column of rates, which needs one weak and one strong rater; or write "at random"')


def check_goal(goal: Section, mistakes: Mistakes) -> None:
    """Check that there is something to stop at."""
    if goal.place and not {"budget", "target_se", "within"} & set(goal.raw):
        mistakes.lacks(goal.place, 'needs budget or within, or both; write budget = "200" or within = 0.02')
    if {"target_se", "within"} <= set(goal.raw):
        mistakes.add((*goal.place, "within"), "and target_se are both given; keep the one that says how precise")


def check_raters(raters: Sequence[Section], mistakes: Mistakes) -> None:
    """Check that raters have different names, the keys of their kind, and prices that fit together."""
    first: dict[str, int] = {}
    for number, rater in enumerate(raters):
        name = rater.good.get("name")
        if name is not None and first.setdefault(name, number) != number:
            other = mistakes.key(raters[first[name]].place)
            mistakes.add((*rater.place, "name"), f"{quoted(name)} is the name of {other} already; choose another")
        if rater.place:
            _check_kind(rater, mistakes)
            _check_prices(rater, mistakes)


def _check_kind(rater: Section, mistakes: Mistakes) -> None:
    """Check that a rater has all the keys its kind needs, and none of another kind's."""
    kind = rater.good.get("kind")
    if kind is None:
        return
    own = keys_of(KINDS[kind].settings)
    for name, (said, _) in own.items():
        if said.needed and name not in rater.raw:
            mistakes.lacks((*rater.place, name), f"is missing; a {kind} rater needs it, so write {said.needed}")
    for name in (name for name in rater.raw if name not in own):
        whose = [other for other, its in KINDS.items() if name in keys_of(its.settings)]
        if whose:
            place = (*rater.place, name)
            mistakes.add(place, f"is not for a {kind} rater; remove it, or write kind = {either(whose)}")


def _check_prices(rater: Section, mistakes: Mistakes) -> None:
    raw, good = rater.raw, rater.good
    if "price" in raw and "price_column" in raw:
        mistakes.add(
            (*rater.place, "price_column"), "and price are both given; keep the one that says what a call costs"
        )
    quoted = KINDS[good["kind"]].quote is not None if "kind" in good else False
    if quoted and "prices" in raw and {"price", "price_column"} & set(raw):
        mistakes.add((*rater.place, "prices"), "and price are both given; keep the one that says what a call costs")
    _check_hourly(rater, mistakes)
    by_hour = good.get("kind") == "people" and "per_hour" in raw
    if "price" not in raw and "price_column" not in raw and not by_hour and not quoted:
        mistakes.lacks(
            (*rater.place, "price"),
            'is missing; write price = "0.01", or price_column = "cost" for prices in the table',
        )
    price, most, failed = good.get("price"), reserved(good), good.get("failed_price")
    if price is not None and most is not None and most < price:
        mistakes.add((*rater.place, "max_price"), f"must be at least price = {plain(price)}; got {plain(most)}")
    elif most is not None and failed is not None and failed > most:
        mistakes.add(
            (*rater.place, "failed_price"),
            f"must be at most the {plain(most)} reserved for a call; got {plain(failed)}; lower it or raise max_price",
        )


def _check_hourly(rater: Section, mistakes: Mistakes) -> None:
    """Check that pay by the hour alone says what is paid; a stored campaign has the limit that follows beside it."""
    prices = hourly_prices(rater.good)
    if prices is None:
        return
    for name, follows in (("price_column", None), ("max_price", prices[1])):
        if name in rater.raw and rater.good.get(name) != follows:
            mistakes.add((*rater.place, "per_hour"), f"and {name} are both given; keep the one that says what is paid")


def reserved(rater: Mapping[str, Any]) -> Decimal | None:
    """The most one call can cost: `max_price`, else `price`; with a column of prices the item says."""
    by_hour = hourly_prices(rater)
    most: Decimal | None = rater.get("max_price", rater.get("price") if by_hour is None else by_hour[1])
    return most


def check_budget(goal: Section, raters: Sequence[Section], mistakes: Mistakes) -> None:
    """Check that the budget pays for at least one strong rating."""
    budget = goal.good.get("budget")
    most = reserved(raters[-1].good) if raters else None
    if budget is not None and most is not None and budget < most:
        mistakes.add(
            (*goal.place, "budget"),
            f"is smaller than one strong rating: {plain(budget)} against {plain(most)} for "
            f"{mistakes.key(raters[-1].place)}; raise it or choose a cheaper strong rater",
        )
