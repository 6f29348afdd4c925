"""`backup` and `rescue`: copies of a campaign's store, from a whole one and from a damaged one."""

from typing import Annotated

import typer

from ratewise.cli.campaign import Toml
from ratewise.cli.console import one_line_errors, print_json, say
from ratewise.cli.options import Json


def backup(
    campaign: Toml,
    output: Annotated[str, typer.Option("--output", "-o", help="SQLite file to write; it must not exist yet.")],
    json: Json = False,
) -> None:
    """Copy a campaign's store into one file, even while it runs. That file is an SQLite database.

    Example: ratewise backup campaign.toml -o copy.sqlite
    """
    with one_line_errors():
        from ratewise.campaign.campaign import Campaign

        head = Campaign.open(campaign).backup(output)
        if json:
            print_json({"output": output, "head": head})
        else:
            say(f'Written to {output}. To go on with it, write store = "{output}".\nhead of the record: {head}')


def rescue(
    source: Annotated[
        str, typer.Argument(help="The campaign's TOML, its SQLite file, or unsaved answers.", metavar="CAMPAIGN")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="New store; for unsaved answers alone, a JSONL file of them.")
    ],
    json: Json = False,
) -> None:
    """Save what is left of a damaged store. Also answers that were not saved; it says what is missing.

    Example: ratewise rescue campaign.toml -o rescued.sqlite
    """
    with one_line_errors():
        from ratewise.campaign.rescue import rescue as save

        found = save(source, output)
        if json:
            print_json({"output": output, **found.to_dict()})
        else:
            say(f"Written to {output}.\n{found.summary()}")
