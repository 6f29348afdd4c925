"""Unbiased evaluation of AI systems from few expensive ratings and many cheap ones.

The public names in groups (plan, draw, estimate, compare, …), loaded when they are first used, so that
`import ratewise` and `ratewise --help` are quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ratewise.campaign.campaign import Campaign as Campaign
    from ratewise.campaign.status import Ending as Ending
    from ratewise.core.allocation import InputChoice as InputChoice
    from ratewise.core.allocation import choose_inputs as choose_inputs
    from ratewise.core.draw import draw as draw
    from ratewise.core.draw import uniform as uniform
    from ratewise.core.estimate import Estimate as Estimate
    from ratewise.core.formulas import UniformRate as UniformRate
    from ratewise.core.formulas import bernoulli_bound as bernoulli_bound
    from ratewise.core.formulas import error_ratio as error_ratio
    from ratewise.core.formulas import error_times_budget as error_times_budget
    from ratewise.core.formulas import expected_error as expected_error
    from ratewise.core.formulas import misjudged_variance_bound as misjudged_variance_bound
    from ratewise.core.formulas import misjudged_variance_bound_additive as misjudged_variance_bound_additive
    from ratewise.core.formulas import optimal_uniform_rate as optimal_uniform_rate
    from ratewise.core.formulas import optimal_uniform_rate_whole_items as optimal_uniform_rate_whole_items
    from ratewise.core.formulas import spend_for as spend_for
    from ratewise.core.m_estimation import Loss as Loss
    from ratewise.core.m_estimation import MFit as MFit
    from ratewise.core.m_estimation import m_estimate as m_estimate
    from ratewise.core.m_estimation import m_policy as m_policy
    from ratewise.core.policy import Policy as Policy
    from ratewise.core.policy import optimal_policy as optimal_policy
    from ratewise.core.quantiles import estimate_quantile as estimate_quantile
    from ratewise.core.stratified import estimate_stratified as estimate_stratified
    from ratewise.core.stratified import estimate_weighted as estimate_weighted
    from ratewise.core.wrong_policy import PolicyPrice as PolicyPrice
    from ratewise.core.wrong_policy import WhatIf as WhatIf
    from ratewise.core.wrong_policy import WrongPolicy as WrongPolicy
    from ratewise.core.wrong_policy import cost_of_wrong_policy as cost_of_wrong_policy
    from ratewise.errors import InputError as InputError
    from ratewise.errors import MissingAnswersError as MissingAnswersError
    from ratewise.errors import OutsideError as OutsideError
    from ratewise.errors import PolicyError as PolicyError
    from ratewise.errors import RaterDownError as RaterDownError
    from ratewise.errors import RatewiseError as RatewiseError
    from ratewise.errors import RatewiseWarning as RatewiseWarning
    from ratewise.errors import SpecError as SpecError
    from ratewise.errors import StoreError as StoreError
    from ratewise.errors import TableError as TableError
    from ratewise.lab.results import MethodResult as MethodResult
    from ratewise.lab.results import Simulation as Simulation
    from ratewise.lab.simulate import simulate as simulate
    from ratewise.learn.calibration import Calibration as Calibration
    from ratewise.learn.calibration import cross_calibrated as cross_calibrated
    from ratewise.learn.calibration import fit_calibration as fit_calibration
    from ratewise.learn.error_model import ErrorModel as ErrorModel
    from ratewise.learn.error_model import error_from_column as error_from_column
    from ratewise.learn.error_model import error_from_probability as error_from_probability
    from ratewise.learn.error_model import fit_error as fit_error
    from ratewise.learn.trainer import Trained as Trained
    from ratewise.learn.trainer import train_rater as train_rater
    from ratewise.questions.check import Check as Check
    from ratewise.questions.check import check as check
    from ratewise.questions.comparison import Comparison as Comparison
    from ratewise.questions.comparison import ManyComparisons as ManyComparisons
    from ratewise.questions.comparison import Ratio as Ratio
    from ratewise.questions.comparison import Rival as Rival
    from ratewise.questions.comparison import compare as compare
    from ratewise.questions.comparison import compare_many as compare_many
    from ratewise.questions.comparison_plan import ComparisonsPlan as ComparisonsPlan
    from ratewise.questions.comparison_plan import add_difference as add_difference
    from ratewise.questions.comparison_plan import plan_comparison as plan_comparison
    from ratewise.questions.comparison_plan import plan_comparisons as plan_comparisons
    from ratewise.questions.draw_pool import draw_pool as draw_pool
    from ratewise.questions.drawing import Drawn as Drawn
    from ratewise.questions.estimation import TableColumns as TableColumns
    from ratewise.questions.estimation import estimate_mean as estimate_mean
    from ratewise.questions.estimation import estimate_table as estimate_table
    from ratewise.questions.leaderboard import Leaderboard as Leaderboard
    from ratewise.questions.leaderboard import leaderboard as leaderboard
    from ratewise.questions.long_table import compare_long as compare_long
    from ratewise.questions.plan import Plan as Plan
    from ratewise.questions.plan import plan as plan
    from ratewise.questions.quantiles import Quantiles as Quantiles
    from ratewise.questions.quantiles import plan_quantile as plan_quantile
    from ratewise.questions.quantiles import quantile_table as quantile_table
    from ratewise.questions.regression import Coefficient as Coefficient
    from ratewise.questions.regression import Regression as Regression
    from ratewise.questions.regression import RegressionPlan as RegressionPlan
    from ratewise.questions.regression import plan_regression as plan_regression
    from ratewise.questions.regression import regress as regress
    from ratewise.questions.sheets import Merged as Merged
    from ratewise.questions.sheets import blind_sheet as blind_sheet
    from ratewise.questions.sheets import merge_sheet as merge_sheet
    from ratewise.questions.slice_plan import PlannedSlice as PlannedSlice
    from ratewise.questions.slice_plan import SlicePlan as SlicePlan
    from ratewise.questions.slice_plan import draw_slices as draw_slices
    from ratewise.questions.slice_plan import plan_slices as plan_slices
    from ratewise.questions.slices import Slice as Slice
    from ratewise.questions.slices import Slices as Slices
    from ratewise.questions.slices import estimate_slices as estimate_slices
    from ratewise.questions.strata import InputPlan as InputPlan
    from ratewise.questions.strata import StratumPlan as StratumPlan
    from ratewise.questions.transfer import Drift as Drift
    from ratewise.questions.transfer import Transfer as Transfer
    from ratewise.questions.transfer import load_transfer as load_transfer
    from ratewise.questions.two_tables import compare_tables as compare_tables
    from ratewise.questions.votes import Asked as Asked
    from ratewise.questions.votes import ask_votes as ask_votes
    from ratewise.raters.protocol import Answer as Answer
    from ratewise.raters.protocol import Failure as Failure
    from ratewise.raters.protocol import Question as Question
    from ratewise.raters.protocol import Rater as Rater
    from ratewise.raters.protocol import RaterError as RaterError
    from ratewise.report.campaign import campaign_page as campaign_page
    from ratewise.report.pictures import plot_comparison as plot_comparison
    from ratewise.report.pictures import plot_estimates as plot_estimates
    from ratewise.report.pictures import plot_leaderboard as plot_leaderboard
    from ratewise.report.pictures import plot_plan as plot_plan
    from ratewise.report.pictures import plot_regression as plot_regression
    from ratewise.report.pictures import plot_simulation as plot_simulation
    from ratewise.report.pictures import plot_slices as plot_slices
    from ratewise.tables import Table as Table
    from ratewise.tables import read_table as read_table
    from ratewise.tables import write_table as write_table

__version__ = "0.1.0"

_GROUPS: dict[str, dict[str, tuple[str, ...]]] = {  # as people look for them; each name with the module it lives in
    "plan": {
        "ratewise.questions.plan": ("plan", "Plan"),
        "ratewise.questions.comparison_plan": ("plan_comparison", "plan_comparisons", "ComparisonsPlan"),
        "ratewise.questions.quantiles": ("plan_quantile",),
        "ratewise.questions.regression": ("plan_regression", "RegressionPlan"),
        "ratewise.questions.slice_plan": ("plan_slices", "SlicePlan", "PlannedSlice"),
        "ratewise.questions.strata": ("InputPlan", "StratumPlan"),
        "ratewise.core.policy": ("optimal_policy", "Policy"),
        "ratewise.core.m_estimation": ("m_policy",),
        "ratewise.core.allocation": ("choose_inputs", "InputChoice"),
        "ratewise.core.formulas": ("optimal_uniform_rate", "optimal_uniform_rate_whole_items", "UniformRate"),
        "ratewise.core.wrong_policy": ("WhatIf", "cost_of_wrong_policy", "WrongPolicy", "PolicyPrice"),
        "ratewise.questions.transfer": ("load_transfer", "Transfer"),
    },
    "draw": {
        "ratewise.questions.draw_pool": ("draw_pool",),
        "ratewise.questions.slice_plan": ("draw_slices",),
        "ratewise.questions.sheets": ("blind_sheet", "merge_sheet", "Merged"),
        "ratewise.questions.drawing": ("Drawn",),
        "ratewise.questions.transfer": ("Drift",),
        "ratewise.core.draw": ("draw", "uniform"),
        "ratewise.questions.comparison_plan": ("add_difference",),
    },
    "estimate": {
        "ratewise.questions.estimation": ("estimate_mean", "estimate_table"),
        "ratewise.core.estimate": ("Estimate",),
        "ratewise.questions.slices": ("estimate_slices", "Slices", "Slice"),
        "ratewise.core.stratified": ("estimate_stratified", "estimate_weighted"),
        "ratewise.core.quantiles": ("estimate_quantile",),
        "ratewise.questions.quantiles": ("quantile_table", "Quantiles"),
        "ratewise.questions.regression": ("regress", "Regression", "Coefficient"),
        "ratewise.core.m_estimation": ("m_estimate", "MFit", "Loss"),
    },
    "compare": {
        "ratewise.questions.comparison": ("compare", "Comparison", "compare_many", "ManyComparisons", "Rival", "Ratio"),
        "ratewise.questions.long_table": ("compare_long",),
        "ratewise.questions.two_tables": ("compare_tables",),
        "ratewise.questions.estimation": ("TableColumns",),
        "ratewise.questions.check": ("check", "Check"),
    },
    "leaderboard": {
        "ratewise.questions.leaderboard": ("leaderboard", "Leaderboard"),
        "ratewise.questions.votes": ("ask_votes", "Asked"),
    },
    "campaign": {
        "ratewise.campaign.campaign": ("Campaign",),
        "ratewise.campaign.status": ("Ending",),
        "ratewise.report.campaign": ("campaign_page",),
    },
    "simulate": {
        "ratewise.lab.simulate": ("simulate",),
        "ratewise.lab.results": ("Simulation", "MethodResult"),
    },
    "raters": {
        "ratewise.learn.trainer": ("train_rater", "Trained"),
        "ratewise.raters.protocol": ("Rater", "Question", "Answer", "Failure", "RaterError"),
    },
    "models": {
        "ratewise.learn.calibration": ("fit_calibration", "cross_calibrated", "Calibration"),
        "ratewise.learn.error_model": ("fit_error", "error_from_column", "error_from_probability", "ErrorModel"),
    },
    "formulas": {
        "ratewise.core.formulas": (
            "error_times_budget",
            "error_ratio",
            "expected_error",
            "spend_for",
            "bernoulli_bound",
            "misjudged_variance_bound",
            "misjudged_variance_bound_additive",
        ),
    },
    "tables": {
        "ratewise.tables": ("read_table", "write_table", "Table"),
    },
    "pictures": {
        "ratewise.report.pictures": (
            "plot_plan",
            "plot_estimates",
            "plot_slices",
            "plot_comparison",
            "plot_regression",
            "plot_leaderboard",
            "plot_simulation",
        ),
    },
    "errors": {
        "ratewise.errors": (
            "RatewiseError",
            "InputError",
            "TableError",
            "PolicyError",
            "MissingAnswersError",
            "SpecError",
            "OutsideError",
            "StoreError",
            "RaterDownError",
            "RatewiseWarning",
        ),
    },
}
_MODULE = {name: module for homes in _GROUPS.values() for module, names in homes.items() for name in names}

__all__ = sorted(_MODULE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'ratewise' has no attribute {name!r}")
    value = getattr(import_module(_MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*(name for name in globals() if name.startswith("__")), *_MODULE])
