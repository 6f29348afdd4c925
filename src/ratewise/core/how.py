"""How an estimate is made, as one record: read once from a public function's options, then handed on."""

from dataclasses import dataclass

from ratewise.core.checks import choice, number, scale_ends, seed_number, share
from ratewise.core.messages import Message, argument
from ratewise.core.names import ESTIMANDS, INTERVALS, METHODS, Estimand, IntervalMethod, Method
from ratewise.errors import InputError


@dataclass(frozen=True, slots=True)
class How:
    """Every option of an estimate that is no column of the table; its defaults are those of `estimate_mean`.

    The words and numbers are legal once the record exists.
    """

    method: Method = "auto"
    interval: IntervalMethod = "auto"
    level: float = 0.95
    estimand: Estimand = "population"
    pool_size: float | None = None  # for the estimand pool; none: as many as there are items
    bounds: tuple[float, float] | None = None  # ends of the rating scale
    floor: float | None = None  # least rate that any item could have had; for `anytime`
    variance_factor: float = 1.0
    resamples: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        choice(self.method, METHODS, name="method")
        choice(self.interval, INTERVALS, name="interval")
        choice(self.estimand, ESTIMANDS, name="estimand")
        set_once = object.__setattr__
        set_once(self, "level", share(self.level, name="level"))
        set_once(self, "variance_factor", number(self.variance_factor, name="variance_factor", above=0))
        set_once(self, "seed", seed_number(self.seed))
        if self.bounds is not None:
            set_once(self, "bounds", scale_ends(*self.bounds))
        set_once(self, "resamples", int(number(self.resamples, name="resamples", minimum=100)))

    @property
    def plain(self) -> bool:
        """Whether nothing but an estimand, a level and a seed was asked for."""
        return self == How(level=self.level, estimand=self.estimand, seed=self.seed)

    def refuse_idle_pool_size(self) -> None:
        """Refuse a pool size for the population's mean: whoever gives it means the pool's own."""
        if self.pool_size is not None and self.estimand == "population":
            raise InputError(
                Message(
                    f"{argument('pool_size')} matters only for the pool's own mean; add {argument('estimand pool')}, "
                    "or leave it out"
                )
            )


def both_ends(bounds: tuple[float | None, float | None] | None) -> tuple[float, float] | None:
    """The ends of the rating scale, or neither."""
    low, high = (None, None) if bounds is None else bounds
    if (low is None) != (high is None):
        raise InputError("give both ends of the rating scale (low and high), or neither")
    return None if low is None or high is None else (low, high)
