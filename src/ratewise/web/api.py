"""The JSON interface: who am I, the next question, an answer, undo, skip, and a sign of life."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ratewise.campaign.clients.people import Task
from ratewise.campaign.clients.respondents import LONGEST_COMMENT
from ratewise.errors import InputError, OutsideError, StoreError
from ratewise.store.accounts import Session
from ratewise.web.markup import as_html
from ratewise.web.service import (
    Body,
    RefusedError,
    Service,
    body_of,
    check_csrf,
    number_in,
    raw_body,
    session_of,
    text_in,
    truth_in,
)
from ratewise.web.writer import Writer

_LONGEST_KEY = 100
_TAKEN = {"new": 201, "same": 200}
_REFUSED = {
    "another": "another answer to this question is saved already; undo it first",
    "too late": "this question is settled, or was given to somebody else",
}
Act = Callable[[Service, Session, Body], Response]


def routes(service: Service) -> list[Route]:
    """All of them below /api/v1/."""
    posts: dict[str, Act] = {"next": _next, "answers": _answers, "undo": _undo, "skip": _skip, "renew": _renew}
    writer = Writer(service)
    return [
        Route("/api/v1/me", _get(service, _me), methods=["GET"]),
        *(Route(f"/api/v1/{name}", _post(service, writer, act), methods=["POST"]) for name, act in posts.items()),
    ]


def _get(service: Service, act: Callable[[Service, Session], Response]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(lambda: act(service, session_of(request, service)))

    return endpoint


def _post(service: Service, writer: Writer, act: Act) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        raw = await raw_body(request)

        def check() -> Session:
            session = session_of(request, service)
            check_csrf(request, session)
            return session

        return await writer.do(check, lambda session: act(service, session, body_of(raw)))

    return endpoint


async def on_outside(_: Request, error: Exception) -> Response:
    """The store is gone for a moment: the page keeps the answer and tries again."""
    assert isinstance(error, OutsideError | StoreError)
    return JSONResponse({"error": "the campaign's store cannot be reached just now; try again"}, status_code=503)


# What each of them does


def _me(service: Service, session: Session) -> Response:
    desk = service.labelling
    return JSONResponse({
        "name": session.name, "admin": session.admin, "csrf": session.csrf, "done": desk.done(session.name),
        "left": desk.left(session.name), "ended": desk.store.meta("ended"),
    })  # fmt: skip


def _next(service: Service, session: Session, _: Body) -> Response:
    with service.turn() as desk:
        task = desk.next(session.name)
    return Response(status_code=204) if task is None else JSONResponse(told(task))


def told(task: Task) -> dict[str, Any]:
    """A question with its texts as safe HTML beside them."""
    sides = ("a", "b") if task.compares else ()
    parts = [
        {
            "column": name, "name": name.upper() if name in sides else _title(name), "side": name in sides,
            "html": as_html(value, name="answer" if name in sides else _title(name).lower()),
        }
        for name, value in task.item.items()
    ]  # fmt: skip
    return {**task.to_dict(), "parts": parts, "compares": task.compares, "lease": task.lease}


def _title(column: str) -> str:
    """A column's name as a heading: model_answer is Model answer."""
    words = column.replace("_", " ").strip() or column
    return words[:1].upper() + words[1:]


def _answers(service: Service, session: Session, body: Body) -> Response:
    key = text_in(body, "key", longest=_LONGEST_KEY)
    if "rating" not in body:
        raise RefusedError(422, "rating is missing; send null where you cannot tell")
    comment = text_in(body, "comment", longest=LONGEST_COMMENT, default="").strip()
    seconds, flagged = number_in(body, "seconds"), truth_in(body, "flagged")
    with service.turn() as desk:
        try:
            taken = desk.answer(session.name, key, body["rating"], comment=comment, seconds=seconds, flagged=flagged)
        except InputError as error:
            raise RefusedError(422, str(error)) from None
        done = desk.done(session.name)
        follows = desk.next(session.name) if truth_in(body, "next") and taken in _TAKEN else None
    if taken in _REFUSED:
        raise RefusedError(409, _REFUSED[taken])
    if taken == "unknown":
        raise RefusedError(404, "no such question was given to you")
    saved = {"key": key, "saved": True, "done": done, **_feedback(service, session, key)}
    if truth_in(body, "next"):
        saved["next"] = None if follows is None else told(follows)
    return JSONResponse(saved, status_code=_TAKEN[taken])


def _feedback(service: Service, session: Session, key: str) -> dict[str, Any]:
    """What is told after a training item; nothing after any other."""
    told = service.labelling.feedback(session.name, key)
    return {} if told is None else {"feedback": {**asdict(told), "why": as_html(told.why) if told.why else ""}}


def _undo(service: Service, session: Session, _: Body) -> Response:
    with service.turn() as desk:
        undone = desk.undo(session.name)
    if undone is None:
        raise RefusedError(409, "there is no answer of yours that can still be undone")
    before = {"rating": undone.value, "comment": undone.note or "", "flagged": bool(undone.flagged)}
    return JSONResponse({"key": undone.key, **before})


def _skip(service: Service, session: Session, body: Body) -> Response:
    key = text_in(body, "key", longest=_LONGEST_KEY)
    with service.turn() as desk:
        taken = desk.skip(session.name, key)
    if taken == "unknown":
        raise RefusedError(404, "no such question was given to you")
    if taken == "too late":
        raise RefusedError(409, _REFUSED["too late"])
    return JSONResponse({"key": key, "skipped": True})


def _renew(service: Service, session: Session, body: Body) -> Response:
    with service.turn() as desk:
        until = desk.renew(session.name, text_in(body, "key", longest=_LONGEST_KEY))
    if until is None:
        raise RefusedError(409, _REFUSED["too late"])
    return JSONResponse({"until": until})
