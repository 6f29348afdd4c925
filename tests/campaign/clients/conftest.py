"""Campaigns that wait for their first answers: made once for each kind, and copied for each test."""

import shutil

import pytest

from ratewise.campaign.campaign import Campaign

from .test_labelling import begun


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """Folders of campaigns by their settings."""
    folders = {}

    def folder(**keys):
        name = tuple(sorted(keys.items()))
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp("made")
            begun(folders[name], **keys)
        return folders[name]

    return folder


@pytest.fixture
def ready(made_once, tmp_path):
    """A campaign of one's own, in the test's folder."""

    def make(place=tmp_path, **keys):
        shutil.copytree(made_once(**keys), place, dirs_exist_ok=True)
        return Campaign.open(place / "c.toml")

    return make
