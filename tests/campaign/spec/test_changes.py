"""What may change in a campaign that has begun: every key of the TOML is either taken or refused with a reason."""

import pytest

from ratewise.campaign.spec.changes import changes
from ratewise.campaign.spec.read import TABLES, spec_of
from ratewise.campaign.spec.spec import Goal, ItemsSpec, Spec
from ratewise.raters.keys import keys_of
from ratewise.raters.kinds import rater_keys

TOP = {
    "name": "bot", "seed": 7, "method": "auto", "estimand": "pool", "level": 0.95, "store": "bot.sqlite",
    "items": {"table": "items.csv", "id": "id", "features": ["a"], "uncertainty": "u"},
    "rating": {"kind": "likert", "low": 1, "high": 5},
    "goal": {"budget": "200", "target_se": 0.01, "deadline": "2030-01-01T00:00:00+00:00"},
}  # fmt: skip
RATERS = {
    "cell": {"kind": "column", "column": "judge", "price": "0.01", "max_price": "0.02"},
    "code": {"kind": "python", "function": "m:f", "price_column": "cost"},
    "tool": {"kind": "command", "command": ["x"], "price": "1"},
    "tape": {"kind": "recorded", "file": "a.jsonl", "price": "2"},
    "crowd": {"kind": "people", "votes": 3, "price": "4"},
    "later": {"kind": "sheet", "price": "5"},
    "small": {"kind": "trained", "path": "judge", "price": "5"},
    "machine": {
        "kind": "llm", "model": "m", "base_url": "http://127.0.0.1:1/v1", "judge": "pairwise", "show": ["q"],
        "a": "x", "b": "y", "prices": {"input": "1", "output": "2"},
    },
}  # fmt: skip
SAME = ": it must still be the same rater"
DRAWN = ": items were drawn from the table as it was"
PAID = ": ratings were chosen and paid for at the old price"
CHOSEN = ": ratings were chosen by what they could cost"
JUDGED = ": the ratings so far came from the old judge, and a changed judge is another rater"

TAKEN = [
    ("level", 0.9, "level from 0.95 to 0.9"),
    ("currency", "USD", 'currency from none to "USD"'),
    ("claim", "It is right", 'claim from none to "It is right"'),
    ("raters.crowd.ends", ["bad", "good"], 'raters.crowd.ends from [] to ["bad", "good"]'),
    ("raters.crowd.guidelines", "rules.md", 'raters.crowd.guidelines from none to "rules.md"'),
    ("goal.budget", "300", "goal.budget from 200 to 300"),
    ("goal.budget", "100.5", "goal.budget from 200 to 100.5"),
    ("goal.budget", None, "goal.budget from 200 to none"),
    ("goal.target_se", 0.02, "goal.target_se from 0.01 to 0.02"),
    ("goal.deadline", "2031-01-01T00:00:00+00:00",
     "goal.deadline from 2030-01-01T00:00:00+00:00 to 2031-01-01T00:00:00+00:00"),
    ("goal.unanswered", "give up", 'goal.unanswered from none to "give up"'),
    ("raters.crowd.lease", 60, "raters.crowd.lease from 600.0 to 60.0"),
    ("raters.later.sheets", "todo", 'raters.later.sheets from "questions" to "todo"'),
    ("raters.later.show", ["a"], 'raters.later.show from [] to ["a"]'),
    ("raters.cell.concurrency", 9, "raters.cell.concurrency from 1 to 9"),
    ("raters.cell.batch", 9, "raters.cell.batch from 2000 to 9"),
    ("raters.code.timeout", 9, "raters.code.timeout from 60.0 to 9.0"),
    ("raters.code.attempts", 9, "raters.code.attempts from 3 to 9"),
    ("raters.tool.backoff", 9, "raters.tool.backoff from 1.0 to 9.0"),
    ("raters.tool.patience", 60, "raters.tool.patience from 900.0 to 60.0"),
    ("raters.tool.per_minute", 9, "raters.tool.per_minute from none to 9.0"),
    ("raters.tape.lost_calls", "count as paid", 'raters.tape.lost_calls from "ask again" to "count as paid"'),
    ("raters.tape.failed_price", "0", "raters.tape.failed_price from 2 to 0"),
    ("raters.code.function", "m:g", 'raters.code.function from "m:f" to "m:g"' + SAME),
    ("raters.tool.command", ["y", "z"], 'raters.tool.command from ["x"] to ["y", "z"]' + SAME),
    ("raters.tape.file", "b.jsonl", 'raters.tape.file from "a.jsonl" to "b.jsonl"' + SAME),
    ("raters.machine.base_url", "http://127.0.0.1:2/v1",
     'raters.machine.base_url from "http://127.0.0.1:1/v1" to "http://127.0.0.1:2/v1"' + SAME),
    ("raters.small.device", "cpu", 'raters.small.device from "auto" to "cpu"'),
    ("raters.small.per_hour", "2.50", 'raters.small.per_hour from none to 2.5'),
    ("raters.machine.key_env", "KEY", 'raters.machine.key_env from none to "KEY"'),
    ("raters.crowd.known", "k.csv", 'raters.crowd.known from none to "k.csv"'),
    ("raters.crowd.training", 5, "raters.crowd.training from 0 to 5"),
    ("raters.crowd.pass_mark", 0.5, "raters.crowd.pass_mark from 0.8 to 0.5"),
    ("raters.machine.structured", False, "raters.machine.structured from True to False"),
    ("raters.machine.tokens_per_minute", 9, "raters.machine.tokens_per_minute from none to 9.0"),
]  # fmt: skip
REFUSED = [
    ("name", "other", 'name from "bot" to "other": it names the store'),
    ("seed", 8, "seed from 7 to 8: the draws would be others"),
    ("method", "base", 'method from "auto" to "base": the draws so far followed the old one'),
    ("estimand", "population",
     'estimand from "pool" to "population": it would be chosen after looking at ratings'),
    ("items.table", "b.csv", 'items.table from "items.csv" to "b.csv"' + DRAWN),
    ("items.id", None, 'items.id from "id" to none' + DRAWN),
    ("items.features", ["a", "b"], 'items.features from ["a"] to ["a", "b"]' + DRAWN),
    ("items.text", ["q"], 'items.text from [] to ["q"]' + DRAWN),
    ("raters.crowd.checks", 0.1, "raters.crowd.checks from 0.0 to 0.1: rounds so far were planned with the money set "
     "aside for the old share"),
    ("raters.crowd.repeats", 0.1, "raters.crowd.repeats from 0.0 to 0.1: rounds so far were planned with the money set "
     "aside for the old share"),
    ("raters.crowd.answer_seconds", 30,
     "raters.crowd.answer_seconds from 60.0 to 30.0: ratings were chosen by what they could cost"),
    ("raters.crowd.most_seconds", 900,
     "raters.crowd.most_seconds from 300.0 to 900.0: ratings were chosen by what they could cost"),
    ("raters.crowd.adjudicator", "ann",
     'raters.crowd.adjudicator from none to "ann": splits so far were decided by the old one'),
    ("raters.small.path", "other",
     'raters.small.path from "judge" to "other": the ratings so far came from the old one'),
    ("items.uncertainty", "v", 'items.uncertainty from "u" to "v"' + DRAWN),
    ("items.format", "csv", 'items.format from none to "csv"' + DRAWN),
    ("items.at_most", 5000, "items.at_most from none to 5000" + DRAWN),
    ("items.clusters", "talk", 'items.clusters from none to "talk"' + DRAWN),
    ("rating.low", 0, "rating.low from 1.0 to 0.0: ratings so far are on the old scale"),
    ("rating.high", 7, "rating.high from 5.0 to 7.0: ratings so far are on the old scale"),
    ("rating.kind", "score", 'rating.kind from "likert" to "score": ratings so far are of the old kind'),
    ("raters.cell.column", "j2", 'raters.cell.column from "judge" to "j2": the ratings so far came from the old one'),
    ("raters.crowd.votes", 5,
     "raters.crowd.votes from 3 to 5: ratings so far were made of the old number of answers"),
    ("raters.tool.price", "1.5", "raters.tool.price from 1 to 1.5" + PAID),
    ("raters.code.price_column", "c2", 'raters.code.price_column from "cost" to "c2"' + PAID),
    ("raters.cell.max_price", "0.01", "raters.cell.max_price from 0.02 to 0.01" + CHOSEN),
    ("raters.cell.max_price", "0.03", "raters.cell.max_price from 0.02 to 0.03" + CHOSEN),
    ("raters.code.max_price", "9", "raters.code.max_price from none to 9" + CHOSEN),
    ("raters.machine.model", "n", 'raters.machine.model from "m" to "n"' + JUDGED),
    ("raters.machine.judge", "my.txt", 'raters.machine.judge from "pairwise" to "my.txt"' + JUDGED),
    ("raters.machine.criterion", "Good.",
     'raters.machine.criterion from "The answer is correct." to "Good."' + JUDGED),
    ("raters.machine.a", "z", 'raters.machine.a from "x" to "z"' + JUDGED),
    ("raters.machine.b", "z", 'raters.machine.b from "y" to "z"' + JUDGED),
    ("raters.machine.samples", 2, "raters.machine.samples from 1 to 2" + JUDGED),
    ("raters.machine.probability", "samples", 'raters.machine.probability from "auto" to "samples"' + JUDGED),
    ("raters.machine.max_tokens", 9, "raters.machine.max_tokens from none to 9" + JUDGED),
    ("raters.machine.temperature", 1, "raters.machine.temperature from none to 1.0" + JUDGED),
    ("raters.machine.longest", 200, "raters.machine.longest from 20000 to 200" + JUDGED),
    ("raters.machine.prices", {"input": "1", "output": "3"},
     "raters.machine.prices from { input = 1, output = 2 } to { input = 1, output = 3 }: ratings were chosen and paid"
     " for by them"),
]  # fmt: skip


def spec(key=None, value=None, raters=RATERS):
    """The campaign, with one key changed; None takes it out."""
    document = {name: dict(part) if isinstance(part, dict) else part for name, part in TOP.items()}
    parts = {name: {"name": name, **part} for name, part in raters.items()}
    if key is not None:
        *tables, last = key.split(".")
        table = parts[tables[1]] if len(tables) == 2 else document[tables[0]] if tables else document
        table[last] = value
        if value is None:
            del table[last]
    return spec_of({**document, "raters": list(parts.values())}, "bot.toml")


def told(old, new):
    """(taken, refused): a sentence for each change."""
    found = changes(old, new)
    return [one.sentence for one in found if not one.reason], [one.sentence for one in found if one.reason]


@pytest.mark.parametrize(("key", "value", "sentence"), TAKEN)
def test_taken(key, value, sentence):
    assert told(spec(), spec(key, value)) == ([sentence], [])


@pytest.mark.parametrize(("key", "value", "sentence"), REFUSED)
def test_refused(key, value, sentence):
    assert told(spec(), spec(key, value)) == ([], [sentence])


def test_nothing_has_changed_and_the_store_may_move():
    assert told(spec(), spec()) == ([], [])
    assert told(spec(), spec("store", "elsewhere.sqlite")) == ([], [])


def test_every_key_has_been_tried():
    tried = {key.replace("raters.", "").split(".")[-1] for key, *_ in TAKEN + REFUSED}
    legal = {name for record in (Spec, ItemsSpec, Goal) for name in keys_of(record)} | set(rater_keys())
    assert legal - tried == {"store", "within", "decide", "teacher", *TABLES}


def test_a_half_width_takes_the_place_of_a_standard_error():
    goal = {"budget": "200", "within": 0.02, "deadline": "2030-01-01T00:00:00+00:00"}
    found = told(spec(), spec("goal", goal))
    assert found == (["goal.target_se from 0.01 to none", "goal.within from none to 0.02"], [])


def test_another_kind_of_rater_is_one_refusal():
    other = {**RATERS, "cell": {"kind": "python", "function": "m:f", "price": "0.01", "max_price": "0.02"}}
    assert told(spec(), spec(raters=other)) == (
        [], ['raters.cell.kind from "column" to "python": the ratings so far came from the old one'],
    )  # fmt: skip


def test_raters_keep_their_number_and_order():
    fewer = {name: RATERS[name] for name in ("code", "tool", "tape")}
    turned = {name: RATERS[name] for name in ("code", "cell", "tool", "tape", "crowd", "later")}
    why = ": ratings so far belong to the old ones, in their old order"
    before = 'raters from ["cell", "code", "tool", "tape", "crowd", "later", "small", "machine"] to '
    assert told(spec(), spec(raters=fewer)) == ([], [before + '["code", "tool", "tape"]' + why])
    assert told(spec(), spec(raters=turned)) == (
        [], [before + '["code", "cell", "tool", "tape", "crowd", "later"]' + why],
    )  # fmt: skip


def test_all_changes_are_told_at_once():
    new = spec(raters={**RATERS, "tape": {**RATERS["tape"], "price": "3", "timeout": 5}}).to_dict()
    new = spec_of({**new, "seed": 9, "level": 0.5}, "bot.toml")
    assert told(spec(), new) == (
        ["level from 0.95 to 0.5", "raters.tape.timeout from 60.0 to 5.0"],
        ["seed from 7 to 9: the draws would be others", "raters.tape.price from 2 to 3" + PAID],
    )
