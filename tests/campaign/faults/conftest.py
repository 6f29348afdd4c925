"""A campaign to be disturbed, and the same one undisturbed."""

import pytest

from .world import World


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "disturbed")


@pytest.fixture(scope="session")
def calm(tmp_path_factory):
    """The same campaign, undisturbed; only to be looked at."""
    world = World(tmp_path_factory.mktemp("calm") / "calm")
    assert world.run() == "every item has been looked at"
    world.check()
    return world
