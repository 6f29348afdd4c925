"""`reproduce`: files, the page, verdicts, and what happens without data."""

import csv
from pathlib import Path

import numpy as np
import pytest

from ratewise.errors import InputError, TableError
from ratewise.lab.datasets import Dataset
from ratewise.lab.reproduction import Experiment, run_experiment, verdicts
from ratewise.report import reproduction
from ratewise.report.reproduction import reproduce_all
from ratewise.report.terminal import text_of

from ..worlds import sharp_judge


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
    assert len(done.claims) == 10
    assert all(claim.holds for claim in done.claims)
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert page.count("✓ holds") == 10
    assert page.count("<img") == 2


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
    assert [claim.text for claim in done.claims] == ["on ImageNet the random and the active policy both beat base"]


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


# The experiments themselves


def test_verdicts_depend_on_what_was_found():
    budgets = (100.0, 200.0)
    spread = Dataset("imagenet", "", *sharp_judge(3000, 7, sharp=0.3))
    flat = Dataset("imagenet", "", np.full(3000, 0.5), sharp_judge(3000, 8, sharp=1)[1])
    experiment = Experiment("imagenet", "t", budgets)
    good, useless = (run_experiment(experiment, d, trials=300, seed=1, workers=1) for d in (spread, flat))
    assert verdicts({"imagenet": [good]})[0].holds
    assert not verdicts({"imagenet": [useless]})[0].holds
    assert verdicts({"arena-easy-hard": [good], "aqa": [useless]})[0].holds
    assert not verdicts({"arena-easy-hard": [useless], "aqa": [good]})[0].holds


def test_the_terminal_shows_sources_and_verdicts(tmp_path, capsys):
    from ratewise.cli.console import print_rich

    print_rich(text_of(reproduce_all(["gaussian"], str(tmp_path))))
    shown = capsys.readouterr().out
    assert shown.count("✓ holds") == 4
    assert "gaussian.csv" in shown
