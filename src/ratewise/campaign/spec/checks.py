"""What the tables of a campaign must be together, when each key is right for itself."""

from collections.abc import Iterator
from typing import Any

from ratewise.campaign.spec.spec import LearnerSpec, QuestionSpec, Spec
from ratewise.campaign.spec.toml import Place
from ratewise.errors import InputError
from ratewise.raters.column import ColumnSettings
from ratewise.raters.keys import plain, quoted
from ratewise.raters.kind import RaterSpec
from ratewise.raters.text import address_problem
from ratewise.raters.trained import TrainedSettings
from ratewise.tables.words import meaning_of

_BOUNDED = ("likert", "score")
_STORES = ("postgresql", "postgresql+psycopg", "postgres")
_TWICE = "and price are both given; keep the one that says what a call costs"

Misfits = Iterator[tuple[Place, str]]
"""(place of a key, what is wrong with it as a sentence that goes on from its name)"""


def misfits(spec: Spec) -> Misfits:
    """Everything that does not fit together."""
    for check in (_store, _inputs, _learner, _learned, _refit, _start, _rating, _goal, _question, _raters, _budget):
        yield from check(spec)


def _store(spec: Spec) -> Misfits:
    """The store is a file or PostgreSQL; the address is not shown, since it may hold a password."""
    scheme, mark, _ = spec.store.partition("://")
    if mark and scheme not in _STORES:
        yield (
            ("store",),
            f"is an address of {quoted(scheme + mark)}; write the path of a SQLite file, or postgresql://…",
        )
    elif mark and (problem := address_problem(spec.store)):
        yield ("store",), problem


def _rating(spec: Spec) -> Misfits:
    """Likert and score have bounds, and the other kinds none; binary ratings a positive word, scores one for each."""
    rating, kind = spec.rating, spec.rating.kind
    for name, whose in (("positive", "binary"), ("scale", "score")):
        if getattr(rating, name) is not None and kind != whose:
            yield ("rating", name), f"is for kind = {quoted(whose)}; remove it, or change the kind"
    try:
        meaning_of(rating.positive, rating.scale)
    except InputError as error:
        yield ("rating", "scale" if rating.positive is None else "positive"), f"cannot be used: {error}"
    for name, example in (("low", "low = 1"), ("high", "high = 5")):
        place, value = ("rating", name), getattr(rating, name)
        if rating.scale is not None or kind not in _BOUNDED:
            if value is not None and rating.scale is not None:
                yield place, "is said by the scale of words already; remove it"
            elif value is not None:
                yield place, f"is not for a {kind} scale; remove it (likert and score have bounds)"
        elif value is None:
            yield place, f"is missing; a {kind} scale needs both bounds, so write {example}"
        elif kind == "likert" and not value.is_integer():
            yield place, f'must be a whole number on a likert scale; got {value!r}; or write kind = "score"'
    if rating.low is not None and rating.high is not None and kind in _BOUNDED and not rating.low < rating.high:
        yield ("rating", "high"), f"must be above low = {rating.low:g}; got {rating.high:g}"


def _inputs(spec: Spec) -> Misfits:
    """Shares come from one place only, and clusters and strata are not combined."""
    if spec.inputs is not None and spec.items.clusters is not None:
        yield ("items", "clusters"), "and [inputs] are both given; an interval knows one of them: keep one"
    if spec.inputs is not None and spec.inputs.shares is not None and spec.inputs.plan is not None:
        yield ("inputs", "plan"), "and shares are both given; keep the one that says how to choose"


def _learner(spec: Spec) -> Misfits:
    """There are texts to learn from, unless only a prior is named; and an embedding model, and nothing else, is."""
    learner = spec.learner
    if learner is None:
        return
    only_prior = "prior" in learner.model_fields_set and _but_prior(learner) == _but_prior(LearnerSpec())
    if not spec.items.text and not only_prior:
        yield ("learner",), 'needs texts to learn from; write text = ["question", "answer"] under [items]'
    if learner.kind == "embeddings" and learner.model is None:
        yield ("learner", "kind"), 'needs a model; write model = "path/to/model" below it'
    for name in ("model", "base_url", "key_env", "token_price"):
        if getattr(learner, name) is not None and learner.kind != "embeddings":
            yield ("learner", name), 'is for kind = "embeddings"; remove it, or change the kind'


def _but_prior(learner: LearnerSpec) -> dict[str, Any]:
    return learner.model_dump(exclude={"prior"})


def _learned(spec: Spec) -> Misfits:
    """No column of labels is learned from: it would tell every label, and nothing of other items."""
    labels = set() if spec.start is None else {spec.start.labels}
    if isinstance(spec.strong, ColumnSettings):
        labels.add(spec.strong.column)
    for key in ("features", "text"):
        for name in (name for name in getattr(spec.items, key) if name in labels):
            yield ("items", key), f"names {name!r}, which holds the strong ratings; leave it out"


def _refit(spec: Spec) -> Misfits:
    """A model is trained on the campaign's own labels only with one weak and one strong rater, and no groups."""
    place = ("learner", "refit")
    if not spec.refits:
        if spec.learner is not None and spec.learner.init is not None:
            yield ("learner", "init"), 'is for refit = "each round"; add that, or remove it'
        return
    if len(spec.raters) != 2:
        yield place, "needs one weak and one strong rater; leave it out, or list two [[raters]]"
    if any(isinstance(rater, TrainedSettings) for rater in spec.raters):
        yield place, "is for campaigns without a trained rater; leave it out, or take another weak rater"
    if spec.inputs is not None or spec.items.clusters is not None:
        yield place, "cannot be combined with [inputs] or items.clusters; leave one of them out"
    if spec.teacher is not None:
        yield place, "cannot be combined with start.from; leave one of them out"


def _start(spec: Spec) -> Misfits:
    """Old labels are not combined with strata, nor, where they have rates, with a chain."""
    if (spec.start is not None or spec.teacher is not None) and spec.inputs is not None:
        yield (
            ("start",),
            "and [inputs] are both given, and a campaign can only have one: delete [inputs] and its strata to use the "
            "old labels, or delete [start] to choose inputs by strata",
        )
    if spec.start is not None and spec.teacher is not None:
        yield ("start", "from"), "and labels are both given; a campaign begins with one of them: keep one"
    if spec.teacher is not None and len(spec.raters) != 2:
        yield ("start", "from"), "needs one weak and one strong rater; leave it out"
    if len(spec.raters) > 2 and spec.start is not None and spec.start.drawn not in ("at random", "by hand"):
        yield (
            ("start", "drawn"),
            'is a column of rates, which needs one weak and one strong rater; or write "at random"',
        )


def _goal(spec: Spec) -> Misfits:
    """There is something to stop at."""
    goal = spec.goal
    if goal.budget is None and goal.target_se is None and goal.within is None and goal.decide is None:
        yield ("goal",), 'needs budget or within, or both; write budget = "200" or within = 0.02'
    if spec.goal.target_se is not None and spec.goal.within is not None:
        yield ("goal", "within"), "and target_se are both given; keep the one that says how precise"


_KEYS = {"slices": ("by",), "compare": ("system", "baseline"), "leaderboard": ("pairs",), "quantile": ("at",)}
_NEEDED = {"slices": "by", "compare": "system"}


def _question(spec: Spec) -> Misfits:
    """The question's keys are those of its kind, and its goals and the campaign's other tables go with it."""
    goal, asked = spec.goal, spec.question
    kind = "mean" if asked is None else asked.kind
    if goal.decide is not None and (goal.within is not None or goal.target_se is not None):
        yield ("goal", "decide"), "and within are both given; keep the one that says when to stop"
    if isinstance(goal.decide, str) != (kind == "leaderboard") and goal.decide is not None:
        needs = 'needs "order" or "top"' if kind == "leaderboard" else f"of a {kind} needs a number, such as 0"
        yield ("goal", "decide"), f"{needs}; got {quoted(str(goal.decide))}"
    if isinstance(goal.within, dict) and kind in ("mean", "quantile"):
        yield ("goal", "within"), f"is a table, and a {kind} has one answer; write one number"
    yield from () if asked is None else _asked(spec, asked)


def _asked(spec: Spec, asked: QuestionSpec) -> Misfits:
    """The keys of [question], and what does not go with one."""
    kind = asked.kind
    for key in ("by", "system", "baseline", "pairs", "at"):
        if getattr(asked, key) is not None and key not in _KEYS.get(kind, ()):
            whose = next(one for one, keys in _KEYS.items() if key in keys)
            yield ("question", key), f"is for kind = {quoted(whose)}; remove it, or change the kind"
    if kind in _NEEDED and getattr(asked, _NEEDED[kind]) is None:
        yield ("question", _NEEDED[kind]), f'is missing; write {_NEEDED[kind]} = "the name of a column"'
    if asked.pairs is not None and set(asked.pairs) != {"a", "b"}:
        yield ("question", "pairs"), 'must name both columns: { a = "model_a", b = "model_b" }'
    if asked.weights is not None and kind in ("mean", "quantile"):
        yield ("question", "weights"), f"is for several answers, and a {kind} has one; remove it"
    if kind == "leaderboard" and spec.rating.kind != "pairwise":
        yield ("rating", "kind"), 'must be "pairwise" for a leaderboard, whose items are votes on two models'
    yield from () if kind == "mean" else _beside(spec, kind)


def _beside(spec: Spec, kind: str) -> Misfits:
    """What goes with the mean alone."""
    if spec.goal.target_se is not None:
        yield ("goal", "target_se"), "is for the mean; of a question, write within"
    if spec.inputs is not None:
        yield ("inputs",), f"and a question of kind {quoted(kind)} do not go together; remove one of the two"
    if spec.start is not None and spec.start.drawn == "by hand":
        yield (
            ("start", "drawn"),
            "is by hand, which goes with the mean only; draw labels at random, or leave [start] out",
        )
    if spec.teacher is not None:
        yield ("start", "from"), f"is for the mean, and the question is {quoted(kind)}; leave it out"
    if len(spec.raters) > 2 and kind != "slices":
        yield ("raters",), f"are {len(spec.raters)}, and a {kind} goes with two at most; keep the best weak rater"


def _raters(spec: Spec) -> Misfits:
    """Raters have different names, and prices that fit together."""
    names = [rater.name for rater in spec.raters]
    for number, rater in enumerate(spec.raters):
        first = names.index(rater.name)
        if first != number:
            taken = f"{quoted(rater.name)} is the name of raters[{first + 1}] already; choose another"
            yield ("raters", number, "name"), taken
        yield from ((("raters", number, *key), sentence) for key, sentence in _prices(rater))


def _prices(rater: RaterSpec) -> Misfits:
    if rater.price is not None and rater.price_column is not None:
        yield ("price_column",), _TWICE
    if rater.quotes and not rater.is_quoted and getattr(rater, "prices", None) is not None:
        yield ("prices",), _TWICE
    # Pay by the hour says alone what is paid; a stored campaign has the limit that follows beside it.
    if rater.hourly is not None:
        for name, follows in (("price_column", None), ("max_price", rater.hourly[1])):
            if getattr(rater, name) not in (None, follows):
                yield ("per_hour",), f"and {name} are both given; keep the one that says what is paid"
    elif rater.price is None and rater.price_column is None and not rater.quotes:
        yield ("price",), 'is missing; write price = "0.01", or price_column = "cost" for prices in the table'
    price, most, failed = rater.price, rater.most, rater.failed_price
    if price is not None and most is not None and most < price:
        yield ("max_price",), f"must be at least price = {plain(price)}; got {plain(most)}"
    elif most is not None and failed is not None and failed > most:
        yield (
            ("failed_price",),
            f"must be at most the {plain(most)} reserved for a call; got {plain(failed)}; lower it or raise max_price",
        )


def _budget(spec: Spec) -> Misfits:
    """The budget pays for at least one strong rating."""
    budget, most = spec.goal.budget, spec.strong.most
    if budget is not None and most is not None and budget < most:
        yield (
            ("goal", "budget"),
            f"is smaller than one strong rating: {plain(budget)} against {plain(most)} for rater "
            f"{spec.strong.name!r}; raise it or choose a cheaper strong rater",
        )
