"""Write docs/reference/: a page for each group of public names, from their docstrings (a test compares them)."""

import ast
import dataclasses
import inspect
import pathlib
import textwrap
from collections import Counter
from typing import Any

FOLDER = pathlib.Path(__file__).with_name("reference")
INTRODUCTION = """# Python

Made from the docstrings by `make docs`. All names are in `ratewise`: `import ratewise as rw`. Results print in words,
are a table in notebooks, and give their numbers as `to_dict()`, as `to_frame()` for pandas, Polars or PyArrow, and as
`to_markdown()`.
An answer is about the population (`estimand`) unless you say otherwise; campaigns, which hold their whole pool, are
about the pool ([why](../decisions/0008-public-interface.md)). The ends of an interval are
`low` and `high`, and `interval_kind` names its kind (score, t, normal, bootstrap, anytime).
"""


TITLES = {
    "plan": "Plans and policies", "draw": "Draws and sheets", "estimate": "Estimates",
    "compare": "Comparisons and gates", "leaderboard": "Leaderboards", "campaign": "Campaigns",
    "simulate": "Simulations", "raters": "Raters",
    "models": "Models of ratings and errors", "formulas": "Formulas", "tables": "Tables", "pictures": "Pictures",
    "errors": "Errors",
}  # fmt: skip


def pages() -> dict[str, str]:
    """The text of each file in the folder, by its name."""
    import ratewise

    index, out = [INTRODUCTION], {}
    for group, names in ratewise._GROUPS.items():
        title, sorted_names = TITLES[group], sorted(names, key=str.lower)
        told, seen = [], Counter[str]()
        for name in sorted_names:
            anchor = f"{name.lower()}_{seen[name.lower()]}" if seen[name.lower()] else name.lower()  # plan, then Plan
            seen[name.lower()] += 1
            told.append(f"- [`{name}`]({group}.md#{anchor}): {_first_line(getattr(ratewise, name))}\n")
        index.append(f"## {title}\n\n{''.join(told)}")
        entries = "\n".join(_entry(name, getattr(ratewise, name)) for name in sorted_names)
        out[f"{group}.md"] = f"# {title}\n\n{entries}"
    return {"index.md": "\n".join(index)} | out


def _entry(name: str, thing: Any) -> str:
    lines = [f"## {name}\n", f"```py\n{_signature(name, thing)}\n```\n", _text(thing)]
    if dataclasses.is_dataclass(thing):
        fields = [field.name for field in dataclasses.fields(thing) if not field.name.startswith("_")]
        lines.append("Fields: " + ", ".join(f"`{field}`" for field in fields) + ".\n" if fields else "")
    if inspect.isclass(thing):
        lines += [_method(key, value) for key, value in _members(thing).items() if _shown(thing, key, value)]
    return "\n".join(line for line in lines if line)


def _parts(thing: type) -> list[type]:
    """Our classes that it is put together from and that have no entry of their own."""
    import ratewise

    ours = [base for base in thing.__mro__[1:] if base.__module__.startswith("ratewise")]
    return [base for base in ours if not hasattr(ratewise, base.__name__) and base.__name__ != "Result"]


def _members(thing: type) -> dict[str, Any]:
    found: dict[str, Any] = dict(vars(thing))
    for base in _parts(thing):
        found = found | {key: value for key, value in vars(base).items() if key not in found}
    return found


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
        bases = [base.__name__ for base in thing.__bases__ if base.__name__ != "Result" and base not in _parts(thing)]
        bases = [base for base in bases if base != "object"]
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
    from make_cli_page import write

    write(FOLDER, pages())
