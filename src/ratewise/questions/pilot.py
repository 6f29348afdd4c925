"""A pilot: the labelled part of a table, and what it says about the weak rater."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ratewise.core.checks import Floats, as_floats, choice, seed_number
from ratewise.core.names import RECALIBRATIONS, Calibrator, Recalibration
from ratewise.core.ratings import Mask
from ratewise.design.options import sharpest_error
from ratewise.design.seen import Phase, Seen
from ratewise.errors import InputError, TableError
from ratewise.learn.calibration import Calibration, cross_calibrated, fit_calibration
from ratewise.learn.covariates import Covariates
from ratewise.learn.embeddings import Learner
from ratewise.learn.error_model import (
    ErrorModel,
    error_from_column,
    error_from_probability,
    fit_error,
    is_probability_of_binary,
)
from ratewise.learn.features import Coding, codings, feature_matrix
from ratewise.learn.texts import TextReading, read_texts
from ratewise.questions.policies import PilotErrors
from ratewise.questions.transfer import LearnedModels
from ratewise.tables import Table

_PLAIN = ("weak", "strong", "uncertainty", "calibrate", "features", "seed")
_FOLDS = 10
_FEWEST_TO_FIT = 50  # fewer labels than this say nothing of how the error varies with the score


@dataclass(frozen=True, slots=True, eq=False)
class Pilot(PilotErrors):
    """All rows' weak ratings (calibrated if asked for) and models, and the labelled rows' residuals.

    Every number about a labelled row comes from models fitted without it, so that plans are not flattered.
    """

    weak: Floats  # all rows, as the policy will see them
    labelled: Mask
    strong: Floats  # labelled rows
    residual: Floats  # labelled rows, H − G with G calibrated on other labels
    calibration: Calibration | None
    error_model: ErrorModel
    models: LearnedModels | None = None  # with calibration "auto": f and u, in place of the two
    agreed: float | None = None  # what all labels said, where one of them was taken as a mistake

    @property
    def error_source(self) -> str:
        """The source of u."""
        return self.error_model.source if self.models is None else self.models.error.kind


@dataclass(frozen=True, slots=True)
class PilotColumns:
    """Which columns a pilot is learned from, and how."""

    weak: str
    strong: str
    uncertainty: str | None = None
    calibrate: Recalibration = "none"
    features: tuple[str, ...] = ()
    seed: int = 0
    text: tuple[str, ...] = ()
    learner: Learner = field(default_factory=Learner)

    def __post_init__(self) -> None:
        choice(self.calibrate, RECALIBRATIONS, name="calibration")
        seed_number(self.seed)
        if self.text and self.calibrate not in ("none", "auto"):
            raise InputError("texts are for calibrate 'auto'; leave calibrate or the texts out")

    def to_dict(self) -> dict[str, Any]:
        """The settings that a plan reports."""
        texts = {"text": list(self.text), "learner": self.learner.to_dict()} if self.text else {}
        return {name: getattr(self, name) for name in _PLAIN} | {"features": list(self.features)} | texts


def read_pilot(table: Table, columns: PilotColumns, *, imagine: bool = False) -> Pilot:
    """Learn from the rows of `table` that have a strong rating; the others are the pool.

    Where all labels are 0, or all are 1, `imagine` takes one of them as a mistake, since none need not mean never.
    """
    strong, uncertainty, features = columns.strong, columns.uncertainty, columns.features
    calibrate = None if columns.calibrate == "none" else columns.calibrate
    g = table.numbers(columns.weak)
    h = table.numbers(strong, missing="allow")
    own = None if uncertainty is None else table.numbers(uncertainty)
    labelled = ~np.isnan(h)
    agreed = None
    if imagine and labelled.sum() > 1 and np.ptp(h[labelled]) == 0 and h[labelled][0] in (0.0, 1.0):
        agreed = float(h[labelled][0])
        rows = np.flatnonzero(labelled)  # the middle weak rating is that of which the judge knew nothing
        middle = rows[np.argsort(g[rows], kind="stable")[rows.size // 2]]
        h = np.where(np.arange(h.size) == middle, 1.0 - agreed, h)
    _check_labels(table.name, strong, h[labelled])
    if own is not None and own.min() < 0:
        raise TableError(
            f"column {uncertainty!r} of {table.name} has values below 0; an expected squared error cannot be"
        )
    if calibrate == "auto" or columns.text:
        coded, texts = codings(table, features), read_texts(table, columns.text, columns.learner)
        seen, reading = (None, None) if texts is None else texts
        x = Covariates(g, feature_matrix(table, coded), own, seen)
        return replace(_auto_pilot(x, h, coded, reading), agreed=agreed)
    if features:
        raise InputError("features are for calibrate 'auto'; add it, or leave the features out")
    return replace(learn_pilot(g, h, own, calibrate=calibrate, seed=columns.seed), agreed=agreed)


def _auto_pilot(x: Covariates, h: Floats, coded: tuple[Coding, ...], reading: TextReading | None) -> Pilot:
    """f and u as campaigns learn them; what is said of a label comes from the others."""
    labelled = ~np.isnan(h)
    strong = h[labelled]
    known = Seen.of(x.rows(labelled), strong, (Phase(strong.size),)).learned
    error, unseen = sharpest_error(known, x)
    f = known.model.predict(x)
    return Pilot(
        variance=float(np.var(strong)),
        error=error.predict(f, x),
        held_out_error=unseen,
        squared=(strong - known.unseen) ** 2,
        weak=f,
        labelled=labelled,
        strong=strong,
        residual=strong - known.unseen,
        calibration=None,
        error_model=ErrorModel("fitted", knots=(0.0,), values=(known.mean(known.squared),)),
        models=LearnedModels(coded, known.model, error, reading if known.model.text is not None else None),
    )


def learn_pilot(g: Floats, h: Floats, own: Floats | None, *, calibrate: Calibrator | None, seed: int) -> Pilot:
    """What a pilot tells, from arrays; h is NaN where there is no strong rating."""
    labelled = ~np.isnan(h)
    calibration, held_out = None, g
    if calibrate is not None:
        calibration = fit_calibration(g[labelled], h[labelled], kind=calibrate)
        held_out = cross_calibrated(g, h, kind=calibrate, seed=seed)
        g = calibration.predict(g)
    strong = h[labelled]
    residual = strong - held_out[labelled]
    column, seen = (g, held_out[labelled]) if own is None else (own, own[labelled])
    if own is not None:
        model = error_from_column(seen, residual)
    elif is_probability_of_binary(seen, strong):
        model = error_from_probability(seen, strong)
    elif strong.size < _FEWEST_TO_FIT:
        model = ErrorModel("fitted", knots=(0.0,), values=(float(np.mean(residual**2)),))
    else:
        model = fit_error(seen, residual)
    refitted = model.source == "fitted" and strong.size >= _FEWEST_TO_FIT
    return Pilot(
        variance=float(np.var(strong)),
        error=model.predict(column),
        held_out_error=held_out_error(seen, residual, seed) if refitted else model.predict(seen),
        squared=residual**2,
        weak=g,
        labelled=labelled,
        strong=strong,
        residual=residual,
        calibration=calibration,
        error_model=model,
    )


def held_out_error(column: Floats, residual: Floats, seed: int) -> Floats:
    """u of labelled rows as a function of a column, each fold's rows by a model that was fitted to the others."""
    fold = np.random.default_rng(seed).permutation(column.size) % _FOLDS
    out = np.empty(column.size)
    for k in np.unique(fold):
        out[fold == k] = fit_error(column[fold != k], residual[fold != k]).predict(column[fold == k])
    return out


def _check_labels(name: str, strong: str, h: Floats) -> None:
    if h.size == 0:
        raise TableError(f"no row of {name} has a strong rating in column {strong!r}; a plan needs a labelled pilot")
    if h.size == 1:
        raise TableError(f"only one row of {name} has a strong rating in column {strong!r}; a plan needs two at least")
    if np.ptp(as_floats(h, name="strong")) == 0:
        raise InputError(
            f"all {h.size} strong ratings of column {strong!r} are {h[0]:g}, so their variance is unknown; "
            "label more rows drawn at random, or let a campaign learn on the way: ratewise init --from "
            f"{name}"
        )
