"""What a campaign may cost by the prices of its raters and texts, before anyone is asked."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from ratewise.campaign.learner import LEARNER, learner_of, vectors_folder
from ratewise.campaign.load import check_columns, item_prices, open_pool, pays_for_all
from ratewise.campaign.raters import check_settings
from ratewise.campaign.spec.spec import Spec
from ratewise.core.result import Result, fields_in_json
from ratewise.learn.embeddings import BATCH, Vault, most_tokens, usual_tokens
from ratewise.store.money import to_money, to_units, total
from ratewise.tables import Relation


@dataclass(frozen=True, slots=True, repr=False)
class RaterCost(Result):
    """What one rater may cost: by `items` ratings, each of so many calls."""

    name: str
    items: int
    calls: int
    expected: Decimal
    most: Decimal
    priced: str  # where its prices come from
    what: str = "ratings"

    def to_dict(self) -> dict[str, Any]:
        said = fields_in_json(self)
        return {"cost_" + name if name in ("expected", "most") else name: said[name] for name in said if name != "what"}


@dataclass(frozen=True, slots=True, repr=False)
class CampaignCost(Result):
    """What a campaign may cost, before anyone is asked."""

    raters: tuple[RaterCost, ...]
    budget: Decimal | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        expected, most = (sum((getattr(r, name) for r in self.raters), Decimal(0)) for name in ("expected", "most"))
        if self.budget is not None:
            expected, most = min(expected, self.budget), min(most, self.budget)
        return {
            "calls": sum(rater.calls for rater in self.raters), "cost_expected": f"{expected:f}",
            "cost_most": f"{most:f}", "priced": {rater.name: rater.priced for rater in self.raters},
            "budget": None if self.budget is None else f"{self.budget:f}",
            "raters": [rater.to_dict() for rater in self.raters], "notes": list(self.notes),
        }  # fmt: skip

    def summary(self) -> str:
        lines = [
            f"{r.name}: {r.items:,} {r.what} in {r.calls:,} calls, about {r.expected:,f}, at most {r.most:,f} "
            f"(prices: {r.priced})"
            for r in self.raters
        ]
        found = self.to_dict()
        of = "" if self.budget is None else f"; the budget of {self.budget:f} is never passed"
        told = [f"note: {note}" for note in self.notes]
        return "\n".join([*lines, f"together about {found['cost_expected']}, at most {found['cost_most']}{of}", *told])


def campaign_cost(spec: Spec) -> CampaignCost:
    """What the whole pool costs by every rater but the last, and what is left for the last one; asks for nothing."""
    check_settings(spec)
    relation, _ = open_pool(spec)
    check_columns(spec, relation)
    left = None if spec.goal.budget is None else to_units(spec.goal.budget)
    texts = text_cost(spec, relation)
    costs, doubt = [] if texts is None else [texts], None
    left = left if left is None or texts is None else max(left - to_units(texts.expected), 0)
    for k, rater in enumerate(spec.raters):
        usual, most, quote = item_prices(spec, rater, relation)
        calls, source = 1, "TOML" if rater.price_column is None else f"column {rater.price_column}"
        if quote is not None:
            calls, source = quote.calls, quote.source
        elif rater.max_price is not None:
            most = np.full(usual.size, to_units(rater.max_price), dtype=np.int64)
        items, whole = usual.size, total(usual)
        if k == len(spec.raters) - 1:
            doubt = pays_for_all(spec, items, float(usual.mean()))
            mean = whole / max(items, 1)  # the money pays for items of average price
            items = items if left is None or mean == 0 else int(min(left // mean, items))
        share = items / usual.size if usual.size else 1.0
        expected, worst = (round(units * share) for units in (whole, total(most)))
        costs.append(RaterCost(rater.name, items, items * calls, to_money(expected), to_money(worst), source))
        left = None if left is None else max(left - expected, 0)
    return CampaignCost(tuple(costs), spec.goal.budget, () if doubt is None else (doubt,))


def text_cost(spec: Spec, relation: Relation) -> RaterCost | None:
    """What embeddings are still to cost; `None` where nobody is paid for them."""
    learner = learner_of(spec)
    if not spec.items.text or learner.base_url is None or learner.price is None:
        return None
    table, vault = relation.table(*spec.items.text), Vault(learner, vectors_folder(spec))
    texts = [text for name in spec.items.text for text in table.texts(name, missing="allow").tolist()]
    new = list(vault.missing(texts).values())
    usual, most = (learner.cost(count(new)) for count in (usual_tokens, most_tokens))
    return RaterCost(LEARNER, len(new), -(-len(new) // BATCH), usual, most, "TOML", "embeddings")
