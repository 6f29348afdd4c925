"""Kinds of raters: each tells all that campaigns must know of it, and a new one is a record in one dictionary."""

import asyncio

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.clients.respondents import respondents
from ratewise.campaign.engine import FETCHED
from ratewise.campaign.spec.read import spec_of
from ratewise.errors import InputError, SpecError
from ratewise.raters.keys import Text, key, keys_of
from ratewise.raters.kind import RaterPlace, RaterSpec, batch
from ratewise.raters.kinds import KINDS, rater_keys
from ratewise.raters.protocol import Answer, Question
from ratewise.store.desk import Desk, Vote

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


class LengthSettings(RaterSpec):
    batch: int = batch(3)
    of: Text = key(
        ..., "how long a text is", must_be="the name of a column, as text", example='"answer"',
        fixed="the ratings so far are of the old column",
    )  # fmt: skip

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
    assert (type(rater), rater.of, rater.batch) == (LengthSettings, "answer", 3)
    assert opened.run() == "the budget is spent"
    assert opened.status().labels == 6
    assert opened.verify().passed
    assert spec_of(opened.spec.to_dict(), opened.spec.path) == opened.spec


def test_its_mistakes_are_told_in_its_own_words(campaign):
    for keys, said in (
        ("", 'counter.of is missing; write of = "answer"'),
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


class LetterSettings(RaterSpec):
    to: Text = key(..., "whom to write to", must_be="an address", example='"ann@example.org"')


def test_a_new_kind_that_answers_later_is_a_record_and_an_exchange(campaign, monkeypatch):
    letters, back = [], {}

    def exchange(spec, store):
        """Write to people about what is open, and settle what they have written back."""
        desk, taken = Desk(store), 0
        for each in respondents(spec, LetterSettings):
            for claim in desk.open(each.step):
                if claim.id in back:
                    each.settle(desk, claim, Vote(each.rater.to, each.value(back[claim.id])))
                    taken += 1
                else:
                    letters.append((each.rater.to, claim.id))
            left = len(desk.open(each.step))
        return taken, f"waiting for {left} letters" if left else ""

    monkeypatch.setitem(KINDS, "letter", LetterSettings)
    monkeypatch.setitem(FETCHED, LetterSettings, exchange)
    path = campaign('to = "ann@example.org"')
    path.write_text(path.read_text().replace('"length"', '"letter"'))
    opened = Campaign.open(path)
    assert opened.run() == "waiting for 6 letters"
    assert {person for person, _ in letters} == {"ann@example.org"}
    back |= {item: 7 for _, item in letters}
    assert opened.run() == "the budget is spent"
    assert (opened.status().labels, opened.estimate().value) == (6, 7.0)
    assert opened.verify().passed


def test_a_kind_asks_little_unless_it_says_more():
    rater = RaterSpec(name="r", kind="none", price=1)
    assert (rater.make(None), rater.batch, rater.reads, rater.answers) == (None, 1, (), 1)
    assert (rater.check("."), rater.knows("."), rater.is_written) == ("", None, False)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_says_what_its_keys_are_and_shows_one(name):
    kind = KINDS[name]
    assert set(keys_of(kind)) == set(kind.model_fields) <= set(rater_keys())
    own = {name: key for name, key in keys_of(kind).items() if name not in RaterSpec.model_fields}
    assert own
    assert all(key.example.split(" = ")[0] == name and key.what for name, key in own.items())


def test_a_kind_makes_its_rater(tmp_path):
    rater = KINDS["column"](name="r", kind="column", column="judge").make(RaterPlace(str(tmp_path)))
    (answer,) = asyncio.run(rater.rate([Question("k", "1", {"judge": 0.5})]))
    assert answer == Answer(0.5)
