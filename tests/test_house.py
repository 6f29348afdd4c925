"""The house in order: every module has its tests where its name says, and helpers have one home."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "ratewise"
FEWEST_LINES = 25  # below that a module says too little to have tests of its own

ELSEWHERE = {  # module: the test file that tests it, where that is not its mirror
    # what a draw decides, tested by those who go through the rows; Spark is started once
    "targets/mean/draw_steps.py": "targets/mean/test_draw_file.py",
    "tables/spark.py": "targets/mean/test_draw_spark.py",
    "cli/engines.py": "cli/test_draw.py",
    # parts of an estimate, tested on whole ones
    "core/mean/case.py": "core/mean/test_clusters.py",
    "core/mean/interval_choice.py": "core/mean/test_estimate.py",
    # a protocol: whoever keeps it is tested
    "queue/protocol.py": "queue/test_memory.py",
    # options that every command has
    "cli/options.py": "cli/test_main.py",
    # parts of the planner, which only make sense together
    "campaign/planner/actions.py": "campaign/planner/test_decide.py",
    "campaign/planner/draw.py": "campaign/planner/test_decide.py",
    "campaign/planner/plan.py": "campaign/planner/test_decide.py",
    "campaign/planner/prices.py": "campaign/clients/test_labelling.py",
    "campaign/planner/overlap.py": "campaign/test_crowd.py",
    "campaign/planner/state.py": "campaign/planner/test_decide.py",
    "campaign/planner/refitting.py": "campaign/test_refits.py",
    "campaign/acting.py": "campaign/planner/test_decide.py",
    "campaign/reader.py": "campaign/planner/test_decide.py",
    "campaign/rehearsal.py": "campaign/planner/test_decide.py",
    # parts of a running campaign, tested on whole ones
    "campaign/beginning.py": "campaign/test_keys.py",
    "campaign/items.py": "campaign/test_campaign.py",
    "campaign/receipts.py": "campaign/test_verify.py",
    "campaign/clients/callers.py": "campaign/faults/test_raters.py",
    "campaign/clients/calls.py": "campaign/faults/test_raters.py",
    "campaign/spec/checks.py": "campaign/spec/test_mistakes.py",
    "campaign/spec/fields.py": "campaign/spec/test_mistakes.py",
    "campaign/spec/tables.py": "campaign/spec/test_spec.py",
    # money, attackers and damage, tested on whole campaigns and commands
    "campaign/clients/kept.py": "campaign/faults/test_kept_lines.py",
    "campaign/clients/pace.py": "campaign/faults/test_broken_raters.py",
    "campaign/clients/spending.py": "campaign/faults/test_broken_raters.py",
    "campaign/damage.py": "cli/test_fuzz.py",
    "campaign/event_loop.py": "campaign/faults/test_frozen.py",
    "campaign/own_files.py": "cli/test_attackers.py",
    "cli/visible.py": "cli/test_attackers.py",
    "queue/leading.py": "campaign/faults/test_frozen.py",
    "queue/neighbours.py": "campaign/test_keys.py",
    "targets/mean/plan_file.py": "cli/test_fuzz.py",
    # the record: checks, archives and rescues of whole campaigns
    "campaign/offline.py": "campaign/test_archive.py",
    "campaign/opening.py": "campaign/test_archive.py",
    "campaign/raters_seen.py": "campaign/test_settings.py",
    "campaign/rereading.py": "campaign/test_record.py",
    "campaign/rescuing.py": "campaign/test_archive.py",
    "cli/archive.py": "cli/test_record.py",
    "queue/archive.py": "campaign/test_archive.py",
    "queue/copies.py": "campaign/test_archive.py",
    "queue/recheck.py": "queue/test_chain.py",
    "queue/rescue.py": "campaign/test_archive.py",
    # what a report and `init --from` say, tested on whole ones
    "campaign/findings.py": "report/test_campaign_page.py",
    "report/sections.py": "report/test_campaign_page.py",
    "report/begun.py": "cli/test_campaign.py",
    # labels that are there already, sheets, and more money later, tested on whole tables and campaigns
    "campaign/pooled.py": "campaign/test_export.py",
    "campaign/raised.py": "campaign/test_again.py",
    "raters/sheet.py": "campaign/clients/test_sheets.py",
    "rounds/again.py": "campaign/test_again.py",
    "targets/mean/plan_beside.py": "targets/mean/test_old_labels.py",
    "targets/mean/pooled.py": "campaign/test_export.py",
    # LLM judges in campaigns, tested against the shipped server
    "campaign/judged.py": "campaign/test_llm.py",
    "campaign/judging.py": "campaign/test_llm.py",
    "campaign/made.py": "campaign/test_llm.py",
    "campaign/quotes.py": "campaign/test_llm.py",
    # the labelling page: what stands behind it, tested through it
    "campaign/clients/blind.py": "campaign/clients/test_labelling.py",
    "queue/handed.py": "campaign/clients/test_labelling.py",
    "campaign/clients/choices.py": "campaign/clients/test_label_studio.py",
    "campaign/clients/known.py": "campaign/clients/test_checking.py",
    "queue/hidden.py": "campaign/clients/test_checking.py",
    "campaign/portrait.py": "report/test_portrait.py",
    "report/method.py": "report/test_portrait.py",
    "report/people.py": "report/test_portrait.py",
    "queue/outside.py": "campaign/clients/test_incoming.py",
    "queue/lending.py": "queue/test_desk.py",
    "web/app.py": "web/test_api.py",
    "web/headers.py": "web/test_pages.py",
    "web/people.py": "cli/test_people.py",
    "web/requests.py": "web/test_api.py",
    "web/service.py": "web/test_api.py",
    # texts and trained raters, tested on whole tables, campaigns and training runs
    "campaign/rater_cost.py": "campaign/test_texts.py",
    "campaign/trained.py": "raters/test_trained.py",
    "text/bill.py": "text/test_endpoint.py",
    "text/learner.py": "text/test_reading.py",
    "text/telling.py": "text/test_vault.py",
    "training/answering.py": "training/test_train.py",
    "training/examples.py": "training/test_train.py",
    "training/loop.py": "training/test_train.py",
    "training/networks.py": "training/test_train.py",
    "training/torches.py": "training/test_train.py",
    # parts that several targets share, tested through each of them
    "targets/learned_weak.py": "targets/test_regression.py",
    "targets/planned_rows.py": "targets/test_draw_pool.py",
    "targets/systems.py": "targets/test_compare.py",
    "targets/large_ratings.py": "targets/test_large.py",
    "targets/large_words.py": "targets/test_large.py",
    "targets/regression_pilot.py": "targets/test_regression_plan.py",
    "tables/grid.py": "tables/test_condense.py",
    "tables/two_points.py": "tables/test_condense.py",
    "targets/slice_names.py": "targets/test_slices.py",
    "targets/slice_results.py": "targets/test_slices.py",
    "targets/slice_draw.py": "targets/test_slice_plan.py",
    "targets/mean/chosen.py": "targets/mean/test_input_plan.py",
    "targets/mean/input_draw.py": "targets/mean/test_input_plan.py",
}


def modules():
    """Modules of substance, as paths below the package."""
    for path in sorted(SOURCE.rglob("*.py")):
        if path.name != "__init__.py" and len(path.read_text(encoding="utf-8").splitlines()) > FEWEST_LINES:
            yield path.relative_to(SOURCE).as_posix()


def mirror(module):
    path = Path(module)
    return (path.parent / f"test_{path.name}").as_posix()


@pytest.mark.parametrize("module", list(modules()))
def test_every_module_has_tests_where_its_name_says(module):
    where = ELSEWHERE.get(module, mirror(module))
    assert (TESTS / where).exists(), f"write tests/{where}, which tests src/ratewise/{module}"


def test_exceptions_are_needed():
    """An exception whose module is gone, or has its mirror by now, goes too."""
    there = set(modules())
    assert [name for name in ELSEWHERE if name not in there] == []
    assert [name for name in ELSEWHERE if (TESTS / mirror(name)).exists()] == []


def functions():
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
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


def test_no_test_imports_a_benchmark():
    """What a benchmark and a test share belongs to the package or to the tests."""
    others = [path for path in TESTS.rglob("*.py") if path != Path(__file__)]
    assert [path for path in others if '"benchmarks"' in path.read_text(encoding="utf-8")] == []
