"""Files of text as Parquet files, in a folder that is gone with them."""

import pytest

from ratewise.errors import TableError
from ratewise.tables.files import Folder
from ratewise.tables.load import staged


def test_csv_files_are_one_table_in_their_order(tmp_path):
    folder = Folder()
    paths = []
    for number, text in enumerate(("n,s\n1,007\n", "s,n\nx,2\n")):
        paths.append(folder / f"copy-{number}.csv")
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(text)
    found = staged("CSV", paths, "pool", folder, ["one.csv", "two.csv"])
    assert found.count() == 2
    table = found.table("n", "s")
    assert (table.texts("n").tolist(), table.texts("s").tolist()) == (["1", "2"], ["007", "x"])


def test_jsonl_files_share_the_kind_of_a_column(tmp_path):
    folder = Folder()
    for name, text in (("a", '{"n": 1}\n'), ("b", '{"n": 2.5}\n')):
        (tmp_path / f"{name}.jsonl").write_text(text)
    found = staged("JSONL", [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")], "pool", folder, ["a", "b"])
    assert found.table("n").numbers("n").tolist() == [1.0, 2.5]
    (tmp_path / "c.jsonl").write_text("[1]\n")
    with pytest.raises(TableError, match="pool"):
        staged("JSONL", [str(tmp_path / "c.jsonl")], "pool", Folder(), ["c"])
