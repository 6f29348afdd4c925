"""A program that runs campaigns in processes made to be killed: it imports everything once and forks for each run.

Reads one JSON object a line: {"toml", …} starts a run and is answered with its process number, {"wait": number} with
its exit code. A run may be told to begin only when a file is there ("gate"), and to kill itself at a moment that no
clock could hit: "die": ["settle", "commit", 3] is just before the third commit of a settlement. Moments are found by
wrapping the store's methods; the engine is as users have it. Before every commit the budget is looked at, from inside
the transaction, and that the method has not committed before: half of it would be left by a kill in between.
"""

import functools
import json
import os
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import duckdb  # noqa: F401 - imported here so that a run does not wait for it
import psycopg  # noqa: F401
import sqlalchemy as sa

from ratewise.campaign.campaign import Campaign
from ratewise.raters.calling import Caller
from ratewise.store.money import to_units
from ratewise.store.store import Store

KINDS = ("begin", "join", "open_round", "take_up", "claim", "settle", "draw", "close_round", "set_meta", "leave")
BROKE, OVERSPENT, TORN = 70, 71, 72  # exit codes of a run


class Moments:
    """What the run has come to, and where it is to end."""

    def __init__(self, die, budget):
        self.die = tuple(die) if die else None
        self.budget = budget
        self.inside = None
        self.commits = 0  # inside
        self.counts = Counter()

    def reach(self, kind, side):
        self.counts[kind, side] += 1
        if self.die == (kind, side, self.counts[kind, side]):
            os.kill(os.getpid(), signal.SIGKILL)

    def before_commit(self, connection):
        writes = self.inside == "begin" or connection.get_execution_options().get("writes")
        if self.inside is None or not writes:  # a look leaves nothing half
            return
        self.reach(self.inside, "commit")
        self.commits += 1
        if self.commits > 1:
            os._exit(TORN)
        bound = connection.exec_driver_sql("SELECT reserved + spent FROM totals").scalar()
        if self.budget is not None and bound > self.budget:
            os._exit(OVERSPENT)

    def after_statement(self, *_):
        if self.inside is not None:
            self.reach(self.inside, "statement")


def watch(moments, settled):
    """Wrap the store; `settled` is a file for what a settlement that came back has promised to keep."""
    make = Store.__init__

    def init(self, database):
        make(self, database)
        sa.event.listen(database.engine, "commit", moments.before_commit)
        sa.event.listen(database.engine, "after_cursor_execute", moments.after_statement)

    Store.__init__ = init
    for kind in KINDS:
        setattr(Store, kind, watched(getattr(Store, kind), kind, moments, settled))
    ask = Caller.ask

    async def watched_ask(self, questions):
        moments.reach("ask", "before")
        answers = await ask(self, questions)
        moments.reach("ask", "after")
        return answers

    Caller.ask = watched_ask


def watched(method, kind, moments, settled):
    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        moments.reach(kind, "before")
        moments.inside, moments.commits = kind, 0
        try:
            out = method(self, *args, **kwargs)
        finally:
            moments.inside = None
        if kind == "settle":
            lines = [f"{o.claim.position} {o.claim.step} {o.claim.attempt}\n" for o in args[0]]
            os.write(settled, "".join(lines).encode())
        moments.reach(kind, "after")
        return out

    return wrapped


def run(job):
    """One run, in a process of its own; its last line says why it ended."""
    toml = Path(job["toml"])
    log = os.open(toml.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    while job["gate"] and not os.path.exists(job["gate"]):
        time.sleep(0.001)
    campaign = Campaign.open(toml)
    budget = campaign.spec.goal.budget
    settled = os.open(toml.parent / "settled.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    watch(Moments(job["die"], None if budget is None else to_units(budget)), settled)
    print(f"{os.getpid()} ended: {campaign.run()}", flush=True)


def start(job):
    number = os.fork()
    if number:
        return number
    code = BROKE
    try:
        run(job)
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def main():
    living = set()
    print("ready", flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        if "wait" in job:
            living.discard(job["wait"])
            print(os.waitstatus_to_exitcode(os.waitpid(job["wait"], 0)[1]), flush=True)
        else:
            number = start(job)
            living.add(number)
            print(number, flush=True)
    for number in living:  # the tests are gone
        os.kill(number, signal.SIGKILL)


if __name__ == "__main__":
    main()
