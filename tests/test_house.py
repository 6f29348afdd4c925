"""The house in order: every module is reached by a test, and every promise is held by one."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TESTS = Path(__file__).parent
HOUSE = TESTS.parent
SOURCE = HOUSE / "src" / "ratewise"


def modules():
    """Every module of the package by its dotted name."""
    for path in SOURCE.rglob("*.py"):
        parts = ("ratewise", *path.relative_to(SOURCE).with_suffix("").parts)
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_by(path, known):
    """Modules of the package that a file imports anywhere in it, their packages among them."""
    for node in ast.walk(parsed(path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            yield from known.intersection(".".join(parts[: k + 1]) for k in range(len(parts)))


def test_every_module_is_reached_by_a_test():
    """Directly, or through what a test imports; commands are started by their name and begin at `__main__`."""
    files = dict(modules())
    known = set(files)
    reached, todo = set(), {"ratewise.__main__"}
    for path in TESTS.rglob("*.py"):
        todo.update(imported_by(path, known))
    while todo:
        name = todo.pop()
        reached.add(name)
        todo.update(set(imported_by(files[name], known)) - reached)
    assert sorted(known - reached) == []


def functions():
    for path in sorted(TESTS.rglob("*.py")):
        for node in parsed(path).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path.relative_to(TESTS).as_posix(), node


@pytest.mark.parametrize(
    ("name", "home"), [("fewest", "bounds.py"), ("eventually", "waiting.py"), ("until_async", "waiting.py")]
)
def test_a_helper_has_one_home(name, home):
    assert [path for path, node in functions() if node.name == name] == [home]


def test_made_up_worlds_have_names():
    """`world` alone says nothing; a fixture of that name is a campaign's folder to be disturbed."""
    assert [path for path, node in functions() if node.name == "world"] == ["campaign/faults/conftest.py"]


def test_every_promise_names_its_tests_and_who_could_break_it():
    """The table of docs/guides/trust.md; tests of the soak alone are none of those that hold it."""
    text = (TESTS.parent / "docs" / "guides" / "trust.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (`tests/.+`) \| (.+) \|$", text.partition("## Promises\n")[2], re.MULTILINE)
    assert len(rows) >= 30
    there = {f"tests/{path}::{node.name}": node for path, node in functions()}
    for promise, tests, _ in rows:
        for name in re.findall(r"`([^`]+)`", tests):
            assert name in there, f"{promise}: there is no {name}"
            marks = [ast.unparse(mark) for mark in there[name].decorator_list]
            assert "pytest.mark.soak" not in marks, f"{promise}: {name} is not run by default"


def test_the_lock_has_every_dependency_at_a_version_that_is_allowed():
    """By name and version alone: where they come from is up to whoever installs them."""
    lines = (HOUSE / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    locked = {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}
    assert len(locked) == len(lines)
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    for each in (Requirement(one) for one in (*project["dependencies"], *(one for extra in extras for one in extra))):
        if each.name != "ratewise":
            assert each.specifier.contains(locked[canonicalize_name(each.name)]), each


def test_what_workflows_take_is_a_commit_and_what_they_call_is_there():
    paths = sorted((HOUSE / ".github" / "workflows").glob("*.yml"))
    assert [path.name for path in paths] == ["dependencies.yml", "release.yml"]
    targets = set(re.findall(r"^(\w+):", (HOUSE / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert targets >= {"oldest", "newest", "check", "test", "dist"}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for action in re.findall(r"uses: (\S+)", text):
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
        assert set(re.findall(r"run: make (\w+)$", text, re.MULTILINE)) <= targets
        assert all((HOUSE / script).is_file() for script in re.findall(r"run: (\.ci/\w+)", text))
