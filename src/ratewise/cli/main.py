"""`ratewise`: the commands. Heavy imports wait until a command runs, so that --help is quick."""

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ratewise.cli.campaign import backup, export, init, report, rescue, run, status, take_labels, verify
from ratewise.cli.compare import compare, leaderboard
from ratewise.cli.console import STOPPED, say
from ratewise.cli.convert import convert, judge
from ratewise.cli.draw import draw, merge
from ratewise.cli.estimate import check, estimate, quantile, regress
from ratewise.cli.lab import reproduce, simulate, train
from ratewise.cli.people import demo, people, serve
from ratewise.cli.plan import plan

GROUPS = {
    "Begin": (demo, init),
    "Plan, draw and estimate": (plan, draw, estimate, check),
    "Campaigns": (run, status, serve, people, report, verify, backup, rescue),
    "Other questions": (compare, leaderboard, regress, quantile),
    "Try methods out": (simulate, reproduce),
    "Judges and raters": (judge, train),
    "Files": (convert, merge, export, take_labels),
}
"""The commands, as --help lists them."""

_TYPED = {"take_labels": "import"}


class _Grouped(TyperGroup):
    """Commands under the headings of `GROUPS`, each with the whole first sentence of its help."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for names in named_groups().values() for name in names]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, names in named_groups().items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(_WHOLE)) for name in names])


_WHOLE = 500  # signs: no first sentence is cut


def named_groups() -> dict[str, list[str]]:
    """The names of the commands under each heading."""
    return {title: [_TYPED.get(one.__name__, one.__name__) for one in those] for title, those in GROUPS.items()}


app = typer.Typer(
    name="ratewise",
    cls=_Grouped,
    help="Unbiased evaluation from few expensive ratings and many cheap ones, at the lowest cost.",
    epilog="Each command explains itself: ratewise COMMAND --help",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    if version:
        from ratewise import __version__

        say(f"ratewise {__version__}")
        raise typer.Exit


for those in GROUPS.values():
    for command in those:
        app.command(_TYPED.get(command.__name__))(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; wrong usage is one line and exit code 2."""
    from typer.main import get_command

    command = get_command(app)
    given = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a pipe that knows few letters gets the rest all the same
    try:
        code = command.main(args=given or ["--help"], prog_name="ratewise", standalone_mode=False)
    except SystemExit as leaving:
        code = leaving.code
    except Exception as error:
        if not hasattr(error, "format_message"):  # click's own errors have one
            raise
        context = getattr(error, "ctx", None)
        asked = "ratewise" if context is None else context.command_path
        say(f"ratewise: {' '.join(error.format_message().split())} (see {asked} --help)", error=True)
        raise SystemExit(2) from None
    if code == STOPPED and arguments is None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(STOPPED)  # at once: what libraries have to say about an interrupted end is not for users
    raise SystemExit(0 if code is None else code)


if __name__ == "__main__":
    main()
