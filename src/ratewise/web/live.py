"""The live view for admins: one look at the campaign whenever its record has grown, pushed to every page."""

import asyncio
import json
import statistics
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from ratewise.campaign import findings
from ratewise.campaign.annotators import Annotator, people_found, remarks_found
from ratewise.campaign.clients.respondents import CANNOT_TELL, choices_of, respondents
from ratewise.campaign.estimates import LOOK_NOW
from ratewise.campaign.findings import human_only, judge_and_people
from ratewise.campaign.snapshot import Snapshot
from ratewise.core.estimate import Estimate
from ratewise.questions.goal import within
from ratewise.raters.people import PeopleSettings
from ratewise.report.campaign import snapshot_page
from ratewise.report.words import finding, story_points, verdict
from ratewise.store import audit
from ratewise.store.money import in_currency
from ratewise.web.pages import TEMPLATES
from ratewise.web.service import RefusedError, Service, session_of

# The report is a file of its own: its style stands in it, and it runs nothing.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; sandbox allow-top-navigation-by-user-activation"
)
_MOST_REMARKS = 200
_LONGEST_TEXT = 2_000  # characters of an item beside its remark
_EVERY = 1.0  # seconds between looks at whether anything has changed
_Z = 1.959964
_BEAT = 15  # looks without news after which the line is kept open by a comment


@dataclass(slots=True)
class LiveView:
    """The newest look; made anew only when the record has grown, whoever asks."""

    look: Callable[[], Snapshot]
    closing: threading.Event = field(default_factory=threading.Event)  # set when the server is to end
    _seen: tuple[str, bool] = ("", False)
    _found: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def newest(self) -> tuple[str, dict[str, Any]]:
        """(a mark that changes with the news, what is known)."""
        with self._lock:
            now = self.look()
            mark = (now.head, now.is_running)
            if mark != self._seen:
                self._found, self._seen = document(now), mark
            return f"{mark[0]} {mark[1]}", self._found

    def report(self) -> str:
        """The report of this moment, as a page."""
        with self._lock:
            return snapshot_page(self.look())

    def sliced(self, column: str) -> dict[str, Any]:
        """The newest look with the slices of this column; one that the items have not is refused."""
        _, found = self.newest()
        if column not in found["columns"]:
            raise RefusedError(404, "the items have no such column")
        with self._lock:
            return {**found, "slices": _slices(self.look(), [column])}


def document(now: Snapshot) -> dict[str, Any]:
    """Everything that the live view shows, ready for JSON."""
    status = now.status
    alone = human_only(now.state.history, now, LOOK_NOW if status.ended is None else now.last_look)
    people, together = people_found(now)
    held = now.store.in_hand()
    return {
        "name": status.name, "ended": status.ended, "running": now.is_running, "unit": _unit(now),
        "currency": now.spec.currency or "",
        "spend": _spend(now), "round": _round(now), "goal": _verdict(now), "remarks": _remarks(now),
        "estimate": _shown(status.lead),
        "interval": None if status.lead is None else status.lead.interval, "interval_words": status.lead_words,
        "says": _says(now),
        "answers": [] if status.answers is None else [one.to_dict() for one in status.answers.answers],
        "if_you_look": _shown(status.for_looks),
        "final": _shown(status.final), "human_only": _shown(alone),
        "queue": {
            "open": status.pending, "answered": status.labels, "missing": status.missing, "looked": status.looked,
            "pool": status.pool, "in_hand": len(held), "rounds": status.rounds,
        },
        "people": [asdict(one) | {"in_hand": one.name in held, "told": one.tests.words()} for one in people],
        "agreement": asdict(together), "votes": list(status.votes), "judge": _judge(now),
        "outlook": _outlook(now, people),
        "history": _history(now), "slices": _slices(now), "columns": findings.columns(now),
    }  # fmt: skip


def _says(now: Snapshot) -> str | None:
    """The answer of its question in a sentence, else the mean's."""
    status = now.status
    if status.answers is not None and now.spec.asks:
        return status.answers.summary()
    return None if status.lead is None else finding(now.spec, status.lead)


def _unit(now: Snapshot) -> str:
    return "percent" if now.spec.scale.kind in ("binary", "pairwise") else "rating"


def _spend(now: Snapshot) -> dict[str, str | float | None]:
    """Amounts with two decimals and the currency of the TOML, and the share of the budget that is spent."""
    status, currency = now.status, now.spec.currency
    amounts = {name: getattr(status, name) for name in ("spent", "reserved", "budget", "left")}
    share = None if status.budget is None else float(status.spent / status.budget)
    told = {name: None if it is None else in_currency(f"{it:,.2f}", currency) for name, it in amounts.items()}
    return {**told, "share": share}


def _round(now: Snapshot) -> dict[str, int] | None:
    """How far the round under way is, from its first answer on; None between rounds and at the end."""
    status, state = now.status, now.state
    if not state.opened or status.ended is not None:
        return None
    closed = int(np.count_nonzero(~np.isnan(state.history.looked.values[:, -1])))
    answered = max(status.labels - closed, 0)
    return {"number": status.rounds + len(state.opened), "answered": answered, "asked": answered + status.pending}


def _verdict(now: Snapshot) -> str:
    """Whether what the TOML asks for is reached; nothing where it asks for no precision, or before there is any."""
    answers = now.status.answers
    return verdict(now) if answers is None else " ".join(answers.verdict()) or answers.summary()


def _remarks(now: Snapshot) -> list[dict[str, Any]]:
    """Flags and comments with what their item says, to work through."""
    read = respondents(now.spec, PeopleSettings)
    out = []
    for one in remarks_found(now)[:_MOST_REMARKS]:
        [row] = audit.item_contents(now.store, one.position, one.position + 1)
        shown = read[0].shown(json.loads(row.content)) if read else {}
        texts = [{"name": name, "text": _plain(value)} for name, value in shown.items()]
        out.append(asdict(one) | {"rating": _in_words(now, one.value), "texts": texts})
    return out


def _plain(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _in_words(now: Snapshot, value: float | None) -> str:
    """An answer as its button says it."""
    if value is None:
        return CANNOT_TELL
    return next((word for word, number in choices_of(now.spec.scale) if number == value), f"{value:g}")


def _numbers(found: Estimate | None, *names: str) -> dict[str, Any]:
    """These numbers of an estimate; each is None where there is none."""
    return {name: getattr(found, name, None) for name in names}


def _shown(found: Estimate | None) -> dict[str, Any] | None:
    names = ("value", "low", "high", "level", "standard_error", "labels", "items")
    return None if found is None else _numbers(found, *names)


def _history(now: Snapshot) -> list[dict[str, Any]]:
    """After each round: money, the estimate, and what people's answers alone said."""
    out = []
    for spent, found, alone in story_points(now):
        known = None if alone is None or alone.low is None else alone
        theirs = {"alone": "value", "alone_low": "low", "alone_high": "high"}
        beside = {name: getattr(known, one, None) for name, one in theirs.items()}
        out.append({"spent": spent, **_numbers(found, "value", "low", "high"), **beside})
    return out


def _judge(now: Snapshot) -> list[str]:
    found = now.diagnosis
    return [*judge_and_people(now), *(() if found is None else found.words())]


def _votes_each(now: Snapshot) -> int:
    return next((each.rater.votes for each in respondents(now.spec, PeopleSettings)), 1)


def _outlook(now: Snapshot, people: list[Annotator]) -> str:
    status, price, said = now.status, now.spec.strong.price, []
    if status.ended is not None:
        return ""
    more = int(status.left / price) if status.left is not None and price else 0
    if more:
        said.append(f"the rest buys at most {more:,} more answers")
    seconds = [one.seconds for one in people for _ in range(one.answers) if one.seconds]
    if seconds:
        hours = (status.pending + more) * statistics.median(seconds) * _votes_each(now) / 3600
        span = f"about {hours:.1f} hours" if hours >= 1 else f"about {max(1, round(60 * hours))} min"
        said.append(f"{span} of work at this pace")
    if status.expected_se is not None:
        said.append(f"at the end, about {within(_Z * status.expected_se, points=_unit(now) == 'percent')}")
    return "; ".join(said)


def _slices(now: Snapshot, columns: list[str] | None = None) -> list[dict[str, Any]]:
    return [
        {"column": one.column, "name": one.name, "items": one.items, "labels": one.labels,
         **_numbers(one.estimate, "value", "low", "high")}
        for one in findings.slices(now, columns)
    ]  # fmt: skip


# Routes


def routes(service: Service, board: LiveView) -> list[Route]:
    """The page, its JSON, and the stream behind it; admins only."""

    def check(request: Request) -> None:
        if not session_of(request, service).admin:
            raise RefusedError(403, "this page is for admins; ask for a link made with --admin")

    def page(request: Request) -> Response:
        try:
            check(request)
        except RefusedError as refused:
            if refused.status == 401:
                return RedirectResponse("/", status_code=303)
            raise
        return TEMPLATES.TemplateResponse(request, "live.html", {"campaign": service.labelling.spec.name})

    def once(request: Request) -> Response:
        check(request)
        column = request.query_params.get("slices")
        return JSONResponse(board.newest()[1] if column is None else board.sliced(column))

    async def events(request: Request) -> Response:
        await run_in_threadpool(check, request)
        stream = _stream(request, board, lambda: check(request))
        return StreamingResponse(stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    def report(request: Request) -> Response:
        check(request)
        return HTMLResponse(board.report(), headers={"content-security-policy": REPORT_POLICY})

    return [
        Route("/live", page, methods=["GET"]),
        Route("/report", report, methods=["GET"]),
        Route("/api/v1/live", once, methods=["GET"]),
        Route("/api/v1/live/events", events, methods=["GET"]),
    ]


async def _stream(request: Request, board: LiveView, check: Callable[[], None]) -> AsyncIterator[str]:
    """News as they come, until the browser leaves or its session ends."""
    seen, quiet = "", 0
    while not board.closing.is_set() and not await request.is_disconnected():
        try:
            await run_in_threadpool(check)
        except RefusedError:
            return
        mark, found = await run_in_threadpool(board.newest)
        if mark != seen:
            seen, quiet = mark, 0
            yield f"data: {json.dumps(found)}\n\n"
        elif (quiet := quiet + 1) % _BEAT == 0:
            yield ": nothing new\n\n"
        await asyncio.sleep(_EVERY)
