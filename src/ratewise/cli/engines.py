"""What `draw` does with --engine spark: a cluster goes through the rows."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ratewise.questions.drawing import DrawnFile
    from ratewise.questions.transfer import Transfer


def check_engine(engine: str, master: str | None, *, whole: bool, output: str) -> None:
    """Refuse what does not go with an engine, before anything is read."""
    from ratewise.errors import InputError

    if engine != "spark":
        if master is not None:
            raise InputError("--master is for --engine spark; add it, or leave --master out")
        return
    if whole:
        raise InputError(
            "--engine spark draws a table that lies in files by a plan of one mean: leave out --sheet, --safe-cells "
            "and standard input, and plan without --by"
        )
    if not output.endswith("/"):
        raise InputError(f"Spark writes a folder; type -o {output}/ for one")


def draw_by_spark(
    table: str,
    transfer: "Transfer",
    output: str,
    *,
    master: str | None,
    seed: int,
    id_column: str | None,
    within_budget: bool,
) -> "DrawnFile":
    """Draw a table that Spark reads, and let it write the parts of a folder."""
    from ratewise.errors import TableError
    from ratewise.questions.draw_file import draw_spark
    from ratewise.tables.engine import reason
    from ratewise.tables.spark import read_spark, start

    pool = read_spark(start(master), table)
    drawn = draw_spark(pool, transfer, seed=seed, id_column=id_column, within_budget=within_budget)
    try:
        drawn.frame.write.parquet(output)
    except Exception as error:
        raise TableError(f"{output} cannot be written by Spark: {reason(error)}") from error
    return drawn.told
