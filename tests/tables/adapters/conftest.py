"""What the tests of adapters share: files that the tools wrote, and files written here."""

import json
from pathlib import Path

import pytest

from ratewise.tables.adapters import adapted

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def fixture():
    """The path of a file that the tool itself wrote; see fixtures/README.md."""
    return lambda name: str(FIXTURES / name)


@pytest.fixture
def file(tmp_path):
    """A file of this text, of this JSON document, or of JSON lines where its name ends so."""

    def write(name, content):
        path = tmp_path / name
        if not isinstance(content, str):
            lines = content if name.endswith(".jsonl") else [content]
            content = "\n".join(json.dumps(line) for line in lines) + "\n"
        path.write_text(content, encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def roles():
    """What became which column, of a file that is known by its content."""

    def told(path):
        return {each.column: each.role for each in adapted(path).became}

    return told
