"""Files as DuckDB can be told of them."""

import gzip

import pytest

from ratewise.errors import TableError
from ratewise.tables.files import checked_file, format_of, plain_file


def test_what_cannot_be_a_table_is_told(tmp_path):
    (tmp_path / "empty.csv").touch()
    cases = {tmp_path: "directory", tmp_path / "no.csv": "does not exist", tmp_path / "empty.csv": "is empty"}
    for path, words in cases.items():
        with pytest.raises(TableError, match=words):
            checked_file(str(path))


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl.gz", "[a]*.jsonl"])
def test_odd_files_get_a_plain_copy_or_link(tmp_path, name):
    text = b'{"n": 1}\n' if "jsonl" in name else b"\xef\xbb\xbfn\n1\n"
    path, target = tmp_path / name, tmp_path / "plain"
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    found = plain_file(str(path), format_of(str(path)), "table", str(target))
    assert found == str(target)
    assert target.read_bytes() == text.removeprefix(b"\xef\xbb\xbf")


def test_a_plain_file_is_its_own_and_a_torn_one_is_told(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n": 1}\n')
    assert plain_file(str(path), format_of(str(path)), "table", "unused") == str(path)
    torn = tmp_path / "b.csv.gz"
    torn.write_bytes(gzip.compress(b"n\n" + b"1\n" * 999)[:-9])
    with pytest.raises(TableError, match="table cannot be read"):
        plain_file(str(torn), format_of(str(torn)), "table", str(tmp_path / "plain"))
