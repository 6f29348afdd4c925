"""The application: its routes, the headers of every response, and its errors as one line of JSON."""

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ratewise.errors import OutsideError, StoreError
from ratewise.web import api, live, pages
from ratewise.web.live import LiveView
from ratewise.web.service import Door, RefusedError, Service

# Nothing is loaded from elsewhere, nothing runs but our own files, and no page frames this one.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types ratewise"
)
_ALWAYS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_STATIC = "/static/"


def make_app(service: Service, board: LiveView | None = None) -> Starlette:
    """The pages and the JSON of one campaign; with a board, the live view as well."""
    routes: list[BaseRoute] = [*pages.routes(service), *api.routes(service)]
    if board is not None:
        routes += live.routes(service, board)
    routes.append(Mount("/static", StaticFiles(directory=pages.HERE / "static"), name="static"))
    return Starlette(
        routes=routes,
        middleware=[Middleware(SafeHeaders, door=service.door)],
        exception_handlers={
            RefusedError: _on_refused, HTTPException: _on_http,
            OutsideError: api.on_outside, StoreError: api.on_outside,
        },
    )  # fmt: skip


async def _on_refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return pages.refused(request, error.status, error.reason)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: "there is nothing at this address", 405: "this address takes another method"}
    response = pages.refused(request, error.status_code, words.get(error.status_code, error.detail))
    response.headers.update(error.headers or {})
    return response


class SafeHeaders:
    """Adds them to whatever the application answers; refuses names that are not the server's."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _ALWAYS.items():
                    headers.setdefault(name, value)
                headers["cache-control"] = "no-cache" if scope["path"].startswith(_STATIC) else "no-store"
                if self.door.secure:
                    headers["strict-transport-security"] = "max-age=31536000"
            await send(message)

        if self._is_ours(Headers(scope=scope).get("host", "")):
            await self.app(scope, receive, with_headers)
        else:
            refused = RefusedError(400, "this server is not called by that name; start it with --public-url")
            await refused.response()(scope, receive, with_headers)

    def _is_ours(self, host: str) -> bool:
        """Whether a browser may call the server so: another name may be another site that points here."""
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        return "*" in self.door.hosts or name.lower() in self.door.hosts
