"""A judge: everything that is asked about one item, its votes, and what they come to."""

import asyncio
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Protocol

from ratewise.judges.client import CallError, Client
from ratewise.judges.ladder import (
    REFUSED,
    Rung,
    Wish,
    first_rung,
    is_broken,
    is_plain,
    is_too_long,
    next_rung,
    no_confidence,
    no_logprobs,
)
from ratewise.judges.prices import Prices, most_tokens, read_usage, usual_tokens
from ratewise.judges.prompt import CHAT, DECISIONS, Prompt, Request, Shown, prompt_for, shown_cells
from ratewise.judges.reply import has_logprobs, read_reply
from ratewise.judges.template import Template
from ratewise.judges.verdicts import MANY_ALIKE, Ballot, NoVerdict, Verdict, Verdicts, alike_said, counted

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


@dataclass(frozen=True, slots=True)
class Rated:
    """An item that was rated before: its row, and what was said."""

    item: Mapping[str, Any]
    value: float
    doubt: float | None
    note: str


class Memory(Protocol):
    """Facts by name, earlier ratings, and notes for people."""

    def recall(self, name: str) -> str | None:
        """A fact that was kept; None where there is none."""
        ...

    def keep(self, name: str, value: str) -> None:
        """Keep a fact."""
        ...

    def tell(self, sentence: str) -> None:
        """Tell people."""
        ...

    def earlier(self) -> Iterable[Rated]:
        """Ratings of earlier runs."""
        ...


@dataclass(slots=True)
class Forgetful:
    """Memory of one run."""

    facts: dict[str, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def recall(self, name: str) -> str | None:
        """A fact that was kept in this run."""
        return self.facts.get(name)

    def keep(self, name: str, value: str) -> None:
        """Keep a fact until the run ends."""
        self.facts[name] = value

    def tell(self, sentence: str) -> None:
        """Add to the list of what was told."""
        self.told.append(sentence)

    def earlier(self) -> Iterable[Rated]:
        """Nothing."""
        return ()


_LADDER, _MODEL, _JUDGE, _ALIKE = "ladder", "model", "judge", "alike"  # names of facts that are kept
_ANY_CODE = "0" * 16  # of the dearest digits
_REPAIR = 100  # tokens of a request for the verdict alone, beside what was said before
_USUAL = 0.4  # of max_tokens, that reasons take
_SHORT = 12  # tokens of an answer without reasons
_MOST_TOLD = 20  # changes of the model that are told


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """What a judge is: change any of it and it is another rater."""

    template: Template
    verdicts: Verdicts
    shown: Shown
    model: str
    criterion: str
    samples: int = 1
    wish: Wish = "auto"
    temperature: float | None = None
    max_tokens: int | None = None  # None: the template's
    structured: bool = True  # whether the server may be asked to enforce the form of answers

    @property
    def orders(self) -> tuple[bool, ...]:
        """Whether the answers are swapped, for each order that is asked."""
        return (False, True) if self.template.kind == "pairwise" else (False,)

    @property
    def calls(self) -> int:
        """Calls for one item."""
        return len(self.orders) * self.samples

    @property
    def request(self) -> Request:
        """What stays the same in all its requests; a single answer is asked for at temperature 0."""
        warmth = 0.0 if self.temperature is None and self.samples == 1 else self.temperature
        limit = self.max_tokens or self.template.max_tokens
        return Request(self.model, self.verdicts, self.criterion, self.template.reasons, limit, warmth)

    def facts(self) -> dict[str, Any]:
        """Everything that makes it this judge, ready for JSON."""
        return {
            "model": self.model, "template": self.template.name, "template_sha256": self.template.digest,
            "criterion": self.criterion, "show": list(self.shown.columns), "a": self.shown.a, "b": self.shown.b,
            "longest": self.shown.longest, "low": self.verdicts.low, "high": self.verdicts.high,
            "samples": self.samples, "probability": self.wish, "temperature": self.temperature,
            "max_tokens": self.max_tokens or self.template.max_tokens,
        }  # fmt: skip

    @property
    def digest(self) -> str:
        """16 digits that name the judge."""
        return hashlib.sha256(json.dumps(self.facts(), sort_keys=True).encode()).hexdigest()[:16]

    def prompt(self, item: Mapping[str, Any], rung: Rung, *, swap: bool, code: str = "") -> Prompt:
        """The prompt about an item, with a random code where none is given."""
        return prompt_for(
            self.template, self.verdicts, self.shown, item, criterion=self.criterion, asked=self.request.asked(rung),
            swap=swap, code=code,
        )  # fmt: skip

    def quote(self, item: Mapping[str, Any], prices: Prices) -> tuple[Decimal, Decimal]:
        """(expected, most): what one item costs, by its text."""
        messages = self.prompt(item, Rung("none"), swap=False, code=_ANY_CODE).messages
        limit = self.request.max_tokens
        written = min(limit, max(_SHORT, round(_USUAL * limit))) if self.template.reasons else min(limit, _SHORT)
        usual = prices.most(usual_tokens(messages), written)
        longest = most_tokens(messages)
        repair = prices.most(longest + limit + _REPAIR, limit)
        return self.calls * usual, self.calls * prices.most(longest, limit) + repair


def text_digest(shown: Shown, item: Mapping[str, Any]) -> str:
    """The same for items of the same text."""
    return hashlib.sha256(json.dumps(shown_cells(item, shown.all), ensure_ascii=True).encode()).hexdigest()


@dataclass(slots=True)
class _Tab:
    """What was paid on the way to one verdict, and who answered."""

    key: str
    paid: Decimal = Decimal(0)
    model: str = ""
    fingerprint: str = ""


_Ballots = dict[tuple[bool, int], "Ballot | NoVerdict"]


@dataclass(slots=True, eq=False)
class Judge:
    """Asks an endpoint. Items of the same text are asked once; what was paid for is kept if a later call fails."""

    spec: JudgeSpec
    client: Client
    prices: Prices | None  # None: calls are not billed by tokens
    memory: Memory
    repairs: int = field(init=False, default=0)
    _rung: Rung | None = field(init=False, default=None)
    _deciding: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _verdicts: dict[str, Verdict] | None = field(init=False, default=None)
    _running: dict[str, asyncio.Future[Verdict]] = field(init=False, default_factory=dict)
    _begun: dict[str, _Ballots] = field(init=False, default_factory=dict)
    _models: set[str] = field(init=False, default_factory=set)
    _alike: int | None = field(init=False, default=0)  # items whose samples were alike; None: some were not
    _request: Request = field(init=False)
    _digest: str = field(init=False)

    def __post_init__(self) -> None:
        self._request, self._digest = self.spec.request, self.spec.digest  # asked for in every call

    async def rate(self, item: Mapping[str, Any], key: str) -> Verdict:
        """The verdict on an item; `CallError` where a call failed, with what was `paid` so far."""
        name = text_digest(self.spec.shown, item)
        known = self._known().get(name)
        if known is not None:
            return known
        if name in self._running:
            return _again(await asyncio.shield(self._running[name]))
        future = self._running[name] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # looked at, so nobody complains
        try:
            verdict = await self._rate(item, name, _Tab(key))
        except BaseException as error:
            passed_on = error if isinstance(error, CallError) else CallError("the same text failed in another call")
            future.set_exception(_free(passed_on))
            raise
        finally:
            del self._running[name]
        future.set_result(verdict)
        if verdict.value is not None:
            self._known()[name] = _again(verdict)
        return verdict

    def _known(self) -> dict[str, Verdict]:
        """Verdicts by the digest of their text, those of earlier runs among them."""
        if self._verdicts is None:
            self._verdicts = {}
            for old in self.memory.earlier():
                verdict = Verdict(old.value, old.value, old.doubt, Decimal(0), old.note, repeated=True)
                self._verdicts[text_digest(self.spec.shown, old.item)] = verdict
        return self._verdicts

    async def _rate(self, item: Mapping[str, Any], name: str, tab: _Tab) -> Verdict:
        ballots = self._begun.setdefault(name, {})
        places = [(swap, n) for swap in self.spec.orders for n in range(self.spec.samples)]
        try:
            rung = await self._settled(item, tab, ballots)
            if isinstance(rung, NoVerdict):
                del self._begun[name]
                return Verdict(None, None, None, tab.paid, rung.reason)
            open_ones = [place for place in places if place not in ballots]
            asked = await asyncio.gather(
                *(self._ballot(item, place, rung, tab, ballots) for place in open_ones), return_exceptions=True
            )
            for failed in (one for one in asked if isinstance(one, BaseException)):
                raise failed
        except CallError as error:
            error.paid = tab.paid
            raise
        del self._begun[name]
        found = {place: ballots[place] for place in places}
        verdict = counted(found, self.spec.verdicts, paid=tab.paid, facts=self._facts(rung, tab))
        self._see_samples(verdict)
        return verdict

    def _facts(self, rung: Rung, tab: _Tab) -> dict[str, Any]:
        """What is stored with every rating: who has answered, and where the probability comes from."""
        named = {"judge": self._digest, "model": tab.model, "fingerprint": tab.fingerprint, "source": rung.source}
        return {name: value for name, value in named.items() if value}

    # The source of the probability

    async def _settled(self, item: Mapping[str, Any], tab: _Tab, ballots: _Ballots) -> Rung | NoVerdict:
        """The rung that the endpoint is on: remembered, or found out with the first item that it does not refuse."""
        if self._rung is not None:
            return self._rung
        async with self._deciding:
            if self._rung is not None:
                return self._rung
            kept = self.memory.recall(_LADDER)
            rung = Rung.from_json(kept) if kept is not None else await self._decide(item, tab, ballots)
            if isinstance(rung, Rung):
                self._rung = rung if self.spec.structured else rung.in_words
            return self._rung or rung

    async def _decide(self, item: Mapping[str, Any], tab: _Tab, ballots: _Ballots) -> Rung | NoVerdict:
        rung: Rung = first_rung(self.spec.wish, self.spec.samples)
        if rung.source == "decisions" and not self._request.can_decide:
            rung = Rung("logprobs", rung.takes, ("no decisions: they have no question for this scale",))
        rung = rung if self.spec.structured else rung.in_words
        broken: list[Rung] = []
        while True:
            try:
                lower = await self._try(item, rung, tab, ballots)
            except CallError as error:
                refused = _refused(error)
                if refused is not None and (is_plain(rung) or is_too_long(error.status, error.reason)):
                    return refused
                lower = next_rung(rung, self.spec.wish, error.status, error.reason)
                if lower is None:
                    raise
                broken += [rung] if is_broken(error.status) else []
            if lower is None:
                break
            rung = lower
        rung = await self._recovered(item, broken, tab, ballots) or rung
        self.memory.keep(_LADDER, rung.to_json())
        self.memory.keep(_JUDGE, json.dumps({"digest": self._digest, **self.spec.facts()}))
        self.memory.tell(f"judge {self.spec.model}: {rung.said}")
        return rung

    async def _recovered(
        self, item: Mapping[str, Any], broken: Sequence[Rung], tab: _Tab, ballots: _Ballots
    ) -> Rung | None:
        """The first rung that bears now, of those on which the server failed: then it was down, not overtaxed."""
        for rung in broken:
            with suppress(CallError):
                if await self._try(item, rung, tab, ballots) is None:
                    return rung
        return None

    async def _try(self, item: Mapping[str, Any], rung: Rung, tab: _Tab, ballots: _Ballots) -> Rung | None:
        """Ask the first question on a rung; the next rung where this one does not bear, None where it does."""
        first = (self.spec.orders[0], 0)
        prompt = self.spec.prompt(item, rung, swap=first[0])
        data = await self._post(prompt, rung, tab, _part(rung, first))
        if rung.source == "logprobs" and not has_logprobs(data):
            lower = no_logprobs(rung, self.spec.wish)
            if lower is None:
                raise CallError('the endpoint gives no log-probabilities; write probability = "auto"')
            return lower
        found = await self._read(data, prompt, rung, tab, first)
        if rung.source == "verbal" and isinstance(found, NoVerdict) and found.repairable and self.spec.wish == "auto":
            return no_confidence(rung)
        ballots[first] = found
        return None

    # Calls

    async def _ballot(
        self, item: Mapping[str, Any], place: tuple[bool, int], rung: Rung, tab: _Tab, ballots: _Ballots
    ) -> None:
        prompt = self.spec.prompt(item, rung, swap=place[0])
        try:
            data = await self._post(prompt, rung, tab, _part(rung, place))
        except CallError as error:
            refused = _refused(error)
            if refused is None:
                raise
            ballots[place] = refused
            return
        ballots[place] = await self._read(data, prompt, rung, tab, place)

    async def _read(
        self, data: Mapping[str, Any], prompt: Prompt, rung: Rung, tab: _Tab, place: tuple[bool, int]
    ) -> Ballot | NoVerdict:
        """What a reply says; where it holds no verdict, the judge is asked for it once more."""
        found = read_reply(data, prompt, rung, self.spec.verdicts)
        if isinstance(found, NoVerdict) and found.repairable:
            self.repairs += 1
            again = prompt.repaired(found.answer, self.spec.verdicts)
            data = await self._post(again, rung, tab, f"{_part(rung, place)}.repair")
            found = read_reply(data, again, rung, self.spec.verdicts)
        if found is None:
            raise CallError("the reply is not what the protocol says", status=200)
        return found

    async def _post(self, prompt: Prompt, rung: Rung, tab: _Tab, part: str) -> dict[str, Any]:
        """One call; its price is put on the tab, at the most it can be where the server does not tell."""
        request = self._request
        tokens = usual_tokens(prompt.messages) + request.max_tokens
        path = DECISIONS if rung.source == "decisions" else CHAT
        try:
            data = await self.client.post(path, request.body(prompt, rung), key=f"{tab.key}:{part}", tokens=tokens)
        except CallError as error:
            if error.billed:
                tab.paid += self._most(prompt)
            raise
        usage = read_usage(data)
        if self.prices is not None:
            tab.paid += self._most(prompt) if usage is None else self.prices.cost(usage)
        self._see(data, tab)
        return data

    def _most(self, prompt: Prompt) -> Decimal:
        limit = self._request.max_tokens
        return Decimal(0) if self.prices is None else self.prices.most(most_tokens(prompt.messages), limit)

    def _see_samples(self, verdict: Verdict) -> None:
        """Tell, once, that the first items brought the same answer as often as they were asked for."""
        if self.spec.samples < 2 or self._alike is None or verdict.value is None:
            return
        self._alike = self._alike + 1 if json.loads(verdict.note).get("alike") else None
        if self._alike == MANY_ALIKE and self.memory.recall(_ALIKE) is None:
            self.memory.keep(_ALIKE, "told")
            self.memory.tell(alike_said(self._alike, self.spec.samples))

    # Who answers

    def _see(self, data: Mapping[str, Any], tab: _Tab) -> None:
        """Take note of the model that has answered; another one than before is told."""
        model, fingerprint = (self.client.safe(str(data.get(name) or "")) for name in ("model", "system_fingerprint"))
        tab.model, tab.fingerprint = model, fingerprint
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


def _part(rung: Rung, place: tuple[bool, int]) -> str:
    """What a call is among those of its item; the same after a crash."""
    form = "" if rung.form == "structured" else f".{rung.form}"
    return f"{rung.source}.{place[0]:d}.{place[1]}{form}"


def _refused(error: CallError) -> NoVerdict | None:
    """What it means for an item that the server has refused the request about it; None where it has not."""
    if error.status in REFUSED or is_too_long(error.status, error.reason):
        return NoVerdict(f"the server refused the request: {error.reason}")
    return None


def _again(verdict: Verdict) -> Verdict:
    """The same verdict for another item of the same text: it costs nothing."""
    return replace(verdict, price=Decimal(0), repeated=True)


def _free(error: CallError) -> CallError:
    """The same trouble for those who waited for another's call: it cost them nothing."""
    return CallError(error.reason, status=error.status, after=error.after)
