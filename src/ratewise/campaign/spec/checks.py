"""What a campaign's tables must be together: each check looks at what could be read and adds what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ratewise.campaign.spec.fields import Section, either, keys_of, plain, quoted
from ratewise.errors import InputError
from ratewise.raters.kinds import KINDS
from ratewise.raters.people import hourly_prices
from ratewise.raters.text import address_problem
from ratewise.tables.words import meaning_of

_BOUNDED = ("likert", "score")
_STORES = ("postgresql", "postgresql+psycopg", "postgres")


@dataclass(frozen=True, slots=True)
class Document:
    """All tables of a TOML, as far as they could be read; one that is left out is empty and has no place."""

    top: Section
    items: Section
    rating: Section
    goal: Section
    inputs: Section
    learner: Section
    start: Section
    raters: tuple[Section, ...]

    def check(self) -> None:
        for check in (
            _start, _store, _inputs, _learner, _learned, _refit, _rating, _goal, _raters, _budget,
        ):  # fmt: skip
            check(self)


def _store(d: Document) -> None:
    """The store is a file or PostgreSQL; the address is not shown, since it may hold a password."""
    store = str(d.top.good.get("store", ""))
    scheme, mark, _ = store.partition("://")
    if mark and scheme not in _STORES:
        d.top.wrong(
            "store", f"is an address of {quoted(scheme + mark)}; write the path of a SQLite file, or postgresql://…"
        )
    elif mark and (problem := address_problem(store)):
        d.top.wrong("store", problem)


def _rating(d: Document) -> None:
    """Likert and score have bounds, and the other kinds none; binary ratings a positive word, scores one for each."""
    rating, kind = d.rating, d.rating.good.get("kind")
    if kind:
        _words(rating, kind)
    if "scale" in rating.raw:
        for name in sorted({"low", "high"} & set(rating.raw)):
            rating.wrong(name, "is said by the scale of words already; remove it")
    elif kind in _BOUNDED:
        _bounds(rating, kind)
    elif kind:
        for name in sorted({"low", "high"} & set(rating.raw), reverse=True):
            rating.wrong(name, f"is not for a {kind} scale; remove it (likert and score have bounds)")


def _words(rating: Section, kind: str) -> None:
    for name, whose in (("positive", "binary"), ("scale", "score")):
        if name in rating.raw and kind != whose:
            rating.wrong(name, f"is for kind = {quoted(whose)}; remove it, or change the kind")
    try:
        meaning_of(rating.good.get("positive"), rating.good.get("scale"))
    except InputError as error:
        rating.wrong("positive" if "positive" in rating.good else "scale", f"cannot be used: {error}")


def _bounds(rating: Section, kind: str) -> None:
    for name, example in (("low", "low = 1"), ("high", "high = 5")):
        value = rating.good.get(name)
        if name not in rating.raw:
            rating.lacks(name, f"is missing; a {kind} scale needs both bounds, so write {example}")
        elif kind == "likert" and value is not None and not value.is_integer():
            rating.wrong(name, f'must be a whole number on a likert scale; got {value!r}; or write kind = "score"')
    low, high = rating.good.get("low"), rating.good.get("high")
    if low is not None and high is not None and not low < high:
        rating.wrong("high", f"must be above low = {low:g}; got {high:g}")


def _inputs(d: Document) -> None:
    """Shares come from one place only, and clusters and strata are not combined."""
    if d.inputs.place and "clusters" in d.items.raw:
        d.items.wrong("clusters", "and [inputs] are both given; an interval knows one of them: keep one")
    if {"shares", "plan"} <= set(d.inputs.raw):
        d.inputs.wrong("plan", "and shares are both given; keep the one that says how to choose")


def _learner(d: Document) -> None:
    """There are texts to learn from, and an embedding model, and nothing else, is named."""
    learner, kind = d.learner, d.learner.good.get("kind", "words")
    if not learner.place:
        return
    if not d.items.good.get("text"):
        learner.wrong("", 'needs texts to learn from; write text = ["question", "answer"] under [items]')
    if kind == "embeddings" and "model" not in learner.raw:
        learner.wrong("kind", 'needs a model; write model = "path/to/model" below it')
    for name in ("model", "base_url", "key_env", "token_price"):
        if name in learner.raw and kind != "embeddings":
            learner.wrong(name, 'is for kind = "embeddings"; remove it, or change the kind')


def _learned(d: Document) -> None:
    """No column of labels is learned from: it would tell every label, and nothing of other items."""
    is_column = bool(d.raters) and d.raters[-1].good.get("kind") == "column"
    labels = {d.raters[-1].raw.get("column")} if is_column else set()
    labels |= {d.start.raw.get("labels")} if d.start.place else set()
    for key in ("features", "text"):
        for name in d.items.good.get(key) or ():
            if name in labels:
                d.items.wrong(key, f"names {name!r}, which holds the strong ratings; leave it out")


def _refit(d: Document) -> None:
    """A model is trained on the campaign's own labels only with one weak and one strong rater, and no groups."""
    if "refit" not in d.learner.raw:
        if "init" in d.learner.raw:
            d.learner.wrong("init", 'is for refit = "each round"; add that, or remove it')
        return
    for wrong, sentence in (
        (len(d.raters) != 2, "needs one weak and one strong rater; leave it out, or list two [[raters]]"),
        (
            any(rater.good.get("kind") == "trained" for rater in d.raters),
            "is for campaigns without a trained rater; leave it out, or take another weak rater",
        ),
        (
            bool(d.inputs.place) or "clusters" in d.items.raw,
            "cannot be combined with [inputs] or items.clusters; leave one of them out",
        ),
        ("from" in d.start.raw, "cannot be combined with start.from; leave one of them out"),
    ):
        if wrong:
            d.learner.wrong("refit", sentence)


def _start(d: Document) -> None:
    """Old labels are not combined with strata, nor, where they have rates, with a chain."""
    start = d.start
    if start.place and d.inputs.place:
        start.wrong(
            "",
            "and [inputs] are both given, and a campaign can only have one: delete [inputs] and its strata to use the "
            "old labels, or delete [start] to choose inputs by strata",
        )
    if {"from", "labels"} <= set(start.raw):
        start.wrong("from", "and labels are both given; a campaign begins with one of them: keep one")
    if "from" in start.raw and len(d.raters) != 2:
        start.wrong("from", "needs one weak and one strong rater; leave it out")
    if len(d.raters) > 2 and start.good.get("drawn", "at random") not in ("at random", "by hand"):
        start.wrong("drawn", 'is a column of rates, which needs one weak and one strong rater; or write "at random"')


def _goal(d: Document) -> None:
    """There is something to stop at."""
    goal = d.goal
    if goal.place and not {"budget", "target_se", "within"} & set(goal.raw):
        goal.lacks("", 'needs budget or within, or both; write budget = "200" or within = 0.02')
    if {"target_se", "within"} <= set(goal.raw):
        goal.wrong("within", "and target_se are both given; keep the one that says how precise")


def _raters(d: Document) -> None:
    """Raters have different names, the keys of their kind, and prices that fit together."""
    first: dict[str, Section] = {}
    for rater in d.raters:
        name = rater.good.get("name")
        if name is not None and first.setdefault(name, rater) is not rater:
            rater.wrong("name", f"{quoted(name)} is the name of {first[name].written} already; choose another")
        if rater.place:
            _kind(rater)
            _prices(rater)


def _kind(rater: Section) -> None:
    """A rater has all the keys its kind needs, and none of another kind's."""
    kind = rater.good.get("kind")
    if kind is None:
        return
    own = keys_of(KINDS[kind])
    for name, (said, _) in own.items():
        if said.needed and name not in rater.raw:
            rater.lacks(name, f"is missing; a {kind} rater needs it, so write {said.needed}")
    for name in (name for name in rater.raw if name not in own):
        whose = [other for other, its in KINDS.items() if name in keys_of(its)]
        if whose:
            rater.wrong(name, f"is not for a {kind} rater; remove it, or write kind = {either(whose)}")


def _prices(rater: Section) -> None:
    raw, good = rater.raw, rater.good
    twice = "and price are both given; keep the one that says what a call costs"
    if {"price", "price_column"} <= set(raw):
        rater.wrong("price_column", twice)
    is_quoted = "kind" in good and KINDS[good["kind"]].quotes
    if is_quoted and "prices" in raw and {"price", "price_column"} & set(raw):
        rater.wrong("prices", twice)
    hourly = hourly_prices(good)
    # Pay by the hour says alone what is paid; a stored campaign has the limit that follows beside it.
    for name, follows in () if hourly is None else (("price_column", None), ("max_price", hourly[1])):
        if name in raw and good.get(name) != follows:
            rater.wrong("per_hour", f"and {name} are both given; keep the one that says what is paid")
    by_hour = good.get("kind") == "people" and "per_hour" in raw
    if not ({"price", "price_column"} & set(raw) or by_hour or is_quoted):
        rater.lacks("price", 'is missing; write price = "0.01", or price_column = "cost" for prices in the table')
    price, most, failed = good.get("price"), reserved(good), good.get("failed_price")
    if price is not None and most is not None and most < price:
        rater.wrong("max_price", f"must be at least price = {plain(price)}; got {plain(most)}")
    elif most is not None and failed is not None and failed > most:
        rater.wrong(
            "failed_price",
            f"must be at most the {plain(most)} reserved for a call; got {plain(failed)}; lower it or raise max_price",
        )


def reserved(rater: Mapping[str, Any]) -> Decimal | None:
    """The most one call can cost: `max_price`, else `price`; with a column of prices the item says."""
    by_hour = hourly_prices(rater)
    most: Decimal | None = rater.get("max_price", rater.get("price") if by_hour is None else by_hour[1])
    return most


def _budget(d: Document) -> None:
    """The budget pays for at least one strong rating."""
    budget, most = d.goal.good.get("budget"), reserved(d.raters[-1].good) if d.raters else None
    if budget is not None and most is not None and budget < most:
        d.goal.wrong(
            "budget",
            f"is smaller than one strong rating: {plain(budget)} against {plain(most)} for {d.raters[-1].written}; "
            "raise it or choose a cheaper strong rater",
        )
