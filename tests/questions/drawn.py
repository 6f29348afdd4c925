"""The hash that decides a draw, written again."""

import hashlib


def r(seed, item):
    return int(hashlib.md5(f"{seed}:{item}".encode()).hexdigest()[:13], 16) / 2**52
