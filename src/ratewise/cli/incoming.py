"""`import`: finished labels from another labelling tool, back into the campaign that asked for them."""

from typing import Annotated

import typer

from ratewise.cli.campaign import Toml
from ratewise.cli.console import one_line_errors, print_json, print_notes, say
from ratewise.cli.options import Json


def take_labels(
    campaign: Toml,
    labels: Annotated[str, typer.Argument(help="Label Studio's JSON or JSON_MIN, or a CSV, JSONL or Parquet table.")],
    rater: Annotated[str | None, typer.Option(help="Which people have answered, if there are several.")] = None,
    question: Annotated[
        str, typer.Option(help="Column of the rating, or its question in the labelling config.")
    ] = "rating",
    person: Annotated[
        str | None, typer.Option(help="Who has answered, where the file does not say; a person votes once.")
    ] = None,
    leave_out: Annotated[
        bool, typer.Option("--leave-out", help="Leave labels of items that were not drawn aside, and take the rest.")
    ] = False,
    json: Json = False,
) -> None:
    """Take finished labels from another tool. Each goes to the question that asked for it, and counts once.

    Labels of items that were not drawn are refused: they would bias the estimate.

    Example: ratewise import campaign.toml labels.json
    """
    with one_line_errors():
        from ratewise.campaign.campaign import Campaign

        opened = Campaign.open(campaign)
        found = opened.import_answers(labels, rater=rater, question=question, person=person, leave_out=leave_out)
        if json:
            names = ("taken", "settled", "known", "late", "left_out", "still_open")
            print_json({**{name: getattr(found, name) for name in names}, "notes": list(found.notes)})
            return
        print_notes(found.notes)
        say(f"{found.summary()} Go on with: ratewise run {opened.spec.path.name}")
