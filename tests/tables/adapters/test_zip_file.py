import json
import os
import zipfile

import pyarrow as pa
import pytest

from ratewise.tables.adapters import source
from ratewise.tables.adapters.source import ZSTD, Archive


def packed(path, members):
    """An archive of members packed by zstd, written by hand: {name: (frames, size that it says)}."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, (data, _) in members.items():
            archive.writestr(name, data)
        for info in archive.infolist():
            info.compress_type, info.file_size = ZSTD, members[info.filename][1]
    return str(path)


def frames(*parts):
    return b"".join(pa.Codec("zstd").compress(part, asbytes=True) for part in parts)


def read(path, member="a.json"):
    with Archive(path, "run.eval") as archive:
        return archive.json(member)


def test_zstd_in_one_frame_and_in_several(tmp_path):
    text = json.dumps({"a": [1, "é"], "b": "x" * 5000}).encode()
    for parts in ([text], [text[:100], text[100:101], text[101:]]):
        path = packed(tmp_path / "run.eval", {"a.json": (frames(*parts), len(text))})
        assert read(path) == json.loads(text)


def test_nan_is_a_value(tmp_path):
    path = packed(tmp_path / "run.eval", {"a.json": (frames(b'{"value": NaN}'), 14)})
    assert str(read(path)) == "{'value': nan}"


def test_of_two_members_with_one_name_the_last_counts(tmp_path):
    path = tmp_path / "run.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.json", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.json", "2")
    with Archive(str(path), "run.eval") as archive:
        assert (archive.names, archive.json("a.json")) == (["a.json"], 2)


def test_a_path_in_the_archive_is_never_written(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    members = {"../../evil.json": (frames(b"1"), 1), "/evil.json": (frames(b"2"), 1)}
    path = packed(inner / "run.eval", members)
    assert (read(path, "../../evil.json"), read(path, "/evil.json")) == (1, 2)
    assert sorted(os.listdir(tmp_path)) == ["inner"]
    assert os.listdir(inner) == ["run.eval"]


def test_a_bomb_that_says_so_is_refused(tmp_path, complaint):
    path = packed(tmp_path / "run.eval", {"a.json": (frames(b"1"), 2**30)})
    assert complaint(read, path).startswith("run.eval says that its 0.0 MiB unpack to 1,024 MiB, which no log does;")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, ZSTD])
def test_a_bomb_that_hides_is_not_unpacked(method, tmp_path, complaint):
    """It says 10 bytes and is far more: reading ends soon after the size that it says (DuckDB's: after 64 MB)."""
    path = str(tmp_path / "run.eval")
    text = b'"' + b"x" * (80_000_000 if method == ZSTD else 1_000_000) + b'"'
    if method == ZSTD:
        packed(path, {"a.json": (frames(text), 10)})
    else:
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("a.json", text)
            archive.infolist()[0].file_size = 10
    assert complaint(read, path).startswith("a.json in run.eval is damaged")


def test_a_document_that_is_too_large_is_refused(tmp_path, monkeypatch, complaint):
    monkeypatch.setattr(source, "LARGEST_DOCUMENT", 1000)
    path = packed(tmp_path / "run.eval", {"a.json": (frames(b"1"), 2000)})
    assert complaint(read, path).startswith("a.json in run.eval is 0 MiB; a JSON document is read whole, up to")


@pytest.mark.parametrize("data", [b"", b"\x00" * 40, frames(b'{"a": 1}')[:-4], frames(b'{"a": '), frames(b"1 2")])
def test_damage_is_one_line(data, tmp_path, complaint):
    path = packed(tmp_path / "run.eval", {"a.json": (data, 8)})
    assert complaint(read, path).startswith("a.json in run.eval is ")


def test_an_encrypted_member_is_refused(tmp_path, complaint):
    path = tmp_path / "run.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.json", "1")
        archive.infolist()[0].flag_bits |= 1
    assert complaint(read, str(path)) == "a.json in run.eval is encrypted; give an archive without a password"


def test_another_method_is_named(tmp_path, complaint):
    path = tmp_path / "run.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.json", "1")
        archive.infolist()[0].compress_type = 97
    assert complaint(read, str(path)) == "a.json in run.eval is packed by method 97, which cannot be read"
