"""Templates of judges: readable text files with a few settings, a system message and a user message."""

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal, get_args

from ratewise.errors import InputError

JudgeKind = Literal["binary", "likert", "score", "pairwise"]
KINDS: tuple[JudgeKind, ...] = get_args(JudgeKind)
FIELDS = ("criterion", "item", "scale", "format", "first", "second")
_SETTINGS = ("kind", "reasons", "max_tokens", "low", "high")
_SECTION = re.compile(r"^=== *(system|user) *===[ \t]*$", re.MULTILINE)
_FIELD = re.compile(r"\{([a-z_]+)\}")
_LONGEST = 1_000_000  # characters of a template


@dataclass(frozen=True, slots=True)
class Template:
    """A judge's text. `low` and `high` are None where the campaign's scale counts."""

    name: str
    kind: JudgeKind
    system: str
    user: str
    reasons: bool
    max_tokens: int
    low: float | None
    high: float | None
    digest: str  # SHA-256 of the file

    def fill(self, part: Literal["system", "user"], fields: dict[str, str]) -> str:
        """Put the fields in, in one pass: braces inside of them stay as they are."""
        text = self.system if part == "system" else self.user
        return _FIELD.sub(lambda found: fields.get(found[1], found[0]), text)


def built_in(kind: str) -> str:
    """The text of a template that comes with ratewise."""
    return files("ratewise.judges").joinpath("templates", f"{kind}.txt").read_text(encoding="utf-8")


def load(judge: str, folder: str) -> Template:
    """A template by its kind or by the path of its file."""
    if judge in KINDS:
        return parse(built_in(judge), judge)
    path = Path(folder, judge)
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_LONGEST + 1)
    except UnicodeDecodeError:
        raise InputError(f"the judge {judge} is no text in UTF-8; save it as such") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(
            f"cannot read the judge {judge}: {reason.lower()}; write one of {', '.join(KINDS)}, or get a file to "
            "change with: ratewise init --judge binary"
        ) from None
    return parse(text, judge)


def parse(text: str, name: str) -> Template:
    """A template from its text; what is wrong with it is one InputError."""
    if len(text) > _LONGEST:
        raise InputError(f"the judge {name} has more than {_LONGEST:,} characters; shorten it")
    settings, system, user = _split(text, name)
    kind, reasons = settings.get("kind", ""), settings.get("reasons", "no")
    if kind not in KINDS:
        raise InputError(f"the judge {name} needs a line `kind: binary`; its kinds are {', '.join(KINDS)}")
    if reasons not in ("yes", "no"):
        raise InputError(f"the judge {name}: reasons must be yes or no; got {reasons[:40]!r}")
    max_tokens = int(_number(settings.get("max_tokens", "700"), "max_tokens", name))
    low = high = None
    if {"low", "high"} & settings.keys():
        low, high = (_number(settings.get(end, ""), end, name) for end in ("low", "high"))
        if not low < high:
            raise InputError(f"the judge {name}: high must be above low; got {low:g} and {high:g}")
    _check_fields(name, kind, system, user)
    if not 1 <= max_tokens <= 1_000_000:
        raise InputError(f"the judge {name}: max_tokens must be from 1 to 1,000,000; got {max_tokens}")
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Template(name, kind, system, user, reasons == "yes", max_tokens, low, high, digest)


def _split(text: str, name: str) -> tuple[dict[str, str], str, str]:
    """(settings, system part, user part) of a template."""
    head, *rest = _SECTION.split(text.replace("\r\n", "\n"))
    sections = dict(zip(rest[::2], (part.strip() for part in rest[1::2]), strict=True))
    if len(rest) != 4 or not all(sections.get(part) for part in ("system", "user")):
        raise InputError(f"the judge {name} needs one part `=== system ===` and one part `=== user ===`")
    settings: dict[str, str] = {}
    for line in head.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or key not in _SETTINGS or key in settings:
            legal = ", ".join(f"`{key}: …`" for key in _SETTINGS)
            raise InputError(f"the judge {name}: cannot read the line {line[:60]!r}; its lines are {legal}")
        settings[key] = value
    return settings, sections["system"], sections["user"]


def _check_fields(name: str, kind: str, system: str, user: str) -> None:
    """The user part has the fields it needs, the system part no data, and neither an unknown one."""
    in_user, in_system = set(_FIELD.findall(user)), set(_FIELD.findall(system))
    needed = {"item", "format"} if kind != "pairwise" else {"first", "second", "format"}
    if missing := needed - in_user:
        raise InputError(f"the judge {name}: its user part needs {{{min(missing)}}}")
    if unknown := (in_user | in_system) - set(FIELDS):
        known = ", ".join(f"{{{field}}}" for field in FIELDS)
        raise InputError(f"the judge {name}: {{{min(unknown)}}} is unknown; it may use {known}")
    if data := {"item", "first", "second"} & in_system:
        raise InputError(f"the judge {name}: {{{min(data)}}} is data and belongs into the user part")


def _number(word: str, key: str, name: str) -> float:
    if not re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", word) or (key == "max_tokens" and not word.isdigit()):
        raise InputError(f"the judge {name}: {key} must be a number; got {word[:40]!r}")
    return float(word)
