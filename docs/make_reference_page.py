"""Write docs/reference.md from the public names' docstrings, so that it is never out of date (a test compares)."""

import ast
import dataclasses
import inspect
import pathlib
import sys
import textwrap
from typing import Any

PAGE = pathlib.Path(__file__).with_name("reference.md")
INTRODUCTION = """# Python reference

Made from the docstrings by `make docs`. Everything here is in `ratewise`: `import ratewise as rw`.
Options are keyword-only. Results are frozen records: they print as a sentence, show as a table in a notebook, and
`to_dict()` is ready for JSON.
"""
GROUPS = {
    "Run a campaign": ("ratewise.campaign", "ratewise.raters"),
    "The mean: plan, draw, estimate": ("ratewise.targets.mean",),
    "Comparisons, slices, regressions, leaderboards": ("ratewise.targets",),
    "Try it on data you have": ("ratewise.lab",),
    "Tables": ("ratewise.tables",),
    "Pictures and pages": ("ratewise.report",),
    "The mathematics": ("ratewise.core", "ratewise.models"),
    "Errors": ("ratewise.errors",),
}


def page() -> str:
    """The whole page."""
    import ratewise

    left = dict.fromkeys(sorted(ratewise.__all__, key=str.lower))
    groups: dict[str, list[str]] = {title: [] for title in GROUPS}
    for name in left:
        groups[_group(getattr(ratewise, name))].append(name)
    parts = [INTRODUCTION]
    for title, names in groups.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, getattr(ratewise, name)) for name in names]
    return "\n".join(parts)


def _group(thing: Any) -> str:
    module = thing.__module__
    found = [(len(start), title) for title, starts in GROUPS.items() for start in starts if module.startswith(start)]
    return max(found)[1]


def _entry(name: str, thing: Any) -> str:
    lines = [f"### {name}\n", f"```py\n{_signature(name, thing)}\n```\n", _text(thing)]
    if dataclasses.is_dataclass(thing):
        fields = [field.name for field in dataclasses.fields(thing) if not field.name.startswith("_")]
        lines.append("Fields: " + ", ".join(f"`{field}`" for field in fields) + ".\n" if fields else "")
    if inspect.isclass(thing):
        lines += [_method(key, value) for key, value in vars(thing).items() if _shown(thing, key, value)]
    return "\n".join(line for line in lines if line)


def _shown(owner: type, key: str, value: Any) -> bool:
    made = isinstance(value, property | classmethod | staticmethod) or inspect.isfunction(value)
    return made and not key.startswith("_") and bool(inspect.getdoc(getattr(owner, key)))


def _method(key: str, value: Any) -> str:
    if isinstance(value, property):
        return f"- `{key}`: {_first_line(value.fget)}\n"
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    return f"- `{_call(key, function)}`: {_first_line(function)}\n"


def _call(name: str, function: Any) -> str:
    names = [
        f"{'*' if p.kind is p.VAR_POSITIONAL else ''}{p.name}{'' if p.default is p.empty else '='}"
        for p in inspect.signature(function).parameters.values()
        if p.name not in {"self", "cls"}
    ]
    short = [part + "…" if part.endswith("=") else part for part in names]
    return f"{name}({', '.join(short)})"


def _signature(name: str, thing: Any) -> str:
    """One argument a line, as it is written in the code."""
    if inspect.isclass(thing):  # results are made by functions
        bases = [base.__name__ for base in thing.__bases__ if base is not object]
        return f"class {name}" + (f"({', '.join(bases)})" if bases else "")
    [made] = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    assert isinstance(made, ast.FunctionDef)
    given = made.args
    plain = [None] * (len(given.args) - len(given.defaults)) + list(given.defaults)
    lines = [_argument(one, default) for one, default in zip(given.args, plain, strict=True)]
    lines += ["*"] if given.kwonlyargs else []
    lines += [_argument(one, default) for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    returned = "" if made.returns is None else f" -> {ast.unparse(made.returns)}"
    return f"{name}(\n" + "".join(f"    {line},\n" for line in lines) + f"){returned}"


def _argument(one: ast.arg, default: ast.expr | None) -> str:
    kind = "" if one.annotation is None else f": {ast.unparse(one.annotation)}"
    return one.arg + kind + ("" if default is None else f" = {ast.unparse(default)}")


def _text(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").strip() + "\n"


def _first_line(function: Any) -> str:
    return (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ").strip()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}", file=sys.stderr)
