"""Write docs/reference.md from the public names' own docstrings, so that it cannot be out of date (a test compares)."""

import inspect
import pathlib
import sys

import ratewise

PAGE = pathlib.Path(__file__).with_name("reference.md")
INTRODUCTION = """# Python

Made from the docstrings by `make docs`. All names are in `ratewise`: `import ratewise as rw`. Results print in words
and give their numbers as `to_dict()`; those that are a table also as `to_frame()`, for pandas, Polars or PyArrow.
An answer is about the population (`estimand`) unless you say otherwise; campaigns, which hold their whole pool, are
about the pool ([why](decisions/0010-the-door.md)). `estimate.interval` is the pair of `low` and `high`;
`interval_kind` says which kind of interval it is, on the record and in JSON.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for group, homes in ratewise._GROUPS.items():
        names = [name for names in homes.values() for name in names]
        rows = "\n".join(f"| `{name}` | {first_line(name)} |" for name in names)
        parts.append(f"## {group}\n\n| name | what it is |\n|---|---|\n{rows}\n")
    return "\n".join(parts)


def first_line(name: str) -> str:
    """The first sentence or line of a name's docstring."""
    text = inspect.cleandoc(getattr(ratewise, name).__doc__ or "")
    return text.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    sys.stdout.write(f"wrote {PAGE.name}\n")
