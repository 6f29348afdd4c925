import pytest

from ratewise.tables.files import Format, format_of, sniffed


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pool.csv", Format("CSV")),
        ("a.b/pool.v2.CSV", Format("CSV")),
        ("pool.jsonl", Format("JSONL")),
        ("pool.ndjson", Format("JSONL")),
        ("pool.parquet", Format("Parquet")),
        ("pool.pq", Format("Parquet")),
        ("pool.csv.gz", Format("CSV", gzipped=True)),
        ("pool.jsonl.GZ", Format("JSONL", gzipped=True)),
    ],
)
def test_the_ending_names_the_format(path, expected):
    assert format_of(path) == expected


@pytest.mark.parametrize("path", ["pool.xlsx", "pool", "pool.parquet.gz", "pool.gz", "data.csv/pool", ".csv"])
def test_another_ending_is_refused_with_the_legal_ones(path, complaint):
    assert complaint(format_of, path) == (
        f"{path} is not a table by its ending; the legal endings are"
        " .csv, .jsonl, .ndjson, .parquet, .pq, .csv.gz, .jsonl.gz, .ndjson.gz"
    )


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"PAR1\x15\x04", "Parquet"),
        (b'{"a": 1}\n', "JSONL"),
        (b' \r\n\t{"a": 1}\n', "JSONL"),
        (b"\n" * 100_000 + b"{}", "JSONL"),
        (b'id,"{x}"\n', "CSV"),
        (b"[1]\n", "CSV"),
    ],
)
def test_bytes_without_a_name_are_sniffed(data, kind):
    assert sniffed(data) == kind
