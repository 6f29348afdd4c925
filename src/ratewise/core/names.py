"""The words users choose from; imports nothing, so that the command line can list them quickly."""

from typing import Literal, get_args

Estimand = Literal["population", "pool"]
Method = Literal["auto", "difference", "power-tuned", "regression"]
IntervalMethod = Literal["auto", "normal", "t", "score", "bootstrap", "anytime"]
Calibrator = Literal["platt", "affine", "isotonic"]
Recalibration = Literal["none", "platt", "affine", "isotonic"]
PolicyName = Literal["base", "random", "active"]

ESTIMANDS: tuple[str, ...] = get_args(Estimand)
METHODS: tuple[str, ...] = get_args(Method)
INTERVALS: tuple[str, ...] = get_args(IntervalMethod)
CALIBRATORS: tuple[str, ...] = get_args(Calibrator)
RECALIBRATIONS: tuple[str, ...] = get_args(Recalibration)
POLICIES: tuple[str, ...] = get_args(PolicyName)
