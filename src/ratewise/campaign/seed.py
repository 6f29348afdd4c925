"""The seed: a number in the TOML, or a secret whose SHA-256 is published at the start and which is revealed at the end.

Whoever supplies items and knows the seed could choose ids that are never drawn. A secret cannot be known to them, and
its digest shows at the end that it was chosen at the start.
"""

import hashlib
import os

from ratewise.campaign.spec.spec import SecretSeed, Spec
from ratewise.errors import InputError
from ratewise.store.store import Store

DIGEST, REVEALED = "seed sha256", "seed"  # facts in the store
_SHORTEST = 16  # characters; fewer could be found by trying


def seed_of(spec: Spec) -> int | str:
    """The seed to draw by; a secret comes from the environment."""
    if not isinstance(spec.seed, SecretSeed):
        return spec.seed
    value = os.environ.get(spec.seed.env, "")
    if len(value) < _SHORTEST:
        problem = "is not set" if not value else f"has only {len(value)} characters, which can be found by trying"
        raise InputError(
            f"the seed is in ${spec.seed.env}, which {problem}; set it to {_SHORTEST} characters or more, such as "
            "those of: openssl rand -hex 16"
        )
    return value


def secret_seed(spec: Spec) -> frozenset[str]:
    """The seed where it is a secret, so that no rater tells it before the end; else nothing."""
    value = os.environ.get(spec.seed.env, "") if isinstance(spec.seed, SecretSeed) else ""
    return frozenset([value]) if value else frozenset()


def digest_of(seed: int | str) -> str:
    """SHA-256 of a secret."""
    return hashlib.sha256(str(seed).encode("utf-8", "surrogatepass")).hexdigest()


def facts_of_seed(spec: Spec) -> dict[str, str]:
    """What the store keeps of a secret from the start."""
    return {DIGEST: digest_of(seed_of(spec))} if isinstance(spec.seed, SecretSeed) else {}


def check_secret(spec: Spec, store: Store) -> None:
    """Refuse another secret than the one the campaign began with."""
    if isinstance(spec.seed, SecretSeed) and digest_of(seed_of(spec)) != store.meta(DIGEST):
        raise InputError(
            f"${spec.seed.env} holds another seed than the campaign began with; set it to the one whose SHA-256 is "
            f"{store.meta(DIGEST)}"
        )


def reveal(spec: Spec, store: Store) -> None:
    """Reveal the secret seed at the end of a campaign."""
    if isinstance(spec.seed, SecretSeed) and store.meta("ended") is not None:
        store.set_meta(REVEALED, str(seed_of(spec)))


def known_seed(spec: Spec, store: Store) -> int | str | None:
    """The seed, or `None` for a secret that is neither revealed nor set, or differs."""
    if not isinstance(spec.seed, SecretSeed):
        return spec.seed
    for value in (store.meta(REVEALED), os.environ.get(spec.seed.env)):
        if value is not None and digest_of(value) == store.meta(DIGEST):
            return value
    return None


def seed_words(store: Store) -> str | None:
    """The seed for status and report: a secret's digest, at the end the secret itself; `None` if it is not secret."""
    digest, value = store.meta(DIGEST), store.meta(REVEALED)
    if digest is None:
        return None
    if value is None:
        return f"secret until the end; its SHA-256 is {digest}"
    return f"{value}; it was secret, with the SHA-256 {digest}"
