"""`ratewise`: the commands. Heavy imports wait until a command runs, so that --help is quick."""

import os
import sys
from typing import Annotated

import typer

from ratewise.cli.archive import backup, rescue
from ratewise.cli.campaign import export, init, report, run, status, verify
from ratewise.cli.check import check
from ratewise.cli.compare import compare
from ratewise.cli.console import STOPPED, one_line_errors, say
from ratewise.cli.convert import convert
from ratewise.cli.draw import draw
from ratewise.cli.estimate import estimate
from ratewise.cli.incoming import take_labels
from ratewise.cli.judge import judge
from ratewise.cli.lab import reproduce, simulate
from ratewise.cli.leaderboard import leaderboard
from ratewise.cli.options import Json
from ratewise.cli.people import check_installed, people, serve
from ratewise.cli.plan import plan
from ratewise.cli.regress import quantile, regress
from ratewise.cli.sheets import merge
from ratewise.cli.train import train

app = typer.Typer(
    name="ratewise",
    help="Unbiased evaluation from few expensive ratings and many cheap ones, at the lowest cost.",
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


for command in (
    plan,
    draw,
    estimate,
    convert,
    merge,
    judge,
    check,
    compare,
    leaderboard,
    regress,
    quantile,
    simulate,
    reproduce,
    train,
    init,
    run,
    status,
    serve,
    people,
    report,
    export,
    verify,
    backup,
    rescue,
):
    app.command()(command)
app.command("import")(take_labels)


@app.command()
def demo(
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for the files it writes.")] = "ratewise-demo",
    seed: Annotated[int, typer.Option(min=0, help="Names the made-up pool and the draw.")] = 1,
    serve: Annotated[bool, typer.Option("--serve", help="Open a labelling page to click through instead.")] = False,
    port: Annotated[int, typer.Option(help="With --serve: port to listen at.")] = 8765,
    json: Json = False,
) -> None:
    """Run a whole campaign on a small made-up pool. Its true mean is known.

    Example: ratewise demo
    """
    with one_line_errors():
        if serve:
            check_installed()
            from ratewise.cli.demo_page import serve_demo

            serve_demo(os.path.join(output, "labelling"), seed=seed, port=port, as_json=json)
            return
        from ratewise.cli.demo import run_demo

        run_demo(output, seed=seed, as_json=json)


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
