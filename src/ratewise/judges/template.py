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
    settings, sections = _split(text, name)
    kind = settings.get("kind", "")
    if kind not in KINDS:
        raise InputError(f"the judge {name} needs a line `kind: binary`; its kinds are {', '.join(KINDS)}")
    made = Template(
        name, kind, sections["system"], sections["user"], _truth(settings.get("reasons", "no"), name),
        int(_number(settings.get("max_tokens", "700"), "max_tokens", name)), *_ends(settings, name),
        hashlib.sha256(text.encode()).hexdigest(),
    )  # fmt: skip
    _check_fields(made)
    if not 1 <= made.max_tokens <= 1_000_000:
        raise InputError(f"the judge {name}: max_tokens must be from 1 to 1,000,000; got {made.max_tokens}")
    return made


def _split(text: str, name: str) -> tuple[dict[str, str], dict[str, str]]:
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
            raise InputError(f"the judge {name}: cannot read the line {line[:60]!r}; its lines are {_lines()}")
        settings[key] = value
    return settings, sections


def _lines() -> str:
    return ", ".join(f"`{key}: …`" for key in _SETTINGS)


def _check_fields(made: Template) -> None:
    used = {*_FIELD.findall(made.user), *_FIELD.findall(made.system)}
    needed = {"item", "format"} if made.kind != "pairwise" else {"first", "second", "format"}
    missing = sorted(needed - set(_FIELD.findall(made.user)))
    if missing:
        raise InputError(f"the judge {made.name}: its user part needs {{{missing[0]}}}")
    unknown = sorted(used - set(FIELDS))
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in FIELDS)
        raise InputError(f"the judge {made.name}: {{{unknown[0]}}} is unknown; it may use {known}")
    data = {"item", "first", "second"} & set(_FIELD.findall(made.system))
    if data:
        raise InputError(f"the judge {made.name}: {{{min(data)}}} is data and belongs into the user part")


def _truth(word: str, name: str) -> bool:
    if word not in ("yes", "no"):
        raise InputError(f"the judge {name}: reasons must be yes or no; got {word[:40]!r}")
    return word == "yes"


def _ends(settings: dict[str, str], name: str) -> tuple[float | None, float | None]:
    if "low" not in settings and "high" not in settings:
        return None, None
    low, high = (_number(settings.get(end, ""), end, name) for end in ("low", "high"))
    if not low < high:
        raise InputError(f"the judge {name}: high must be above low; got {low:g} and {high:g}")
    return low, high


def _number(word: str, key: str, name: str) -> float:
    if not re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", word) or (key == "max_tokens" and not word.isdigit()):
        raise InputError(f"the judge {name}: {key} must be a number; got {word[:40]!r}")
    return float(word)
