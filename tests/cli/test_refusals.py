"""Bad input: exit code 2, one line on standard error that says what and where, and nothing written anywhere."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

COLUMNS = ("--weak", "judge", "--strong", "human")


def prices(weak="0.02", strong="1.5", columns=COLUMNS):
    return (*columns, "--weak-cost", weak, "--strong-cost", strong)


def named(weak="judge", strong="human"):
    return ("--weak", weak, "--strong", strong)


def changed(values, row, value):
    """The column with another value in a row, counted from 1 as users count."""
    return [value if number == row else x for number, x in enumerate(values, start=1)]


@pytest.fixture
def tables(pilot, pool, rated):
    """Every table of this file by name; what is wrong with it stands in the name."""
    n = len(pilot["id"])
    none, one = [None] * n, [1.0] + [None] * (n - 1)
    u = [0.1] * n
    return {
        "pilot": pilot,
        "pool": {name: pool[name] for name in ("id", "judge")},
        "rated": rated,
        "text": {**pilot, "judge": changed(pilot["judge"], 7, "high")},
        "strong-text": {**pilot, "human": changed(pilot["human"], 12, "yes please")},
        "hole": {**pilot, "judge": changed(pilot["judge"], 9, None)},
        "nan": {**pilot, "judge": changed(pilot["judge"], 9, "NaN")},
        "infinite": {**pilot, "judge": changed(pilot["judge"], 11, "inf")},
        "strong-infinite": {**pilot, "human": changed(pilot["human"], 13, "-inf")},
        "no-label": {**pilot, "human": none},
        "one-label": {**pilot, "human": one},
        "constant": {**pilot, "human": [3.0] * n},
        "u": {**pilot, "u": u},
        "u-negative": {**pilot, "u": changed(u, 5, -0.1)},
        "u-hole": {**pilot, "u": changed(u, 5, None)},
        "u-zero": {**pilot, "u": [0.0] * n},
        "duplicate": {"id": ["a", "b", "a"], "judge": [0.1, 0.2, 0.3]},
        "id-hole": {"id": ["a", None, "c"], "judge": [0.1, 0.2, 0.3]},
        "pool-hole": {"id": ["a", "b", "c"], "judge": [0.1, None, 0.3]},
        "pool-renamed": {"id": ["a", "b"], "jugde": [0.1, 0.2]},
    }  # fmt: skip


@pytest.fixture
def rated_row(rated):
    """Rows, counted from 1: one with a strong rating, one without."""
    has = [not np.isnan(x) for x in rated["human"]]
    return 1 + has.index(True, 20), 1 + has.index(False, 20)


@pytest.fixture
def refused(run):
    """The one line of a refusal, its prefix taken off; everything else about it is checked here."""

    def refused(*arguments, **options):
        before = {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}
        done = run(*arguments, **options)
        after = {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}
        assert done.code == 2, done
        assert done.out == ""
        (line,) = done.err.splitlines()
        assert line.startswith("ratewise: ")
        assert line.isprintable()
        assert "Traceback" not in line
        assert after == before
        return line.removeprefix("ratewise: ")

    return refused


BUDGET = ("--budget", "90")
PLANS = {  # what is wrong: table, options, words that the message must have
    "missing file": ("nowhere", (*prices(), *BUDGET), ["nowhere.csv", "does not exist"]),
    "missing weak column": ("pilot", (*prices(columns=named(weak="jugde")), *BUDGET), ["did you mean 'judge'"]),
    "missing strong column": ("pilot", (*prices(columns=named(strong="humam")), *BUDGET), ["did you mean 'human'"]),
    "missing uncertainty column": ("u", (*prices(), *BUDGET, "--uncertainty", "v"), ["'v'", "'u'"]),
    "text": ("text", (*prices(), *BUDGET), ["judge", "'high'", "row 7"]),
    "text among strong ratings": ("strong-text", (*prices(), *BUDGET), ["human", "'yes please'", "row 12"]),
    "no weak rating": ("hole", (*prices(), *BUDGET), ["judge", "row 9"]),
    "NaN": ("nan", (*prices(), *BUDGET), ["judge", "row 9"]),
    "infinite": ("infinite", (*prices(), *BUDGET), ["judge", "infinite", "row 11"]),
    "infinite strong rating": ("strong-infinite", (*prices(), *BUDGET), ["human", "infinite", "row 13"]),
    "no label": ("no-label", (*prices(), *BUDGET), ["no row", "strong rating", "'human'"]),
    "one label": ("one-label", (*prices(), *BUDGET), ["only one row", "'human'"]),
    "constant strong ratings": ("constant", (*prices(), *BUDGET), ["260", "are 3", "variance"]),
    "negative uncertainty": ("u-negative", (*prices(), *BUDGET, "--uncertainty", "u"), ["'u'", "below 0"]),
    "hole in the uncertainty": ("u-hole", (*prices(), *BUDGET, "--uncertainty", "u"), ["'u'", "row 5"]),
    "uncertainty 0 everywhere": ("u-zero", (*prices(), *BUDGET, "--uncertainty", "u"), ["uncertainty", "above 0"]),
    "strong cost 0": ("pilot", (*prices(strong="0"), *BUDGET), ["above 0"]),
    "strong cost negative": ("pilot", (*prices(strong="-2"), *BUDGET), ["above 0", "-2"]),
    "weak cost negative": ("pilot", (*prices(weak="-0.1"), *BUDGET), ["at least 0", "-0.1"]),
    "weak cost 0 without a pool": ("pilot", (*prices(weak="0"), *BUDGET), ["pool"]),
    "cost that is not finite": ("pilot", (*prices(weak="nan"), *BUDGET), ["finite"]),
    "cost in words": ("pilot", (*prices(weak="cheap"), *BUDGET), ["--weak-cost"]),
    "budget below one label": ("pilot", (*prices(), "--budget", "1.2"), ["1.2", "too small", "1.5"]),
    "budget negative": ("pilot", (*prices(), "--budget", "-3"), ["above 0"]),
    "no goal": ("pilot", prices(), ["budget", "target"]),
    "two goals": ("pilot", (*prices(), *BUDGET, "--target-se", "0.1"), ["budget", "target"]),
    "target 0": ("pilot", (*prices(), "--target-se", "0"), ["above 0"]),
    "target out of reach": ("pilot", (*prices(), "--target-se", "1e-4", "--pool-size", "800"), ["cannot be reached"]),
    "pool of nothing": ("pilot", (*prices(), *BUDGET, "--pool-size", "0"), ["at least 1"]),
    "pool without its size": ("pilot", (*prices(), *BUDGET, "--estimand", "pool"), ["pool"]),
    "floor above 1": ("pilot", (*prices(), *BUDGET, "--floor", "1.5"), ["floor", "1.5"]),
    "unknown option": ("pilot", (*prices(), *BUDGET, "--bugdet", "9"), ["--bugdet"]),
    "unknown calibration": ("pilot", (*prices(), *BUDGET, "--calibrate", "magic"), ["magic", "platt"]),
    "unknown estimand": ("pilot", (*prices(), *BUDGET, "--estimand", "world"), ["world", "population"]),
    "missing option": ("pilot", COLUMNS, ["--weak-cost"]),
}  # fmt: skip


@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
@pytest.mark.parametrize("what", list(PLANS))
def test_plan(refused, write, tables, what, as_json):
    table, options, words = PLANS[what]
    if table in tables:
        write(f"{table}.csv", tables[table])
    line = refused("plan", f"{table}.csv", *options, *["--json"] * as_json)
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "empty"), (b"judge,human\n", "no rows"), (b"\n", "blank"), (b"judge,judge,human\n1,2,3\n", "two columns")],
    ids=["no bytes", "header only", "blank line", "name twice"],
)
@pytest.mark.parametrize("where", ["file", "-"])
def test_a_table_with_nothing_in_it(refused, content, words, where):
    if where == "file":
        Path("t.csv").write_bytes(content)
        where = "t.csv"
    line = refused("plan", where, *prices(), *BUDGET, stdin=content)
    assert words in line or (where == "-" and "empty" in line)


def test_an_ending_that_is_no_table(refused):
    Path("pilot.xlsx").write_bytes(b"PK")
    assert ".csv" in refused("plan", "pilot.xlsx", *prices(), *BUDGET)


def draw_options(plan="plan.json", seed="3", output="out.csv"):
    return ("--plan", plan, "--seed", seed, "-o", output)


DRAWS = {
    "missing file": ("nowhere", draw_options(), ["nowhere.csv", "does not exist"]),
    "weak column renamed": ("pool-renamed", draw_options(), ["did you mean 'jugde'"]),
    "duplicate ids": ("duplicate", draw_options(), ["'a'", "rows 1 and 3"]),
    "row without an id": ("id-hole", draw_options(), ["id", "row 2"]),
    "row without a weak rating": ("pool-hole", draw_options(), ["judge", "row 2"]),
    "missing id column": ("pool", (*draw_options(), "--id", "idd"), ["did you mean 'id'"]),
    "plan missing": ("pool", draw_options(plan="none.json"), ["none.json", "does not exist", "ratewise plan"]),
    "plan a folder": ("pool", draw_options(plan="."), ["cannot be read"]),
    "seed in words": ("pool", draw_options(seed="lucky"), ["--seed"]),
    "no seed": ("pool", ("--plan", "plan.json", "-o", "out.csv"), ["--seed"]),
    "output folder missing": ("pool", draw_options(output="no/such/out.csv"), ["no/such/out.csv", "does not exist"]),
    "output a folder": ("pool", draw_options(output="folder.csv"), ["folder.csv", "directory"]),
    "output of unknown ending": ("pool", draw_options(output="out.xlsx"), ["out.xlsx", ".parquet"]),
    "JSON and table both on standard output": ("pool", (*draw_options(output="-"), "--json"), ["--json", "-o -"]),
    "unknown option": ("pool", (*draw_options(), "--withinbudget"), ["--withinbudget"]),
}  # fmt: skip


@pytest.mark.parametrize("what", list(DRAWS))
def test_draw(refused, made, write, tables, what):
    table, options, words = DRAWS[what]
    if table in tables:
        write(f"{table}.csv", tables[table])
    os.mkdir("folder.csv")
    line = refused("draw", f"{table}.csv", *options)
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    "content",
    ["", "{nope", "PAR1\x00", "[1, 2]", "3", "null", '"text"', '{"a": 1}', '{"transfer": null}', '{"version": 1}'],
)
def test_a_plan_that_is_none_is_refused_by_its_name(refused, made, content):
    Path("other.json").write_text(content, encoding="utf-8")
    assert "other.json" in refused("draw", made.pool, *draw_options(plan="other.json"))


def test_a_plan_of_another_version(refused, made):
    plan = made.document
    plan["transfer"]["version"] = 99
    Path("later.json").write_text(json.dumps(plan), encoding="utf-8")
    line = refused("draw", made.pool, *draw_options(plan="later.json"))
    assert "99" in line
    assert "version" in line


@pytest.mark.parametrize(
    ("key", "value"),
    [("policy", "magic"), ("scale", "big"), ("scale", None), ("weak", None), ("weak", 3), ("floor", "low"),
     ("error_model", []), ("error_model", {"source": "magic", "scale": 1, "knots": [], "values": []})],
)  # fmt: skip
def test_a_plan_that_was_edited_by_hand_and_broken(refused, made, key, value):
    plan = made.document
    plan["transfer"][key] = value
    Path("edited.json").write_text(json.dumps(plan), encoding="utf-8")
    assert "edited.json" in refused("draw", made.pool, *draw_options(plan="edited.json"))


def test_a_table_that_was_drawn_already(refused, run, made):
    run("draw", made.pool, *draw_options())
    line = refused("draw", "out.csv", *draw_options(output="again.csv"))
    assert "'rate'" in line
    assert "replace=True" not in line  # that is Python; at the command line nothing of that name can be passed


ESTIMATES = {
    "missing weak column": (("--weak", "jugde", "--strong", "human"), ["did you mean 'judge'"]),
    "missing strong column": (("--weak", "judge", "--strong", "humna"), ["did you mean 'human'"]),
    "missing rate column": ((*COLUMNS, "--rate", "rates"), ["did you mean 'rate'"]),
    "missing selected column": ((*COLUMNS, "--selected", "select"), ["did you mean 'selected'"]),
    "unknown method": ((*COLUMNS, "--method", "magic"), ["magic", "difference"]),
    "unknown interval": ((*COLUMNS, "--interval", "magic"), ["magic", "score"]),
    "unknown option": ((*COLUMNS, "--levle", "0.9"), ["--levle"]),
    "level 0": ((*COLUMNS, "--level", "0"), ["level", "(0, 1)"]),
    "level 1": ((*COLUMNS, "--level", "1"), ["level", "(0, 1)"]),
    "level in per cent": ((*COLUMNS, "--level", "95"), ["level", "95"]),
    "level nan": ((*COLUMNS, "--level", "nan"), ["level"]),
    "half a scale": ((*COLUMNS, "--low", "0"), ["both ends"]),
    "a scale that is too short": ((*COLUMNS, "--interval", "score", "--low", "0.5", "--high", "1"), ["hold every"]),
    "one price": ((*COLUMNS, "--weak-cost", "1"), ["both"]),
    "negative price": ((*COLUMNS, "--weak-cost", "-1", "--strong-cost", "1"), ["at least 0"]),
    "a pool smaller than the table": ((*COLUMNS, "--estimand", "pool", "--pool-size", "99"), ["99", "140"]),
    "anytime after recalibration": ((*COLUMNS, "--interval", "anytime", "--recalibrate", "affine"), ["anytime"]),
    "anytime with tuning": ((*COLUMNS, "--interval", "anytime", "--method", "regression"), ["anytime", "difference"]),
    "missing option": (("--weak", "judge"), ["--strong"]),
}  # fmt: skip


@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
@pytest.mark.parametrize("what", list(ESTIMATES))
def test_estimate(refused, write, rated, what, as_json):
    options, words = ESTIMATES[what]
    line = refused("estimate", write("rated.csv", rated), *options, *["--json"] * as_json)
    assert all(word in line for word in words), line


CELLS = {  # what is wrong: column, its value, in a rated row (else in one without a strong rating), words
    "rate above 1": ("rate", 1.2, False, ["outside (0, 1]", "'rate'"]),
    "rate negative": ("rate", -0.2, False, ["outside (0, 1]"]),
    "rate 0 without a rating": ("rate", 0, False, ["outside (0, 1]"]),
    "rate 0 with a strong rating": ("rate", 0, True, ["strong rating", "rate"]),
    "strong rating without a rate": ("rate", None, True, ["strong rating", "rate"]),
    "rate in words": ("rate", "often", False, ["'often'", "'rate'"]),
    "infinite rate": ("rate", "inf", False, ["infinite", "'rate'"]),
    "weak rating in words": ("judge", "good", False, ["'good'", "'judge'"]),
    "infinite weak rating": ("judge", "inf", False, ["infinite", "'judge'"]),
    "no weak rating": ("judge", None, False, ["'judge'"]),
    "NaN for a weak rating": ("judge", "nan", True, ["'judge'"]),
    "strong rating in words": ("human", "n/a", True, ["'n/a'", "'human'"]),
    "infinite strong rating": ("human", "inf", True, ["infinite", "'human'"]),
}


@pytest.mark.parametrize("what", list(CELLS))
def test_a_wrong_cell_is_found_by_its_row(refused, write, rated, rated_row, what):
    column, value, with_rating, words = CELLS[what]
    row = rated_row[0 if with_rating else 1]
    line = refused("estimate", write("t.csv", {**rated, column: changed(rated[column], row, value)}), *COLUMNS)
    assert f"row {row} " in line, line
    assert all(word in line for word in words), line


def test_the_row_is_the_table_s_also_below_rows_that_were_not_looked_at(refused, write, rated, rated_row):
    first = np.isnan(rated["human"]).tolist().index(True)  # no strong rating: may lose its rate
    broken = {
        **rated,
        "rate": changed(rated["rate"], first + 1, None),
        "judge": changed(rated["judge"], rated_row[0], None),
    }
    assert f"row {rated_row[0]} " in refused("estimate", write("t.csv", broken), *COLUMNS)


@pytest.mark.parametrize(("labels", "words"), [(0, "no row"), (1, "one row")])
def test_too_few_labels(refused, write, rated, rated_row, labels, words):
    human = changed([None] * 140, rated_row[0], 1.0) if labels else [None] * 140
    line = refused("estimate", write("t.csv", {**rated, "human": human}), *COLUMNS)
    assert words in line
    assert "'human'" in line


def test_no_rate_at_all(refused, write, rated):
    empty = {**rated, "rate": [None] * 140, "human": [None] * 140}
    assert "ratewise draw" in refused("estimate", write("t.csv", empty), *COLUMNS)


def test_a_rating_that_was_not_asked_for(refused, write, rated, rated_row):
    table = {**rated, "selected": changed(rated["selected"], rated_row[0], False)}
    assert "not selected" in refused("estimate", write("t.csv", table), *COLUMNS, "--selected", "selected")


def test_missing_answers_on_an_unknown_scale_ask_for_the_options_that_exist(refused, write, rated, rated_row):
    likert = {**rated, "human": (1 + 4 * np.array(rated["human"])).tolist()}
    table = {**likert, "selected": changed(rated["selected"], rated_row[1], True)}
    line = refused("estimate", write("t.csv", table), *COLUMNS, "--selected", "selected")
    assert "1 answers" in line
    assert "--low" in line
    assert "--high" in line


def test_a_pool_size_is_not_silently_ignored(run, write, rated):
    """With the population in mind it changes nothing; whoever gives it means something else and must hear so."""
    done = run("estimate", write("t.csv", rated), *COLUMNS, "--pool-size", 500, "--json")
    assert "pool" in done.err or any("pool" in note for note in done.document["notes"])


def test_a_message_names_the_option_as_it_is_typed(refused, write, pilot):
    line = refused("plan", write("pilot.csv", pilot), *prices(weak="0"), *BUDGET)
    assert "--pool-size" in line
    assert "pool_size" not in line


def test_as_a_process(process, made):
    for arguments in (
        ("plan", "nowhere.csv", *prices(), *BUDGET), ("plan", made.pilot, *COLUMNS), ("nonsense",),
        ("draw", made.pool, *draw_options(output="no/such.csv")),
    ):  # fmt: skip
        done = process(*arguments)
        assert (done.code, done.out) == (2, "")
        (line,) = done.err.splitlines()
        assert line.startswith("ratewise: ")


@pytest.mark.parametrize("command", ["estimate", "check", "plan", "simulate", "demo", "compare"])
def test_a_negative_seed_is_one_line(run, write, rated, command):
    write("rated.csv", rated)
    more = {
        "check": ("--at-least", 0.5), "plan": ("--weak-cost", 0, "--strong-cost", 1, "--budget", 40), "demo": (),
        "compare": (), "estimate": (), "simulate": ("--cost-ratio", 0.1, "--budgets", 20),
    }[command]  # fmt: skip
    columns = () if command == "demo" else ("rated.csv", "--weak", "judge", "--strong", "human")
    done = run(command, *columns, *more, "--seed", -1)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("more", [("estimate",), ("estimate", "--by", "id"), ("check", "--at-least", 0.5)])
@pytest.mark.parametrize("end", ["1e308", "nan", "inf"])
def test_ends_of_a_scale_whose_squares_are_no_numbers_are_one_line(run, write, rated, more, end):
    write("rated.csv", rated)
    columns = ("rated.csv", "--weak", "judge", "--strong", "human", "--low", f"-{end}", "--high", end)
    done = run(more[0], *columns, *more[1:])
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert "--low" in done.err or "--high" in done.err
