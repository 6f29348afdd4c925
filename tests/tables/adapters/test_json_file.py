import pytest

from ratewise.tables import read_table
from ratewise.tables.adapters import source
from ratewise.tables.adapters.source import Source, parsed


def document(path):
    return Source(str(path)).document


def test_nested_deeply_is_one_line(file, complaint):
    for text in ("[" * 200_000, '{"a":' * 200_000):
        message = "x.json is not JSON that can be read: it is nested too deeply"
        assert complaint(document, file("x.json", text)) == message
        assert complaint(read_table, file("x.json", text)) == message


def test_a_large_document_is_not_opened(tmp_path, complaint):
    """A file of 3 GB that takes no room on the disk."""
    path = tmp_path / "x.json"
    with open(path, "wb") as made:
        made.write(b'{"results":\n')
        made.truncate(3 * 2**30)
    message = "x.json is 3,072 MiB; a JSON document is read whole, up to 256 MiB: export fewer rows at a time, or JSONL"
    assert complaint(document, path) == message
    assert complaint(read_table, path) == message


def test_many_empty_lists_are_not_built(complaint, monkeypatch):
    monkeypatch.setattr(source, "MOST_VALUES", 1000)
    text = b"[" + b"[]," * 1001 + b"[]]"
    assert complaint(parsed, text, "x.json") == (
        "x.json holds more than 1,000 JSON values; export fewer rows at a time"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": ', "x is not JSON: Expecting value"),
        (b'{"a": "\xff"}', "x is not JSON: it is not UTF-8 text"),
        (b"1" * 5000, "x is not JSON: Exceeds the limit"),
        (b"", "x is not JSON: Expecting value"),
    ],
)
def test_damage_is_one_line(data, message, complaint):
    assert complaint(parsed, data, "x").startswith(message)


def test_lines_are_numbered_and_blank_ones_left_out(file, complaint):
    path = file("x.jsonl", '{"a": 1}\n\n  \n{"a": 2}\n{"a"')
    found = Source(path).lines()
    assert [next(found), next(found)] == [(1, {"a": 1}), (4, {"a": 2})]
    assert complaint(next, found).startswith("line 5 of x.jsonl is not JSON: ")
    assert "no such file" in complaint(list, Source(path + "x").lines())


def test_a_line_without_end_is_refused(file, complaint, monkeypatch):
    monkeypatch.setattr(source, "LONGEST_LINE", 2**20)
    path = file("x.jsonl", '"' + "x" * 2**20 + '"')
    assert complaint(list, Source(path).lines()) == "line 1 of x.jsonl is longer than 1 MiB"
