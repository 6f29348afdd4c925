"""A trainer that costs nothing, in the place of an encoder: ratings by whether a text's numbers have an even sum.

Words alone do not tell that, so the predictions say something that columns of words do not.
"""

import re

import numpy as np

_DOUBT = 4.0  # ratings' worth of the mean, that either kind begins with


def parity(row):
    """0 for even, 1 for odd."""
    return sum(int(number) for text in row for number in re.findall(r"\d+", text)) % 2


def parity_trainer(rows, ratings, asked, seed, check):
    """The mean rating of texts of the same kind, shrunk to the mean of all."""
    kind, mean = np.array([parity(row) for row in rows]), ratings.mean()
    said = [(ratings[kind == k].sum() + _DOUBT * mean) / (np.count_nonzero(kind == k) + _DOUBT) for k in (0, 1)]
    return np.array([said[parity(row)] for row in asked])
