"""A judge: asks a model about items and makes verdicts of its answers; items of the same text are asked once."""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol

from ratewise.judges.client import CallError, Client
from ratewise.judges.ladder import BROKEN, REFUSED, Rung, is_too_long
from ratewise.judges.prices import TokenPrices, read_usage, usual_tokens
from ratewise.judges.prompt import CHAT, DECISIONS, JudgeSpec, Prompt
from ratewise.judges.reply import has_logprobs, read_reply
from ratewise.judges.verdicts import MANY_ALIKE, Ballot, JudgeVerdict, NoVerdict, Place, alike_said, counted

_SAYS = "the server answers as "  # how such a sentence begins
_TOLD = re.compile(rf"rater (?P<rater>.*?): {_SAYS}")
_VERSION = re.compile(r"([-@:.]v?\d[-.\d]*)?")  # a date or a number after the name
_REVISION = re.compile(r"@[^@/]+$")  # what a hub calls a version: main, a tag, a commit


def is_asked(asked: str, answered: str) -> bool:
    """Whether a server's name is that of the model asked for, or of a dated or numbered version of it."""
    asked, answered = (name.lower().rsplit("/", 1)[-1] for name in (asked, answered))
    if ("@" in asked) != ("@" in answered):  # one of them names no revision
        asked, answered = (_REVISION.sub("", name) for name in (asked, answered))
    stem = asked.removesuffix("-latest")
    return answered == asked or (answered.startswith(stem) and _VERSION.fullmatch(answered[len(stem) :]) is not None)


def another_said(asked: str, now: str) -> str:
    """What is told of a server that has answered as another model from the first answer on."""
    return f"{_SAYS}{now!r}, though model = {asked!r} was asked for"


def changed_said(asked: str, now: str, before: str) -> str:
    """What is told of a server that answers as another model than before."""
    return (
        f"{_SAYS}{now!r} where it was {before!r} when the campaign began, though model = {asked!r} did not change: "
        "ratings of both are mixed from here on"
    )


def told_of_servers(notes: Sequence[str]) -> tuple[str, ...]:
    """Of a campaign's notes, the last one of each rater whose server answers as another model."""
    last = {found["rater"]: note for note in notes if (found := _TOLD.match(note))}
    return tuple(last.values())


class Memory(Protocol):
    """What a judge keeps: facts by name, earlier ratings with their items, and notes for people."""

    def recall(self, name: str) -> str | None: ...

    def keep(self, name: str, value: str) -> None: ...

    def tell(self, sentence: str) -> None: ...

    def earlier(self) -> Iterable[tuple[Mapping[str, Any], JudgeVerdict]]: ...


class Forgetful:
    """Memory of one run."""

    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self.told: list[str] = []

    def recall(self, name: str) -> str | None:
        return self.facts.get(name)

    def keep(self, name: str, value: str) -> None:
        self.facts[name] = value

    def tell(self, sentence: str) -> None:
        self.told.append(sentence)

    def earlier(self) -> Iterable[tuple[Mapping[str, Any], JudgeVerdict]]:
        return ()


LADDER = "ladder"  # the fact that is known once the first question was asked: what the endpoint has
_MODEL, _JUDGE, _ALIKE, _UNMETERED = "model", "judge", "alike", "unmetered"  # other facts that are kept
_MOST_TOLD = 20  # changes of the model that are told
_Ballots = dict[Place, "Ballot | NoVerdict"]


@dataclass(slots=True, eq=False)
class _Asking:
    """One item on its way to a verdict: its ballots, what was paid for it, and who has answered."""

    item: Mapping[str, Any]
    text: str  # its digest
    key: str
    ballots: _Ballots  # those of an earlier attempt among them
    most: Decimal | None = None  # that may be paid for it
    paid: Decimal = Decimal(0)
    under_way: Decimal = Decimal(0)  # the most that calls which have not ended can cost
    model: str = ""
    fingerprint: str = ""

    def sends(self, most: Decimal) -> None:
        """Bind the most that a call can cost, before it is sent; a CallError where it was not reserved."""
        if self.most is not None and self.paid + self.under_way + most > self.most:
            raise CallError(
                f"not sent: {self.paid + self.under_way:f} may be paid for this item so far, {most:f} more for this "
                f"call, and {self.most:f} are reserved"
            )
        self.under_way += most


class Judge:
    """Asks an endpoint. Items of the same text are asked once; what was paid for is kept if a later call fails."""

    def __init__(self, spec: JudgeSpec, client: Client, prices: TokenPrices | None, memory: Memory) -> None:
        """Without prices, calls are not billed by tokens."""
        self.spec, self.client, self.prices, self.memory = spec, client, prices, memory
        self.repairs = 0
        self._digest = spec.digest  # asked for in every call
        self._rung: Rung | None = None
        self._decided_by = ""  # the key of the question that found it out
        self._reached: Rung | None = None  # the next rung to try, where the reserved money ran out
        self._deciding = asyncio.Lock()
        self._verdicts: dict[str, JudgeVerdict] | None = None  # by the digest of their text
        self._running: dict[str, asyncio.Future[JudgeVerdict]] = {}
        self._begun: dict[str, _Ballots] = {}
        self._models: set[str] = set()
        self._alike: int | None = 0  # items whose samples were alike; None: some were not

    async def rate(self, item: Mapping[str, Any], key: str, most: Decimal | None = None) -> JudgeVerdict:
        """The verdict on an item; `CallError` where a call failed, with what was `paid` so far.

        No call is sent that could bring what is paid above `most`.
        """
        name = self.spec.text_digest(item)
        known = self._known().get(name)
        if known is not None:
            return known
        if name in self._running:
            return _again(await asyncio.shield(self._running[name]))
        future = self._running[name] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # looked at, so nobody complains
        try:
            verdict = await self._rate(_Asking(item, name, key, self._begun.setdefault(name, {}), most))
        except BaseException as error:
            passed_on = error if isinstance(error, CallError) else CallError("the same text failed in another call")
            # for those who waited for another's call it cost nothing
            future.set_exception(CallError(passed_on.reason, status=passed_on.status, after=passed_on.after))
            raise
        finally:
            del self._running[name]
        del self._begun[name]
        future.set_result(verdict)
        if verdict.value is not None:
            self._known()[name] = _again(verdict)
        return verdict

    def _known(self) -> dict[str, JudgeVerdict]:
        """Verdicts by the digest of their text, of this run and earlier ones."""
        if self._verdicts is None:
            self._verdicts = {self.spec.text_digest(item): _again(old) for item, old in self.memory.earlier()}
        return self._verdicts

    async def _rate(self, asking: _Asking) -> JudgeVerdict:
        places = [(swap, n) for swap in self.spec.orders for n in range(self.spec.samples)]
        try:
            rung = await self._settled(asking)
            if isinstance(rung, NoVerdict):
                return JudgeVerdict(None, None, None, asking.paid, rung.reason)
            open_ones = [place for place in places if place not in asking.ballots]
            calls = (self._ballot(asking, place, rung) for place in open_ones)
            for failed in await asyncio.gather(*calls, return_exceptions=True):
                if failed is not None:
                    raise failed
        except CallError as error:
            error.paid = asking.paid
            raise
        told = {"judge": self._digest, "model": asking.model, "fingerprint": asking.fingerprint, "source": rung.source}
        facts = {name: value for name, value in told.items() if value}
        found = {place: asking.ballots[place] for place in places}
        verdict = counted(found, self.spec.verdicts, paid=asking.paid, facts=facts)
        self._see_samples(verdict)
        return verdict

    # The source of the probability

    async def _settled(self, asking: _Asking) -> Rung | NoVerdict:
        """The rung that the endpoint is on: remembered, or found out with the first item that it does not refuse."""
        if self._rung is not None and self._decided_by != asking.key:
            return self._rung
        async with self._deciding:
            kept = self.memory.recall(LADDER)
            if kept is not None:
                self._decided_by = json.loads(kept).get("by", "")
            if kept is not None and self._decided_by != asking.key:
                rung: Rung | NoVerdict = Rung.from_json(kept)
            else:  # whose answer was not written down asks the same again, so that all it cost is paid with it
                rung = await self._decide(asking)
            if isinstance(rung, Rung):
                self._rung = rung if self.spec.structured else rung.in_words
            return rung if isinstance(rung, NoVerdict) else self._rung or rung

    async def _decide(self, asking: _Asking) -> Rung | NoVerdict:
        spec = self.spec
        rung = self._reached
        if rung is None:
            rung = Rung.first(spec.wish, spec.samples)
            if rung.source == "decisions" and not spec.can_decide:
                rung = Rung("logprobs", reasons=("no decisions: they have no question for this scale",))
            rung = rung if spec.structured else rung.in_words
        broken: list[Rung] = []
        while True:
            try:
                lower = await self._try(asking, rung)
                self._reached = lower if not broken else None  # what broke is tried again from the start
            except CallError as error:
                refused = _refused(error)
                if refused is not None and (rung.is_plain or is_too_long(error.status, error.reason)):
                    return refused
                lower = rung.after(spec.wish, error.status, error.reason)
                if lower is None:
                    raise
                broken += [rung] if error.status in BROKEN else []
            if lower is None:
                break
            rung = lower
        for richer in broken:  # one that bears now: then the server was down, not overtaxed
            with suppress(CallError):
                if await self._try(asking, richer) is None:
                    rung = richer
                    break
        is_new = self.memory.recall(LADDER) is None
        self.memory.keep(_JUDGE, json.dumps({"digest": self._digest, **spec.facts()}))
        self.memory.keep(LADDER, rung.to_json(by=asking.key))
        if is_new:
            self.memory.tell(f"judge {spec.model}: {rung.said}")
        return rung

    async def _try(self, asking: _Asking, rung: Rung) -> Rung | None:
        """Ask the first question on a rung; the next rung where this one does not bear, None where it does."""
        first = (self.spec.orders[0], 0)
        prompt = self._prompt(asking, rung, first)
        data = await self._post(asking, prompt, _part(rung, first))
        if rung.source == "logprobs" and not has_logprobs(data):
            lower = rung.below(self.spec.wish, "the answer has none")
            if lower is None:
                raise CallError('the endpoint gives no log-probabilities; write probability = "auto"')
            return lower
        found = await self._read(asking, data, prompt, first)
        if rung.source == "verbal" and isinstance(found, NoVerdict) and found.repairable:
            lower = rung.below(self.spec.wish, "its answer has none")
            if lower is not None:
                return lower
        asking.ballots[first] = found
        return None

    # Calls

    def _prompt(self, asking: _Asking, rung: Rung, place: Place) -> Prompt:
        code = self.spec.code(self._digest, asking.text, place)
        return self.spec.prompt(asking.item, rung, code=code, swap=place[0])

    async def _ballot(self, asking: _Asking, place: Place, rung: Rung) -> None:
        prompt = self._prompt(asking, rung, place)
        try:
            data = await self._post(asking, prompt, _part(rung, place))
        except CallError as error:
            refused = _refused(error)
            if refused is None:
                raise
            asking.ballots[place] = refused
            return
        asking.ballots[place] = await self._read(asking, data, prompt, place)

    async def _read(self, asking: _Asking, data: Mapping[str, Any], prompt: Prompt, place: Place) -> Ballot | NoVerdict:
        """What a reply says; where it holds no verdict, the judge is asked for it once more."""
        found = read_reply(data, prompt, self.spec.verdicts)
        if isinstance(found, NoVerdict) and found.repairable:
            self.repairs += 1
            again = prompt.repaired(found.answer, self.spec.verdicts)
            data = await self._post(asking, again, f"{_part(prompt.rung, place)}.repair")
            found = read_reply(data, again, self.spec.verdicts)
        if found is None:
            raise CallError("the reply is not what the protocol says", status=200)
        return found

    async def _post(self, asking: _Asking, prompt: Prompt, part: str) -> dict[str, Any]:
        """One call; its price is added to what was paid, at the most it can be where the server does not tell."""
        tokens = usual_tokens(prompt.messages) + self.spec.limit
        path, body = DECISIONS if prompt.rung.source == "decisions" else CHAT, self.spec.body(prompt)
        most = Decimal(0) if self.prices is None else self.prices.most(self.spec.most_input(prompt), self.spec.limit)
        asking.sends(most)
        try:
            data = await self.client.post(path, body, key=f"{asking.key}:{part}", tokens=tokens)
        except CallError as error:
            if error.billed:
                asking.paid += most
            raise
        finally:
            asking.under_way -= most
        usage = read_usage(data)
        if usage is not None and usage.input == 0:  # no prompt is empty
            self._tell_once(
                _UNMETERED,
                "the server reports 0 tokens for a prompt that is not empty; such calls are counted at the most they "
                "can cost",
            )
            usage = None
        if self.prices is not None:
            asking.paid += most if usage is None else self.prices.cost(usage)
        self._see(data, asking)
        return data

    def _tell_once(self, name: str, sentence: str) -> None:
        """Tell something that is told once in a campaign."""
        if self.memory.recall(name) is None:
            self.memory.keep(name, "told")
            self.memory.tell(sentence)

    def _see_samples(self, verdict: JudgeVerdict) -> None:
        """Tell, once, that the first items brought the same answer as often as they were asked for."""
        if self.spec.samples < 2 or self._alike is None or verdict.value is None:
            return
        self._alike = self._alike + 1 if json.loads(verdict.note).get("alike") else None
        if self._alike == MANY_ALIKE:
            self._tell_once(_ALIKE, alike_said(self._alike, self.spec.samples))

    # Who answers

    def _see(self, data: Mapping[str, Any], asking: _Asking) -> None:
        """Take note of the model that has answered; another one than before is told."""
        model, fingerprint = (self.client.safe(str(data.get(name) or "")) for name in ("model", "system_fingerprint"))
        asking.model, asking.fingerprint = model, fingerprint
        now = f"{model} {fingerprint}".strip()
        if now in self._models or not now:
            return
        before = self.memory.recall(_MODEL)
        self._models.add(now)
        if before is None:
            self.memory.keep(_MODEL, now)
            if model and not is_asked(self.spec.model, model):
                self.memory.tell(another_said(self.spec.model, now))
        elif before != now and len(self._models) <= _MOST_TOLD:
            self.memory.tell(changed_said(self.spec.model, now, before))


def _part(rung: Rung, place: Place) -> str:
    """What a call is among those of its item; the same after a crash."""
    form = "" if rung.form == "structured" else f".{rung.form}"
    return f"{rung.source}.{place[0]:d}.{place[1]}{form}"


def _refused(error: CallError) -> NoVerdict | None:
    """What it means for an item that the server has refused the request about it; None where it has not."""
    if error.status in REFUSED or is_too_long(error.status, error.reason):
        return NoVerdict(f"the server refused the request: {error.reason}")
    return None


def _again(verdict: JudgeVerdict) -> JudgeVerdict:
    """The same verdict for another item of the same text: it costs nothing."""
    return replace(verdict, price=Decimal(0), repeated=True)
