import multiprocessing

import duckdb
import numpy as np
import pytest

from ratewise.tables import read_table
from ratewise.tables.cells import opened
from ratewise.tables.engine import connect, for_memory, one_line, quoted_name, quoted_text, reason, shortened


def test_nothing_is_fetched_or_installed_and_no_variable_is_in_reach():
    hidden = {"x": [1]}  # noqa: F841  (DuckDB would find it by its name)
    connection = connect()
    settings = connection.execute(
        "SELECT current_setting('autoinstall_known_extensions'), current_setting('autoload_known_extensions')"
    ).fetchone()
    assert settings == (False, False)
    with pytest.raises(duckdb.CatalogException):
        connection.execute("SELECT * FROM hidden")


def test_each_connection_is_a_database_of_its_own():
    first, second = connect(), connect()
    first.execute("CREATE TABLE data AS SELECT 1 AS c0")
    with pytest.raises(duckdb.CatalogException):
        second.execute("SELECT * FROM data")


@pytest.mark.parametrize("text", ["", "it's", "''; DROP TABLE data; --", '"', "a\nb", "😀"])
def test_quoting_survives_any_text(text):
    assert connect().execute(f"SELECT {quoted_text(text)}").fetchone() == (text,)


@pytest.mark.parametrize("name", ["a b", 'say "a"', '"; DROP TABLE data; --', "é"])
def test_quoting_survives_any_name(name):
    assert connect().execute(f"SELECT 1 AS {quoted_name(name)}").description[0][0] == name


def test_lines_stay_lines():
    assert one_line("a\nb\x1b[31m é😀") == "a\\nb\\x1b[31m é😀"
    assert shortened("n/a") == "'n/a'"
    assert shortened("x" * 41, length=40) == repr("x" * 39 + "…")
    assert shortened("x" * 40, length=40) == repr("x" * 40)
    assert shortened("a\nb") == r"'a\nb'"


def test_the_useful_part_of_a_long_message_is_kept():
    error = duckdb.InvalidInputException("Invalid Input Error: No magic bytes found.\n\nLINE 1: SELECT\n ^")
    assert reason(error) == "No magic bytes found"
    assert reason(PermissionError(13, "Permission denied")) == "permission denied"


def test_a_complaint_is_not_taken_from_the_row_that_is_quoted():
    error = duckdb.InvalidInputException(
        "Invalid Input Error: CSV Error on Line: 9\nOriginal Line: Expected Number of Columns: 7 Found: 1\n"
        "Expected Number of Columns: 3 Found: 2\nPossible fixes: …"
    )
    assert reason(error).startswith("row 8 has 2 cells where the header has 3 ")


def test_tables_in_memory_share_a_database_and_nothing_else():
    one, other = ({"text": np.array([word] * 3, dtype=object)} for word in ("a", "b"))
    with opened(for_memory(), one) as first, opened(for_memory(), other) as second:
        assert [first.text_in(0, "x"), second.text_in(0, "x")] == ["a", "b"]
    assert for_memory() is for_memory()
    assert for_memory().execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchone() == (0,)


def test_a_forked_process_starts_a_database_of_its_own():
    here = for_memory()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_is_ours, (id(here),)) == (False, (1,))


def _is_ours(ours):
    return id(for_memory()) == ours, for_memory().execute("SELECT 1").fetchone()


def test_tables_of_files_share_a_database_and_do_not_meet(tmp_path):
    for name, value in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.csv").write_text(f"x\n{value}\n", encoding="utf-8")
    first, second = read_table(tmp_path / "a.csv"), read_table(tmp_path / "b.csv")
    assert (first.numbers("x")[0], second.numbers("x")[0]) == (1, 2)
    with for_memory().cursor() as cursor:
        with pytest.raises(duckdb.CatalogException):
            cursor.execute("SELECT * FROM data")
        counted = "SELECT count(*) FROM duckdb_schemas() WHERE starts_with(schema_name, 's') AND NOT internal"
        before = cursor.execute(counted).fetchone()
        del second
        assert cursor.execute(counted).fetchone() == (before[0] - 1,)  # what a table held goes with it
    assert first.numbers("x")[0] == 1
