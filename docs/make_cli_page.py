"""Write docs/cli.md from the commands' own help, so that it cannot be out of date (a test compares the two)."""

import os
import pathlib
import sys

PAGE = pathlib.Path(__file__).with_name("cli.md")
INTRODUCTION = """# Command line

Made from `ratewise COMMAND --help` by `make docs`.

Every command takes `--json`: a single JSON document on standard output and nothing else. Exit codes: 0 done, 2 the
input or the usage is wrong (one line on standard error), 3 something outside failed (a rater, a database) and what was
done is kept, 4 `verify` found a difference, 130 stopped by Ctrl-C. `check` answers with 0 yes, 1 no and 5 cannot tell
yet.
"""


def page() -> str:
    """The whole page."""
    os.environ["COLUMNS"] = "100"
    from typer.main import get_command
    from typer.testing import CliRunner

    from ratewise.cli.main import app

    parts = [INTRODUCTION]
    for name in sorted(get_command(app).commands):  # type: ignore[attr-defined]
        text = CliRunner().invoke(app, [name, "--help"], prog_name="ratewise").output.strip()
        parts.append(f"## ratewise {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}", file=sys.stderr)
