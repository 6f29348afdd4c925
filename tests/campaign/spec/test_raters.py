"""[[raters]]: the keys that each kind must have, may have and may not have, and what each must be."""

import pytest

from ratewise.campaign.spec.read import read_spec
from ratewise.errors import SpecError

from .refusing import GOAL, HUMAN, ITEMS, RATING, TOP, refused

PRICE = "an amount of 0 or more and below 9,000,000,000, with at most 9 decimals"
RATER_KEYS = (
    "name, kind, price, price_column, max_price, "
    "failed_price, concurrency, batch, timeout, attempts, backoff, patience, per_minute, lost_calls, column"
)
WRONG_LINES = [  # after a column rater
    (
        'function = "m:f"',
        'raters.human.function is not for a column rater; remove it, or write kind = "python"',
    ),
    ('command = "x"', 'raters.human.command is not for a column rater; remove it, or write kind = "command"'),
    ('file = "x"', 'raters.human.file is not for a column rater; remove it, or write kind = "recorded"'),
    (  # several kinds have this key: one mistake all the same
        'show = ["question"]',
        'raters.human.show is not for a column rater; remove it, or write kind = "people", "sheet" or "llm"',
    ),
    (
        'price_column = "c"',
        "raters.human.price_column and price are both given; keep the one that says what a call costs",
    ),
    ("max_price = 0.5", "raters.human.max_price must be at least price = 1; got 0.5"),
    (
        "failed_price = 2",
        "raters.human.failed_price must be at most the 1 reserved for a call; got 2; lower it or raise max_price",
    ),
    ('failed_price = "-1"', f'raters.human.failed_price must be {PRICE}; got the text "-1"'),
    ("concurrency = 0", "raters.human.concurrency must be a whole number from 1 to 1,000; got 0"),
    ("concurrency = 1001", "raters.human.concurrency must be a whole number from 1 to 1,000; got 1001"),
    ("concurrency = 2.0", "raters.human.concurrency must be a whole number from 1 to 1,000; got 2.0"),
    ("batch = true", "raters.human.batch must be a whole number from 1 to 1,000,000; got true"),
    ("timeout = 0", "raters.human.timeout must be a number of seconds above 0, at most 31,536,000; got 0"),
    (
        "timeout = inf",
        "raters.human.timeout must be a number of seconds above 0, at most 31,536,000; got inf",
    ),
    ("attempts = 0", "raters.human.attempts must be a whole number from 1 to 1,000; got 0"),
    ("backoff = -1", "raters.human.backoff must be a number of seconds from 0 to 31,536,000; got -1"),
    ("per_minute = 0", "raters.human.per_minute must be a number above 0; got 0"),
    (
        'lost_calls = "ask"',
        'raters.human.lost_calls must be one of "ask again", "count as paid"; got the text "ask"',
    ),
    (
        'lost_calls = "Ask again"',
        'raters.human.lost_calls must be one of "ask again", "count as paid"; got the '
        'text "Ask again"; did you mean "ask again"?',
    ),
    ("time_out = 3", "raters.human.time_out is unknown; did you mean 'timeout'?"),
    ("xyz = 3", f"raters.human.xyz is unknown; the keys here are {RATER_KEYS}"),
]


@pytest.mark.parametrize(("line", "sentence"), WRONG_LINES, ids=[sentence[:50] for _, sentence in WRONG_LINES])
def test_each_line_that_a_rater_cannot_have_is_told(tmp_path, line, sentence):
    assert refused(tmp_path, TOP + ITEMS + RATING + GOAL + HUMAN + line + "\n") == [f"c.toml:13: {sentence}"]


RATERS = [
    (
        'name = "a"\nkind = "column"\nprice = 1',
        'c.toml:8: raters.a.column is missing; write column = "judge"',
    ),
    (
        'name = "a"\nkind = "python"\nprice = 1',
        'c.toml:8: raters.a.function is missing; write function = "my_raters:judge"',
    ),
    (
        'name = "a"\nkind = "command"\nprice = 1',
        'c.toml:8: raters.a.command is missing; write command = ["python", "judge.py"]',
    ),
    (
        'name = "a"\nkind = "recorded"\nprice = 1',
        'c.toml:8: raters.a.file is missing; write file = "answers.jsonl"',
    ),
    (
        'name = "a"\nkind = "column"\ncolumn = "a"',
        'c.toml:8: raters.a.price is missing; write price = "0.01", or price_column = "cost" for prices in the table',
    ),
    ('kind = "column"\ncolumn = "a"\nprice = 1', 'c.toml:8: raters[1].name is missing; write name = "judge"'),
    (
        'name = "a"\ncolumn = "a"\nprice = 1',
        'c.toml:8: raters.a.kind is missing; write kind = "column", "python", "command", "recorded", "people", '
        '"sheet", "llm" or "trained"',
    ),
    (
        'name = "a"\nkind = "colum"\ncolumn = "a"\nprice = 1',
        'c.toml:10: raters.a.kind must be one of "column", "python", '
        '"command", "recorded", "people", "sheet", "llm", "trained"; got the text "colum"; did you mean "column"?',
    ),
    (
        'name = "a\\nb"\nkind = "column"\ncolumn = "a"\nprice = 1',
        "c.toml:9: raters[1].name must be a name, as text; got the "
        'text "a\\nb"; take line breaks and other signs that cannot be seen out',
    ),
    (
        'name = "a"\nkind = "column"\ncolumn = "a\\u0000"\nprice = 1',
        "c.toml:11: raters.a.column must be the name of a column "
        'of the table, as text; got the text "a\\u0000"; take the NUL sign out',
    ),
    (
        'name = "a"\nkind = "python"\nfunction = "judge"\nprice = 1',
        "c.toml:11: raters.a.function must be text such as "
        '"my_raters:judge"; got the text "judge"; a module, a colon, and a function in it',
    ),
    (
        'name = "a"\nkind = "command"\ncommand = []\nprice = 1',
        "c.toml:11: raters.a.command must be the words of a command, "
        'such as ["python", "judge.py"]; got a list; there is no program to start',
    ),
    (
        'name = "a"\nkind = "command"\ncommand = ["x", 3]\nprice = 1',
        "c.toml:11: raters.a.command must be the words of a "
        'command, such as ["python", "judge.py"]; got a list; every word must be text',
    ),
    (
        'name = "a"\nkind = "command"\ncommand = "x \'y"\nprice = 1',
        "c.toml:11: raters.a.command must be the words of a "
        'command, such as ["python", "judge.py"]; got the text "x \'y"; a quote in it is not closed',
    ),
    (
        'name = "a"\nkind = "command"\ncommand = "x \\u0000"\nprice = 1',
        "c.toml:11: raters.a.command must be the words of a "
        'command, such as ["python", "judge.py"]; got the text "x \\u0000"; take the NUL sign out',
    ),
    (
        'name = "human"\nkind = "column"\ncolumn = "a"\nprice = 1',
        'c.toml:14: raters[2].name "human" is the name of raters[1] already; choose another',
    ),
]


@pytest.mark.parametrize(("rater", "mistake"), RATERS, ids=[mistake[:60] for _, mistake in RATERS])
def test_each_rater_has_the_keys_of_its_kind(tmp_path, rater, mistake):
    text = TOP + ITEMS + RATING + GOAL + "[[raters]]\n" + rater + "\n" + HUMAN
    assert refused(tmp_path, text) == [mistake]


def test_a_slip_is_guessed_among_the_keys_of_its_kind(tmp_path):
    """`question` is near to `function`, which is no key of people, and which nobody wrote."""
    (tmp_path / "c.toml").write_text(
        'seed = 1\n[items]\ntable = "i.csv"\n[rating]\nkind = "binary"\n[goal]\nbudget = "1"\n'
        '[[raters]]\nname = "people"\nkind = "people"\nprice = "1"\nquestion = "Is it right?"\n'
    )
    with pytest.raises(SpecError) as caught:
        read_spec(tmp_path / "c.toml")
    (said,) = caught.value.args
    assert "raters.people.question" in said
    assert "function" not in said
    assert "criterion" in said
