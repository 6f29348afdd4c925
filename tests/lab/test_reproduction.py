"""The paper's experiments as data: which ratings each is run on, and what its policies learn from."""

import numpy as np
import pytest

from ratewise.errors import TableError
from ratewise.lab.datasets import Dataset
from ratewise.lab.reproduction import EXPERIMENTS, population_of

from ..worlds import sharp_judge


def test_the_easy_hard_split_keeps_the_ends_of_u():
    g, h = sharp_judge(1000, 4, sharp=0.5)
    whole = Dataset("arena", "", g, h, transfer=sharp_judge(500, 5, sharp=0.5))
    (split,) = EXPERIMENTS["arena-easy-hard"]
    population, other = population_of(split, whole)
    u = population.weak * (1 - population.weak)
    low, high = np.quantile(g * (1 - g), [0.25, 0.75])
    assert population.items == 500
    assert np.all((u <= low) | (u >= high))
    assert other.items == 500


def test_transfer_needs_something_to_transfer_from():
    (experiment,) = EXPERIMENTS["arena-transfer"]
    with pytest.raises(TableError, match="no other comparisons"):
        population_of(experiment, Dataset("arena", "", *sharp_judge(300, 6, sharp=1)))
