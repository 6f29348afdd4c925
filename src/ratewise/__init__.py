"""Unbiased evaluation of AI systems from few expensive ratings and many cheap ones.

The public names, loaded when they are first used, so that `import ratewise` and `ratewise --help` are quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ratewise.campaign.campaign import Campaign as Campaign
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
    from ratewise.core.policy import Policy as Policy
    from ratewise.core.policy import optimal_policy as optimal_policy
    from ratewise.errors import InputError as InputError
    from ratewise.errors import OutsideError as OutsideError
    from ratewise.errors import PolicyError as PolicyError
    from ratewise.errors import RatewiseError as RatewiseError
    from ratewise.errors import RatewiseWarning as RatewiseWarning
    from ratewise.errors import TableError as TableError
    from ratewise.lab.metrics import MethodResult as MethodResult
    from ratewise.lab.simulate import Simulation as Simulation
    from ratewise.lab.simulate import simulate as simulate
    from ratewise.learn.calibration import Calibration as Calibration
    from ratewise.learn.calibration import cross_calibrated as cross_calibrated
    from ratewise.learn.calibration import fit_calibration as fit_calibration
    from ratewise.learn.drawing import Drawn as Drawn
    from ratewise.learn.drawing import draw_pool as draw_pool
    from ratewise.learn.estimation import estimate_mean as estimate_mean
    from ratewise.learn.estimation import estimate_table as estimate_table
    from ratewise.learn.plan import Plan as Plan
    from ratewise.learn.plan import plan as plan
    from ratewise.learn.transfer import Drift as Drift
    from ratewise.learn.transfer import Transfer as Transfer
    from ratewise.learn.transfer import load_transfer as load_transfer
    from ratewise.learn.uncertainty import ErrorModel as ErrorModel
    from ratewise.learn.uncertainty import error_from_column as error_from_column
    from ratewise.learn.uncertainty import error_from_probability as error_from_probability
    from ratewise.learn.uncertainty import fit_error as fit_error
    from ratewise.report.campaign import campaign_page as campaign_page
    from ratewise.report.pictures import plot_estimates as plot_estimates
    from ratewise.report.pictures import plot_plan as plot_plan
    from ratewise.report.simulation import plot_simulation as plot_simulation
    from ratewise.tables import Table as Table
    from ratewise.tables import read_table as read_table
    from ratewise.tables import write_table as write_table

__version__ = "0.1.0"

_HOME = {
    "ratewise.campaign.campaign": ("Campaign",),
    "ratewise.core.draw": ("draw", "uniform"),
    "ratewise.core.estimate": ("Estimate",),
    "ratewise.core.formulas": (
        "UniformRate",
        "bernoulli_bound",
        "error_ratio",
        "error_times_budget",
        "expected_error",
        "misjudged_variance_bound",
        "misjudged_variance_bound_additive",
        "optimal_uniform_rate",
        "optimal_uniform_rate_whole_items",
        "spend_for",
    ),
    "ratewise.core.policy": ("Policy", "optimal_policy"),
    "ratewise.errors": ("InputError", "OutsideError", "PolicyError", "RatewiseError", "RatewiseWarning", "TableError"),
    "ratewise.lab.metrics": ("MethodResult",),
    "ratewise.lab.simulate": ("Simulation", "simulate"),
    "ratewise.learn.calibration": ("Calibration", "cross_calibrated", "fit_calibration"),
    "ratewise.learn.drawing": ("Drawn", "draw_pool"),
    "ratewise.learn.estimation": ("estimate_mean", "estimate_table"),
    "ratewise.learn.plan": ("Plan", "plan"),
    "ratewise.learn.transfer": ("Drift", "Transfer", "load_transfer"),
    "ratewise.learn.uncertainty": ("ErrorModel", "error_from_column", "error_from_probability", "fit_error"),
    "ratewise.report.campaign": ("campaign_page",),
    "ratewise.report.pictures": ("plot_estimates", "plot_plan"),
    "ratewise.report.simulation": ("plot_simulation",),
    "ratewise.tables": ("Table", "read_table", "write_table"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'ratewise' has no attribute {name!r}")
    value = getattr(import_module(_MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE])
