"""One campaign with its pages for all tests that leave it as they found it, and fresh ones for the others."""

import shutil

import pytest

from ratewise.campaign.campaign import Campaign

from .browsing import browser
from .making import Visitor, app_of, service_of, write

__all__ = ["browser"]


@pytest.fixture(scope="session")
def waiting(tmp_path_factory):
    """The folder of a campaign that waits for its first answers; to be copied."""
    folder = tmp_path_factory.mktemp("waiting") / "c"
    write(folder).run(wait=False)
    return folder


@pytest.fixture
def begun(waiting, tmp_path):
    """A copy of the campaign that waits, in a folder of its own."""
    shutil.copytree(waiting, tmp_path, dirs_exist_ok=True)
    return Campaign.open(tmp_path / "c.toml")


@pytest.fixture
def site(begun):
    """A service with its application, and people who can sign in."""
    with service_of(begun, run=False) as (service, board):
        yield Site(service, board)


class Site:
    def __init__(self, service, board):
        self.service, self.board = service, board
        self.app = app_of(service, board)

    def visitor(self, name, *, admin=False):
        return Visitor(self.app, self.service.accounts.add(name, admin=admin))

    def stranger(self):
        return Visitor(self.app)
