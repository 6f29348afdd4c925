"""Judges on llama.cpp's own server, which nobody here wrote: every probability below is known by hand."""

import asyncio
import json
from decimal import Decimal

import pytest

from ratewise.campaign.judges import judge_table
from ratewise.judges.client import Client
from ratewise.judges.judge import Forgetful, Judge
from ratewise.judges.prices import given_prices
from ratewise.judges.prompt import JudgeSpec
from ratewise.judges.template import built_in, parse
from ratewise.judges.verdicts import Verdicts
from ratewise.tables import read_table, write_table

from ..llama import CONTEXT, llama_server

PRICES = given_prices({"input": Decimal(1), "output": Decimal(2)})
YES = 0.7 / 0.9  # of yes and no; the model also says "maybe", which is no verdict


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with llama_server(tmp_path_factory.mktemp("llama")) as found:
        yield found


def rate(address, texts, kind="binary", high=1.0, memory=None, **changes):
    async def work():
        client = Client(address, concurrency=2, timeout=120.0)
        made = JudgeSpec(
            template=parse(built_in(kind), kind), verdicts=Verdicts.of(kind, 1.0, high), show=("text",),
            model="tiny-judge", criterion="It is right.", **changes,
        )  # fmt: skip
        judge = Judge(made, client, PRICES, Forgetful() if memory is None else memory)
        try:
            return [await judge.rate({"text": text}, f"{i} {text[:20]}") for i, text in enumerate(texts)]
        finally:
            await client.close()

    return asyncio.run(work())


def test_the_place_of_the_verdict_is_found_though_the_server_trims_the_answer(address, tmp_path):
    """The white space before the answer stands in its tokens and not in its text, for half of these items."""
    texts = [f"MARK {'good' if n % 2 else 'bad'} {n}" for n in range(40)]
    write_table(read_table({"id": list(range(40)), "text": texts}), str(tmp_path / "items.csv"))
    done = judge_table(
        str(tmp_path / "items.csv"), str(tmp_path / "judged.csv"),
        settings={
            "judge": "binary", "model": "tiny-judge", "base_url": address, "show": ["text"], "concurrency": 2,
            "timeout": 120.0, "prices": {"input": "1", "output": "2"},
        },
    )  # fmt: skip
    assert (done.rated, done.judge.bare) == (40, 0)
    assert "log-probabilities" in done.judge.source
    assert next(iter(done.judge.answered_as)).startswith("tiny-judge ")
    found = read_table(str(tmp_path / "judged.csv"))
    expected = [YES if n % 2 else 0.2 for n in range(40)]
    assert found.numbers("judge") == pytest.approx(expected, abs=1e-3)
    assert found.numbers("judge_uncertainty") == pytest.approx([p * (1 - p) for p in expected], abs=1e-3)


@pytest.mark.parametrize(
    ("mark", "chances"),
    [("nine", {9.0: 0.5, 10.0: 0.4, 8.0: 0.1}), ("ten", {10.0: 0.54, 1.0: 0.06, 9.0: 0.3, 8.0: 0.1})],
)
def test_a_verdict_of_ten_is_two_tokens(address, mark, chances):
    (verdict,) = rate(address, [f"MARK {mark}"], "likert", 10.0)
    mean = sum(value * p for value, p in chances.items())
    assert verdict.value == pytest.approx(mean, abs=1e-3)
    assert verdict.doubt == pytest.approx(sum((value - mean) ** 2 * p for value, p in chances.items()), abs=1e-3)
    assert verdict.hard == max(chances, key=chances.get)


def test_the_server_enforces_both_forms_and_none_has_to_be_asked_for(address):
    memory = Forgetful()
    (first,) = rate(address, ["MARK good"], memory=memory)
    kept = json.loads(memory.facts["ladder"])
    assert kept["source"] == "logprobs"
    memory.facts["ladder"] = json.dumps(kept | {"takes": ["json_object", "logprobs", "max_tokens", "temperature"]})
    (second,) = rate(address, ["MARK good"], memory=memory)
    assert (first.value, second.value) == (pytest.approx(YES, abs=1e-3), pytest.approx(YES, abs=1e-3))
    (words,) = rate(address, ["MARK good"], memory=memory, structured=False)
    assert (words.value, words.note) == (None, "the answer holds no verdict")  # the model knows JSON alone
    assert first.price == second.price < words.price


def test_an_item_without_room_is_missing_also_as_the_first(address):
    long, short = rate(address, ["word " * CONTEXT, "MARK bad"])
    assert (long.value, long.price) == (None, 0)
    assert "exceeds the available context size" in long.note
    assert short.value == pytest.approx(0.2, abs=1e-3)


def test_samples_are_samples(address):
    verdicts = rate(address, [f"MARK good {n}" for n in range(20)], samples=5)
    mean = sum(verdict.value for verdict in verdicts) / 20
    assert abs(mean - YES) < 0.2  # 4.8 standard errors of 100 answers: less than once in 500,000 times
    assert not all("alike" in json.loads(verdict.note) for verdict in verdicts)
