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
_HEAD = "head of the record: {}"


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
        from ratewise.report.campaign import beside_the_numbers, ending_text

        opened = Campaign.open(campaign)
        digest = opened.begin_secretly()
        if digest is not None:
            print(f"ratewise: the seed is secret until the end; its SHA-256 is {digest}", file=sys.stderr, flush=True)
        with live(quiet=json) as progress:
            ended = opened.run(progress=progress, wait=wait)
        with opened.look() as now:
            beside = beside_the_numbers(now)
        if json:
            print_json({**ended.to_dict(), **beside})
        else:
            print_rich(ending_text(ended.status, ended.estimate, ended.reason, beside=beside))
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
        from ratewise.report.campaign import beside_the_numbers, look_text

        with Campaign.at(campaign).watch() as look:
            now = look()
            if json:
                print_json({**now.status.to_dict(), **beside_the_numbers(now), "running": now.is_running})
                return
            if not (now.is_running and sys.stdout.isatty() if watch is None else watch):
                print_rich(look_text(now))
                return
            from rich.live import Live

            with Live(look_text(now), refresh_per_second=4) as live:
                while now.is_running or watch:
                    time.sleep(1.0)
                    now = look()
                    live.update(look_text(now))


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
        from ratewise.report.campaign import beside_the_numbers, snapshot_page
        from ratewise.tables.files import write_text

        with Campaign.at(campaign).look() as now:
            write_text(output, snapshot_page(now))
            found, beside = now.estimate, beside_the_numbers(now)
        if json:
            print_json({"output": output, "estimate": None if found is None else found.to_dict(), **beside})
        else:
            print("\n".join([f"Written to {output}.", *beside["told"], _HEAD.format(beside["head"])]))


def export(
    campaign: Toml,
    output: Annotated[str, typer.Option("--output", "-o", help="CSV, JSONL or Parquet file; - for CSV here.")],
    ledger: Annotated[bool, typer.Option("--ledger", help="Every movement of money instead of the items.")] = False,
    answers: Annotated[bool, typer.Option("--answers", help="What each person said instead of the items.")] = False,
    record: Annotated[bool, typer.Option("--record", help="The whole record, to be checked anywhere.")] = False,
    json: Json = False,
) -> None:
    """Take the data out: items with their ratings, rates and draws, as `ratewise estimate` reads them.

    Where -o names a folder, all tables and the record go into it.

    Example: ratewise export campaign.toml -o rated.parquet
    """
    with one_line_errors():
        from ratewise.campaign.campaign import Campaign
        from ratewise.campaign.taking_out import take_out
        from ratewise.errors import InputError

        if json and output == "-":
            raise InputError("--json and -o - both want standard output; write the table to a file")
        with Campaign.at(campaign).look() as now:
            done = take_out(now, output, ledger=ledger, answers=answers, record=record)
        if json:
            print_json({"output": output, **done.shown, "head": done.head})
        elif output != "-":
            print(f"{done.said}\n{_HEAD.format(done.head)}")


def verify(
    campaign: Annotated[
        str,
        typer.Argument(help="The campaign's TOML; or an exported record or folder, or a store.", metavar="CAMPAIGN"),
    ],
    head: Annotated[
        str | None, typer.Option(help="Head of the record from a status, report or export that was kept.")
    ] = None,
    json: Json = False,
) -> None:
    """Replay the campaign from its seed and log, and compare it with its record; exit code 4 if anything differs.

    Example: ratewise verify campaign.toml --head 148-5f6296ad1e8ad58b8190ad8c1f2b7be4f3a6e5d1
    """
    with one_line_errors():
        from ratewise.campaign.offline import verify_path

        found = verify_path(campaign, head=head)
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
