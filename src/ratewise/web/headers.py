"""Headers of every response, and a check of the name that the server is called by."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ratewise.web.requests import RefusedError
from ratewise.web.service import Door

# Nothing is loaded from elsewhere, nothing runs but our own files, and no page frames this one.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types ratewise"
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
                    headers[name] = value
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
