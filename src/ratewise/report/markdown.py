"""The report as Markdown, for a pull request or a wiki: the sentence first, then the tables."""

from collections.abc import Iterable, Sequence

from ratewise.campaign import findings
from ratewise.campaign.findings import Bin, calibration, rates_by_uncertainty
from ratewise.campaign.judges import judges_found
from ratewise.campaign.snapshot import Snapshot
from ratewise.report import method, people
from ratewise.report.portrait import rates_words
from ratewise.report.sentence import in_units, money, plain_answer
from ratewise.store.money import to_money

_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>#|!"} | {"\n": " ", "\r": " "})


def snapshot_markdown(now: Snapshot, *, slices: Sequence[str] | None = None) -> str:
    """The report of one moment; every word that came from outside is escaped."""
    parts = [f"# {escaped(now.status.name)}", escaped(plain_answer(now))]
    parts += [*_raters(now), *_rounds(now), *_words(now)]
    parts += _pictures_in_words(now)
    parts += _slices(now, slices)
    parts += _people(now)
    parts += ["## What is missing", escaped(method.missing(now))]
    for title, lines in (
        ("Method", method.method(now)), ("Assumptions", method.assumptions(now)), ("Limits", method.limitations(now))
    ):  # fmt: skip
        parts += [f"## {title}", _list(lines)]
    parts += ["## Record", f"`ratewise verify {now.spec.path.name} --head {now.head}` checks that nothing was changed."]
    commands = "\n".join(method.again(now)).replace("`", "'")
    parts += ["## Do it again", escaped(method.seed_words(now)), f"```text\n{commands}\n```"]
    return "\n\n".join(parts) + "\n"


def _raters(now: Snapshot) -> list[str]:
    """What each rater of a chain was worth, and what judges were seen to do."""
    lines = [*now.worth, *(line for judge in judges_found(now) for line in judge.sentences)]
    return ["## Who rates", _list(lines)] if lines else []


def _rounds(now: Snapshot) -> list[str]:
    if not now.story:
        return []
    rows = [
        (f"{c.number}", f"{c.items:,}", f"{c.labels:,}", money(now.spec, to_money(c.spent)),
         "–" if c.estimate is None else in_units(now.spec, c.estimate.value), _ends(now, c.estimate))
        for c in now.story
    ]  # fmt: skip
    names = ("round", "items", "labels", "spent so far", "estimate", f"{now.spec.level:.0%} interval")
    told = "The intervals of all rounds hold at once, so that one may look after every round."
    return ["## Round by round", table(names, rows), told]


def _words(now: Snapshot) -> list[str]:
    found = now.diagnosis
    if found is None:
        return []
    return ["## What the labels say", "\n".join(f"- {escaped(word)}" for word in found.words())]


def _slices(now: Snapshot, columns: Sequence[str] | None) -> list[str]:
    found, parts = findings.slices(now, columns), []
    for column in dict.fromkeys(one.column for one in found):
        rows = [
            (one.name or "(empty)", f"{one.items:,}", f"{one.labels:,}",
             "–" if one.estimate is None else in_units(now.spec, one.estimate.value), _ends(now, one.estimate))
            for one in found if one.column == column
        ]  # fmt: skip
        parts += [f"## By {escaped(column)}", table((column, "items", "labels", "estimate", "interval"), rows)]
    return parts


def _pictures_in_words(now: Snapshot) -> list[str]:
    """What the pictures of the page show, as sentences."""
    parts = []
    if saved := method.savings(now):
        parts += ["## What was saved", escaped(" ".join(saved))]
    if (bins := calibration(now)) and now.spec.weak is not None:
        rows = [(f"{b.x:.3f}", f"{b.items:,}", in_units(now.spec, b.y), _between(now, b)) for b in bins]
        heads = (f"{now.spec.weak.name} says", "labels", "mean strong rating", "95 % interval")
        parts += [f"## How far {escaped(now.spec.weak.name)} can be trusted", table(heads, rows)]
    if len(rates := rates_by_uncertainty(now)) > 1:
        parts += ["## Whom the strong ratings went to", escaped(rates_words(rates))]
    return parts


def _between(now: Snapshot, found: Bin) -> str:
    if found.low is None or found.high is None:
        return "–"
    return f"{in_units(now.spec, found.low)} to {in_units(now.spec, found.high)}"


def _people(now: Snapshot) -> list[str]:
    rows, said = people.people_of(now)
    return ["## People and agreement", table(people.HEADS, rows), _list(said)] if rows else []


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(line)}" for line in lines)


def _ends(now: Snapshot, e: object) -> str:
    interval = getattr(e, "interval", None)
    return "–" if interval is None else " to ".join(in_units(now.spec, end) for end in interval)


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; everything in it is escaped."""
    lines = [names, ["---"] + ["---:"] * (len(names) - 1), *rows]
    return "\n".join(
        "| " + " | ".join(cell if i == 1 else escaped(cell) for cell in line) + " |" for i, line in enumerate(lines)
    )


def escaped(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return text.translate(_SPECIAL)
