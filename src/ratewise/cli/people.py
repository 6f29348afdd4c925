"""`serve` and `people`: the labelling page, and the links that people sign in with."""

import sys
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ratewise.cli.campaign import Toml
from ratewise.cli.console import one_line_errors, print_json, say
from ratewise.cli.options import Json

if TYPE_CHECKING:
    from ratewise.campaign.annotators import Tests
    from ratewise.store.accounts import Person
    from ratewise.web.service import Service

_URL = "http://127.0.0.1:8765"
_MISSING = "the labelling page needs more packages; install them with: pip install 'ratewise[web]'"


class Act(StrEnum):
    """What to do with people."""

    ADD = "add"
    LIST = "list"
    REMOVE = "remove"


def serve(
    campaign: Toml,
    host: Annotated[str, typer.Option(help="Address to listen at; others than this machine's need TLS.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.")] = 8765,
    tls_certificate: Annotated[str | None, typer.Option(help="Certificate file (PEM) to serve https with.")] = None,
    tls_key: Annotated[str | None, typer.Option(help="Its key file (PEM).")] = None,
    public_url: Annotated[
        str | None, typer.Option(help="The https address of the reverse proxy that stands before this server.")
    ] = None,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="Run the campaign beside the pages, or leave that to `ratewise run`.")
    ] = True,
    json: Json = False,
) -> None:
    """Serve the labelling page and the live view of a campaign, and run it meanwhile. Stop it with Ctrl-C.

    Example: ratewise serve campaign.toml --port 8765
    """
    with one_line_errors():
        check_installed()
        from ratewise.campaign.campaign import Campaign
        from ratewise.web import server

        def ready(url: str, service: "Service") -> None:
            active = sum(person.active for person in service.accounts.list())
            if json:
                print_json({"url": url, "people": active})
                sys.stdout.flush()
                return
            say(f"Serving {campaign} at {url} (live view: {url}/live). Stop with Ctrl-C.")
            if not active:
                say(f"Nobody can sign in yet; make a link with: ratewise people {campaign} add NAME --admin")

        where = server.Listening(host, port, tls_certificate, tls_key, public_url)
        opened = Campaign.open(campaign)
        server.serve(opened, where, ready=ready, runs=run, say=lambda text: say(text, error=True))


def people(
    campaign: Toml,
    act: Annotated[Act, typer.Argument(help="add, list or remove.", metavar="add|list|remove")],
    name: Annotated[str | None, typer.Argument(help="Whom to add or remove.")] = None,
    admin: Annotated[bool, typer.Option("--admin", help="With add: may see the live view, too.")] = False,
    new_link: Annotated[
        bool, typer.Option("--new-link", help="With add: end the link that this person has, and make another.")
    ] = False,
    url: Annotated[str, typer.Option(help="With add: how browsers reach `ratewise serve`.")] = _URL,
    json: Json = False,
) -> None:
    """Make the sign-in link of a person, list all people, or take a link back.

    The link is shown once and stored only as a hash. Ben and ben are one person.

    Example: ratewise people campaign.toml add ann
    """
    with one_line_errors():
        check_installed()
        from ratewise.campaign.campaign import Campaign
        from ratewise.errors import InputError
        from ratewise.web.service import add_person, list_people, remove_person, tests_of

        opened = Campaign.open(campaign)
        if act == Act.LIST:
            _print_people(list_people(opened), tests_of(opened), as_json=json)
            return
        if name is None:
            raise InputError(f"a name is missing; write: ratewise people {campaign} {act} NAME")
        if act == Act.ADD:
            made = add_person(opened, name, admin=admin, url=url, new_link=new_link)
            if json:
                print_json(made.to_dict())
            else:
                say(f"{made.name} signs in with this link, which is not shown again:\n{made.link}")
            return
        name = remove_person(opened, name)
        if json:
            print_json({"name": name, "removed": True})
        else:
            say(f"{name} can no longer sign in; the answers stay.")


def _print_people(found: "list[Person]", tests: "dict[str, Tests]", *, as_json: bool) -> None:
    if as_json:
        listed = [{"name": p.name, "admin": p.admin, "active": p.active, "made_at": p.made_at} for p in found]
        print_json({"people": [one | (asdict(tests[p.name]) if p.name in tests else {})
                               for one, p in zip(listed, found, strict=True)]})  # fmt: skip
    elif not found:
        say("nobody yet")
    for person in () if as_json else found:
        marks = [word for word, there in (("admin", person.admin), ("link taken back", not person.active)) if there]
        marks += tests[person.name].words() if person.name in tests else []
        say(person.name + (f" ({', '.join(marks)})" if marks else ""))


def check_installed() -> None:
    """Refuse where the packages of the page are missing."""
    from ratewise.errors import InputError

    try:
        import nh3  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise InputError(_MISSING) from None
