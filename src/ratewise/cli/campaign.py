"""`init`, `run`, `status`, `report`, `export` and `verify`: a campaign from its TOML to its end."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Annotated

import typer

from ratewise.cli.console import STOPPED, one_line_errors, print_json, print_notes, print_rich, say, texts_in_lines
from ratewise.cli.options import Json, SafeCells, said, words

if TYPE_CHECKING:
    from ratewise.campaign.campaign import Campaign, Progress

Toml = Annotated[str, typer.Argument(help="The campaign's TOML; `ratewise init` writes one.", metavar="CAMPAIGN.toml")]
_DIFFERS = 4  # exit code
_HEAD = "head of the record: {}"


def init(
    file: Annotated[str, typer.Argument(help="File or folder to write to.")] = "campaign.toml",
    table: Annotated[bool, typer.Option("--table", help="Write a made-up items.csv too, to try it at once.")] = False,
    from_table: Annotated[
        str | None, typer.Option("--from", help="Your own table: the campaign is written for its columns.")
    ] = None,
    id: Annotated[str | None, typer.Option(help="With --from: the column of ids; guessed if absent.")] = None,
    weak: Annotated[str | None, typer.Option(help="With --from: the weak rating; guessed if absent.")] = None,
    strong: Annotated[str | None, typer.Option(help="With --from: the strong rating; guessed if absent.")] = None,
    weak_cost: Annotated[str | None, typer.Option(help="With --from: the price of one weak rating.")] = None,
    strong_cost: Annotated[str | None, typer.Option(help="With --from: the price of one strong rating.")] = None,
    positive: Annotated[
        str | None, typer.Option(help="With --from and --strong: words that count as 1, separated by commas.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="With --from and --strong: all words from the worst to the best: bad,ok,good.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="Write a judge's template to change instead: binary, likert, score or pairwise.")
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="With --from: format of the table, if its content is not to decide.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a campaign to edit: an example, or for your own table. Name your table with --from.

    Example: ratewise init campaign.toml --table
    """
    with one_line_errors():
        from ratewise.campaign.spec.example import write_example
        from ratewise.errors import InputError

        if judge is not None:
            if table or from_table is not None:
                raise InputError("--judge writes a judge's template, and no campaign; leave the other option out")
            print_judge(judge, "." if file == "campaign.toml" else file, as_json=json)
            return
        if from_table is not None:
            if table:
                raise InputError("--table writes a made-up table and --from uses yours; leave one of them out")
            from ratewise.campaign.spec.guess import begin_from
            from ratewise.report.begun import begun_text

            counted, order = said(positive, scale)
            begun = begin_from(
                from_table, file, id=id, weak=weak, strong=strong, weak_price=weak_cost, strong_price=strong_cost,
                positive=counted or (), scale=order, format=format,
            )  # fmt: skip
            if json:
                print_json(begun.to_dict())
            else:
                print_rich(begun_text(begun))
            return
        if any(given is not None for given in (id, weak, strong, weak_cost, strong_cost, positive, scale, format)):
            raise InputError("these options describe your own table; name it with --from TABLE")
        written = write_example(file, table=table)
        if json:
            print_json({"written": list(written)})
        else:
            say(f"Written: {', '.join(written)}. Edit it, then: ratewise run {written[0]}")


def run(
    campaign: Toml,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for people's answers, or end and continue with the next run.")
    ] = True,
    new: Annotated[
        bool, typer.Option("--new", help="Begin a new campaign even if one of this name is beside it.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what it will cost, by the real texts, and ask for nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Start a campaign, or go on with it, to its goal. Stop it with Ctrl-C at any time.

    Example: ratewise run campaign.toml
    """
    with one_line_errors():
        from ratewise.campaign.campaign import Campaign
        from ratewise.campaign.clients.patience import PATIENCE
        from ratewise.campaign.engine import Paused
        from ratewise.report.campaign import beside_the_numbers, ending_text

        if dry_run:
            print_cost(Campaign.at(campaign), as_json=json)
            return
        opened = Campaign.open(campaign, patience=PATIENCE)
        known = len(opened.notes()) if opened.has_begun() else 0
        begins = new or may_begin(opened, ask=not json)
        digest = opened.begin_secretly(new=begins)
        if digest is not None:
            print(f"ratewise: the seed is secret until the end; its SHA-256 is {digest}", file=sys.stderr, flush=True)
        with live(quiet=json) as progress, texts_in_lines(quiet=json), redirect_stdout(sys.stderr):
            ended = opened.run(progress=progress, wait=wait, new=begins)  # what raters print is no part of the result
        with opened.look() as now:
            notes, beside = now.notes[known:], beside_the_numbers(now)
            text = ending_text(now.status, ended.reason, beside=beside)
        print_notes(tuple(text for _, text in notes if not text.startswith("changed: ")))
        if json:
            print_json({**ended.to_dict(), **beside})
        else:
            print_rich(text)
    if ended.reason == Paused.STOPPED:
        raise typer.Exit(STOPPED)


def status(
    campaign: Toml,
    watch: Annotated[
        bool | None, typer.Option("--watch/--once", help="Look again every second; the default while it runs.")
    ] = None,
    json: Json = False,
) -> None:
    """Show money, answers and the estimate so far. Look as often as you like.

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

            from ratewise.cli.visible import console

            with Live(look_text(now), console=console(), refresh_per_second=4) as live:
                while now.is_running or watch:
                    time.sleep(1.0)
                    now = look()
                    live.update(look_text(now))


def report(
    campaign: Toml,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The page to write; one that ends in .md is Markdown.")
    ] = "report.html",
    slices: Annotated[
        str | None,
        typer.Option(
            help="Columns of groups, separated by commas; each group gets an estimate. By default, word features."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write the report: one HTML page. The estimate, its history, the money, and what the labels say.

    Example: ratewise report campaign.toml -o report.html
    """
    with one_line_errors():
        from ratewise.campaign.campaign import Campaign
        from ratewise.campaign.export import check_output
        from ratewise.report.campaign import beside_the_numbers, snapshot_page
        from ratewise.report.markdown import snapshot_markdown
        from ratewise.report.sentence import plain_answer
        from ratewise.tables.write import write_text

        opened = Campaign.at(campaign)
        check_output(opened.spec, output)
        with opened.look() as now:
            columns = None if slices is None else words(slices)
            make = snapshot_markdown if output.lower().endswith(".md") else snapshot_page
            write_text(output, make(now, slices=columns))
            found, beside, said = now.estimate, beside_the_numbers(now), plain_answer(now)
        if json:
            told = {"output": output, "sentence": said, "estimate": None if found is None else found.to_dict()}
            print_json({**told, **beside})
        else:
            say("\n".join([said, f"Written to {output}.", *beside["told"], _HEAD.format(beside["head"])]))


def export(
    campaign: Toml,
    output: Annotated[
        str, typer.Option("--output", "-o", help="CSV, JSONL or Parquet file; - for CSV on standard output.")
    ],
    ledger: Annotated[bool, typer.Option("--ledger", help="Every movement of money instead of the items.")] = False,
    answers: Annotated[bool, typer.Option("--answers", help="What each person said instead of the items.")] = False,
    record: Annotated[bool, typer.Option("--record", help="The whole record, to be checked anywhere.")] = False,
    questions: Annotated[
        bool, typer.Option("--questions", help="People's open questions: .json for Label Studio, else a table to fill.")
    ] = False,
    rater: Annotated[str | None, typer.Option(help="With --questions: which people, if there are several.")] = None,
    hold: Annotated[float, typer.Option(help="With --questions: hours in which the page leaves them alone.")] = 0.0,
    safe_cells: SafeCells = False,
    json: Json = False,
) -> None:
    """Export items with their ratings, rates and draws. `ratewise estimate` reads the table.

    Where -o names a folder, all tables and the record go into it.

    Example: ratewise export campaign.toml -o rated.parquet
    """
    with one_line_errors():
        from ratewise.campaign.campaign import Campaign
        from ratewise.campaign.export import take_out
        from ratewise.errors import InputError

        if json and output == "-":
            raise InputError("--json and -o - both want standard output; write the table to a file")
        if questions:
            if ledger or answers or record:
                raise InputError("--questions writes a file by itself; leave --ledger, --answers and --record out")
            print_questions(Campaign.open(campaign), output, rater=rater, hold=hold, as_json=json)
            return
        if rater is not None or hold:
            raise InputError("--rater and --hold go with --questions")
        with Campaign.at(campaign).look() as now:
            done = take_out(now, output, ledger=ledger, answers=answers, record=record, safe_cells=safe_cells)
        if json:
            print_json({"output": output, **done.shown, "head": done.head})
        elif output != "-":
            say(f"{done.said}\n{_HEAD.format(done.head)}")


def print_questions(campaign: "Campaign", output: str, *, rater: str | None, hold: float, as_json: bool) -> None:
    """Write people's open questions, and say what to do with them."""
    sent = campaign.export_questions(output, rater=rater, hold=hold)
    if as_json:
        print_json({"output": output, "files": list(sent.files), "questions": sent.questions, "hold": sent.held_hours})
        return
    if len(sent.files) > 1:
        how = f"Make a project in Label Studio with the labelling config {sent.files[1]}, and import {sent.files[0]}"
    else:
        how = "Fill in the column rating"
    say(f"{sent.summary()}\n{how}. Bring the labels back with: ratewise import {campaign.spec.path.name} FILE")


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
    """Replay the campaign and compare it with its record. Exit code 4 if anything differs.

    Example: ratewise verify campaign.toml --head 148-5f6296ad1e8ad58b8190ad8c1f2b7be4f3a6e5d1
    """
    with one_line_errors():
        from ratewise.campaign.offline import verify_path

        found = verify_path(campaign, head=head)
        if json:
            print_json(found.to_dict())
        else:
            say(found.summary())
    if not found.passed:
        raise typer.Exit(_DIFFERS)


def print_judge(kind: str, place: str, *, as_json: bool) -> None:
    """Write a judge's template and say where it is."""
    from ratewise.cli.judge import write_judge

    path = write_judge(kind, place)
    if as_json:
        print_json({"written": [path]})
    else:
        say(f'Written: {path}. Change it, and name it in the campaign: judge = "{path}"')


def print_cost(campaign: "Campaign", *, as_json: bool) -> None:
    """What a campaign will cost."""
    from ratewise.campaign.cost import campaign_cost

    cost = campaign_cost(campaign.spec)
    if as_json:
        print_json(cost.to_dict())
    else:
        say(cost.summary())


def may_begin(campaign: "Campaign", *, ask: bool) -> bool:
    """Whether the person at the terminal says that a new campaign is meant; where nobody is there, `run` refuses."""
    from ratewise.errors import AlreadyBegunError

    try:
        campaign.check_new()
    except AlreadyBegunError as error:
        if not (ask and sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        say(f"ratewise: {error}", error=True)
        return typer.confirm("Begin a new one?", abort=True, err=True)
    return False


@contextmanager
def live(*, quiet: bool) -> "Iterator[Progress | None]":
    """The status on standard error while a campaign runs; nothing with --json or where that is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from ratewise.cli.visible import console
    from ratewise.report.campaign import status_text
    from ratewise.report.speed import Speed

    speed = Speed()
    with Live(console=console(stderr=True), transient=True, refresh_per_second=4) as live:
        yield lambda found: live.update(Group(status_text(found, running=True), Text(speed.words(found))))
