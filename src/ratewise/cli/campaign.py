"""A campaign from its TOML to its end: init, run, status, report, export, import, verify, backup and rescue."""

import sys
import time
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import typer

from ratewise.cli.console import STOPPED, console, live, print_json, print_notes, print_rich, say, tell, texts_in_lines
from ratewise.cli.options import (
    argument,
    command,
    flag,
    option,
    refuse,
    refuse_two_outputs,
    required,
    scale_or_none,
    words_or_none,
)

if TYPE_CHECKING:
    from ratewise.campaign.campaign import Campaign

DIFFERS = 4  # exit code
_HEAD = "head of the record: {}"


@command(
    "file table from_table id weak strong weak_cost strong_cost positive scale judge format json",
    file=argument("File or folder to write to.", str, "campaign.toml"),
    table=flag("Write a made-up items.csv too, to try it at once.", "--table"),
    from_table=option("Your own table: the campaign is written for its columns.", str | None, None, "--from"),
    id=option("With --from: the column of ids; guessed if absent."),
    weak=option("With --from: the weak rating; guessed if absent."),
    strong=option("With --from: the strong rating; guessed if absent."),
    weak_cost=option("With --from: the price of one weak rating.", to="weak_price"),
    strong_cost=option("With --from: the price of one strong rating.", to="strong_price"),
    positive=option("With --from and --strong: words that count as 1, separated by commas.", read=words_or_none),
    scale=option("With --from and --strong: all words from the worst to the best: bad,ok,good.", read=scale_or_none),
    judge=option("Write a judge's template to change instead: binary, likert, score or pairwise."),
    format=option("With --from: format of the table, if its content is not to decide."),
)
def init(
    *, file: str, table: bool, from_table: str | None, judge: str | None, format: str | None, json: bool, **columns: Any
) -> None:
    """Write a campaign to edit: an example, or for your own table. Name your table with --from.

    Example: ratewise init campaign.toml --table
    """
    from ratewise.campaign.spec.example import write_example
    from ratewise.campaign.spec.guess import begin_from

    if judge is not None:
        from ratewise.cli.convert import write_judge

        other = table or from_table is not None
        refuse(other, "--judge writes a judge's template, and no campaign; leave the other option out")
        path = write_judge(judge, "." if file == "campaign.toml" else file)
        said = f'Written: {path}. Change it, and name it in the campaign: judge = "{path}"'
        tell({"written": [path]}, said, json=json)
    elif from_table is not None:
        from ratewise.report.status import begun_text

        refuse(table, "--table writes a made-up table and --from uses yours; leave one of them out")
        columns["positive"] = columns["positive"] or ()
        begun = begin_from(from_table, file, format=format, **columns)
        tell(begun.to_dict(), begun_text(begun), json=json)
    else:
        given = format is not None or any(value is not None for value in columns.values())
        refuse(given, "these options describe your own table; name it with --from TABLE")
        written = write_example(file, table=table)
        said = f"Written: {', '.join(written)}. Edit it, then: ratewise run {written[0]}"
        tell({"written": list(written)}, said, json=json)


@command(
    "campaign wait new after_restore dry_run json",
    wait=option("Wait for people's answers, or end and continue with the next run.", bool, True, "--wait/--no-wait"),
    new=flag("Begin a new campaign even if one of this name is beside it.", "--new"),
    after_restore=flag(
        "The store was restored from an older copy: ask again for what was asked since.", "--after-restore"
    ),
    dry_run=flag("Say what it will cost, from the real texts, without asking anybody.", "--dry-run"),
)
def run(*, campaign: str, wait: bool, new: bool, after_restore: bool, dry_run: bool, json: bool) -> int | None:
    """Start a campaign, or go on with it, to its goal. Stop it with Ctrl-C at any time.

    Example: ratewise run campaign.toml
    """
    from ratewise.campaign.campaign import Campaign
    from ratewise.campaign.clients.patience import PATIENCE
    from ratewise.campaign.cost import campaign_cost
    from ratewise.campaign.engine import Paused
    from ratewise.report.status import beside_the_numbers, look_parts
    from ratewise.report.terminal import as_text

    if dry_run:
        cost = campaign_cost(Campaign.at(campaign).spec)
        tell(cost.to_dict(), cost.summary(), json=json)
        return None
    opened = Campaign.open(campaign, patience=PATIENCE)
    known = len(opened.notes()) if opened.has_begun() else 0
    begins = new or _may_begin(opened, ask=not json)
    digest = opened.begin_secretly(new=begins, after_restore=after_restore)
    if digest is not None:
        print(f"ratewise: the seed is secret until the end; its SHA-256 is {digest}", file=sys.stderr, flush=True)
    with live(quiet=json) as progress, texts_in_lines(quiet=json), redirect_stdout(sys.stderr):
        # what raters print is no part of the result
        ended = opened.run(progress=progress, wait=wait, new=begins, after_restore=after_restore)
    with opened.look() as now:
        notes, beside = now.notes[known:], beside_the_numbers(now)
        text = as_text(look_parts(now, reason=ended.reason))
    print_notes(tuple(text for _, text in notes if not text.startswith("changed: ")))
    tell({**ended.to_dict(), **beside}, text, json=json)
    return STOPPED if ended.reason == Paused.STOPPED else None


def _may_begin(campaign: "Campaign", *, ask: bool) -> bool:
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


@command(
    "campaign watch json",
    watch=option("Look again every second; the default while it runs.", bool | None, None, "--watch/--once"),
)
def status(*, campaign: str, watch: bool | None, json: bool) -> None:
    """Show money, answers and the estimate so far. Look as often as you like.

    Example: ratewise status campaign.toml
    """
    from ratewise.campaign.campaign import Campaign
    from ratewise.report.status import beside_the_numbers, look_parts
    from ratewise.report.terminal import as_text

    with Campaign.at(campaign).watch() as look:
        now = look()
        if json:
            print_json({**now.status.to_dict(), **beside_the_numbers(now), "running": now.is_running})
            return
        if not (now.is_running and sys.stdout.isatty() if watch is None else watch):
            print_rich(as_text(look_parts(now)))
            return
        from rich.live import Live

        with Live(as_text(look_parts(now)), console=console(), refresh_per_second=4) as screen:
            while now.is_running or watch:
                time.sleep(1.0)
                now = look()
                screen.update(as_text(look_parts(now)))


@command(
    "campaign output slices json",
    output=option("The page to write; one that ends in .md is Markdown.", str, "report.html", "--output", "-o"),
    slices=option(
        "Columns of groups, separated by commas; each group gets an estimate. By default, word features.",
        read=words_or_none,
    ),
)
def report(*, campaign: str, output: str, slices: list[str] | None, json: bool) -> None:
    """Write the report: one HTML page. The estimate, its history, the money, and what the labels say.

    Example: ratewise report campaign.toml -o report.html
    """
    from ratewise.campaign.campaign import Campaign
    from ratewise.campaign.export import check_output
    from ratewise.report.campaign import snapshot_markdown, snapshot_page
    from ratewise.report.status import beside_the_numbers
    from ratewise.report.words import plain_answer
    from ratewise.tables.write import write_text

    opened = Campaign.at(campaign)
    check_output(opened.spec, output)
    with opened.look() as now:
        make = snapshot_markdown if output.lower().endswith(".md") else snapshot_page
        write_text(output, make(now, slices=slices))
        found, beside, said = now.estimate, beside_the_numbers(now), plain_answer(now)
    told = {"output": output, "sentence": said, "estimate": None if found is None else found.to_dict()}
    lines = [said, f"Written to {output}.", *beside["told"], _HEAD.format(beside["head"])]
    tell({**told, **beside}, "\n".join(lines), json=json)


@command(
    "campaign output ledger answers record questions rater hold safe_cells json",
    ledger=flag("Every movement of money instead of the items.", "--ledger"),
    answers=flag("What each person said instead of the items.", "--answers"),
    record=flag("The whole record, to be checked anywhere.", "--record"),
    questions=flag("People's open questions: .json for Label Studio, else a table to fill.", "--questions"),
    rater=option("With --questions: which people, if there are several."),
    hold=option("With --questions: hours in which the page leaves them alone.", float, 0.0),
)
def export(
    *, campaign: str, output: str, questions: bool, rater: str | None, hold: float, json: bool, **what: bool
) -> None:
    """Export items with their ratings, rates and draws. `ratewise estimate` reads the table.

    Where -o names a folder, all tables and the record go into it.

    Example: ratewise export campaign.toml -o rated.parquet
    """
    from ratewise.campaign.campaign import Campaign
    from ratewise.campaign.export import export as export_to

    refuse_two_outputs(output, json=json)
    if questions:
        others = what["ledger"] or what["answers"] or what["record"]
        refuse(others, "--questions writes a file by itself; leave --ledger, --answers and --record out")
        opened = Campaign.open(campaign)
        sent = opened.export_questions(output, rater=rater, hold=hold)
        how = "Fill in the column rating"
        if len(sent.files) > 1:
            config, tasks = sent.files[1], sent.files[0]
            how = f"Make a project in Label Studio with the labelling config {config}, and import {tasks}"
        after = f"Bring the labels back with: ratewise import {opened.spec.path.name} FILE"
        counts = {"output": output, "files": list(sent.files), "questions": sent.questions, "hold": sent.held_hours}
        tell(counts, f"{sent.summary()}\n{how}. {after}", json=json)
        return
    refuse(rater is not None or bool(hold), "--rater and --hold go with --questions")
    with Campaign.at(campaign).look() as now:
        (shown, said), head = export_to(now, output, **what), now.head
    if json or output != "-":
        tell({"output": output, **shown, "head": head}, f"{said}\n{_HEAD.format(head)}", json=json)


@command(
    "campaign labels rater question person leave_out json",
    labels=argument("Label Studio's JSON or JSON_MIN, or a CSV, JSONL or Parquet table."),
    rater=option("Which people have answered, if there are several."),
    question=option("Column of the rating, or its question in the labelling config.", str, "rating"),
    person=option("Who has answered, where the file does not say; a person votes once."),
    leave_out=flag("Leave labels of items that were not drawn aside, and take the rest.", "--leave-out"),
)
def take_labels(*, campaign: str, labels: str, json: bool, **options: Any) -> None:
    """Take finished labels from another tool. Each goes to the question that asked for it, and counts once.

    Labels of items that were not drawn are refused: they would bias the estimate.

    Example: ratewise import campaign.toml labels.json
    """
    from ratewise.campaign.campaign import Campaign

    opened = Campaign.open(campaign)
    found = opened.import_answers(labels, **options)
    if not json:
        print_notes(found.notes)
    names = ("taken", "settled", "known", "late", "left_out", "still_open")
    counts = {name: getattr(found, name) for name in names} | {"notes": list(found.notes)}
    tell(counts, f"{found.summary()} Go on with: ratewise run {opened.spec.path.name}", json=json)


@command(
    "campaign head json",
    campaign=argument("The campaign's TOML; or an exported record or folder, or a store.", metavar="CAMPAIGN"),
    head=option("Head of the record from a status, report or export that was kept."),
)
def verify(*, campaign: str, head: str | None, json: bool) -> int | None:
    """Replay the campaign and compare it with its record. Exit code 4 if anything differs.

    Example: ratewise verify campaign.toml --head 148-5f6296ad1e8ad58b8190ad8c1f2b7be4f3a6e5d1
    """
    from ratewise.campaign.offline import verify_path

    found = verify_path(campaign, head=head)
    tell(found.to_dict(), found.summary(), json=json)
    return None if found.passed else DIFFERS


@command(
    "campaign output json",
    output=required("SQLite file to write; it must not exist yet.", str, "--output", "-o"),
)
def backup(*, campaign: str, output: str, json: bool) -> None:
    """Copy a campaign's store into one file, even while it runs. That file is an SQLite database.

    Example: ratewise backup campaign.toml -o copy.sqlite
    """
    from ratewise.campaign.campaign import Campaign

    head = Campaign.open(campaign).backup(output)
    said = f'Written to {output}. To go on with it, write store = "{output}".\n{_HEAD.format(head)}'
    tell({"output": output, "head": head}, said, json=json)


@command(
    "source output json",
    source=argument("The campaign's TOML, its SQLite file, or unsaved answers.", metavar="CAMPAIGN"),
    output=required("New store; for unsaved answers alone, a JSONL file of them.", str, "--output", "-o"),
)
def rescue(*, source: str, output: str, json: bool) -> None:
    """Save what is left of a damaged store. Also answers that were not saved; it says what is missing.

    Example: ratewise rescue campaign.toml -o rescued.sqlite
    """
    from ratewise.campaign.rescue import rescue as save

    found = save(source, output)
    tell({"output": output, **found.to_dict()}, f"Written to {output}.\n{found.summary()}", json=json)
