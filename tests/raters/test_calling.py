"""Limits around a rater, and nothing but answers and failures behind them."""

import asyncio
import time
from contextlib import suppress
from decimal import Decimal

import pytest

from ratewise.raters.calling import Caller
from ratewise.raters.protocol import Answer, Failure, RaterError

from ..waiting import until_async


class Fake:
    """A rater that does what it is given, and counts."""

    def __init__(self, reply=None, *, seconds=0.0):
        self.reply, self.seconds = reply, seconds
        self.now = self.most = self.calls = 0
        self.cancelled = self.closed = False

    async def rate(self, questions):
        self.calls += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        finally:
            self.now -= 1
        if isinstance(self.reply, BaseException):
            raise self.reply
        return [Answer(1)] * len(questions) if self.reply is None else self.reply

    async def close(self):
        self.closed = True


def outcome(rater, questions, **options):
    return asyncio.run(Caller(rater, **options).ask(questions))


def test_answers_pass(ask):
    replies = [Answer("yes", Decimal("0.1"), "zwei\nZeilen"), Failure("busy", Decimal(0)), Answer(None)]
    assert outcome(Fake(replies), ask("a", "b", "c")) == replies
    assert outcome(Fake(tuple(replies)), ask("a", "b", "c")) == replies


def test_an_uncertainty_that_makes_no_sense_is_dropped_and_the_answer_stays(ask):
    given = (0.25, 0, -1.0, float("nan"), float("inf"), True, "high", None)
    found = outcome(Fake([Answer(1, doubt=doubt) for doubt in given]), ask(*"abcdefgh"))
    assert [answer.doubt for answer in found] == [0.25, 0.0, *[None] * 6]
    assert {answer.value for answer in found} == {1}


def test_a_failure_says_how_long_to_wait(ask):
    assert outcome(Fake(RaterError("busy", Decimal(0), 3.5)), ask("a")) == [Failure("busy", Decimal(0), 3.5)]
    assert outcome(Fake([Failure("busy", None, float("nan"))]), ask("a")) == [Failure("busy")]


def test_no_questions_no_call():
    rater = Fake()
    assert outcome(rater, []) == []
    assert rater.calls == 0


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ValueError("bad\nworse"), Failure("ValueError: bad")),
        (RaterError("cut", Decimal(2)), Failure("cut", Decimal(2))),
        (RaterError("cut", Decimal("nan")), Failure("price Decimal('NaN') makes no sense")),
        (TimeoutError(), Failure("TimeoutError")),
        (SystemExit(3), Failure("SystemExit: 3")),
        (asyncio.CancelledError(), Failure("the rater cancelled its own call")),
    ],
)
def test_an_error_fails_all_questions(ask, error, failure):
    assert outcome(Fake(error), ask("a", "b")) == [failure, failure]


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ([Answer(1)], "the rater gave 1 answers to 2 questions"),
        ([Answer(1)] * 3, "the rater gave 3 answers to 2 questions"),
        (5, "the rater gave 5 instead of a list of answers"),
        ("ab", "the rater gave 'ab' instead of a list of answers"),
        ({1: 2, 3: 4}, "the rater gave {1: 2, 3: 4} instead of a list of answers"),
    ],
)
def test_the_wrong_number_fails_all_questions(ask, replies, reason):
    assert outcome(Fake(replies), ask("a", "b")) == [Failure(reason)] * 2


def test_one_wrong_answer_fails_only_its_question(ask):
    assert outcome(Fake([0.5, Answer(1)]), ask("a", "b")) == [
        Failure("the rater gave 0.5 instead of an answer"),
        Answer(1),
    ]


@pytest.mark.parametrize("kind", [lambda price: Answer(1, price), lambda price: Failure("x", price)])
@pytest.mark.parametrize(
    "price", [Decimal(-1), Decimal("NaN"), Decimal("sNaN"), Decimal("inf"), 0.1, 1, "1", Decimal("1e99")]
)
def test_a_price_that_makes_no_sense_is_a_failure(ask, kind, price):
    (failure,) = outcome(Fake([kind(price)]), ask("a"))
    assert failure == Failure(f"price {price!r} makes no sense")


def test_text_that_a_database_would_refuse_is_mended(ask):
    replies = [Answer(1, note="a\0\ud800"), Failure("two\nlines\0"), Answer(1, note=None), Failure(None), Failure("")]
    mended = outcome(Fake(replies), ask(*"abcde"))
    assert mended[:2] == [Answer(1, note="a�?"), Failure("two")]
    assert mended[2:] == [Answer(1, note="None"), Failure("None"), Failure("no reason was given")]


def test_a_timeout_fails_all_questions_and_cancels_the_call(ask):
    rater = Fake(seconds=30)

    async def go():
        replies = await Caller(rater, timeout=0.05).ask(ask("a", "b"))
        return replies, rater.cancelled  # asked here, because the end of the loop cancels everything

    assert asyncio.run(go()) == ([Failure("no answer within 0.05 s")] * 2, True)


def test_the_slot_is_free_again_after_a_timeout_or_an_error(ask):
    async def go():
        rater = Fake(seconds=30)
        caller = Caller(rater, timeout=0.02)
        await caller.ask(ask("a"))
        rater.seconds, rater.reply = 0, ValueError()
        await caller.ask(ask("a"))
        rater.reply = None
        return await caller.ask(ask("a"))

    assert asyncio.run(go()) == [Answer(1)]


def test_a_call_that_cannot_be_cancelled_holds_nobody(ask, monkeypatch):
    monkeypatch.setattr("ratewise.raters.calling._GRACE", 0.05)

    let_go, ended = asyncio.Event(), asyncio.Event()

    class Stubborn(Fake):
        async def rate(self, questions):
            while not let_go.is_set():
                with suppress(asyncio.CancelledError):
                    await let_go.wait()
            ended.set()
            raise ValueError("nobody looks at this")

    async def go():
        replies = await Caller(Stubborn(), timeout=0.05).ask(ask("a"))
        let_go.set()
        await ended.wait()
        return replies

    assert asyncio.run(go()) == [Failure("no answer within 0.05 s")]


@pytest.mark.parametrize("options", [{}, {"timeout": None}])
def test_cancelling_the_caller_cancels_the_call_and_is_passed_on(ask, options):
    rater = Fake(seconds=30)

    async def go():
        task = asyncio.create_task(Caller(rater, **options).ask(ask("a")))
        await until_async(lambda: rater.now)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert rater.cancelled

    asyncio.run(go())


@pytest.mark.parametrize("concurrency", [1, 3])
def test_the_concurrency_limit_holds_and_is_used(ask, concurrency):
    rater = Fake(seconds=0.01)

    async def go():
        caller = Caller(rater, concurrency=concurrency)
        return await asyncio.gather(*(caller.ask(ask(str(i))) for i in range(12)))

    assert asyncio.run(go()) == [[Answer(1)]] * 12
    assert rater.most == concurrency


def seconds_for(batches, **options):
    async def go():
        caller = Caller(Fake(), concurrency=5, **options)
        start = time.monotonic()
        await asyncio.gather(*(caller.ask(batch) for batch in batches))
        return time.monotonic() - start

    return asyncio.run(go())


def test_the_rate_limit_slows_and_counts_questions(ask):
    # 1,200 a minute: 20 a second, so the 10 questions after the first take 0.5 s, however they are batched
    assert 0.4 < seconds_for([ask(str(i)) for i in range(11)], per_minute=1200) < 2
    assert 0.4 < seconds_for([ask(*"abcdefghijk")], per_minute=1200) < 2
    assert seconds_for([ask(str(i)) for i in range(11)]) < 0.4


def test_less_than_one_a_minute_is_legal(ask):
    assert seconds_for([ask("a")], per_minute=0.1) < 1


def test_the_time_limit_does_not_count_the_waiting(ask):
    async def go():
        caller = Caller(Fake(seconds=0.01), timeout=0.3, per_minute=600)
        return await asyncio.gather(*(caller.ask(ask(str(i))) for i in range(5)))

    assert asyncio.run(go()) == [[Answer(1)]] * 5


def test_close_closes_the_rater():
    rater = Fake()
    asyncio.run(Caller(rater).close())
    assert rater.closed
