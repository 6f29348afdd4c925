"""`reproduce`: files, the page, verdicts, and what happens without data."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from ratewise.errors import InputError, TableError
from ratewise.lab.datasets import Dataset
from ratewise.report import reproduction
from ratewise.report.reproduction import reproduce_all
from ratewise.report.terminal import text_of


@pytest.fixture
def imagenet(tmp_path):
    """Images in the form their publisher ships them: a classifier that is right about as often as it says."""
    folder = tmp_path / "data" / "imagenet"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(3)
    sure = np.round(rng.beta(3, 1, 900), 5)
    right = rng.random(900) < sure
    label = rng.integers(0, 1000, 900)
    said = np.where(right, label, (label + 1) % 1000)
    names = [f"ILSVRC2012_val_{k:08d}.JPEG" for k in range(900)]
    rows = zip(names, said, sure, strict=True)
    lines = ["file_name,predicted_class,predicted_probability", *(f"{a},{b},{c}" for a, b, c in rows)]
    (folder / "ResNet50.csv").write_text("\n".join(lines) + "\n")
    lines = ["file_name,label", *(f"{a},{b}" for a, b in zip(names, label, strict=True))]
    (folder / "filename_label.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "data"


def test_made_up_worlds_need_nothing(tmp_path):
    done = reproduce_all(["gaussian", "gaussian", "bernoulli"], str(tmp_path / "out"), tables="nowhere")
    assert [figure.name for figure in done.figures] == ["gaussian", "bernoulli"]
    for figure in done.figures:
        assert [Path(name).suffix for name in figure.files] == [".csv", ".svg", ".png"]
        assert all((tmp_path / "out" / name).stat().st_size > 1000 for name in figure.files)
    holding = [claim for claim in done.claims if claim.verdict == "holds"]
    assert len(holding) > 20
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert page.count("✓ holds") == len(holding)
    assert page.count("<img") == 2
    kept = json.loads((tmp_path / "out" / "claims.json").read_text(encoding="utf-8"))
    assert [claim["verdict"] for claim in kept["claims"]] == [claim.verdict for claim in done.claims]


def test_the_same_files_every_time(tmp_path):
    for name in ("a", "b"):
        reproduce_all(["gaussian"], str(tmp_path / name))
    for file in ("gaussian.csv", "gaussian.svg", "gaussian.png", "index.html"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_user_s_copy_is_simulated_on(tmp_path, imagenet):
    told = []
    done = reproduce_all(
        ["imagenet", "seahorse"], str(tmp_path / "out"), data=str(imagenet), tables="nowhere", trials=60, workers=1,
        progress=lambda *step: told.append(step),
    )  # fmt: skip
    first, second = done.figures
    assert "900 ImageNet" in first.source
    assert first.missing is None
    assert "seahorse_data.zip" in second.missing
    assert told[-1][0] == 60
    with open(tmp_path / "out" / "imagenet.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == {"base", "paper-random", "paper-active", "oracle"}
    assert len(rows) == 4 * 8
    assert {row["trials"] for row in rows} == {"60"}
    assert len([claim for claim in done.claims if claim.figures == ("imagenet",)]) == 3


def test_the_only_figure_without_data_is_an_error(tmp_path):
    with pytest.raises(TableError, match=r"no data for aqa .*: get https.*Attributed-QA") as found:
        reproduce_all(["aqa"], str(tmp_path / "out"), tables="nowhere")
    assert "\n" not in str(found.value)


def test_wrong_names_and_folders(tmp_path):
    with pytest.raises(InputError, match="unknown figure 'imagnet'; choose one of gaussian"):
        reproduce_all(["imagnet"], str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(TableError, match="cannot be made"):
        reproduce_all(["gaussian"], str(tmp_path / "file" / "out"))


def test_hostile_words_stay_words(tmp_path, monkeypatch):
    wicked = Dataset("aqa", "<script>alert(1)</script>", *np.random.default_rng(1).random((2, 300)))
    monkeypatch.setattr(reproduction, "find_dataset", lambda *_, **__: wicked)
    reproduce_all(["aqa"], str(tmp_path), trials=4, workers=1)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_ctrl_c_keeps_what_was_made(tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduction, "find_dataset", stop)
    done = reproduce_all(["gaussian", "aqa", "bernoulli"], str(tmp_path))
    assert done.partial
    assert [figure.name for figure in done.figures] == ["gaussian"]
    assert "Partial" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_the_terminal_shows_sources_and_verdicts(tmp_path, capsys):
    from ratewise.cli.console import print_rich

    done = reproduce_all(["gaussian"], str(tmp_path))
    print_rich(text_of(done))
    shown = capsys.readouterr().out
    assert shown.count("✗ fails") == sum(claim.verdict == "fails" for claim in done.claims) > 0
    assert "gaussian.csv" in shown
