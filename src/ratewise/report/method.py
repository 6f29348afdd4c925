"""How a campaign's numbers came about, in plain words: method, assumptions, limits, and how to do it again."""

from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.spec.spec import SecretSeed
from ratewise.report.sentence import labels_alone, money


def savings(now: Snapshot) -> list[str]:
    """What the weak rater and the choice of items have saved; empty where nothing tells."""
    alone, status = labels_alone(now), now.status
    price = now.spec.strong.price
    if alone is None or not status.labels:
        return []
    if alone <= status.labels:
        return [f"Nothing was saved: labels alone would have taken about {alone:,} for the same precision."]
    said = [f"{status.labels:,} labels were as precise as about {alone:,} labels alone would have been."]
    if price is not None:
        would = alone * price
        if would > status.spent:
            saved = f"{1 - float(status.spent) / float(would):.0%}"
            said.append(
                f"Labels alone would have cost about {money(now.spec, would)}; the campaign cost "
                f"{money(now.spec, status.spent)}, {saved} less."
            )
    return said


def missing(now: Snapshot) -> str:
    """What will not come, and how it counts."""
    count = now.status.missing
    if not count:
        return (
            "Nothing: every label that was asked for is there, or still to come." if now.status.pending else "Nothing."
        )
    said = f"{count:,} label{'' if count == 1 else 's'} will not come"
    return f"{said}. The interval allows for the worst: it holds whether they would all have been high or all low."


def method(now: Snapshot) -> list[str]:
    """What was done, a sentence each."""
    spec = now.spec
    strong, found = spec.strong.name, now.diagnosis
    if spec.weak is None or (found is not None and found.alone):
        cheap = "" if spec.weak is None else f" Ratings by {spec.weak.name} were not worth their price here."
        said = [f"Items were drawn at random, and ratings by {strong} were asked for where an item was drawn.{cheap}"]
    else:
        said = [
            f"Ratings by {spec.weak.name} are cheap. Ratings by {strong} are believed, and asked for where an item is "
            "drawn.",
            "Every item had a known chance of being drawn, its rate; the harder its rating is to predict, the higher.",
            f"The estimate is the mean of predicted ratings, corrected by the ratings of {strong} on drawn items. Each "
            "correction counts by one over its rate, so that the mean is right on average, however good or bad the "
            f"ratings by {spec.weak.name} are.",
        ]
    about = "these items" if spec.estimand == "pool" else "the population that these items were drawn from"
    said.append(f"The interval is about {about}. In {spec.level:.0%} of campaigns like this one it holds the truth.")
    said.append(
        "Intervals shown after each round are wider than the last one, because they hold however often one looks."
    )
    return said


def assumptions(now: Snapshot) -> list[str]:
    """What must be so for the interval to hold."""
    spec = now.spec
    said = [f"Ratings by {spec.strong.name} are what is to be measured: mistakes in them are not in the interval."]
    if spec.estimand == "population":
        said.append("The items of the table are a random sample of the population.")
    if spec.items.clusters is None:
        said.append("Items do not belong together in groups; where they do, name the column with clusters.")
    said.append("Nobody has changed the answers; the record at the end of this page shows it.")
    return said


def limitations(now: Snapshot) -> list[str]:
    """What the report cannot tell."""
    said = [
        "Intervals of slices hold one by one; among twenty, one may be off.",
        "The figure is about the items and the time of this campaign; a new version of the system needs a new one.",
    ]
    if now.status.labels < 100:
        of = "slices" if now.spec.weak is None else f"{now.spec.weak.name} and of slices"
        said.insert(0, f"{now.status.labels:,} labels are few: what the report says of {of} is rough.")
    if now.status.missing:
        said.append("Some labels are missing; if they are missing for a reason, slices may be off further than shown.")
    return said


def again(now: Snapshot) -> list[str]:
    """Commands that do it again or check it."""
    spec = now.spec
    said = [f"ratewise verify {spec.path.name} --head {now.head}", f"ratewise export {spec.path.name} -o rated.csv"]
    return [*said, "ratewise estimate rated.csv"]


def seed_words(now: Snapshot) -> str:
    """Where the draws come from."""
    if isinstance(now.spec.seed, SecretSeed):
        return "All draws follow from the secret seed, whose digest was published at the start."
    spec = now.spec
    return f"All draws follow from the seed {spec.seed}, the table {spec.items.table} and the TOML {spec.path.name}."
