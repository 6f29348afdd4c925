"""A secret seed: taken from the environment, told by its digest, and known to others only at the end."""

import hashlib

import pytest

from ratewise.campaign import seed
from ratewise.campaign.spec.read import read_spec
from ratewise.campaign.spec.spec import SecretSeed
from ratewise.errors import InputError

from .making import judged, write

SECRET = "a very long secret 123"
DIGEST = hashlib.sha256(SECRET.encode()).hexdigest()


class Facts(dict):
    """As much of a store as a seed needs."""

    def meta(self, key):
        return self.get(key)

    def set_meta(self, key, value):
        self[key] = value


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.setenv("POOL_SEED", SECRET)
    return read_spec(write(tmp_path, judged(10))).model_copy(update={"seed": SecretSeed(env="POOL_SEED")})


def test_a_seed_in_the_toml_is_no_secret(spec):
    plain = spec.model_copy(update={"seed": 7})
    assert (seed.seed_of(plain), seed.facts_of_seed(plain), seed.known_seed(plain, Facts())) == (7, {}, 7)
    assert seed.seed_words(Facts()) is None


@pytest.mark.parametrize(("value", "problem"), [("", "is not set"), ("short", "has only 5 characters")])
def test_one_that_could_be_found_by_trying_is_refused(spec, monkeypatch, value, problem):
    monkeypatch.setenv("POOL_SEED", value)
    with pytest.raises(InputError, match=rf"\$POOL_SEED, which {problem}.*openssl rand -hex 16"):
        seed.seed_of(spec)


def test_a_run_goes_on_with_the_same_one(spec, monkeypatch):
    facts = Facts(seed.facts_of_seed(spec))
    assert facts == {seed.DIGEST: DIGEST}
    seed.check_secret(spec, facts)
    monkeypatch.setenv("POOL_SEED", "another long secret 456")
    with pytest.raises(InputError, match=f"set it to the one whose SHA-256 is {DIGEST}"):
        seed.check_secret(spec, facts)
    assert seed.known_seed(spec, facts) is None


def test_it_is_told_at_the_end_and_not_before(spec, monkeypatch):
    facts = Facts(seed.facts_of_seed(spec))
    seed.reveal(spec, facts)
    assert SECRET not in facts.values()
    assert seed.seed_words(facts) == f"secret until the end; its SHA-256 is {DIGEST}"
    facts["ended"] = "every item has been looked at"
    seed.reveal(spec, facts)
    monkeypatch.delenv("POOL_SEED")
    assert seed.known_seed(spec, facts) == SECRET
    assert seed.seed_words(facts) == f"{SECRET}; it was secret, with the SHA-256 {DIGEST}"


def test_a_revealed_one_that_was_exchanged_is_not_believed(spec, monkeypatch):
    facts = Facts({seed.DIGEST: DIGEST, seed.REVEALED: "another long secret 456"})
    monkeypatch.delenv("POOL_SEED")
    assert seed.known_seed(spec, facts) is None
