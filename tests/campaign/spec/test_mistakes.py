"""Every mistake in a campaign's TOML: all at once, each with its file, its line, its key and a hint, in plain words."""

import pickle

import pytest

from ratewise.campaign.spec.read import read_spec
from ratewise.errors import InputError, SpecError

from .refusing import GOAL, HUMAN, ITEMS, RATING, TOP, refused


def at_top(line):
    return line + "\n" + TOP + ITEMS + RATING + GOAL + HUMAN, 1


def in_items(line):
    return TOP + ITEMS + line + "\n" + RATING + GOAL + HUMAN, 4


def in_rating(text):
    """In place of the whole table; the line is of its header."""
    return TOP + "[rating]\n" + text + "\n" + ITEMS + GOAL + HUMAN, 2


def in_goal(text):
    return TOP + ITEMS + RATING + "[goal]\n" + text + "\n" + HUMAN, 6


AMOUNT = "an amount above 0 and below 9,000,000,000, with at most 9 decimals"
DIGITS = 'write digits and a point, such as "0.01", without currency, commas or exponent'
NAME = "text of 1 to 40 letters, digits, - and _"
SCHEMES = "write the path of a SQLite file, or postgresql://…"
MISTAKES = [
    # the top
    (at_top('name = "a b"'), f'name must be {NAME}; got the text "a b"'),
    (at_top('name = ""'), f'name must be {NAME}; got the text ""'),
    (at_top('name = "' + "x" * 41 + '"'), f'name must be {NAME}; got the text "{"x" * 39}…"'),
    (at_top("name = 3"), f"name must be {NAME}; got 3"),
    (at_top('method = "bas"'), 'method must be one of "auto", "base"; got the text "bas"; did you mean "base"?'),
    (at_top('estimand = "x"'), 'estimand must be one of "population", "pool"; got the text "x"'),
    (at_top("level = 95"), "level must be a number between 0 and 1; got 95"),
    (at_top('level = "0.9"'), 'level must be a number between 0 and 1; got the text "0.9"; leave the quotes out'),
    (at_top("level = nan"), "level must be a number between 0 and 1; got nan"),
    (at_top('store = "mysql://u:secret@h/d"'), f'store is an address of "mysql://"; {SCHEMES}'),
    (
        at_top('store = " "'),
        "store must be the path of a SQLite file or a postgresql:// address, as text; "
        'got the text " "; write something between the quotes',
    ),
    (at_top("budgets = 3"), "budgets is unknown; did you mean 'budget', under [goal]?"),
    (at_top("budget = 3"), "budget is unknown; it belongs under [goal]"),
    (at_top("price = 3"), "price is unknown; it belongs under [[raters]]"),
    (at_top("sed = 7"), "sed is unknown; did you mean 'seed'?"),
    (
        at_top('"a\\nb" = 7'),
        '"a\\nb" is unknown; the keys here are name, seed, method, estimand, level, currency, claim, store, items, '
        "rating, goal, raters, learner, inputs, question, start",
    ),
    # [items]
    (in_items("id = 3"), "items.id must be the name of a column of the table, as text; got 3"),
    (
        in_items('features = "length"'),
        'items.features must be a list of names of columns, such as ["length", "topic"]; got the text "length"',
    ),
    (
        in_items('features = ["a", 3]'),
        'items.features must be a list of names of columns, such as ["length", "topic"]; got a list with 3 in it',
    ),
    (in_items("uncertainty = [1]"), "items.uncertainty must be the name of a column of the table, as text; got a list"),
    (in_items("seed = 7"), "items.seed is unknown; it belongs at the top of the file, above the first [table]"),
    (in_items("feature = []"), "items.feature is unknown; did you mean 'features'?"),
    (
        in_items("xyz = 1"),
        "items.xyz is unknown; the keys here are table, format, at_most, id, features, text, uncertainty, clusters",
    ),
    (in_items("at_most = 5"), "items.at_most must be a whole number of items from 100 on; got 5"),
    # [rating]
    (in_rating(""), 'rating.kind is missing; write kind = "binary", "likert", "score" or "pairwise"'),
    (in_rating('kind = "score"\nhigh = 5'), "rating.low is missing; a score scale needs both bounds, so write low = 1"),
    (
        in_rating('kind = "likert"\nlow = 1'),
        "rating.high is missing; a likert scale needs both bounds, so write high = 5",
    ),
    # [goal]
    (in_goal(""), 'goal needs budget or within, or both; write budget = "200" or within = 0.02'),
    (
        in_goal("deadline = 2030-01-01T00:00:00Z"),
        'goal needs budget or within, or both; write budget = "200" or within = 0.02',
    ),
]


@pytest.mark.parametrize(("where", "sentence"), MISTAKES, ids=[sentence[:50] for _, sentence in MISTAKES])
def test_each_mistake_has_its_line_its_key_and_a_hint(tmp_path, where, sentence):
    text, line = where
    assert refused(tmp_path, text) == [f"c.toml:{line}: {sentence}"]


MOMENT = "a date-time, such as 2026-12-01T18:00:00Z"
VALUES = [
    # the line after the header is at fault
    (
        in_rating,
        'kind = "binry"',
        'rating.kind must be one of "binary", "likert", "score", "pairwise"; got the text '
        '"binry"; did you mean "binary"?',
    ),
    (
        in_rating,
        'low = 1\nkind = "binary"',
        "rating.low is not for a binary scale; remove it (likert and score have bounds)",
    ),
    (
        in_rating,
        'high = 1\nkind = "pairwise"',
        "rating.high is not for a pairwise scale; remove it (likert and score have bounds)",
    ),
    (in_rating, 'high = 1\nlow = 1\nkind = "score"', "rating.high must be above low = 1; got 1"),
    (
        in_rating,
        'high = 4.5\nlow = 1\nkind = "likert"',
        'rating.high must be a whole number on a likert scale; got 4.5; or write kind = "score"',
    ),
    (
        in_rating,
        'low = "1"\nhigh = 5\nkind = "score"',
        'rating.low must be a number from -1e+12 to 1e+12; got the text "1"; leave the quotes out',
    ),
    (in_rating, 'low = 1\nhigh = inf\nkind = "score"', "rating.high must be a number from -1e+12 to 1e+12; got inf"),
    (in_goal, "budget = 0", f"goal.budget must be {AMOUNT}; got 0"),
    (in_goal, 'budget = "-5"', f'goal.budget must be {AMOUNT}; got the text "-5"'),
    (in_goal, 'budget = "€5"', f'goal.budget must be {AMOUNT}; got the text "€5"; {DIGITS}'),
    (in_goal, 'budget = "1,000"', f'goal.budget must be {AMOUNT}; got the text "1,000"; {DIGITS}'),
    (in_goal, 'budget = "1e3"', f'goal.budget must be {AMOUNT}; got the text "1e3"; {DIGITS}'),
    (in_goal, 'budget = "٣"', f'goal.budget must be {AMOUNT}; got the text "٣"; {DIGITS}'),
    (in_goal, "budget = nan", f"goal.budget must be {AMOUNT}; got nan; {DIGITS}"),
    (in_goal, "budget = inf", f"goal.budget must be {AMOUNT}; got inf; {DIGITS}"),
    (in_goal, "budget = true", f'goal.budget must be {AMOUNT}; got true; write it as "0.01"'),
    (in_goal, "budget = 9e9", f"goal.budget must be {AMOUNT}; got 9000000000.0; count in a larger unit"),
    (
        in_goal,
        "budget = 0x" + "f" * 5000,
        f"goal.budget must be {AMOUNT}; got a number of more than 20 digits; count in a larger unit",
    ),
    (
        in_goal,
        'budget = "1.0000000001"',
        f'goal.budget must be {AMOUNT}; got the text "1.0000000001"; it has 10 decimals',
    ),
    (
        in_goal,
        'budget = "0.99"',
        "goal.budget is smaller than one strong rating: 0.99 against 1 for rater 'human'; raise it "
        "or choose a cheaper strong rater",
    ),
    (in_goal, "target_se = 0", "goal.target_se must be a number above 0; got 0"),
    (in_goal, "bugdet = 200", "goal.bugdet is unknown; did you mean 'budget'?"),
    (
        in_goal,
        "deadline = 2030-01-01\nbudget = 9",
        f"goal.deadline must be {MOMENT}; got the date 2030-01-01; add the time of day",
    ),
    (
        in_goal,
        "deadline = 10:00:00\nbudget = 9",
        f"goal.deadline must be {MOMENT}; got the time 10:00:00; write a day and a time of day",
    ),
    (
        in_goal,
        'deadline = "2030-01-01T00:00:00Z"\nbudget = 9',
        f'goal.deadline must be {MOMENT}; got the text "2030-01-01T00:00:00Z"; leave the quotes out',
    ),
    (
        in_goal,
        "deadline = 0001-01-01T00:00:00+12:00\nbudget = 9",
        f"goal.deadline must be {MOMENT}; got the date-time "
        "0001-01-01T00:00:00+12:00; choose a year that clocks can count",
    ),
]


@pytest.mark.parametrize(("table", "text", "sentence"), VALUES, ids=[text[:40] for _, text, _ in VALUES])
def test_each_value_is_checked(tmp_path, table, text, sentence):
    whole, header = table(text)
    line = (
        header
        + 1
        + next(n for n, row in enumerate(text.split("\n")) if sentence.split(" ")[0].endswith(row.split()[0]))
    )
    assert refused(tmp_path, whole) == [f"c.toml:{line}: {sentence}"]


def test_the_budget_must_pay_what_the_strong_rater_may_cost(tmp_path):
    dear = TOP + ITEMS + RATING + GOAL + HUMAN + 'max_price = "200.01"\n'
    assert "200 against 200.01 for rater 'human'" in refused(tmp_path, dear)[0]
    (tmp_path / "fine.toml").write_text(dear.replace("200.01", "200"))
    assert read_spec(tmp_path / "fine.toml").strong.max_price == 200


def test_a_standard_error_may_be_asked_for_on_any_scale(tmp_path):
    for text in ('kind = "binary"', 'kind = "score"\nlow = -1\nhigh = 1e9', 'kind = "likert"\nlow = 0.0\nhigh = 2'):
        whole = in_rating(text)[0].replace('budget = "200"', "target_se = 1e-9")
        (tmp_path / "c.toml").write_text(whole)
        assert read_spec(tmp_path / "c.toml").goal.budget is None


ALL = """\
name = "a b"
level = nan
bugdet = 3

[items]
tabel = "x.csv"

[rating]
kind = "likert"
low = 5
high = 1.5

[goal]
target_se = "0.1"

[[raters]]
name = "judge"
kind = "python"
column = "j"
price = 2
max_price = 1

[[raters]]
name = "judge"
kind = "column"
timeout = -1
"""


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(tmp_path):
    """First those of single keys, and where there is none, what does not fit together."""
    mistakes = refused(tmp_path, ALL)
    assert [mistake.split(" ")[:2] for mistake in mistakes] == [
        ["c.toml:1:", "name"], ["c.toml:2:", "level"], ["c.toml:3:", "bugdet"], ["c.toml:6:", "items.tabel"],
        ["c.toml:14:", "goal.target_se"], ["c.toml:16:", "raters[1].function"], ["c.toml:19:", "raters[1].column"],
        ["c.toml:23:", "raters[2].column"], ["c.toml:26:", "raters[2].timeout"], ["c.toml:", "seed"],
    ]  # fmt: skip
    with pytest.raises(SpecError) as caught:
        read_spec(tmp_path / "c.toml")
    assert str(caught.value).split("\n") == ["10 mistakes:", *(f"{tmp_path}/{mistake}" for mistake in mistakes)]


def test_all_that_does_not_fit_together_is_told_at_once(tmp_path):
    text = ALL
    for wrong, right in (
        ('"a b"', '"a"'), ("nan", "0.9"), ("bugdet = 3", "seed = 3"), ("tabel", "table"), ('"0.1"', "0.1"),
        ('column = "j"', 'function = "m:f"'), ("timeout = -1", 'column = "human"'),
    ):  # fmt: skip
        text = text.replace(wrong, right)
    assert [mistake.split(" ")[:2] for mistake in refused(tmp_path, text)] == [
        ["c.toml:11:", "rating.high"], ["c.toml:11:", "rating.high"], ["c.toml:21:", "raters[1].max_price"],
        ["c.toml:23:", "raters[2].price"], ["c.toml:24:", "raters[2].name"],
    ]  # fmt: skip


def test_one_mistake_is_one_line():
    one, two = SpecError("a: wrong"), SpecError("a: wrong", "b: wrong")
    assert (str(one), str(two)) == ("a: wrong", "2 mistakes:\na: wrong\nb: wrong")
    assert isinstance(one, InputError)
    assert one.exit_code == 2
    assert str(pickle.loads(pickle.dumps(two))) == str(two)


EMPTY = [
    "c.toml: seed is missing; write seed = 7",
    'c.toml: items is missing; write a table [items] with table = "items.csv"',
    'c.toml: rating is missing; write a table [rating] with kind = "binary"',
    'c.toml: goal is missing; write a table [goal] with budget = "200" or within = 0.02',
    "c.toml: raters is missing; write a table [[raters]] for each rater, from the cheapest to the one that is right",
]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing yet"])
def test_an_empty_file_is_told_what_it_lacks(tmp_path, text):
    assert refused(tmp_path, text) == EMPTY


def test_what_should_be_a_table_and_is_not(tmp_path):
    text = 'seed = 7\nitems = 3\nrating = "binary"\ngoal = []\nraters = [1, [], {}]\n'
    raters = "write a table [[raters]] for each rater, from the cheapest to the one that is right"
    assert refused(tmp_path, text)[:5] == [
        'c.toml:2: items must be a table; got 3; write a table [items] with table = "items.csv"',
        'c.toml:3: rating must be a table; got the text "binary"; write a table [rating] with kind = "binary"',
        'c.toml:4: goal must be a table; got a list; write a table [goal] with budget = "200" or within = 0.02',
        f"c.toml:5: raters[1] must be a table; got 1; {raters}",
        f"c.toml:5: raters[2] must be a table; got a list; {raters}",
    ]
    single = TOP + ITEMS + RATING + GOAL + HUMAN.replace("[[", "[").replace("]]", "]")
    assert refused(tmp_path, single) == [f"c.toml:8: raters must be a list; got a table; {raters}"]
    assert refused(tmp_path, "raters = []\n" + TOP + ITEMS + RATING + GOAL) == [f"c.toml:1: raters is empty; {raters}"]
