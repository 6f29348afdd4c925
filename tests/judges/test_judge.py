"""A judge against the shipped server: each source of probability, repairs, both orders, the same text once."""

import asyncio
import json
from decimal import Decimal
from uuid import uuid4

import pytest

from ratewise.judges.client import CallError, Client
from ratewise.judges.judge import Forgetful, Judge
from ratewise.judges.ladder import Rung
from ratewise.judges.prices import Usage, given_prices
from ratewise.judges.verdicts import JudgeVerdict
from ratewise.testing.hidden_rule import HiddenRule, content_of, logistic
from ratewise.testing.judge_server import Behaviour, JudgeServer

from .asking import ITEM, PAIR, spec

PRICES = given_prices({"input": Decimal(1), "output": Decimal(2)})
TRUTH = logistic(HiddenRule().seen(content_of(list(ITEM.items())), "small-judge"))


@pytest.fixture(scope="module")
def running():
    with JudgeServer() as server:
        yield server


@pytest.fixture
def server(running):
    running.behaviour = Behaviour()
    running.faults.queue.clear()
    running.requests.clear()
    return running


def rate(server, items=(ITEM,), kind="binary", memory=None, together=False, **changes):
    """Verdicts on items, one after the other or all together; and the judge."""

    async def work():
        client = Client(server.base_url, concurrency=8, timeout=20.0)
        judge = Judge(spec(kind, **changes), client, PRICES, Forgetful() if memory is None else memory)
        asked = [judge.rate(item, f"{uuid4()}") for item in items]
        try:
            if together:
                return await asyncio.gather(*asked, return_exceptions=True), judge
            return [await one for one in asked], judge
        finally:
            await client.close()

    return asyncio.run(work())


def billed(server):
    return PRICES.cost(Usage(server.billed.input, server.billed.output))


@pytest.mark.parametrize(
    ("has", "source", "calls"),
    [
        ({}, "decisions", 1),
        ({"decisions": False}, "logprobs", 1),
        ({"decisions": False, "structured": False}, "logprobs", 1),
        ({"decisions": False, "logprobs": False}, "verbal", 1),
        ({"decisions": False, "logprobs": False, "structured": False, "temperature": False}, "verbal", 1),
    ],
)
def test_the_best_source_is_found_once_and_remembered(server, has, source, calls):
    server.behaviour = Behaviour(**has)
    memory = Forgetful()
    before, cost = server.billed.calls, billed(server)
    (verdict,), judge = rate(server, memory=memory)
    assert json.loads(verdict.note) == {
        "judge": judge.spec.digest, "model": "small-judge", "fingerprint": "fp_1", "source": source,
    }  # fmt: skip
    assert verdict.value == pytest.approx(TRUTH, abs=0.006 if source == "verbal" else 1e-9)
    assert verdict.doubt == pytest.approx(verdict.value * (1 - verdict.value))
    assert server.billed.calls - before == calls
    assert verdict.price == billed(server) - cost
    kept = json.loads(memory.facts["ladder"])
    assert kept["source"] == source
    assert len(kept["reasons"]) >= len(has)
    assert memory.told[0].startswith("judge small-judge: its probabilities")
    turned = server.billed.turned_away
    rate(server, [{**ITEM, "answer": "It is five."}], memory=memory)  # a second run asks for nothing that is refused
    assert server.billed.turned_away == turned


def test_a_server_that_breaks_on_a_form_is_asked_in_another(server):
    """HTTP 500 for OpenAI's form, and llama.cpp's own is understood; or none is, and answers come in words."""
    server.behaviour = Behaviour(decisions=False, structured=False, json_object=True, breaks=True)
    (verdict,), _ = rate(server, memory=(memory := Forgetful()))
    assert verdict.value == pytest.approx(TRUTH)
    assert server.requests[-1]["response_format"]["type"] == "json_schema"  # tried again before it was given up
    kept = json.loads(memory.facts["ladder"])
    assert ("json_object" in kept["takes"], "structured" in kept["takes"]) == (True, False)
    rate(server, [{**ITEM, "answer": "It is five."}], memory=memory)
    assert server.requests[-1]["response_format"]["type"] == "json_object"
    server.behaviour = Behaviour(decisions=False, structured=False, breaks=True)
    (verdict,), _ = rate(server, [{**ITEM, "answer": "It is six."}])
    assert verdict.value is not None
    assert json.loads(verdict.note)["source"] == "logprobs"


def test_a_server_that_was_down_for_a_moment_keeps_its_form(server):
    server.behaviour.decisions = False
    server.faults.queue.extend([None, "500", None, None])
    (verdict,), _ = rate(server, memory=(memory := Forgetful()))
    assert verdict.value == pytest.approx(TRUTH)
    assert "structured" in json.loads(memory.facts["ladder"])["takes"]
    server.faults.shares["500"] = 1.0
    try:
        with pytest.raises(CallError, match="HTTP 500"):
            rate(server, [{**ITEM, "answer": "never"}])
    finally:
        server.faults.shares.clear()


def test_structured_output_can_be_switched_off(server):
    server.behaviour.decisions = False
    rate(server, memory=(memory := Forgetful()))
    for kept in (memory, Forgetful()):
        (verdict,), _ = rate(server, [{**ITEM, "answer": f"{id(kept)}"}], memory=kept, structured=False)
        assert "response_format" not in server.requests[-1]
        assert verdict.value is not None
    assert spec(structured=False).digest == spec().digest


def test_an_item_that_is_too_long_is_missing_whenever_it_comes(server):
    """Also before the endpoint is known: then the next item finds it out."""
    server.behaviour = Behaviour(decisions=False, context=4000)
    long = {**ITEM, "answer": "word " * 2000}
    verdicts, _ = rate(server, [long, ITEM, {**long, "question": "?"}], memory=(memory := Forgetful()))
    assert [verdict.value is None for verdict in verdicts] == [True, False, True]
    assert "maximum context length is 4000" in verdicts[0].note
    assert json.loads(memory.facts["ladder"])["takes"] == sorted(Rung("logprobs").takes)
    assert server.billed.turned_away >= 2


def test_samples_that_bring_nothing_new_are_told_once(server):
    drafts = [{**ITEM, "answer": f"It is {n}."} for n in range(200)]
    worths = [logistic(HiddenRule().seen(content_of(list(item.items())), "small-judge")) for item in drafts]
    items = [item for item, worth in zip(drafts, worths, strict=True) if 0.4 < worth < 0.6][:7]
    rate(server, items, memory=(fair := Forgetful()), samples=5)
    assert len(fair.told) == 1  # the ladder; five items would agree in less than one of 100,000 times
    server.behaviour.sampling = False
    verdicts, _ = rate(server, items, memory=(memory := Forgetful()), samples=5)
    assert all(json.loads(verdict.note)["alike"] for verdict in verdicts)
    rate(server, items, memory=memory, samples=5)
    (said,) = [told for told in memory.told if "word for word" in told]
    assert "on each of 5 items" in said
    assert "samples = 1" in said


def test_an_answer_without_any_probability_is_bare(server):
    (verdict,), _ = rate(server, wish="none")
    assert (verdict.value, verdict.doubt) == (float(TRUTH > 0.5), None)


def test_what_is_demanded_and_not_there_is_an_error(server):
    server.behaviour = Behaviour(decisions=False, logprobs=False)
    for wish, said in (("decisions", "HTTP 404"), ("logprobs", "HTTP 400: You are not allowed to request logprobs")):
        with pytest.raises(CallError, match=said):
            rate(server, wish=wish)


def test_both_orders_and_all_samples_are_asked(server):
    server.behaviour.position_bias = 1.5
    before = server.billed.calls
    (verdict,), _ = rate(server, [PAIR], "pairwise", samples=3)
    assert server.billed.calls - before == 6
    note = json.loads(verdict.note)
    assert note["source"] == "samples"
    assert verdict.value == pytest.approx((note["ab"] + note["ba"]) / 2, abs=1e-5)
    assert verdict.hard in (0.0, 0.5, 1.0)
    firsts = [str(body["messages"][1]["content"]).index("It is 4.") for body in server.requests[-6:]]
    seconds = [str(body["messages"][1]["content"]).index("It is 5.") for body in server.requests[-6:]]
    assert sum(a < b for a, b in zip(firsts, seconds, strict=True)) == 3


def test_the_effect_of_the_place_cancels_out_of_the_rating(server):
    (fair,), _ = rate(server, [PAIR], "pairwise")
    server.behaviour.position_bias = 1.0
    (biased,), _ = rate(server, [PAIR], "pairwise")
    plain, bent = json.loads(fair.note), json.loads(biased.note)
    assert plain["ab"] == pytest.approx(plain["ba"], abs=1e-5)
    assert bent["ab"] > plain["ab"] > bent["ba"]
    assert abs(biased.value - fair.value) < 0.5 * (bent["ab"] - plain["ab"])


def test_an_answer_without_a_verdict_is_repaired_once(server):
    server.behaviour = Behaviour(decisions=False)
    rate(server, memory=(memory := Forgetful()))
    for fault in ("rambling", "truncated"):
        server.faults.queue.append(fault)
        before = server.billed.calls
        (verdict,), judge = rate(server, [{**ITEM, "answer": fault}], memory=memory)
        assert verdict.value is not None
        assert (judge.repairs, server.billed.calls - before) == (1, 2)
    server.faults.queue.extend(["rambling", "rambling"])
    (lost,), _ = rate(server, [{**ITEM, "answer": "never"}], memory=memory)
    assert (lost.value, lost.note) == (None, "the answer holds no verdict")
    assert lost.price > 0
    server.faults.queue.append("refusal")
    (refused,), judge = rate(server, [{**ITEM, "answer": "refused"}], memory=memory)
    assert (refused.value, refused.note, judge.repairs) == (None, "the judge refused to answer", 0)


def test_the_same_text_is_asked_once(server):
    before = server.billed.calls
    verdicts, _ = rate(server, [ITEM, dict(ITEM), {**ITEM, "unseen": 3}], together=True)
    assert server.billed.calls - before == 1
    assert len({verdict.value for verdict in verdicts}) == 1
    assert [verdict.price > 0 for verdict in verdicts] == [True, False, False]

    class Remembers(Forgetful):
        def earlier(self):
            return [(ITEM, JudgeVerdict(0.25, 0.25, 0.1, Decimal(0), "{}"))]

    (verdict,), _ = rate(server, memory=Remembers())
    assert (verdict.value, verdict.doubt, verdict.price, verdict.repeated) == (0.25, 0.1, 0, True)
    assert server.billed.calls - before == 1


def test_calls_that_are_paid_are_kept_when_another_one_fails(server):
    memory = Forgetful()
    rate(server, [PAIR], "pairwise", memory=memory, samples=2)

    async def work():
        client = Client(server.base_url, concurrency=1)
        judge = Judge(spec("pairwise", samples=2), client, PRICES, memory)
        item = {**PAIR, "one": "It is four."}
        server.faults.queue.extend([None, "500", None, None])
        before = server.billed.calls
        with pytest.raises(CallError, match="HTTP 500") as caught:
            await judge.rate(item, "k1")
        assert server.billed.calls - before == 3
        verdict = await judge.rate(item, "k2")
        assert server.billed.calls - before == 4
        await client.close()
        return caught.value.paid, verdict

    cost = billed(server)
    paid, verdict = asyncio.run(work())
    assert paid + verdict.price == billed(server) - cost
    assert verdict.value is not None


def test_calls_of_unknown_cost_count_at_the_most_they_can_be(server):
    rate(server, memory=(memory := Forgetful()))
    server.faults.queue.append("cut")
    with pytest.raises(CallError, match="the connection was cut") as caught:
        rate(server, [{**ITEM, "answer": "cut"}], memory=memory)
    assert caught.value.paid > 0
    server.faults.queue.append("no usage")
    (verdict,), _ = rate(server, [{**ITEM, "answer": "no usage"}], memory=memory)
    assert verdict.price == pytest.approx(caught.value.paid, rel=Decimal("0.05"))


def test_a_model_that_changes_its_name_is_told(server):
    memory = Forgetful()
    rate(server, memory=memory)
    server.behaviour.reported_model = "small-judge-2"
    rate(server, [{**ITEM, "answer": str(n)} for n in range(3)], memory=memory)
    (said,) = memory.told[1:]
    assert "answers as 'small-judge-2 fp_1' where it was 'small-judge fp_1'" in said


def test_the_quote_covers_what_is_billed(server):
    for kind, item in (("binary", ITEM), ("likert", ITEM), ("score", ITEM), ("pairwise", PAIR)):
        server.behaviour = Behaviour(decisions=False)
        judge = spec(kind, samples=2)
        expected, most = judge.quote(item, PRICES)
        (verdict,), _ = rate(server, [item], kind, samples=2)
        assert expected / 3 < verdict.price < most
        assert judge.calls == (4 if kind == "pairwise" else 2)


def test_a_changed_judge_is_another_one():
    names = [
        spec().digest, spec(model="other").digest, spec(criterion="It is short.").digest, spec(samples=2).digest,
        spec(temperature=0.5).digest, spec("likert").digest, spec(max_tokens=9).digest, spec(wish="none").digest,
    ]  # fmt: skip
    assert len(set(names)) == len(names)
    assert spec().digest == names[0]
    assert spec().text_digest(ITEM) == spec().text_digest({**ITEM, "more": 1}) != spec().text_digest(PAIR)
