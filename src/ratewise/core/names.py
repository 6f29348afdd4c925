"""The words users choose from; imports nothing, so that the command line can list them quickly."""

from typing import Literal, get_args

Estimand = Literal["population", "pool"]
Method = Literal["auto", "difference", "power-tuned", "regression"]
IntervalMethod = Literal["auto", "normal", "t", "score", "bootstrap", "anytime"]
Calibrator = Literal["platt", "affine", "isotonic"]
Recalibration = Literal["none", "platt", "affine", "isotonic", "auto"]
Family = Literal["linear", "logistic", "poisson"]
RegressionMethod = Literal["auto", "difference", "power-tuned"]
Objective = Literal["sum", "worst"]
PolicyName = Literal["base", "random", "active"]
SimulatedMethod = Literal["base", "paper-random", "paper-active", "oracle", "ppi++", "active-fixed", "auto", "limit"]
Mode = Literal["stream", "pool"]
Figure = Literal[
    "gaussian",
    "bernoulli",
    "arena-transfer",
    "arena-easy-hard",
    "arena-burnin",
    "arena-like",
    "aqa",
    "imagenet",
    "seahorse",
]

ESTIMANDS: tuple[str, ...] = get_args(Estimand)
METHODS: tuple[str, ...] = get_args(Method)
INTERVALS: tuple[str, ...] = get_args(IntervalMethod)
CALIBRATORS: tuple[str, ...] = get_args(Calibrator)
RECALIBRATIONS: tuple[str, ...] = get_args(Recalibration)
FAMILIES: tuple[str, ...] = get_args(Family)
REGRESSION_METHODS: tuple[str, ...] = get_args(RegressionMethod)
OBJECTIVES: tuple[str, ...] = get_args(Objective)
POLICIES: tuple[str, ...] = get_args(PolicyName)
SIMULATED_METHODS: tuple[str, ...] = get_args(SimulatedMethod)
MODES: tuple[Mode, ...] = get_args(Mode)
FIGURES: tuple[str, ...] = get_args(Figure)
