"""The kind "llm": its keys, what it makes of a judge's verdict, and what it refuses."""

import asyncio
import json
from decimal import Decimal
from uuid import uuid4

import pytest

from ratewise.campaign.spec.read import read_spec, spec_of
from ratewise.errors import InputError, SpecError
from ratewise.judges.judge import Forgetful
from ratewise.raters.kind import RaterPlace
from ratewise.raters.llm import LlmSettings
from ratewise.raters.protocol import Failure, Question
from ratewise.testing.judge_server import JudgeServer

KEYS = """
name = "judge"
kind = "llm"
model = "small-judge"
base_url = "http://127.0.0.1:8000/v1"
judge = "binary"
show = ["question", "answer"]
"""
TOML = (
    'seed = 1\n[items]\ntable = "items.csv"\n[rating]\nkind = "binary"\n[goal]\nbudget = "5"\n[[raters]]\n{keys}\n'
    '[[raters]]\nname = "human"\nkind = "column"\ncolumn = "human"\nprice = "1"\n'
)


@pytest.fixture
def read(tmp_path):
    def spec(more="", keys=KEYS):
        (tmp_path / "c.toml").write_text(TOML.format(keys=keys + more))
        return read_spec(tmp_path / "c.toml")

    return spec


def test_its_keys_are_read_and_written_back(read):
    spec = read('prices = { input = "0.15", output = 0.6 }\nkey_env = "OPENAI_API_KEY"\ntokens_per_minute = 1000\n')
    settings = spec.raters[0]
    assert settings.prices == {"input": Decimal("0.15"), "output": Decimal("0.6")}
    assert (settings.criterion, settings.samples, settings.probability) == ("The answer is correct.", 1, "auto")
    assert spec.raters[0].price is None
    assert spec_of(json.loads(json.dumps(spec.to_dict())), spec.path) == spec


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('key = "sk-aaaabbbbccccddddeeee"', "key is no key of a rater"),
        ('key_env = "sk-aaaabbbbccccddddeeee"', "name the variable in capitals; a key itself does not belong"),
        ('base_url2 = "x"', "base_url2"),
        ("samples = 0", "must be a whole number from 1 to 100"),
        ('probability = "guess"', "must be one of"),
        ('prices = { input = "0.15" }', "give both input and output"),
        ('prices = { input = "cheap", output = "1" }', "write digits and a point"),
        ("prices = { input = -1, output = 1 }", "must be prices per million tokens"),
        ("prices = { tokens = 1 }", "its keys are input, output, cached, call"),
        ('price = "1"\nprices = { call = "1" }', "and price are both given"),
        ("temperature = 3", "must be a number from 0 to 2"),
    ],
)
def test_mistakes_are_told_and_no_key_is_repeated(read, more, said):
    with pytest.raises(SpecError) as caught:
        read(more + "\n")
    told = str(caught.value)
    assert said in told or (said.startswith("key is") and "key" in told)
    assert "sk-aaaabbbb" not in told


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ftp://x/v1", 'write it as "https'),
        ("https://me:secret@host/v1", "take keys and options out"),
        ("x", "write it"),
    ],
)
def test_addresses(read, address, said):
    with pytest.raises(SpecError) as caught:
        read(keys=KEYS.replace("http://127.0.0.1:8000/v1", address))
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def settings(server, **changes):
    given = {"model": "m", "judge": "binary", "show": ("question",), "prices": {"call": Decimal("0.5")}} | changes
    return LlmSettings(name="r", kind="llm", base_url=server.base_url, **given)


def asked(server, place=None, items=({"question": "x"},), **changes):
    async def work():
        rater = settings(server, **changes).make(place or RaterPlace("."))
        try:
            return await rater.rate([Question(f"{uuid4()}", str(i), item) for i, item in enumerate(items)])
        finally:
            await rater.close()

    return asyncio.run(work())


@pytest.fixture(scope="module")
def server():
    with JudgeServer() as running:
        yield running


def test_a_weak_judge_says_probabilities_and_a_strong_one_verdicts(server):
    (weak,) = asked(server)
    (strong,) = asked(server, RaterPlace(".", strong=True))
    assert 0 < weak.value < 1
    assert strong.value == float(weak.value > 0.5)
    assert weak.doubt == pytest.approx(weak.value * (1 - weak.value))
    assert weak.price == Decimal("0.5")


def test_a_flat_price_is_the_campaigns_business(server):
    first, second = asked(server, items=({"question": "y"}, {"question": "y"}), price=Decimal(1), prices=None)
    assert (first.price, second.price) == (None, 0)


def test_failures_bring_their_price(server):
    asked(server, RaterPlace(".", memory=(memory := Forgetful())))
    server.faults.queue.append("500")
    (failed,) = asked(server, RaterPlace(".", memory=memory), items=({"question": "z"},))
    assert isinstance(failed, Failure)
    assert (failed.price, failed.reason[:9]) == (0, "HTTP 500:")


def test_structured_output_is_never_asked_for_where_the_toml_says_so(server, read):
    assert read("structured = false\n").raters[0].structured is False
    server.behaviour.decisions = False
    try:
        for structured in (True, False):
            asked(server, items=({"question": f"{structured}"},), structured=structured)
            assert ("response_format" in server.requests[-1]) is structured
    finally:
        server.behaviour.decisions = True


def test_settings_that_do_not_go_together_are_said(server, tmp_path):
    for changes, said in (
        ({"show": ()}, "needs to know what it is shown"),
        ({"a": "x"}, "is a binary judge and has no a and b"),
        ({"judge": "pairwise"}, "compares two answers; write a ="),
        ({"judge": "pairwise", "a": "x", "b": "y"}, ""),
    ):
        assert settings(server, **changes).check(str(tmp_path)).startswith(said)
    with pytest.raises(InputError, match="cannot read the judge"):
        settings(server, judge="mine.txt").check(str(tmp_path))


def test_a_quote_says_what_an_item_costs_and_where_prices_come_from(server):
    quote = settings(server, prices={"input": Decimal(1), "output": Decimal(2)}, samples=3).quote(RaterPlace("."))
    expected, most = quote.of({"question": "x" * 400})
    assert 0 < expected < most
    assert (quote.calls, quote.source) == (3, "TOML")
    with pytest.raises(InputError, match="is unknown"):
        settings(server, prices=None).quote(RaterPlace("."))
