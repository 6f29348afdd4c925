"""`init`, `run`, `status`, `report`, `export` and `verify`: a campaign from its TOML to its end."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ratewise.cli.console import STOPPED, one_line_errors, print_json, print_rich
from ratewise.cli.options import Json

if TYPE_CHECKING:
    from ratewise.campaign.campaign import Progress

Toml = Annotated[str, typer.Argument(help="The campaign's TOML; `ratewise init` writes one.", metavar="CAMPAIGN.toml")]
_DIFFERS = 4  # exit code


def init(
    file: Annotated[str, typer.Argument(help="File or folder to write to.")] = "campaign.toml",
    table: Annotated[bool, typer.Option("--table", help="Write a made-up items.csv too, to try it at once.")] = False,
    json: Json = False,
) -> None:
    """Write a commented example of a campaign.

    Example: ratewise init campaign.toml --table
    """
    with one_line_errors():
        from ratewise.campaign.spec.example import write_example

        written = write_example(file, table=table)
        if json:
            print_json({"written": list(written)})
        else:
            print(f"Written: {', '.join(written)}. Edit it, then: ratewise run {written[0]}")


def run(
    campaign: Toml,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for answers of people, or end and go on the next time.")
    ] = True,
    json: Json = False,
) -> None:
    """Start a campaign, or go on with it, until its goal is reached. Stop it with Ctrl-C at any time.

    Example: ratewise run campaign.toml
    """
    with one_line_errors():
        from ratewise.campaign.campaign import Campaign
        from ratewise.campaign.engine import Paused

        opened = Campaign.open(campaign)
        with live(quiet=json) as progress:
            ended = opened.run(progress=progress, wait=wait)
        if json:
            print_json(ended.to_dict())
        else:
            from ratewise.report.campaign import ending_text

            print_rich(ending_text(ended.status, ended.estimate, ended.reason))
    if ended.reason == Paused.STOPPED:
        raise typer.Exit(STOPPED)


def status(
    campaign: Toml,
    watch: Annotated[
        bool | None, typer.Option("--watch/--once", help="Look again every second; by itself while it runs.")
    ] = None,
    json: Json = False,
) -> None:
    """Money, answers and the estimate so far; look as often as you like.

    Example: ratewise status campaign.toml
    """
    with one_line_errors():
        from ratewise.campaign.campaign import Campaign
        from ratewise.report.campaign import status_text

        with Campaign.open(campaign).watch() as look:
            now = look()
            if json:
                print_json({**now.status.to_dict(), "running": now.is_running})
                return
            if not (now.is_running and sys.stdout.isatty() if watch is None else watch):
                print_rich(status_text(now.status, running=now.is_running))
                return
            from rich.live import Live

            with Live(status_text(now.status, running=now.is_running), refresh_per_second=4) as live:
                while now.is_running or watch:
                    time.sleep(1.0)
                    now = look()
                    live.update(status_text(now.status, running=now.is_running))


def report(
    campaign: Toml,
    output: Annotated[str, typer.Option("--output", "-o", help="The page to write.")] = "report.html",
    json: Json = False,
) -> None:
    """One self-contained HTML page: the estimate, its story, the money, and what the labels say.

    Example: ratewise report campaign.toml -o report.html
    """
    with one_line_errors():
        from ratewise.campaign.campaign import Campaign
        from ratewise.report.campaign import snapshot_page
        from ratewise.tables.files import write_text

        with Campaign.open(campaign).look() as now:
            write_text(output, snapshot_page(now))
            found = now.estimate
        if json:
            print_json({"output": output, "estimate": None if found is None else found.to_dict()})
        else:
            print(f"Written to {output}.")


def export(
    campaign: Toml,
    output: Annotated[str, typer.Option("--output", "-o", help="CSV, JSONL or Parquet file; - for CSV here.")],
    ledger: Annotated[bool, typer.Option("--ledger", help="Every movement of money instead of the items.")] = False,
    answers: Annotated[bool, typer.Option("--answers", help="What each person said instead of the items.")] = False,
    json: Json = False,
) -> None:
    """Take the data out: items with their ratings, rates and draws, as `ratewise estimate` reads them.

    Example: ratewise export campaign.toml -o rated.parquet
    """
    with one_line_errors():
        from ratewise.campaign.campaign import Campaign
        from ratewise.errors import InputError

        if json and output == "-":
            raise InputError("--json and -o - both want standard output; write the table to a file")
        table = Campaign.open(campaign).export(output, ledger=ledger, answers=answers)
        if json:
            print_json({"output": output, "rows": table.rows, "columns": list(table.columns)})
        elif output != "-":
            print(f"{table.rows:,} rows written to {output}.")


def verify(campaign: Toml, json: Json = False) -> None:
    """Replay the campaign from its seed and log; exit code 4 if anything differs.

    Example: ratewise verify campaign.toml
    """
    with one_line_errors():
        from ratewise.campaign.campaign import Campaign

        found = Campaign.open(campaign).verify()
        if json:
            print_json(found.to_dict())
        else:
            print(found.summary())
    if not found.passed:
        raise typer.Exit(_DIFFERS)


@contextmanager
def live(*, quiet: bool) -> "Iterator[Progress | None]":
    """The status on standard error while a campaign runs; nothing with --json or where that is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    from ratewise.report.campaign import status_text

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=4) as live:
        yield lambda found: live.update(status_text(found, running=True))
