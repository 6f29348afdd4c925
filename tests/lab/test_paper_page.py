"""docs/paper.md is what its script makes of the kept figures, and these are of the claims as they are now."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from ratewise.lab.claims import CLAIMS, verdicts
from ratewise.lab.figures import points_of

ROOT = Path(__file__).parents[2]
KEPT = json.loads((ROOT / "docs" / "paper.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_paper_page", ROOT / "docs" / "make_paper_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_script_makes(script):
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    assert page == script.page(KEPT)
    for claim in KEPT["claims"]:
        assert claim["text"] in page
    for file in re.findall(r"`([a-z_]+/[a-z_/]+\.(?:py|txt))`", page):
        assert (ROOT / "src" / "ratewise" / file).is_file(), file
    for file in re.findall(r"tests/[a-z_/]+\.py", page):
        assert (ROOT / file).is_file(), file


def test_the_kept_verdicts_are_of_all_claims_but_those_that_train_a_rater():
    named = [(c.where, c.text, c.corrected, list(c.needs)) for c in CLAIMS if "arena-like" not in c.needs]
    assert named == [(c["where"], c["text"], c["corrected"], c["figures"]) for c in KEPT["claims"]]


def test_what_is_exact_is_kept_as_it_is_found_now():
    found = verdicts({name: points_of(name) for name in ("gaussian", "bernoulli")})
    kept = {(c["where"], c["text"]): c["verdict"] for c in KEPT["claims"]}
    assert all(kept[claim.where, claim.text] == claim.verdict for claim in found)
