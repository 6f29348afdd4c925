"""CAMPAIGN.toml as a record: every default in its place, exact amounts, and the same record back from JSON."""

import json
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ratewise.campaign.spec.read import legal_name, read_spec, spec_of
from ratewise.campaign.spec.spec import Goal, ItemsSpec, RatingSpec, Spec
from ratewise.errors import SpecError
from ratewise.raters.column import ColumnSettings
from ratewise.raters.command import CommandSettings
from ratewise.raters.python import PythonSettings
from ratewise.raters.scale import RatingScale

SMALL = """
seed = 7
[items]
table = "items.csv"
[rating]
kind = "binary"
[goal]
budget = "200.00"
[[raters]]
name = "human"
kind = "column"
column = "human"
price = 1
"""
FULL = """
name = "support-bot"
seed = 7
method = "base"
estimand = "population"
level = 0.9
store = "postgresql://u:p@h/d"

[items]
table = "data/items.csv"
id = "key"
features = ["length", "topic"]
uncertainty = "doubt"

[rating]
kind = "likert"
low = 1
high = 5

[goal]
budget = 200.10
target_se = 0.01
deadline = 2026-12-01T18:00:00+02:00

[[raters]]
name = "judge"
kind = "python"
function = "my_raters.llm:judge"
price = "0.010"
max_price = "0.05"
failed_price = "0"
concurrency = 4
batch = 3
timeout = 30
attempts = 5
backoff = 0
per_minute = 600
lost_calls = "count as paid"

[[raters]]
name = "second"
kind = "command"
command = ["python", "judge.py"]
price_column = "cost"

[[raters]]
name = "replayed"
kind = "recorded"
file = "answers.jsonl"
price = 1e-7
max_price = 3
"""


def read(folder: Path, text: str, name: str = "campaign.toml") -> Spec:
    (folder / name).write_text(text, encoding="utf-8")
    return read_spec(folder / name)


def test_every_default_is_filled_in(tmp_path):
    spec = read(tmp_path, SMALL, "my bot!.v2.toml")
    human = ColumnSettings(
        name="human", kind="column", column="human", price=Decimal(1),
        max_price=Decimal(1), failed_price=Decimal(1), concurrency=1, batch=2000,
        timeout=60.0, attempts=3, backoff=1.0, per_minute=None, lost_calls="ask again",
    )  # fmt: skip
    assert spec == Spec(
        name="my-bot-v2", seed=7, method="auto", estimand="pool", level=0.95, store="my-bot-v2.sqlite",
        items=ItemsSpec(table="items.csv", id=None, features=(), uncertainty=None),
        rating=RatingSpec(kind="binary"), goal=Goal(budget=Decimal(200), target_se=None, deadline=None),
        raters=(human,), path=tmp_path / "my bot!.v2.toml",
    )  # fmt: skip
    assert (spec.folder, spec.table_path) == (tmp_path, tmp_path / "items.csv")
    assert (spec.strong, spec.weak, len(spec.raters)) == (human, None, 1)


def test_everything_that_is_given_is_taken(tmp_path):
    spec = read(tmp_path, FULL)
    assert (spec.name, spec.method, spec.estimand, spec.level) == ("support-bot", "base", "population", 0.9)
    assert spec.store == "postgresql://u:p@h/d"
    assert spec.items == ItemsSpec(table="data/items.csv", id="key", features=("length", "topic"), uncertainty="doubt")
    assert spec.scale == RatingScale("likert", 1.0, 5.0)
    assert spec.goal == Goal(budget=Decimal("200.1"), target_se=0.01, deadline=datetime(2026, 12, 1, 16, tzinfo=UTC))
    judge, second, replayed = spec.raters
    assert judge == PythonSettings(
        name="judge", kind="python", function="my_raters.llm:judge", price=Decimal("0.01"),
        max_price=Decimal("0.05"), failed_price=Decimal(0), concurrency=4, batch=3,
        timeout=30.0, attempts=5, backoff=0.0, per_minute=600.0,
        lost_calls="count as paid",
    )  # fmt: skip
    assert second == CommandSettings(
        name="second",
        kind="command",
        command=("python", "judge.py"),
        price_column="cost",
        batch=16,
    )
    assert (second.price, second.max_price, second.failed_price) == (None, None, None)  # the item's own
    assert (replayed.file, replayed.batch, replayed.price) == ("answers.jsonl", 1, Decimal("0.0000001"))
    assert (replayed.max_price, replayed.failed_price) == (Decimal(3), replayed.price)
    assert (spec.weak, spec.strong, len(spec.raters)) == (judge, replayed, 3)


def test_records_are_frozen(tmp_path):
    spec = read(tmp_path, FULL)
    for record in (spec, spec.items, spec.goal, spec.strong):
        with pytest.raises(ValidationError):
            setattr(record, next(iter(type(record).model_fields)), "x")


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ('"200.00"', "200"), ("200", "200"), ("200.0", "200"), ("0.1", "0.1"), ("1e3", "1000"), ('"0200.50"', "200.5"),
        ('" 7 "', "7"), ('"1.' + "0" * 500 + '"', "1"), ("8999999999.5", "8999999999.5"),
        ("123456789.01", "123456789.01"),
        ('"8999999999.999999999"', "8999999999.999999999"),
    ],
)  # fmt: skip
def test_money_is_exact_and_has_no_exponent(tmp_path, written, amount):
    text = SMALL.replace('"200.00"', written).replace("price = 1", "price = 0")
    budget = read(tmp_path, text).goal.budget
    assert str(budget) == amount
    assert budget.as_tuple().exponent <= 0


def test_nothing_costs_nothing(tmp_path):
    for zero in ("0", '"0.00"', "-0.0", '"-0"'):
        price = read(tmp_path, SMALL.replace("price = 1", f"price = {zero}")).strong.price
        assert str(price) == "0"


def test_a_deadline_without_offset_is_local_time(tmp_path, monkeypatch):
    text = SMALL.replace("[[raters]]", "deadline = 2026-07-01 18:00:00\n[[raters]]")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert read(tmp_path, text).goal.deadline == datetime(2026, 7, 1, 16, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_relative_path_is_kept_from_the_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(SMALL)
    spec = read_spec("c.toml")
    assert spec.path == tmp_path / "c.toml"
    absolute = spec.model_copy(update={"items": ItemsSpec(table="/data/items.csv")})
    assert absolute.table_path == Path("/data/items.csv")


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path):
    path = tmp_path / "campaign.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert read_spec(path) == read(tmp_path, SMALL)


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("campaign", "campaign"), ("a b", "a-b"), ("é", "campaign"), ("", "campaign"), ("-x-", "x"),
        ("a" * 60, "a" * 40),
        ("run_3", "run_3"), ("a" * 39 + "éb", "a" * 39 + "-"),
    ],
)  # fmt: skip
def test_a_file_s_name_is_made_legal(stem, name):
    assert legal_name(stem) == name


@pytest.mark.parametrize("text", [SMALL, FULL])
def test_a_spec_comes_back_from_json(tmp_path, text):
    spec = read(tmp_path, text)
    document = json.loads(json.dumps(spec.to_dict(), allow_nan=False))
    assert "path" not in document
    assert spec_of(document, spec.path) == spec
    assert spec_of(document, spec.path).to_dict() == document


def test_json_has_amounts_as_text_and_moments_in_iso(tmp_path):
    document = read(tmp_path, FULL).to_dict()
    assert document["goal"] == {"budget": "200.1", "target_se": 0.01, "deadline": "2026-12-01T16:00:00Z"}
    assert document["raters"][2]["price"] == "0.0000001"
    assert document["rating"] == {"kind": "likert", "low": 1.0, "high": 5.0}


def test_null_in_json_is_nothing(tmp_path):
    spec = read(tmp_path, SMALL)
    document = spec.to_dict()
    document["goal"]["deadline"] = document["items"]["id"] = document["raters"][0]["per_minute"] = None
    assert spec_of(document, spec.path) == spec


def test_json_that_is_no_spec_is_refused_without_lines(tmp_path):
    document = {**read(tmp_path, SMALL).to_dict(), "seed": "7", "goal": {"budget": "200", "deadline": "tomorrow"}}
    with pytest.raises(SpecError) as caught:
        spec_of(document, "old.toml")
    assert caught.value.mistakes == (
        "old.toml: seed must be a whole number from 0 to 2^63 − 1; got the text \"7\"; leave the quotes out",
        "old.toml: goal.deadline must be a date-time, such as 2026-12-01T18:00:00Z; got the text \"tomorrow\"; "
        "leave the quotes out",
    )  # fmt: skip


texts = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)
amounts = st.integers(1, 9 * 10**18 - 1).map(lambda units: format(Decimal(units).scaleb(-9), "f"))
positive = st.floats(min_value=0, exclude_min=True, max_value=1e7)


@st.composite
def raters(draw, name):
    kind, key, value = draw(
        st.sampled_from(
            [("column", "column", "ü"), ("python", "function", "a.b:c"), ("command", "command", ["x", ""]),
             ("command", "command", "x -y 'z z'"), ("recorded", "file", "a b.jsonl")]
        )
    )  # fmt: skip
    optional = {
        "concurrency": st.integers(1, 1000), "batch": st.integers(1, 10**6), "timeout": positive, "backoff": positive,
        "attempts": st.integers(1, 1000), "per_minute": positive,
        "lost_calls": st.sampled_from(["ask again", "count as paid"]),
    }  # fmt: skip
    price = draw(
        st.sampled_from([{"price": "0.5"}, {"price_column": "cost"}, {"price": 0, "max_price": "0.000000001"}])
    )
    return {"name": name, "kind": kind, key: value, **price, **draw(st.fixed_dictionaries({}, optional=optional))}


@st.composite
def documents(draw):
    names = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    optional = {"id": texts, "features": st.lists(texts, max_size=3), "uncertainty": texts}
    goal = {"target_se": positive, "deadline": st.datetimes(datetime(1971, 1, 1), timezones=st.just(UTC))}
    scale = st.sampled_from([{"kind": "binary"}, {"kind": "score", "low": -0.1, "high": 3}, {"kind": "pairwise"}])
    return {
        "seed": draw(st.integers(0, 2**63 - 1)), "level": draw(st.floats(0.01, 0.99)), "rating": draw(scale),
        "items": {"table": draw(texts), **draw(st.fixed_dictionaries({}, optional=optional))},
        "goal": {"budget": "1" + draw(amounts).lstrip("0123456789"), **draw(st.fixed_dictionaries({}, optional=goal))},
        "raters": [draw(raters(name)) for name in names],
    }  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(documents())
def test_every_spec_survives_json(document):
    spec = spec_of(document, "/somewhere/campaign.toml")
    assert spec_of(json.loads(json.dumps(spec.to_dict())), spec.path) == spec


@settings(max_examples=40, deadline=None)
@given(amounts)
def test_every_legal_amount_comes_back_exactly(amount):
    document = {
        "seed": 1, "items": {"table": "t.csv"}, "rating": {"kind": "binary"}, "goal": {"budget": amount},
        "raters": [{"name": "h", "kind": "column", "column": "h", "price": "0"}],
    }  # fmt: skip
    spec = spec_of(document, "c.toml")
    assert spec.goal.budget == Decimal(amount)
    assert spec.to_dict()["goal"]["budget"] == (amount.rstrip("0").rstrip(".") if "." in amount else amount)
