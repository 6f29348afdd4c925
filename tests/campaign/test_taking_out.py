"""What `export` writes: by the form of the output a table, the record, or a folder with everything."""

import os

import pytest

from ratewise.campaign.export import take_out
from ratewise.campaign.offline import verify_path
from ratewise.errors import InputError

from .making import judged, ran

NOTHING = {"ledger": False, "answers": False, "record": False}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """Ids begin like formulas of a spreadsheet."""
    columns = judged(60)
    columns["id"] = [f"={name}" for name in columns["id"]]
    return ran(tmp_path_factory.mktemp("c"), columns, goal='budget = "20"')


def test_a_file_is_one_table_or_the_record(campaign, tmp_path):
    with campaign.look() as now:
        rated = take_out(now, str(tmp_path / "rated.csv"), **NOTHING)
        assert rated.shown["rows"] == len((tmp_path / "rated.csv").read_text().splitlines()) - 1
        assert rated.head == now.head
        ledger = take_out(now, str(tmp_path / "ledger.csv"), **NOTHING | {"ledger": True})
        assert "amount" in ledger.shown["columns"]
        record = take_out(now, str(tmp_path / "record.jsonl"), **NOTHING | {"record": True})
        assert f"ratewise verify {tmp_path / 'record.jsonl'}" in record.said
    assert verify_path(str(tmp_path / "record.jsonl"), head=record.head).differences == []


@pytest.mark.parametrize("safe", [False, True])
def test_a_folder_gets_everything_and_is_checked_in_either_form(campaign, tmp_path, safe):
    with campaign.look() as now:
        found = take_out(now, f"{tmp_path / 'out'}{os.sep}", **NOTHING, safe_cells=safe)
    assert found.shown == {"files": ["rated.csv", "ledger.csv", "record.jsonl"]}
    text = (tmp_path / "out" / "rated.csv").read_text()
    assert ("'=q" in text) is safe
    assert verify_path(str(tmp_path / "out"), head=found.head).differences == []
    lines = text.splitlines(keepends=True)
    lines[6] = lines[6].replace("=q", "=r")
    (tmp_path / "out" / "rated.csv").write_text("".join(lines))
    assert verify_path(str(tmp_path / "out")).differences == ["rated.csv, line 7 is not what the record gives"]
    (tmp_path / "out" / "rated.csv").write_text(text + "\n")
    (told,) = verify_path(str(tmp_path / "out")).differences
    assert told == f"rated.csv has {len(lines) + 1} lines; the record gives {len(lines)}"


@pytest.mark.parametrize(("output", "asked"), [
    ("out/", {"ledger": True}), ("out/", {"record": True}), ("-", {"record": True}),
    ("x.jsonl", {"record": True, "answers": True}), ("x.csv", {"ledger": True, "answers": True}),
])  # fmt: skip
def test_two_things_at_once_are_refused(campaign, tmp_path, monkeypatch, output, asked):
    monkeypatch.chdir(tmp_path)
    with campaign.look() as now, pytest.raises(InputError):
        take_out(now, output, **NOTHING | asked)
    assert list(tmp_path.iterdir()) == []
