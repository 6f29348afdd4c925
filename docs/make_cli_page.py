"""Write docs/cli/: a page for each command, from its own help, so that none is out of date (a test compares them)."""

import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).with_name("cli")
INTRODUCTION = """# Command line

Made from `ratewise COMMAND --help` by `make docs`.

Every command takes `--json`: a single JSON document on standard output and nothing else. Exit codes: 0 done, 2 the
input or the usage is wrong (one line on standard error), 3 something outside failed (a rater, a database) and what was
done is kept, 4 `verify` found a difference, 130 stopped by Ctrl-C. `check` answers with 0 yes, 1 no and 5 cannot tell
yet.
"""


def pages() -> dict[str, str]:
    """The text of each file in the folder, by its name."""
    os.environ["COLUMNS"] = "100"
    from typer.main import get_command
    from typer.testing import CliRunner

    from ratewise.cli.main import app, named_groups

    commands = get_command(app).commands  # type: ignore[attr-defined]
    index, out = [INTRODUCTION], {}
    for title, names in named_groups().items():
        told = [f"- [`{name}`]({name}.md): {commands[name].get_short_help_str(500)}\n" for name in names]
        index.append(f"## {title}\n\n{''.join(told)}")
        for name in names:
            text = CliRunner().invoke(app, [name, "--help"], prog_name="ratewise").output.strip()
            out[f"{name}.md"] = f"# ratewise {name}\n\n```text\n{text}\n```\n"
    return {"index.md": "\n".join(index)} | out


def write(folder: pathlib.Path, made: dict[str, str]) -> None:
    """The pages, and nothing else in their folder."""
    folder.mkdir(exist_ok=True)
    for old in set(folder.glob("*.md")) - {folder / name for name in made}:
        old.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    print(f"wrote {len(made)} pages in {folder.name}/", file=sys.stderr)


if __name__ == "__main__":
    write(FOLDER, pages())
