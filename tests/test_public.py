"""The public names, and that importing them costs nothing until they are used."""

import ast
import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import ratewise

PACKAGE = Path(ratewise.__file__).parent
NAMES = list(ratewise.__all__)

PROMISED = [  # the interface's own examples, as far as they exist
    "optimal_policy", "estimate_mean", "plan", "draw", "draw_pool", "estimate_table", "load_transfer", "read_table",
    "write_table", "plot_plan", "plot_estimates", "Policy", "Estimate", "Plan", "Transfer", "RatewiseError",
    "Rater", "Question", "Answer", "Failure", "RaterError", "SpecError", "StoreError", "RaterDownError",
]  # fmt: skip


def python(code):
    """The output of a fresh interpreter."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.splitlines()


def test_the_names_that_are_promised():
    assert set(PROMISED) <= set(NAMES)
    assert len(set(NAMES)) == len(NAMES)
    assert sorted(NAMES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_can_be_imported_and_is_documented(name):
    value = getattr(ratewise, name)
    assert value.__module__.startswith("ratewise.")
    assert value.__name__ == name
    own = inspect.cleandoc(value.__doc__ or "")
    assert len(own) > 20
    assert not own.startswith(f"{name}(")  # what dataclasses write when there is nothing


@pytest.mark.parametrize("name", NAMES)
def test_what_a_public_class_offers_is_documented(name):
    value = getattr(ratewise, name)
    if inspect.isclass(value):
        for attribute, member in vars(value).items():
            if not attribute.startswith("_") and (
                inspect.isfunction(member) or isinstance(member, property | classmethod)
            ):
                assert inspect.getdoc(getattr(value, attribute)), f"{name}.{attribute}"  # as help() shows it


def test_type_checkers_see_every_name():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    seen = {}
    for line in (node for node in tree.body if isinstance(node, ast.ImportFrom)):
        for alias in line.names:
            assert alias.asname == alias.name  # else it counts as private
            seen[alias.name] = line.module
    assert set(seen) == set(NAMES)
    for name, module in seen.items():
        assert getattr(importlib.import_module(module), name) is getattr(ratewise, name)


def test_names_are_listed_and_unknown_ones_refused():
    assert set(NAMES) <= set(dir(ratewise))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ratewise.nonsense
    space = {}
    exec("from ratewise import *", space)
    assert set(NAMES) <= set(space)


def test_importing_is_light():
    heavy = {"sklearn", "duckdb", "matplotlib", "scipy", "pandas", "polars", "pyarrow", "numpy", "typer", "rich"}
    loaded = set(python("import sys, ratewise; print('\\n'.join(sys.modules))"))
    assert "ratewise" in loaded
    assert not loaded & heavy


def test_the_core_alone_does_not_load_scikit_learn_or_duckdb():
    code = "import sys, ratewise; ratewise.optimal_policy; ratewise.draw; print('\\n'.join(sys.modules))"
    loaded = set(python(code))
    assert "ratewise.core.policy" in loaded
    assert not loaded & {"sklearn", "duckdb", "matplotlib"}


def test_a_campaign_loads_nothing_slow_before_it_is_needed():
    """Every command of a campaign starts an interpreter: scipy.stats alone would be a third of its time."""
    code = "import sys, ratewise.campaign.campaign; print('\\n'.join(sys.modules))"
    loaded = set(python(code))
    assert "ratewise.campaign.planner" in loaded
    assert not loaded & {"scipy.stats", "scipy.optimize", "pandas", "torch", "pyspark", "matplotlib"}


@pytest.mark.parametrize("arguments", [["--help"], ["plan", "--help"], ["--version"]], ids=" ".join)
def test_help_is_quick(arguments):
    code = (
        f"import runpy, sys; sys.argv = ['ratewise', *{arguments!r}]\n"
        "try: runpy.run_module('ratewise.cli.main', run_name='__main__')\n"
        "except SystemExit as left: assert not left.code\n"
        "print('---'); print('\\n'.join(sys.modules))"
    )
    lines = python(code)
    loaded = set(lines[lines.index("---") :])
    assert "ratewise.cli.console" in loaded
    assert not loaded & {"numpy", "duckdb", "scipy", "sklearn", "matplotlib"}
    assert lines.index("---") > 0


def test_the_types_are_shipped():
    assert (PACKAGE / "py.typed").exists()


def test_the_version_is_one():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", ratewise.__version__)
    try:
        installed = metadata.version("ratewise")
    except metadata.PackageNotFoundError:
        return  # run from the source tree
    assert installed == ratewise.__version__


def test_the_tree_of_errors():
    for name in ("InputError", "TableError", "PolicyError"):
        error = getattr(ratewise, name)
        assert issubclass(error, ratewise.RatewiseError)
        assert issubclass(error, ValueError)
        assert error.exit_code == 2
    assert issubclass(ratewise.RatewiseWarning, UserWarning)


def test_names_are_grouped_as_people_look_for_them():
    groups = ratewise._GROUPS
    asked = [
        "plan",
        "draw",
        "estimate",
        "compare",
        "leaderboard",
        "campaign",
        "simulate",
        "raters",
        "errors",
        "pictures",
    ]
    assert [group for group in groups if group in asked] == [*asked[:8], "pictures", "errors"]
    listed = [name for names in groups.values() for name in names]
    assert sorted(listed) == NAMES  # each name once
    for group in ("plan", "estimate", "compare", "leaderboard", "simulate"):
        assert any(name.startswith(group) for name in groups[group])


def test_the_estimand_is_the_populations_unless_the_pool_is_held():
    """docs/decisions/0010: rows that are handed over may be a sample; a campaign holds its pool."""
    from ratewise.campaign.spec.spec import Spec

    defaults = {}
    for name in NAMES:
        if inspect.isfunction(getattr(ratewise, name)):
            parameters = inspect.signature(getattr(ratewise, name)).parameters
            if "estimand" in parameters:
                defaults[name] = parameters["estimand"].default
    exports = {name for name, default in defaults.items() if default is None}  # whose file may be a campaign's
    assert exports == {"estimate_table", "estimate_slices", "check", "compare_tables"}
    assert {default for name, default in defaults.items() if name not in exports} == {"population"}
    assert {"estimate_mean", "plan", "compare", "leaderboard", "regress", "estimate_slices"} <= set(defaults)
    assert Spec.model_fields["estimand"].default == "pool"


def test_the_reference_page_is_up_to_date():
    path = PACKAGE.parents[1] / "docs" / "make_reference_page.py"
    spec = importlib.util.spec_from_file_location("make_reference_page", path)
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    kept = {path.name: path.read_text(encoding="utf-8") for path in maker.FOLDER.iterdir()}
    assert kept == maker.pages(), "run `make docs`"
