"""Parts of a campaign's report: the facts, raters and prices, slices, differences, and what more money would bring."""

import html
from collections.abc import Iterable, Sequence
from datetime import datetime

from ratewise.campaign.findings import Difference, Outlook, SliceFound
from ratewise.campaign.judges import JudgeFound
from ratewise.campaign.spec.spec import RaterSpec, Spec
from ratewise.questions.goal import within
from ratewise.raters.people import PeopleSettings
from ratewise.raters.scale import RatingScale

_LONGEST = 160  # signs of an item's text that are shown
_KINDS = {
    "column": "a column of the table", "python": "a Python function", "command": "a program", "people": "people",
    "recorded": "a recording", "sheet": "people, in sheets", "llm": "a language model",
}  # fmt: skip


def facts(spec: Spec, made: datetime, *, campaign: str) -> str:
    """When, from what, by which draws."""
    seed = f"{spec.seed}" if isinstance(spec.seed, int) else "kept secret"
    goal = [f"budget {spec.goal.budget:f}"] if spec.goal.budget is not None else []
    goal += [f"standard error {spec.goal.target_se:g}"] if spec.goal.target_se is not None else []
    goal += [f"±{spec.goal.within:g}"] if spec.goal.within is not None else []
    rows = [
        ("Date", f"{made:%d %B %Y, %H:%M} UTC"), ("Items", spec.items.table), ("Goal", " or ".join(goal)),
        ("Rating", _scale(spec.scale)), ("Seed of the draws", seed),
        ("Campaign", campaign),
    ]  # fmt: skip
    return table(("", ""), rows, head=False)


def _scale(scale: RatingScale) -> str:
    return scale.kind + (f", {scale.low:g} to {scale.high:g}" if scale.kind in {"likert", "score"} else "")


def raters(listed: Sequence[RaterSpec]) -> str:
    """The raters and their prices; programs' arguments are not shown, since they may hold keys."""
    last = len(listed) - 1
    rows = [
        (rater.name, _KINDS.get(rater.kind, rater.kind), _price(rater), "believed" if k == last else "saves money")
        for k, rater in enumerate(listed)
    ]
    return table(("rater", "is", "price of a rating", "role"), rows)


def _price(rater: RaterSpec) -> str:
    if rater.price is None and rater.price_column is None:
        return "by tokens"
    if rater.price is None:
        return f"by item, column {rater.price_column}"
    if isinstance(rater.settings, PeopleSettings) and rater.settings.per_hour is not None:
        return f"{rater.settings.per_hour:f} an hour, at most {rater.max_price:f} an item"
    most = f", at most {rater.max_price:f}" if rater.max_price is not None and rater.max_price != rater.price else ""
    return f"{rater.price:f}{most}"


def slice_tables(found: Sequence[SliceFound], level: float) -> list[str]:
    """A table for each column of slices."""
    parts = []
    for column in dict.fromkeys(one.column for one in found):
        rows = [
            (one.name or "(empty)", f"{one.items:,}", f"{one.labels:,}", *_estimate(one))
            for one in found
            if one.column == column
        ]
        parts.append(f"<h3>By {html.escape(column)}</h3>")
        parts.append(table((column, "items", "strong ratings", "estimate", f"{level:.0%} interval"), rows))
    return parts


def _estimate(one: SliceFound) -> tuple[str, str]:
    e = one.estimate
    if e is None:
        return "–", "too few strong ratings"
    return f"{e.value:.4f}", "–" if e.interval is None else f"{e.interval[0]:.4f} to {e.interval[1]:.4f}"


def difference_table(found: Sequence[Difference], weak: str, strong: str) -> str:
    """The items with what both said, and below each its text, so that a narrow screen shows all of it."""
    rows = "".join(
        f"<tr{' class=above' if one.text else ''}><td>{html.escape(one.id)}</td><td>{one.weak:.4g}</td>"
        f"<td>{one.strong:.4g}</td></tr>"
        + (f"<tr><td colspan=3 class=text>{html.escape(_cut(one.text))}</td></tr>" if one.text else "")
        for one in found
    )
    head = f"<tr><th>item</th><th>{html.escape(weak)}</th><th>{html.escape(strong)}</th></tr>"
    return f"<div class=wide><table>{head}{rows}</table></div>"


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"


def outlook_table(found: Sequence[Outlook], scale: RatingScale, level: float) -> str:
    """Money against the interval to expect."""
    rows = [
        ("spent so far" if one.times == 1 else f"{one.times:g} times as much", f"{one.spend:,.2f}", _half(one, scale))
        for one in found
    ]
    return table(("money", "in all", f"{level:.0%} interval"), rows)


def _half(one: Outlook, scale: RatingScale) -> str:
    return within(one.half_width, points=scale.kind in {"binary", "pairwise"})


def table(names: Sequence[str], rows: Iterable[Sequence[str]], *, head: bool = True) -> str:
    """A table that scrolls by itself where a screen is narrow; everything in it is escaped."""
    first = f"<tr>{''.join(f'<th>{html.escape(name)}</th>' for name in names)}</tr>" if head else ""
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>" for row in rows)
    return f"<div class=wide><table>{first}{body}</table></div>"


def judges(found: Iterable[JudgeFound]) -> str:
    """What is known of LLM judges, a line each."""
    lines = [sentence for judge in found for sentence in judge.sentences]
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"
