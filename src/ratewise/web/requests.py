"""Reading requests: who calls, with which token, and what the body says. What is wrong becomes one error."""

import json
import secrets
from dataclasses import dataclass
from typing import Any

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response

from ratewise.store.accounts import Session
from ratewise.web.service import Service

COOKIE = "ratewise_session"
LARGEST_BODY = 64 * 1024
_CALLER = "x-forwarded-for"


class RefusedError(Exception):
    """A request that is not served, with the reason for the caller."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason

    def response(self) -> Response:
        """The error as JSON."""
        return JSONResponse({"error": self.reason}, status_code=self.status)


@dataclass(frozen=True, slots=True)
class Body:
    """A JSON object; each reader refuses what is not of its kind."""

    values: dict[str, Any]

    def text(self, name: str, *, longest: int, default: str | None = None) -> str:
        """A text, not longer than allowed."""
        value = self.values.get(name, default)
        if not isinstance(value, str):
            raise RefusedError(422, f"{name} must be a text")
        if len(value) > longest:
            raise RefusedError(422, f"{name} is longer than {longest:,} characters")
        if any("\ud800" <= sign <= "\udfff" or sign == "\0" for sign in value):
            raise RefusedError(422, f"{name} has signs that are no text")
        return value

    def number(self, name: str) -> float | None:
        """A number, or None where there is none."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RefusedError(422, f"{name} must be a number")
        return min(max(float(value), -1e9), 1e9) if value == value else 0.0  # noqa: PLR0124 - NaN differs from itself

    def truth(self, name: str) -> bool:
        """True or false; false where there is none."""
        value = self.values.get(name, False)
        if not isinstance(value, bool):
            raise RefusedError(422, f"{name} must be true or false")
        return value


def session_of(request: HTTPConnection, service: Service) -> Session:
    """Who calls; refused where nobody is signed in."""
    secret = request.cookies.get(COOKIE, "")
    found = service.accounts.session(secret) if secret else None
    if found is None:
        raise RefusedError(401, "you are not signed in; open the link that you were given")
    return found


def check_csrf(request: Request, session: Session) -> None:
    """Refuse what another site may have made the browser send."""
    sent = request.headers.get("x-csrf-token", "")
    if not secrets.compare_digest(sent.encode("utf-8", "replace"), session.csrf.encode()):
        raise RefusedError(403, "the header X-CSRF-Token is missing or old; take it from GET /api/v1/me")


async def raw_body(request: Request) -> bytes:
    """The body, refused as soon as it is too long."""
    out = b""
    async for part in request.stream():
        out += part
        if len(out) > LARGEST_BODY:
            raise RefusedError(413, f"the request is larger than {LARGEST_BODY:,} bytes")
    return out


def body_of(raw: bytes) -> Body:
    """A JSON object."""
    try:
        values = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        raise RefusedError(400, "the request is no JSON") from None
    if not isinstance(values, dict):
        raise RefusedError(400, "the request must be a JSON object")
    return Body(values)


def address_of(request: HTTPConnection, service: Service) -> str:
    """The caller's address; a proxy names it last, whatever the caller claims before."""
    named = request.headers.get(_CALLER, "") if service.door.proxied else ""
    return named.split(",")[-1].strip() or (request.client.host if request.client else "unknown")
