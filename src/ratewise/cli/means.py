"""What `estimate` and `plan` do with --by: one answer for every slice."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ratewise.cli.console import print_json, print_rich, texts_told, typed_notes
from ratewise.core.names import Estimand, IntervalMethod, Method, Objective, Recalibration

if TYPE_CHECKING:
    from ratewise.core.wrong_policy import WhatIf
    from ratewise.tables import TableLike


def not_with_by(*, strata: str | None = None, weight: str | None = None) -> None:
    """Refuse what slices do not take."""
    from ratewise.errors import InputError

    for name, value in (("strata", strata), ("weight", weight)):
        if value is not None:
            raise InputError(f"--by and --{name} do not go together; leave one of them out")


def only_with_by(*, shrink: bool, simultaneous: bool, picture: str | None) -> None:
    """Refuse what only slices take."""
    from ratewise.errors import InputError

    if shrink or simultaneous or picture is not None:
        raise InputError("--shrink, --simultaneous and --picture are for slices; name their column with --by")


def check_what_if(*, asked: bool, picture: str | None, by: str | None) -> None:
    """Refuse what does not go with --what-if, before anything is read."""
    from ratewise.errors import InputError
    from ratewise.report.pictures import check_ending
    from ratewise.tables.write import check_folder

    if picture is not None and not asked:
        raise InputError("--picture is for --what-if; add it")
    if asked and by is not None:
        raise InputError("--what-if and --by do not go together; leave one of them out")
    check_folder(picture)
    check_ending(picture)


def save_what_if(found: "WhatIf | None", picture: str | None) -> None:
    """The picture of what wrong beliefs cost, where one was asked for."""
    if found is not None and picture is not None:
        from ratewise.report.pictures import save
        from ratewise.report.what_if import plot_what_if

        save(plot_what_if(found), picture)


def print_slices(
    table: "TableLike",
    *,
    by: str,
    weak: str | None,
    strong: str,
    rate: str | None,
    selected: str | None,
    clusters: str | None,
    bounds: tuple[float | None, float | None],
    weak_cost: float | None,
    strong_cost: float | None,
    shrink: bool,
    simultaneous: bool,
    method: Method,
    interval: IntervalMethod,
    level: float,
    estimand: Estimand,
    pool_size: float | None,
    recalibrate: Recalibration,
    text: Sequence[str],
    learner: str,
    floor: float | None,
    positive: Sequence[str] | None,
    scale: Sequence[str] | dict[str, float] | None,
    seed: int,
    picture: str | None,
    as_json: bool,
) -> None:
    """Estimates by slice, as JSON or as text, and as a picture if asked."""
    from ratewise.questions.slices import estimate_slices
    from ratewise.report.pictures import check_ending, save
    from ratewise.tables.write import check_folder

    check_folder(picture)
    check_ending(picture)
    with texts_told(quiet=as_json):
        found = estimate_slices(
            table, by=by, weak=weak, strong=strong, rate=rate, selected=selected, clusters=clusters, bounds=bounds,
            weak_cost=weak_cost, strong_cost=strong_cost, shrink=shrink, simultaneous=simultaneous, method=method,
            interval=interval, level=level, estimand=estimand, pool_size=pool_size, recalibrate=recalibrate, text=text,
            learner=learner,
            floor=floor, seed=seed, positive=positive, scale=scale,
        )  # fmt: skip
    if picture is not None:
        from ratewise.report.slices import plot_slices

        save(plot_slices(found), picture)
    if as_json:
        print_json(found.to_dict())
    else:
        from ratewise.report.slices import slices_text

        print_rich(slices_text(found))


def print_slice_plan(
    table: "TableLike",
    *,
    by: str,
    weak: str,
    strong: str,
    weak_cost: float,
    strong_cost: float,
    budget: float | None,
    target_se: float | None,
    within: float | None,
    level: float,
    objective: Objective,
    uncertainty: str | None,
    pool_size: float | None,
    pool: str | None,
    floor: float | None,
    calibrate: Recalibration,
    features: Sequence[str],
    text: Sequence[str],
    learner: str,
    estimand: Estimand,
    positive: Sequence[str] | None,
    scale: Sequence[str] | dict[str, float] | None,
    seed: int,
    as_json: bool,
) -> None:
    """A plan by slice, as JSON or as text."""
    from ratewise.questions.slice_plan import plan_slices
    from ratewise.questions.slices import slice_sizes

    pool_sizes = None if pool is None else slice_sizes(pool, by)
    with texts_told(quiet=as_json):
        made = plan_slices(
            table, by=by, weak=weak, strong=strong, weak_cost=weak_cost, strong_cost=strong_cost, budget=budget,
            target_se=target_se, within=within, level=level, objective=objective, uncertainty=uncertainty,
            pool_size=pool_size, pool_sizes=pool_sizes, floor=floor, calibrate=calibrate, features=features,
            text=text, learner=learner, estimand=estimand, positive=positive, scale=scale, seed=seed,
        )  # fmt: skip
    if as_json:
        print_json(made.to_dict())
    else:
        from ratewise.report.slices import slice_plan_text

        print_rich(slice_plan_text(typed_notes(made)))
