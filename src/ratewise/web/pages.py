"""The pages: label, sign in by a link, sign out, images beside the campaign, and whether the server is well."""

import threading
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from posixpath import normpath

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.templating import Jinja2Templates

from ratewise.campaign.clients.respondents import respondents
from ratewise.campaign.spec.spec import Spec
from ratewise.raters.people import PeopleSettings
from ratewise.store.accounts import SESSION_SECONDS
from ratewise.store.money import in_currency
from ratewise.web.markup import IMAGES, as_html, images_in
from ratewise.web.service import COOKIE, RefusedError, Service, address_of, check_csrf, session_of

HERE = Path(__file__).parent
TEMPLATES = Jinja2Templates(directory=HERE / "templates")
TEMPLATES.env.autoescape = True
_LONGEST_TOKEN = 200


def routes(service: Service) -> list[Route]:
    """The pages of a service."""
    pages = Pages(service)
    return [
        Route("/", pages.label, methods=["GET"]),
        Route("/join/{token}", pages.join, methods=["GET"]),
        Route("/sign-out", pages.sign_out, methods=["POST"]),
        Route("/images/{path:path}", pages.image, methods=["GET"]),
        Route("/healthz", pages.health, methods=["GET"]),
    ]


class Pages:
    """HTML for people; the questions themselves come as JSON."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._looking = threading.Lock()

    def label(self, request: Request) -> Response:
        """The labelling page; who is not signed in is told how to."""
        try:
            session = session_of(request, self.service)
        except RefusedError as refused:
            return told(request, refused.status, "You are not signed in", _OPEN_LINK)
        desk = self.service.labelling
        guidelines, facts = desk.guidelines, _facts(desk.spec)
        words = {
            "person": session.name, "admin": session.admin, "csrf": session.csrf, "campaign": desk.spec.name,
            "guidelines": as_html(guidelines) if guidelines.strip() else "", "facts": facts,
            "version": sha256(f"{desk.spec.name} {facts} {guidelines}".encode("utf-8", "replace")).hexdigest()[:12],
        }  # fmt: skip
        return TEMPLATES.TemplateResponse(request, "label.html", words)

    def join(self, request: Request) -> Response:
        """Sign in by a link, then go to the page without the secret in its address."""
        token = request.path_params["token"]
        with self.service.turn():
            secret = self.service.accounts.sign_in(token) if len(token) <= _LONGEST_TOKEN else None
        if secret is None:  # one that works is never kept waiting: it is too long to be guessed
            limiter, address = self.service.limiter, address_of(request, self.service)
            if not limiter.allows(address):
                return told(request, 429, "Too many tries", "Wait a minute, then open your link again.")
            limiter.failed(address)
            return told(request, 404, "This link does not work", _OPEN_LINK)
        response = RedirectResponse(self._first_page(request, secret), status_code=303)
        response.set_cookie(
            COOKIE, secret, max_age=int(SESSION_SECONDS), httponly=True, samesite="lax",
            secure=self.service.door.secure, path="/",
        )  # fmt: skip
        return response

    def _first_page(self, request: Request, secret: str) -> str:
        """Where one who signs in goes: admins watch, and hold no question; unless their link says that they label."""
        session = self.service.accounts.session(secret)
        watches = session is not None and session.admin and request.query_params.get("to") != "label"
        return "/live" if watches else "/"

    def sign_out(self, request: Request) -> Response:
        session = session_of(request, self.service)
        check_csrf(request, session)
        with self.service.turn():
            self.service.accounts.sign_out(request.cookies.get(COOKIE, ""))
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax", secure=self.service.door.secure)
        return response

    def image(self, request: Request) -> Response:
        """An image of the campaign's or the table's folder that a text shown to this person names; nothing else."""
        session, path = session_of(request, self.service), request.path_params["path"]
        folders = (self.service.folder, self.service.labelling.spec.table_path.parent)
        found = next(filter(None, (_image(folder, path) for folder in folders)), None)
        shown = self.service.labelling.shown(session.name)
        if found is None or not any(normpath(path) in images_in(text) for text in shown):
            raise RefusedError(404, "there is no such image")
        return FileResponse(found)

    def health(self, _: Request) -> Response:
        """Whether the campaign goes on: it is at its end, or some process plans it and shows signs of life."""
        store = self.service.labelling.store
        with self._looking:  # two who look at the lock at once would take each other for the one who has it
            planned = store.running() and store.waits_for() is None
            is_well = planned or store.meta("ended") is not None  # the end is written before the lock is let go
        return PlainTextResponse("ok\n") if is_well else PlainTextResponse("nothing plans this campaign\n", 503)


def told(request: Request, status: int, title: str, text: str, *, home: bool = False) -> Response:
    """A page that says one thing; with a way `home` to the questions."""
    words = {"title": title, "text": text, "home": home}
    return TEMPLATES.TemplateResponse(request, "told.html", words, status_code=status)


def refused(request: Request, status: int, reason: str) -> Response:
    """What is not served: a page for people who came by a link or typed an address, JSON for everybody else."""
    if "text/html" not in request.headers.get("accept", "") or request.url.path.startswith("/api/"):
        return JSONResponse({"error": reason}, status_code=status)
    if status == 401:
        return told(request, status, "You are not signed in", _OPEN_LINK)
    title = {403: "This page is not for you", 404: "There is no such page"}.get(status, "This did not work")
    return told(request, status, title, f"{reason[:1].upper()}{reason[1:]}.", home=True)


def _facts(spec: Spec) -> list[tuple[str, str]]:
    """(what, in words) of all that a person wants to know before the first question."""

    def pay(amount: Decimal) -> str:
        return in_currency(f"{amount:,.2f}", spec.currency)

    told = []
    for each in respondents(spec, PeopleSettings):
        rater: PeopleSettings = each.rater
        if rater.criterion is not None:
            told.append(("Task", rater.criterion))
        usual = rater.per_hour is not None or "answer_seconds" in rater.model_fields_set
        time = f"About {rater.answer_seconds:g} seconds a question" if usual else "As long as each question needs"
        told.append(("Time", f"{time}; your own pace stands at the top"))
        if rater.per_hour is not None:
            told.append(("Pay", f"{pay(rater.per_hour)} an hour, without pauses of more than a minute"))
        elif rater.price:
            told.append(("Pay", f"{pay(rater.price / rater.votes)} a question"))
        if rater.training:
            told.append(("Training", f"The first {rater.training} questions; you see the right answer after each"))
    return [*told, ("Stop", "Whenever you like: each answer is saved at once, and the last one can be undone")]


_OPEN_LINK = "Open the link that you were given. If it no longer works, ask whoever runs this campaign for a new one."


def _image(folder: Path, path: str) -> Path | None:
    """The file of an image inside the folder; links that lead out of it are not followed."""
    if "\0" in path or not path.lower().endswith(IMAGES) or any(part.startswith(".") for part in Path(path).parts):
        return None
    try:
        found = (folder / path).resolve()
        return found if found.is_file() and found.is_relative_to(folder.resolve()) else None
    except (OSError, ValueError):
        return None
