"""Kinds of raters: each tells all that campaigns must know of it, and a new one is a record in one dictionary."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.spec.fields import keys_of
from ratewise.campaign.spec.spec import rater_keys
from ratewise.errors import InputError, SpecError
from ratewise.raters.kind import TEXT, RaterKind, RaterPlace, Says
from ratewise.raters.kinds import KINDS
from ratewise.raters.protocol import Answer, Question

TOML = """\
seed = 1
[items]
table = "items.csv"
[rating]
kind = "score"
low = 0
high = 20
[goal]
budget = "6"
[[raters]]
name = "counter"
kind = "length"
{keys}
price = "1"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthSettings(RaterKind):
    of: Annotated[str, TEXT, Says("the name of a column, as text", 'of = "answer"')]

    example = (('of = "answer"', "how long a text is"),)
    batch = 3
    fixed: ClassVar = {"of": "the ratings so far are of the old column"}

    def make(self, place):
        return LengthRater(self.of)

    @property
    def reads(self):
        return (self.of,)


class LengthRater:
    def __init__(self, column):
        self.column = column

    async def rate(self, questions):
        return [Answer(len(question.item[self.column])) for question in questions]

    async def close(self):
        pass


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """A campaign with a kind that only this test knows: one record, one line."""
    monkeypatch.setitem(KINDS, "length", LengthSettings)
    (tmp_path / "items.csv").write_text("id,answer,other\n" + "".join(f"{i},{'x' * i},y\n" for i in range(1, 9)))

    def written(keys):
        (tmp_path / "c.toml").write_text(TOML.format(keys=keys))
        return tmp_path / "c.toml"

    return written


def test_a_new_kind_is_read_checked_made_asked_and_kept(campaign):
    opened = Campaign.open(campaign('of = "answer"'))
    (rater,) = opened.spec.raters
    assert (rater.settings, rater.batch) == (LengthSettings(of="answer"), 3)
    assert opened.run() == "the budget is spent"
    assert opened.status().labels == 6
    assert opened.verify().passed
    assert opened.spec.from_dict(opened.spec.to_dict(), opened.spec.path) == opened.spec


def test_its_mistakes_are_told_in_its_own_words(campaign):
    for keys, said in (
        ("", 'counter.of is missing; a length rater needs it, so write of = "answer"'),
        ("of = 3", "counter.of must be the name of a column, as text; got 3"),
        (
            'of = "answer"\ncolumn = "x"',
            'counter.column is not for a length rater; remove it, or write kind = "column"',
        ),
    ):
        with pytest.raises(SpecError, match="counter") as caught:
            Campaign.open(campaign(keys))
        assert any(said in mistake for mistake in caught.value.mistakes), caught.value


def test_the_columns_it_reads_must_be_there_and_what_is_fixed_stays(campaign):
    with pytest.raises(InputError, match="rater 'counter' needs a column that is not there"):
        Campaign.open(campaign('of = "nothing"')).run()
    Campaign.open(campaign('of = "answer"')).run()
    with pytest.raises(InputError, match="the ratings so far are of the old column"):
        Campaign.open(campaign('of = "other"'))


def test_a_kind_asks_little_unless_it_says_more():
    kind = RaterKind()
    assert (kind.make(None), kind.batch, kind.reads, kind.votes, dict(kind.fixed)) == (None, 1, (), 1, {})
    assert (kind.leads_to, kind.check("."), kind.knows("."), kind.is_written) == ((), "", None, False)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_says_what_its_keys_are_and_shows_one(name):
    kind = KINDS[name]
    assert set(keys_of(kind)) <= set(rater_keys())
    assert [line.split(" = ")[0] for line, _ in kind.example] == list(keys_of(kind))
    assert all(what for _, what in kind.example)
    assert kind.fixed.keys() <= keys_of(kind).keys()
    assert set(kind.leads_to) <= keys_of(kind).keys()


def test_a_kind_makes_its_rater(tmp_path):
    rater = KINDS["column"](column="judge").make(RaterPlace(str(tmp_path), 1))
    (answer,) = asyncio.run(rater.rate([Question("k", "1", {"judge": 0.5})]))
    assert answer == Answer(0.5)
