"""Unbiased evaluation of AI systems from few expensive ratings and many cheap ones.

The public names are listed in `__init__.pyi`, in groups (plan, draw, estimate, compare, …). They are loaded when they
are first used, so that `import ratewise` and `ratewise --help` are quick.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _listed() -> dict[str, dict[str, str]]:
    """Each group's public names, and the module that each lives in."""
    groups: dict[str, dict[str, str]] = {}
    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    for group, imports in re.findall(r"^# (\w+)\n((?:.+\n)+)", stub, re.MULTILINE):
        found = re.findall(r"^from (\S+) import (\([^)]*\)|.+)$", imports, re.MULTILINE)
        groups[group] = {name: module for module, names in found for name in re.findall(r"as (\w+)", names)}
    return groups


_GROUPS = _listed()
_MODULE = {name: module for names in _GROUPS.values() for name, module in names.items()}

__all__ = sorted(_MODULE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'ratewise' has no attribute {name!r}")
    value = getattr(import_module(_MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*(name for name in globals() if name.startswith("__")), *_MODULE])
