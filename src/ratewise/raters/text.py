"""Makes foreign text fit for a line of a report and for a database, and hides in it what may be a secret."""

import hashlib
import os
import re
import reprlib
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from urllib.parse import unquote

_SHOWN = 60
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _SHOWN


def one_line(text: str, most: int = 300) -> str:
    """The first line that is not blank, shortened and without control characters, which could command a terminal."""
    line = next((line for line in text.splitlines() if line.strip()), "")[: 4 * most]
    plain = "".join(c if c.isprintable() else " " for c in line).strip()
    return plain if len(plain) <= most else plain[: most - 3] + "..."


def storable(text: str) -> str:
    """The text without NULs and halves of surrogate pairs, which databases refuse."""
    return text.replace("\0", "�").encode("utf-8", "replace").decode("utf-8")


def short(value: object) -> str:
    """A value as it is shown in a message, whatever it is: one line of at most 60 characters."""
    try:
        return one_line(_REPR.repr(value), _SHOWN)
    except Exception:  # a number of 10,000 digits has no repr, and other people's classes may do anything
        return f"a value of type {type(value).__name__}"


# Secrets: passwords in addresses, keys among the arguments of a command, and both in text

HIDDEN = "***"
_SECRET = re.compile(r"(key|token|secret|passw|pwd|credential|auth|bearer|cookie|session|signature)", re.IGNORECASE)
_ASSIGNED = re.compile(r"^(?P<name>-{0,2}[^=\s]+)=(?P<value>.+)$", re.DOTALL)
_KNOWN = re.compile(r"\b(sk|pk|rk|ghp|gho|ghs|glpat|xox[abp]|AKIA|ASIA|AIza|hf|eyJ)[-_A-Za-z0-9]{12,}")
_MARK = re.compile(r"\*\*\*[0-9a-f]{8}")
_SHORTEST = 4  # characters of a secret that is sought in text; shorter ones are in every other word
_SHORTEST_VARIABLE = 8  # of the environment, where names say less

Mask = Callable[[str], str]
"""What is written instead of a secret."""


def _stars(_: str) -> str:
    return HIDDEN


def _marked(secret: str) -> str:
    """Stars and a few digits of the secret's SHA-256: the same for the same secret, so that a change is seen."""
    if _MARK.fullmatch(secret):
        return secret
    return HIDDEN + hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def without_secrets(address: str, mask: Mask = _stars) -> str:
    """An address without its user, password and secret options: all before the last @ could be one, escaped or not."""
    scheme, mark, rest = address.partition("://")
    if not mark:
        return _KNOWN.sub(lambda found: mask(found[0]), address)
    person, at, host = rest.rpartition("@")
    place, mark, options = (f"{scheme}://{mask(person)}@{host}" if at else address).partition("?")
    return place + mark + "&".join(_argument(option, mask) for option in options.split("&"))


def safe_words(words: Sequence[str], mask: Mask = _stars) -> tuple[str, ...]:
    """A command's words; the value of an option that sounds like a secret is hidden, and so is what looks like one."""
    out: list[str] = []
    hide_next = False
    for word in words:
        hidden = hide_next and not word.startswith("-")
        out.append(mask(word) if hidden else _argument(word, mask))
        hide_next = word.startswith("-") and "=" not in word and _SECRET.search(word) is not None
    return tuple(out)


def safe_text(text: str, mask: Mask = _stars) -> str:
    """Text that is safe in a message: passwords in commands and addresses are hidden."""
    if "://" in text and " " not in text.strip():
        return without_secrets(text, mask)
    words = re.split(r"(\s+)", text)
    safe = safe_words(words[::2], mask)
    return "".join(one for pair in zip_longest(safe, words[1::2], fillvalue="") for one in pair)


def _argument(word: str, mask: Mask) -> str:
    found = _ASSIGNED.match(word)
    if found and _SECRET.search(found["name"]):
        return f"{found['name']}={mask(found['value'])}"
    if "://" in word and "@" in word:
        return without_secrets(word, mask)
    return mask(word) if _SECRET.search(word) and " " in word else _KNOWN.sub(lambda known: mask(known[0]), word)


# Settings and what raters say


def concealed(value: object) -> object:
    """A setting as it is stored: its secrets are marks, by which a change is still seen. What is concealed stays so."""
    if isinstance(value, str):
        return safe_text(value, _marked)
    if isinstance(value, tuple | list) and all(isinstance(word, str) for word in value):
        return type(value)(safe_words(value, _marked))
    return value


def secrets_of(settings: Mapping[str, object], environment: Mapping[str, str] | None = None) -> frozenset[str]:
    """The secrets among a rater's settings and in the environment, to be sought in what the rater says."""
    found: list[str] = []

    def keep(secret: str) -> str:
        password = secret.partition(":")[2]
        found.extend((secret, password, unquote(password)))
        return HIDDEN

    for value in settings.values():
        safe_words(words_of(value), keep)
    variables = os.environ if environment is None else environment
    found.extend(variables.get(str(value), "") for name, value in settings.items() if name.endswith("_env"))
    named = (value for name, value in variables.items() if _SECRET.search(name) and not os.path.isabs(value))
    return frozenset(
        [one for one in found if len(one) >= _SHORTEST] + [one for one in named if len(one) >= _SHORTEST_VARIABLE]
    )


def words_of(value: object) -> list[str]:
    """The words of a setting: those that a shell would see in text, or the texts of a list."""
    if isinstance(value, str):
        try:
            return shlex.split(value)
        except ValueError:
            return [value]
    return [word for word in value if isinstance(word, str)] if isinstance(value, tuple | list) else []


def without(text: str, secrets: Iterable[str]) -> str:
    """The text with these secrets hidden, longer ones first: one may be a part of another."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def safe_reason(text: str, secrets: Collection[str]) -> str:
    """What a rater says about its own failure, without these secrets and without what looks like one."""
    return safe_text(without(text, secrets))


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
