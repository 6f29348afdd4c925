"""`demo --serve`: a campaign that a newcomer can click through at once."""

import json
import os
import signal
import subprocess
import sys

import httpx2

from ratewise.campaign.campaign import Campaign
from ratewise.cli.demo import ITEMS, make_sums

from ..waiting import SECONDS, until
from ..web.test_server import asked, end, free_port


def test_the_sums_make_a_campaign(tmp_path):
    toml = make_sums(str(tmp_path / "d"), 1)
    assert make_sums(str(tmp_path / "d"), 1) == toml  # once more, from the start
    campaign = Campaign.open(toml)
    campaign.begin()
    assert campaign.status().pool == ITEMS


def test_its_link_signs_in_and_leads_to_a_question(tmp_path):
    command = [sys.executable, "-m", "ratewise", "demo", "--serve", "-o", str(tmp_path / "d"), "--json"]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    server = subprocess.Popen(
        [*command, "--port", str(free_port())], stdout=subprocess.PIPE, text=True, env=buffered
    )  # fmt: skip
    try:
        told = ""
        while not told.rstrip().endswith("}"):
            line = server.stdout.readline()
            assert line, "the server has ended"
            told += line
        made = json.loads(told)
        with httpx2.Client(base_url=made["url"], timeout=SECONDS) as client:
            client.get(made["link"].removeprefix(made["url"]))
            headers = {"X-CSRF-Token": client.get("/api/v1/me").json()["csrf"]}
            assert until(lambda: asked(client, headers))["item"].keys() == {"question", "answer"}
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=SECONDS) == 0
    finally:
        end(server)
