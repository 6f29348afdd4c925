"""The public names, in groups as people look for them. `__init__.py` reads this list, as type checkers do."""

# ruff: noqa: E402, I001

__version__: str
_GROUPS: dict[str, dict[str, str]]  # group → name → its module

# plan
from ratewise.questions.plan import plan as plan, Plan as Plan
from ratewise.questions.comparison import (
    plan_comparison as plan_comparison,
    plan_comparisons as plan_comparisons,
    ComparisonsPlan as ComparisonsPlan,
)
from ratewise.questions.quantiles import plan_quantile as plan_quantile
from ratewise.questions.regression import plan_regression as plan_regression, RegressionPlan as RegressionPlan
from ratewise.questions.slices import (
    plan_slices as plan_slices,
    SlicePlan as SlicePlan,
    PlannedSlice as PlannedSlice,
)
from ratewise.questions.strata import InputPlan as InputPlan, StratumPlan as StratumPlan
from ratewise.core.policy import optimal_policy as optimal_policy, Policy as Policy
from ratewise.core.m_estimation import m_policy as m_policy
from ratewise.core.allocation import choose_inputs as choose_inputs, InputChoice as InputChoice
from ratewise.core.formulas import (
    optimal_uniform_rate as optimal_uniform_rate,
    optimal_uniform_rate_whole_items as optimal_uniform_rate_whole_items,
    UniformRate as UniformRate,
)
from ratewise.core.formulas import (
    WhatIf as WhatIf,
    cost_of_wrong_policy as cost_of_wrong_policy,
    WrongPolicy as WrongPolicy,
    PolicyPrice as PolicyPrice,
)
from ratewise.questions.transfer import load_transfer as load_transfer, Transfer as Transfer

# draw
from ratewise.questions.drawing import draw_pool as draw_pool, draw_slices as draw_slices
from ratewise.questions.sheets import blind_sheet as blind_sheet, merge_sheet as merge_sheet, Merged as Merged
from ratewise.questions.drawing import Drawn as Drawn
from ratewise.questions.transfer import Drift as Drift
from ratewise.core.draw import draw as draw, uniform as uniform
from ratewise.questions.comparison import add_difference as add_difference

# estimate
from ratewise.questions.estimation import estimate_mean as estimate_mean, estimate_table as estimate_table
from ratewise.core.estimate import Estimate as Estimate
from ratewise.questions.slices import estimate_slices as estimate_slices, Slices as Slices, Slice as Slice
from ratewise.core.stratified import estimate_stratified as estimate_stratified, estimate_weighted as estimate_weighted
from ratewise.questions.quantiles import estimate_quantile as estimate_quantile
from ratewise.questions.quantiles import quantile_table as quantile_table, Quantiles as Quantiles
from ratewise.questions.regression import regress as regress, Regression as Regression, Coefficient as Coefficient
from ratewise.core.m_estimation import m_estimate as m_estimate, MFit as MFit, Loss as Loss

# compare
from ratewise.questions.comparison import (
    compare as compare,
    Comparison as Comparison,
    compare_many as compare_many,
    ManyComparisons as ManyComparisons,
    Rival as Rival,
    Ratio as Ratio,
)
from ratewise.questions.comparison import compare_long as compare_long, compare_tables as compare_tables
from ratewise.questions.rated import TableColumns as TableColumns
from ratewise.questions.check import check as check, Check as Check

# leaderboard
from ratewise.questions.leaderboard import leaderboard as leaderboard, Leaderboard as Leaderboard
from ratewise.questions.leaderboard import ask_votes as ask_votes, Asked as Asked

# campaign
from ratewise.campaign.campaign import Campaign as Campaign
from ratewise.campaign.status import Ending as Ending
from ratewise.report.campaign import campaign_page as campaign_page

# simulate
from ratewise.lab.simulate import simulate as simulate
from ratewise.lab.results import Simulation as Simulation, MethodResult as MethodResult

# raters
from ratewise.learn.trainer import train_rater as train_rater, Trained as Trained
from ratewise.raters.protocol import (
    Rater as Rater,
    Question as Question,
    Answer as Answer,
    Failure as Failure,
    RaterError as RaterError,
)

# models
from ratewise.learn.calibration import (
    fit_calibration as fit_calibration,
    cross_calibrated as cross_calibrated,
    Calibration as Calibration,
)
from ratewise.learn.error_model import (
    fit_error as fit_error,
    error_from_column as error_from_column,
    error_from_probability as error_from_probability,
    ErrorModel as ErrorModel,
)

# formulas
from ratewise.core.formulas import (
    error_times_budget as error_times_budget,
    error_ratio as error_ratio,
    expected_error as expected_error,
    spend_for as spend_for,
    bernoulli_bound as bernoulli_bound,
    misjudged_variance_bound as misjudged_variance_bound,
    misjudged_variance_bound_additive as misjudged_variance_bound_additive,
)

# tables
from ratewise.tables import read_table as read_table, write_table as write_table, Table as Table

# pictures
from ratewise.report.pictures import (
    plot_plan as plot_plan,
    plot_estimates as plot_estimates,
    plot_slices as plot_slices,
    plot_comparison as plot_comparison,
    plot_regression as plot_regression,
    plot_leaderboard as plot_leaderboard,
    plot_simulation as plot_simulation,
)

# errors
from ratewise.errors import (
    RatewiseError as RatewiseError,
    InputError as InputError,
    TableError as TableError,
    PolicyError as PolicyError,
    MissingAnswersError as MissingAnswersError,
    SpecError as SpecError,
    OutsideError as OutsideError,
    StoreError as StoreError,
    RaterDownError as RaterDownError,
    RatewiseWarning as RatewiseWarning,
)
