import pytest

from ratewise.errors import TableError
from ratewise.tables.table import different, refuse_other_columns, repeated


def test_names_are_there_and_differ():
    assert different(["a", "A"], "pool") == ["a", "A"]
    assert repeated(["a", "b", "a"]) == "a"
    with pytest.raises(TableError, match="pool has no columns"):
        different([], "pool")
    with pytest.raises(TableError, match="two columns with the name 'b'"):
        different(["a", "b", "b"], "pool")


def test_files_of_one_table_have_the_same_columns_in_any_order():
    refuse_other_columns([("one", ["a", "b"]), ("two", ["b", "a"])])
    with pytest.raises(TableError, match="two has no column 'b', which one has"):
        refuse_other_columns([("one", ["a", "b"]), ("two", ["a"])])
    with pytest.raises(TableError, match="one has no column 'c', which two has"):
        refuse_other_columns([("one", ["a"]), ("two", ["a", "c"])])
