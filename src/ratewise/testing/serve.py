"""The judge server from a shell, and a table of items that it can rate."""

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

from ratewise.testing.hidden_rule import HiddenRule, chance

SHOWN = ("question", "answer")
_QUESTIONS = ("How do I cancel", "Why was I charged for", "Can I change", "Where do I find", "What happens to")
_THINGS = ("my subscription", "an order that is late", "my address", "the invoice", "my data", "a refund")
_ANSWERS = ("Open the settings and follow the steps.", "Write to us and we will see to it.", "It is on the last page.")


def content_of(row: Sequence[tuple[str, str]]) -> str:
    """The text by which the server rates an item: the columns that a judge is shown, as it is shown them."""
    return "\n\n".join(f"{name}:\n{text}" for name, text in row)


def made_up_rows(items: int, rule: HiddenRule, seed: int = 1) -> list[dict[str, str]]:
    """Questions and answers, with what careful people say of each."""
    rows = []
    for i in range(items):
        parts = [words[int(chance(str(seed), str(i), name) * len(words))]
                 for name, words in (("q", _QUESTIONS), ("t", _THINGS), ("a", _ANSWERS))]  # fmt: skip
        shown = {"question": f"{parts[0]} {parts[1]}?", "answer": f"{parts[2]} Ticket {seed}-{i}."}
        people = rule.truth(content_of(list(shown.items())))
        rows.append({"id": f"item-{i:05d}", **shown, "human": str(people)})
    return rows


def write_rows(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """The rows as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until Ctrl-C."""
    from ratewise.testing.judge_server import JudgeServer

    parser = argparse.ArgumentParser(prog="python -m ratewise.testing.judge_server", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="port on 127.0.0.1")
    parser.add_argument("--table", type=Path, help="write a table of items with the right ratings, then serve")
    parser.add_argument("--items", type=int, default=2000, help="rows of that table")
    parser.add_argument("--noise", type=float, default=1.0, help="error of the judge; 0: it sees the worth exactly")
    parser.add_argument("--only-table", action="store_true", help="write the table and leave")
    given = parser.parse_args(arguments)
    rule = HiddenRule(noise=given.noise)
    if given.table is not None:
        write_rows(given.table, made_up_rows(given.items, rule))
    if given.only_table:
        return
    server = JudgeServer(rule, port=given.port).start()
    print(f"a judge that costs nothing: base_url = {server.base_url!r}; stop it with Ctrl-C", flush=True)
    try:
        assert server._thread is not None
        server._thread.join()
    except KeyboardInterrupt:
        server.stop()
