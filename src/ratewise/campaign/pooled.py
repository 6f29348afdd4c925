"""A campaign's estimate as arrays and terms: what its export hands on, so that `estimate` says what `report` says."""

from dataclasses import replace

import numpy as np

from ratewise.campaign.answers import Look, Wanted, chained, estimate_history, look_of, stepped
from ratewise.campaign.history import History
from ratewise.campaign.inputs import stratified
from ratewise.design.rounds import prepared
from ratewise.questions.export_terms import Pooled, Terms


def pooled_of(history: History, wanted: Wanted, look: Look, *, campaign: str) -> Pooled | None:
    """Closed rounds as one draw; `None` where there is no estimate yet."""
    if estimate_history(history, wanted) is None:
        return None
    level, unseen = wanted.level, 0.0
    if look.anytime:
        level, unseen = look_of(history, wanted, ended=look.ended, more=look.more)
    pool = wanted.size if wanted.estimand == "pool" else None
    terms = Terms(
        campaign=campaign, method="difference", estimand=wanted.estimand, pool_size=pool, low=wanted.bounds[0],
        high=wanted.bounds[1], variance_factor=1.0, level=wanted.level, level_at=level, unseen=unseen,
        anytime=look.anytime, known=wanted.known, known_mean=wanted.known_mean,
    )  # fmt: skip
    looked = history.looked
    if wanted.inputs is not None:
        return _stratified(history, wanted, terms)
    if history.seen is not None:
        p = prepared(history.seen, missing=looked.missing, clusters=looked.clusters)
        terms = replace(terms, variance_factor=p.factor)
        return Pooled(terms, p.weak, history.seen.strong, p.rates, p.asked, clusters=looked.clusters)
    if history.steps is not None:
        weak, rates, factor = stepped(history, history.steps)
        strong, asked = looked.values[:, -1], np.asarray(looked.selected[:, -1])
        terms = replace(terms, variance_factor=factor)
        design, last = history.steps.design, looked.values.shape[1]
        raters = (design.first[-1], *design.steps, last)
        return Pooled(terms, weak, strong, rates, asked, clusters=looked.clusters, raters=raters)
    weak, rates = chained(history)
    strong, asked = looked.values[:, -1], np.asarray(looked.selected[:, -1])
    return Pooled(replace(terms, method="auto"), weak, strong, rates, asked, clusters=looked.clusters)


def _stratified(history: History, wanted: Wanted, terms: Terms) -> Pooled | None:
    assert wanted.inputs is not None
    p = stratified(history, wanted.inputs, wanted.bounds)
    if p is None:
        return None
    terms = replace(terms, variance_factor=p.factor, method=p.method, sizes=p.sizes)
    return Pooled(terms, p.weak, p.strong, p.rates, p.asked, strata=p.names)
