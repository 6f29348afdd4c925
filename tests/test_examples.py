"""The examples run as they stand: the workflow's commands, the notebook's cells."""

import contextlib
import io
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from ratewise.cli.main import main

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with the examples in it."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands(workflow):
    """The lines of every `run:`, in their order."""
    found = re.findall(r"^ +run: (?:\|\n((?: {10}.*\n)+)|(.+)\n)", workflow, re.MULTILINE)
    return [line.strip() for block, line in found for line in (block or line).splitlines()]


def test_the_workflow_s_commands_run(checkout, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(checkout / "summary.md"))
    lines = commands((EXAMPLES / "github-actions" / "ratewise.yml").read_text(encoding="utf-8"))
    assert lines[0] == "pip install ."  # not from PyPI, where it is not
    assert len(lines) == 6
    for line in lines[1:]:
        program, *words = shlex.split(line)
        if program != "ratewise":
            subprocess.run(["sh", "-c", line], check=True)
            continue
        words, target = (words[:-2], words[-1]) if ">" in words else (words, None)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 0, line
        if target is not None:
            Path(target).write_text(out.getvalue(), encoding="utf-8")
    assert "yes: is the mean at least 0.6?" in Path("summary.md").read_text(encoding="utf-8")


def test_the_notebook_runs(checkout, monkeypatch):
    monkeypatch.chdir(checkout / "examples" / "inspect_ai")
    cells = json.loads(Path("support.ipynb").read_text(encoding="utf-8"))["cells"]
    space = {"__name__": "notebook"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for cell in cells:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), cell["id"], "exec"), space)
    assert printed.getvalue().startswith("Yes: the mean is at least 0.6;")
    assert space["estimate"].labels == 40
