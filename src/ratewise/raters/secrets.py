"""Hides words that may be secrets: passwords in addresses, and keys among the arguments of a command."""

import re
from collections.abc import Sequence
from itertools import zip_longest

HIDDEN = "***"
_SECRET = re.compile(r"(key|token|secret|passw|pwd|credential|auth|bearer|cookie|session|signature)", re.IGNORECASE)
_ASSIGNED = re.compile(r"^(?P<name>-{0,2}[^=\s]+)=(?P<value>.+)$", re.DOTALL)
_KNOWN = re.compile(r"\b(sk|pk|rk|ghp|gho|ghs|glpat|xox[abp]|AKIA|ASIA|AIza|hf|eyJ)[-_A-Za-z0-9]{12,}")


def without_secrets(address: str) -> str:
    """An address without its user and password: all before the last @ could be one of them, escaped or not."""
    scheme, mark, rest = address.partition("://")
    if not mark:
        return _KNOWN.sub(HIDDEN, address)
    _, at, host = rest.rpartition("@")
    return _hidden_values(f"{scheme}://{HIDDEN}@{host}" if at else address)


def _hidden_values(address: str) -> str:
    """The options at the end of an address, with passwords hidden."""
    place, mark, options = address.partition("?")
    shown = "&".join(_argument(option) for option in options.split("&"))
    return f"{place}{mark}{shown}"


def safe_words(words: Sequence[str]) -> tuple[str, ...]:
    """A command's words; the value of an option that sounds like a secret is hidden, and so is what looks like one."""
    out: list[str] = []
    hide_next = False
    for word in words:
        hidden = hide_next and not word.startswith("-")
        out.append(HIDDEN if hidden else _argument(word))
        hide_next = word.startswith("-") and "=" not in word and _SECRET.search(word) is not None
    return tuple(out)


def safe_text(text: str) -> str:
    """Text that is safe in a message: passwords in commands and addresses are hidden."""
    if "://" in text and " " not in text.strip():
        return without_secrets(text)
    words = re.split(r"(\s+)", text)
    return "".join(one for pair in zip_longest(safe_words(words[::2]), words[1::2], fillvalue="") for one in pair)


def _argument(word: str) -> str:
    found = _ASSIGNED.match(word)
    if found and _SECRET.search(found["name"]):
        return f"{found['name']}={HIDDEN}"
    if "://" in word and "@" in word:
        return without_secrets(word)
    return HIDDEN if _SECRET.search(word) and " " in word else _KNOWN.sub(HIDDEN, word)


def address_problem(address: str) -> str:
    """What is wrong with postgresql://user:password@host:port/database, without showing it; "" where it can be read."""
    rest = address.partition("://")[2].partition("?")[0]
    person, at, place = rest.rpartition("@")
    if any(sign in person for sign in "@/") or (not at and rest.count(":") > 1 and "[" not in rest):
        return "has an @ or / in its user or password; write %40 for @ and %2F for /"
    host = place.partition("/")[0]
    port = host.rpartition("]")[2].partition(":")[2]
    if port and not (port.isascii() and port.isdigit() and int(port) < 65536):
        return "has a port that is no number; write postgresql://user@host:5432/database"
    return ""
