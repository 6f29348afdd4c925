"""Tiny models, made once."""

import warnings

import numpy as np
import pytest

from .tiny import bert, gemma


@pytest.fixture(scope="session")
def causal(tmp_path_factory):
    """The folder of a causal model with random weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gemma(tmp_path_factory.mktemp("gemma"))


@pytest.fixture(scope="session")
def encoder(tmp_path_factory):
    """The folder of an encoder with random weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def noise():
    """60 items whose ratings have nothing to do with their texts."""
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{k}" for k in rng.integers(0, 80, 6)) for _ in range(60)]
    return {"id": [f"t{i}" for i in range(60)], "text": texts, "human": rng.integers(0, 2, 60).tolist()}
