"""Help, version and wrong usage."""

import shlex
import subprocess
import sys

import pytest
from typer.main import get_command

import ratewise
from ratewise.cli.main import app

COMMANDS = get_command(app).commands


def options_of(name: str) -> set[str]:
    return {option for parameter in COMMANDS[name].params for option in parameter.opts}


def test_python_runs_the_package():
    done = subprocess.run([sys.executable, "-m", "ratewise", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"ratewise {ratewise.__version__}\n")


def test_the_first_commands_are_there():
    assert set(COMMANDS) >= {"plan", "draw", "estimate", "demo"}


@pytest.mark.parametrize("name", sorted(COMMANDS))
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_has_an_example_that_could_be_run(run, name, option):
    done = run(name, option)
    assert (done.code, done.err) == (0, "")
    _, _, rest = done.out.partition("Example: ")
    example = " ".join(rest.partition("\n\n")[0].split())
    words = shlex.split(example)
    assert words[:2] == ["ratewise", name]
    used = {word for word in words if word.startswith("-")}
    assert used <= options_of(name)
    needed = [set(parameter.opts) for parameter in COMMANDS[name].params if parameter.required]
    assert all(options & used for options in needed if min(options).startswith("-"))


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_takes_json(name):
    assert "--json" in options_of(name)


def test_every_option_says_what_it_is():
    for command in COMMANDS.values():
        for parameter in command.params:
            assert getattr(parameter, "help", None), (command.name, parameter.name)


def test_the_list_of_commands(run, process):
    done = run("--help")
    assert done.code == 0
    assert all(f"  {name} " in done.out for name in COMMANDS)
    assert process("--help").out.split() == done.out.split()


def test_version(run, process):
    for done in (run("--version"), process("--version")):
        assert (done.code, done.out, done.err) == (0, f"ratewise {ratewise.__version__}\n", "")


def test_no_command_shows_the_help_in_lines(run):
    """Whoever types just `ratewise` must be able to read what they get."""
    done = run()
    shown = done.out + done.err
    assert all(any(line.split()[:1] == [name] for line in shown.splitlines()) for name in COMMANDS)
    assert max(map(len, shown.splitlines())) <= 120


def test_every_command_is_told_in_one_whole_line(run):
    told = {line.split()[0]: line for line in run("--help").out.splitlines() if line.startswith("  ")}
    for name in ("plan", "draw", "estimate", "check", "compare", "simulate", "init", "run", "report", "verify", "demo"):
        assert told[name].endswith((".", "?")), name
        assert not told[name].endswith("..."), name


def test_wrong_usage_names_the_help_of_its_command(run):
    assert run("plan").err == "ratewise: Missing argument 'table'. (see ratewise plan --help)\n"


def test_an_unknown_command_is_one_line(run):
    done = run("estimat", "x.csv")
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith("ratewise: ")
    assert "estimat" in line
