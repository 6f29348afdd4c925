"""What a rater is made of: the files that its keys name."""

import pytest

from ratewise.raters.command import CommandSettings
from ratewise.raters.kind import module_file
from ratewise.raters.python import PythonSettings
from ratewise.raters.recorded import RecordedSettings


def test_a_recordings_file_is_a_part(tmp_path):
    def parts(name="a.jsonl"):
        return RecordedSettings(name="r", kind="recorded", file=name).identity(str(tmp_path))

    assert parts() == {}
    (tmp_path / "a.jsonl").write_text("one")
    before = parts()
    assert set(before) == {"a.jsonl"}
    assert parts() == before
    (tmp_path / "a.jsonl").write_text("two")
    assert parts()["a.jsonl"] != before["a.jsonl"]


@pytest.mark.parametrize("command", [("python", "judge.py", "--strict"), "python judge.py --strict"])
def test_a_program_among_the_words_of_a_command_is_a_part(tmp_path, command):
    (tmp_path / "judge.py").write_text("print(1)")
    assert set(CommandSettings(name="r", kind="command", command=command).identity(str(tmp_path))) == {"judge.py"}


def test_a_function_is_its_modules_file(tmp_path):
    (tmp_path / "mine.py").write_text("def human(item): return 1")
    found = PythonSettings(name="r", kind="python", function="mine:human").identity(str(tmp_path))
    assert set(found) == {"mine.py"}
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    assert module_file("package:human", str(tmp_path)) == ("package/__init__.py",)
    (installed,) = module_file("json:loads", str(tmp_path))
    assert installed.endswith("__init__.py")
    for nowhere in ("no_such_module:f", "no_such.module:f", "sys:exit"):
        assert module_file(nowhere, str(tmp_path)) == ()
