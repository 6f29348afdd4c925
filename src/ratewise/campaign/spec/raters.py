"""[[raters]]: one rater's record, the keys that may stand in it, and how it is read and written back."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from ratewise.campaign.spec.checks import reserved
from ratewise.campaign.spec.fields import LONGEST_WAIT, NAME, Keys, Price, Section, keys_of, one_of, read_keys
from ratewise.campaign.spec.mistakes import Mistakes, either, shown
from ratewise.raters.kind import Column, Says
from ratewise.raters.kinds import KINDS
from ratewise.raters.people import hourly_prices

LostCalls = Literal["ask again", "count as paid"]

_LARGEST_BATCH = 1_000_000
_WAIT = Says(f"a number of seconds from 0 to {LONGEST_WAIT:,.0f}")
_EXAMPLE = "a table [[raters]] for each rater, from the cheapest to the one that is right"


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError("unknown")
    return kind


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterSpec:
    """[[raters]]: one rater, with every default filled in; the keys that only its kind has are in `settings`.

    With `price_column` the price is the item's own: `price` is None, and so are `max_price` and `failed_price` unless
    they are given.
    """

    name: Annotated[str, NAME, Says("a name, as text", 'name = "judge"')]
    kind: Annotated[str, AfterValidator(_known), one_of(tuple(KINDS), f"kind = {either(KINDS)}")]
    settings: Any  # the record of its kind
    price: Price = None
    price_column: Column = None
    max_price: Price = None
    failed_price: Price = None
    concurrency: Annotated[int, Field(ge=1, le=1000), Says("a whole number from 1 to 1,000")] = 1
    batch: Annotated[int, Field(ge=1, le=_LARGEST_BATCH), Says(f"a whole number from 1 to {_LARGEST_BATCH:,}")] = 1
    timeout: Annotated[
        float, Field(gt=0, le=LONGEST_WAIT), Says(f"a number of seconds above 0, at most {LONGEST_WAIT:,.0f}")
    ] = 60.0
    attempts: Annotated[int, Field(ge=1, le=1000), Says("a whole number from 1 to 1,000")] = 3
    backoff: Annotated[float, Field(ge=0, le=LONGEST_WAIT), _WAIT] = 1.0
    per_minute: Annotated[float | None, Field(gt=0), Says("a number above 0")] = None
    lost_calls: Annotated[LostCalls, one_of(get_args(LostCalls))] = "ask again"


def rater_keys(kind: object = None) -> Keys:
    """All that may stand in a [[raters]]: first what every rater has, and where kinds share a word, this kind's."""
    own = [its for name, its in KINDS.items() if name == kind]
    common = dict(keys_of(RaterSpec))
    out = {name: common.pop(name) for name in ("name", "kind")}
    for its in (*KINDS.values(), *own):
        out |= {name: (replace(said, needed=""), taken) for name, (said, taken) in keys_of(its.settings).items()}
    return out | common


def keys_of_kind(kind: object) -> list[str]:
    """What may stand in a [[raters]] of this kind; of all kinds where it is none."""
    if not isinstance(kind, str) or kind not in KINDS:
        return list(rater_keys())
    common = [name for name in keys_of(RaterSpec) if name not in ("name", "kind")]
    return ["name", "kind", *keys_of(KINDS[kind].settings), *common]


def read_raters(document: Mapping[str, Any], mistakes: Mistakes, homes: Mapping[str, str]) -> list[Section]:
    """What of each [[raters]] can be read; an empty section where one is no table."""
    raw = document.get("raters")
    if not isinstance(raw, list) or not raw:
        problem = "is missing" if raw is None else "is empty" if raw == [] else f"must be a list; got {shown(raw)}"
        tell = mistakes.lacks if raw is None else mistakes.add
        tell(("raters",), f"{problem}; write {_EXAMPLE}")
        return []
    sections = []
    for number, rater in enumerate(raw):
        place = ("raters", number)
        if isinstance(rater, dict):
            kind = rater.get("kind")
            listed = keys_of_kind(kind)
            sections.append(read_keys(rater_keys(kind), rater, place, mistakes, homes=homes, listed=listed))
        else:
            mistakes.add(place, f"must be a table; got {shown(rater)}; write {_EXAMPLE}")
            sections.append(Section())
    return sections


def rater_of(good: Mapping[str, Any]) -> RaterSpec:
    """A rater with the defaults that depend on other keys; the other defaults stand in the record."""
    kind = KINDS[good["kind"]]
    own = keys_of(kind.settings)
    settings = kind.settings(**{name: value for name, value in good.items() if name in own})
    common = {name: value for name, value in good.items() if name not in own}
    by_hour = hourly_prices(good)
    price = good.get("price", None if by_hour is None else by_hour[0])
    derived = {"batch": kind.batch, "price": price, "max_price": reserved(good), "failed_price": price}
    return RaterSpec(**{**derived, **common, "settings": settings})


def rater_toml(rater: Mapping[str, Any]) -> dict[str, Any]:
    """The values as they stand in the TOML: the keys of the kind beside the others."""
    out: dict[str, Any] = {}
    for name, value in rater.items():
        out |= value if name == "settings" else {name: value}
    return out
