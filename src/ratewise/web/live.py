"""The live view for admins: one look at the campaign whenever its record has grown, pushed to every page."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.templating import Jinja2Templates

from ratewise.campaign import findings
from ratewise.campaign.annotators import people_found
from ratewise.campaign.estimates import LOOK_NOW
from ratewise.campaign.findings import human_only, judge_and_people
from ratewise.campaign.snapshot import Snapshot
from ratewise.core.estimate import Estimate
from ratewise.questions.goal import within
from ratewise.report.words import finding, story_points
from ratewise.web.pages import HERE
from ratewise.web.service import RefusedError, Service, session_of

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
        "spend": _spend(now), "estimate": _shown(status.lead),
        "interval": None if status.lead is None else status.lead.interval, "interval_words": status.lead_words,
        "says": None if status.lead is None else finding(now.spec, status.lead),
        "if_you_look": _shown(status.for_looks),
        "final": _shown(status.final), "human_only": _shown(alone),
        "queue": {
            "open": status.pending, "answered": status.labels, "missing": status.missing, "looked": status.looked,
            "pool": status.pool, "in_hand": len(held), "rounds": status.rounds,
        },
        "people": [asdict(one) | {"in_hand": one.name in held, "told": one.tests.words()} for one in people],
        "agreement": asdict(together), "votes": list(status.votes), "judge": _judge(now), "outlook": _outlook(now),
        "history": _history(now), "slices": _slices(now), "columns": findings.columns(now),
    }  # fmt: skip


def _unit(now: Snapshot) -> str:
    return "percent" if now.spec.scale.kind in ("binary", "pairwise") else "rating"


def _spend(now: Snapshot) -> dict[str, str | None]:
    told = now.status.to_dict()
    return {name: told[name] for name in ("spent", "reserved", "budget", "left")}


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


def _outlook(now: Snapshot) -> str:
    status, price, said = now.status, now.spec.strong.price, []
    if status.ended is not None:
        return ""
    if status.left is not None and price:
        said.append(f"the rest buys at most {int(status.left / price):,} more answers")
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
    templates = Jinja2Templates(directory=HERE / "templates")

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
        return templates.TemplateResponse(request, "live.html", {"campaign": service.labelling.spec.name})

    def once(request: Request) -> Response:
        check(request)
        column = request.query_params.get("slices")
        return JSONResponse(board.newest()[1] if column is None else board.sliced(column))

    async def events(request: Request) -> Response:
        await run_in_threadpool(check, request)
        stream = _stream(request, board, lambda: check(request))
        return StreamingResponse(stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    return [
        Route("/live", page, methods=["GET"]),
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
