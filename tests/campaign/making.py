"""Campaigns on a table of made-up items, as files: what tests of the whole engine share."""

import csv
import json
import sqlite3
from contextlib import closing

import numpy as np
import sqlalchemy as sa

from ratewise.campaign.campaign import Campaign
from ratewise.lab.worlds import calibrated
from ratewise.store import audit, chain

from ..tomls import rater, toml_of

_RATER = '[[raters]]\nname = "{name}"\nkind = "column"\ncolumn = "{name}"\n{price}\n'

_RECORDED = 'file = "answers.jsonl"\nmax_price = "2"\nattempts = 2\nbackoff = 0'
_MIXED = toml_of(
    rater("judge", price="0.05"),
    rater("human", kind="recorded", more=_RECORDED),
    top='name = "c"\nseed = 11',
    goal='budget = "{budget}"',
)


def judged(items, seed=1, mean=0.7, spread=0.5):
    """A judge that says a calibrated probability, and people who say 0 or 1."""
    world = calibrated(items, mean=mean, spread=spread, rng=np.random.default_rng([seed, 4001]))
    judge, human = np.round(world.weak, 3), world.strong.astype(int)
    return {"id": [f"q{i}" for i in range(items)], "judge": judge.tolist(), "human": human.tolist()}


def scored(items, seed=1, low=1.0, high=9.0, mid=0.5, weak=1.5):
    """Real ratings with a weak rater, a better one and the true one."""
    rng = np.random.default_rng([seed, 4003])
    truth = np.clip(rng.normal(6.0, 1.5, items), low, high)
    columns = {"judge": truth + weak * rng.normal(size=items), "expert": truth + mid * rng.normal(size=items)}
    ids = {"id": [f"q{i}" for i in range(items)]}
    return ids | {name: np.round(x, 4).tolist() for name, x in (columns | {"human": truth}).items()}


def write(
    folder, columns, *, name="c", raters=(("judge", "0.05"), ("human", "1")), goal='budget = "60"', seed=7, **keys
):
    """items.csv and <name>.toml; a price is an amount, or the name of a column of prices. Returns the TOML's path."""
    folder.mkdir(parents=True, exist_ok=True)
    items, rating = keys.pop("items", ""), keys.pop("rating", 'kind = "binary"')
    with open(folder / "items.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    top = "\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())
    prices = ((n, f'price_column = "{p}"' if p in columns else f'price = "{p}"') for n, p in raters)
    text = (
        f'name = "{name}"\nseed = {seed}\n{top}\n[items]\ntable = "items.csv"\n{items}\n[rating]\n{rating}\n'
        f"[goal]\n{goal}\n" + "".join(_RATER.format(name=n, price=p) for n, p in prices)
    )
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def write_mixed(folder, budget, items=120):
    """A judge in a column; people in a recording, who fail at times and cost what they say."""
    columns = judged(items, 3, spread=0.75)
    human = columns["human"]
    path = write(folder, {name: columns[name] for name in ("id", "judge")})
    path.write_text(_MIXED.format(budget=budget))
    with open(folder / "answers.jsonl", "w") as file:
        for i, (name, value) in enumerate(zip(columns["id"], human, strict=True)):
            if i % 9 == 0:
                file.write(json.dumps({"id": name, "error": "try again", "price": "0.1"}) + "\n")
            said = None if i % 11 == 7 else value
            file.write(json.dumps({"id": name, "rating": said, "price": f"0.{5 + i % 5}", "note": f"as {i}"}) + "\n")
    return path


def ran(folder, columns, **keys):
    """A campaign that was run to its end."""
    campaign = Campaign.open(write(folder, columns, **keys))
    campaign.run()
    return campaign


def strong_mean(columns, name="human"):
    return float(np.mean([float(x) for x in columns[name]]))


def holds(campaign):
    """What every campaign keeps to: the log replays, and no more is spent than there is."""
    assert campaign.verify().differences == []
    status = campaign.status()
    assert status.reserved == 0
    assert status.budget is None or status.spent <= status.budget
    return status


def log_of(campaign):
    """Everything a campaign has written but times and workers, as plain rows."""
    with campaign.look() as now:
        store, n = now.store, now.facts.items
        return {
            "items": [tuple(row) for row in audit.item_keys(store, 0, n)],
            "rounds": [(r.number, r.first, r.plan, r.factor, r.items) for r in store.rounds()],
            "batches": [store.batches(r.number) for r in store.rounds()],
            "draws": [tuple(row) for row in audit.draw_rows(store, 0, n)],
            "ratings": [(r.position, r.step, r.state, r.value, r.attempts) for r in audit.rating_rows(store, 0, n)],
            "ledger": [
                (r.kind, r.position, r.step, r.attempt, r.amount) for r in audit.ledger_rows(store, 0, n)
            ],
            "totals": store.totals(),
        }  # fmt: skip


def looked_at(campaign):
    """The history of closed rounds, and the look at it."""
    with campaign.look() as now:
        return now.state.history, now


def tamper(campaign, *statements):
    """Change the SQLite file behind the campaign's back, guards down; each statement must change something."""
    with closing(sqlite3.connect(campaign.spec.folder / campaign.spec.store)) as connection, connection:
        drop_guards(connection)
        for statement in statements:
            assert connection.execute(statement).rowcount > 0, statement


def drop_guards(connection):
    """As one does who may write the file: triggers and CHECKs are no obstacle."""
    connection.execute("PRAGMA ignore_check_constraints = ON")
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")


def forge(campaign):
    """As one does who knows how the record is made: a whole new one, of the tables as they are now."""
    engine = sa.create_engine(f"sqlite:///{campaign.spec.folder / campaign.spec.store}")
    with engine.begin() as connection:
        drop_guards(connection.connection.driver_connection)
        connection.exec_driver_sql("DELETE FROM chain")
        chain._append(connection, list(chain.everything(connection)))
    engine.dispose()
