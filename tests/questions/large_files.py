"""Tables in several files, and whether what is found in files is what is found in memory."""

import pytest

import ratewise as rw

N = 12_000


def placed(table, folder, name="rated"):
    """The table as a folder of files of very different sizes."""
    place = folder / name
    place.mkdir()
    for number, (start, stop) in enumerate([(0, 9000), (9000, 9001), (9001, N)]):
        rows = {column: values[start:stop] for column, values in table.items()}
        rw.write_table(rw.read_table(rows), place / f"{number}.parquet")
    return place


def in_memory_only(table, relation):
    """In place of `read_whole`: what lies in files must not be read whole."""
    assert relation is None, "the table was read whole"
    return rw.read_table(table)


def check_alike(found, right, *, ends=1e-3):
    """Value and standard error to rounding; ends of the interval to a share of its width."""
    assert found.value == pytest.approx(right.value, rel=1e-12)
    assert found.standard_error == pytest.approx(right.standard_error, rel=1e-9)
    assert (found.items, found.labels, found.method) == (right.items, right.labels, right.method)
    width = right.high - right.low
    assert max(abs(found.low - right.low), abs(found.high - right.high)) < ends * width
