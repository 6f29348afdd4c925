"""The application: its routes, its headers, and its errors as one line of JSON."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from ratewise.errors import OutsideError, StoreError
from ratewise.web import api, live, pages
from ratewise.web.headers import SafeHeaders
from ratewise.web.live import Board
from ratewise.web.requests import RefusedError
from ratewise.web.service import Service


def make_app(service: Service, board: Board | None = None) -> Starlette:
    """The pages and the JSON of one campaign; with a board, the live view as well."""
    routes: list[BaseRoute] = [*pages.routes(service), *api.routes(service)]
    if board is not None:
        routes += live.routes(service, board)
    routes.append(Mount("/static", StaticFiles(directory=pages.HERE / "static"), name="static"))
    return Starlette(
        routes=routes,
        middleware=[Middleware(SafeHeaders, door=service.door)],
        exception_handlers={
            RefusedError: api.on_refused, HTTPException: _on_http,
            OutsideError: api.on_outside, StoreError: api.on_outside,
        },
    )  # fmt: skip


async def _on_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: "there is nothing at this address", 405: "this address takes another method"}
    reason = words.get(error.status_code, error.detail)
    return JSONResponse({"error": reason}, status_code=error.status_code, headers=error.headers)
