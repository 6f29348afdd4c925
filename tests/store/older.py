"""Campaigns of older versions on PostgreSQL: tables as those versions made them there, with the rows of the files.

The tables are written out, as ratewise of the third version made them: today's schema may change, and the past may not.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

STORES = Path(__file__).parents[1] / "campaign"
TABLES = {
    "meta": "key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (key)",
    "items": "position INTEGER NOT NULL, id TEXT NOT NULL, uniform FLOAT(53) NOT NULL, numbers BYTEA, prices TEXT, "
    "content TEXT NOT NULL, PRIMARY KEY (position), UNIQUE (id)",
    "rounds": "number INTEGER NOT NULL, first INTEGER NOT NULL, plan TEXT NOT NULL, factor FLOAT(53), items INTEGER, "
    "opened_at TEXT NOT NULL, closed_at TEXT, PRIMARY KEY (number)",
    "batches": 'first INTEGER NOT NULL, "end" INTEGER NOT NULL, round INTEGER NOT NULL, drawn BOOLEAN NOT NULL, '
    "cost BIGINT NOT NULL, PRIMARY KEY (first)",
    "draws": "position INTEGER NOT NULL, step SMALLINT NOT NULL, rate FLOAT(53) NOT NULL, selected BOOLEAN NOT NULL, "
    "PRIMARY KEY (position, step)",
    "ratings": "position INTEGER NOT NULL, step SMALLINT NOT NULL, state SMALLINT NOT NULL, worker INTEGER, "
    "attempts SMALLINT NOT NULL, value FLOAT(53), note TEXT, at TEXT, PRIMARY KEY (position, step)",
    "ledger": "id BIGSERIAL NOT NULL, kind TEXT NOT NULL, position INTEGER, step SMALLINT, attempt SMALLINT, "
    "amount BIGINT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (id)",
    "totals": '"only" INTEGER NOT NULL, reserved BIGINT NOT NULL, spent BIGINT NOT NULL, PRIMARY KEY ("only")',
    "workers": "number SERIAL NOT NULL, host TEXT NOT NULL, process INTEGER NOT NULL, joined_at TEXT NOT NULL, "
    "left_at TEXT, PRIMARY KEY (number)",
    "events": "id SERIAL NOT NULL, at TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (id)",
    "leases": "position INTEGER NOT NULL, step SMALLINT NOT NULL, holder TEXT NOT NULL, until FLOAT(53) NOT NULL, "
    "PRIMARY KEY (position, step, holder)",
    "answers": "id BIGSERIAL NOT NULL, position INTEGER NOT NULL, step SMALLINT NOT NULL, annotator TEXT NOT NULL, "
    "value FLOAT(53), note TEXT, at TEXT NOT NULL, PRIMARY KEY (id)",
}  # fmt: skip
INDEXES = {
    "ratings": "CREATE INDEX ratings_open ON ratings (step, position) WHERE state = 0",
    "ledger": "CREATE INDEX ledger_position ON ledger (position, step)",
    "answers": "CREATE UNIQUE INDEX answers_question ON answers (position, step, annotator)",
}
NUMBERED = {"ledger": "id", "workers": "number", "events": "id", "answers": "id"}
TRUTHS = {"drawn", "selected"}  # columns that are numbers in SQLite


def copied(tmp_path, name):
    """A campaign that an older version has written, in a folder of its own."""
    shutil.copytree(STORES / name, tmp_path / name)
    for part in tmp_path.rglob("*"):
        part.chmod(0o755 if part.is_dir() else 0o644)
    return tmp_path / name


def moved(folder, database):
    """The campaign of a folder with its store on PostgreSQL, as the same version would have written it there."""
    file = folder / f"{folder.name}.sqlite"
    engine = sa.create_engine(database)
    with closing(sqlite3.connect(file)) as old, engine.begin() as new:
        there = {name for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        new.exec_driver_sql(f"CREATE SCHEMA ratewise_{folder.name}")
        new.exec_driver_sql(f"SET LOCAL search_path TO ratewise_{folder.name}")
        for name, columns in TABLES.items():
            if name in there:
                new.exec_driver_sql(f"CREATE TABLE {name} ({columns})")
                _fill(new, name, old.execute(f"SELECT * FROM {name}"))
    engine.dispose()
    file.unlink()
    path = folder / f"{folder.name}.toml"
    kept = [line for line in path.read_text().splitlines() if not line.startswith("store = ")]
    path.write_text("\n".join([f'store = "{database}"', *kept]))
    return path


def _fill(new, table, rows):
    """The rows, and where the next number continues."""
    names = [column[0] for column in rows.description]
    cells = [tuple(bool(x) if n in TRUTHS else x for n, x in zip(names, row, strict=True)) for row in rows]
    if table in INDEXES:
        new.exec_driver_sql(INDEXES[table])
    if cells:
        quoted = ", ".join(f'"{name}"' for name in names)
        new.exec_driver_sql(f"INSERT INTO {table} ({quoted}) VALUES ({', '.join(['%s'] * len(names))})", cells)
    if table in NUMBERED and cells:
        key = NUMBERED[table]
        new.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table}', '{key}'), max({key})) FROM {table}")
