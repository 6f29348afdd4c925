"""Words of a text as numbers: hashed words, pairs of words and parts of words. Nothing is downloaded or fitted."""

import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from ratewise.core.checks import Floats

BUCKETS = 1024
_TOKEN = re.compile(r"\w+|[^\w\s]")
_PARTS = (3, 4)  # letters
_MOST = 2000  # words of a text that are looked at


def grams(text: str) -> Iterator[str]:
    """Words, neighbouring pairs of them, and parts of each, so that related words share something."""
    words = _TOKEN.findall(text.lower())[:_MOST]
    yield from words
    yield from (f"{a} {b}" for a, b in pairwise(words))
    for word in words:
        whole = f"<{word}>"
        for n in _PARTS:
            yield from ("#" + whole[i : i + n] for i in range(len(whole) - n + 1))


def hashed(texts: Iterable[str]) -> Floats:
    """Texts × buckets: log(1 + count) of what falls into each, rows of length 1. The same on every machine."""
    known: dict[str, int] = {}
    rows = []
    for text in texts:
        places = [known.setdefault(gram, _bucket(gram)) for gram in grams(text)]
        row = np.log1p(np.bincount(places, minlength=BUCKETS).astype(np.float64)) if places else np.zeros(BUCKETS)
        rows.append(row / max(float(np.sqrt(row @ row)), 1e-12))
    return np.array(rows).reshape(-1, BUCKETS)


def _bucket(gram: str) -> int:
    return zlib.crc32(gram.encode("utf-8", "replace")) % BUCKETS
