"""`serve`, `people` and `demo`: the labelling page, the links that people sign in with, and a campaign to watch."""

import os
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ratewise.cli.console import print_json, say, tell
from ratewise.cli.options import argument, command, flag, option, refuse

if TYPE_CHECKING:
    from ratewise.web.service import Service

_MISSING = "the labelling page needs more packages; install them with: pip install 'ratewise[web]'"


class Act(StrEnum):
    """What to do with people."""

    ADD = "add"
    LIST = "list"
    REMOVE = "remove"


@command(
    "campaign host port tls_certificate tls_key public_url run json",
    host=option("Address to listen at; others than this machine's need TLS.", str, "127.0.0.1"),
    port=option("Port to listen at.", int, 8765),
    tls_certificate=option("Certificate file (PEM) to serve https with."),
    tls_key=option("Its key file (PEM)."),
    public_url=option("The https address of the reverse proxy that stands before this server."),
    run=option("Run the campaign beside the pages, or leave that to `ratewise run`.", bool, True, "--run/--no-run"),
)
def serve(
    *, campaign: str, host: str, port: int, tls_certificate: str | None, tls_key: str | None, public_url: str | None,
    run: bool, json: bool,
) -> None:  # fmt: skip
    """Serve the labelling page and the live view of a campaign, and run it meanwhile. Stop it with Ctrl-C.

    Example: ratewise serve campaign.toml --port 8765
    """
    check_installed()
    from ratewise.campaign.campaign import Campaign
    from ratewise.web import server

    def ready(url: str, service: "Service") -> None:
        active = sum(person.active for person in service.accounts.list())
        if json:
            print_json({"url": url, "people": active})
            return
        say(f"Serving {campaign} at {url} (live view: {url}/live). Stop with Ctrl-C.")
        if not active:
            say(f"Nobody can sign in yet; make a link with: ratewise people {campaign} add NAME --admin")

    where = server.Listening(host, port, tls_certificate, tls_key, public_url)
    opened = Campaign.open(campaign)
    server.serve(opened, where, ready=ready, runs=run, say=lambda text: say(text, error=True))


@command(
    "campaign act name admin new_link url json",
    act=argument("add, list or remove.", Act, metavar="add|list|remove"),
    name=argument("Whom to add or remove.", str | None, None),
    admin=flag("With add: may see the live view, too.", "--admin"),
    new_link=flag("With add: end the link that this person has, and make another.", "--new-link"),
    url=option("With add: how browsers reach `ratewise serve`; if absent, where it was served last.", str | None, None),
)
def people(
    *, campaign: str, act: Act, name: str | None, admin: bool, new_link: bool, url: str | None, json: bool
) -> None:
    """Make the sign-in link of a person, list all people, or take a link back.

    The link is shown once and stored only as a hash. Ben and ben are one person.

    Example: ratewise people campaign.toml add ann
    """
    check_installed()
    from ratewise.campaign.campaign import Campaign
    from ratewise.web.service import add_person, list_people, remove_person

    opened = Campaign.open(campaign)
    if act == Act.LIST:
        found, tests = list_people(opened)
        told, lines = list[dict[str, Any]](), list[str]()
        for one in found:
            row = {name: getattr(one, name) for name in ("name", "admin", "active", "made_at")}
            marks = [word for word, there in (("admin", one.admin), ("link taken back", not one.active)) if there]
            if one.name in tests:
                row |= asdict(tests[one.name])
                marks += tests[one.name].words()
            told.append(row)
            lines.append(one.name + (f" ({', '.join(marks)})" if marks else ""))
        tell({"people": told}, "\n".join(lines) or "nobody yet", json=json)
        return
    refuse(name is None, f"a name is missing; write: ratewise people {campaign} {act} NAME")
    name = str(name)
    if act == Act.ADD:
        made = add_person(opened, name, admin=admin, url=url, new_link=new_link)
        said = "{name} signs in with this link, which is not shown again:\n{link}".format(**made)
        tell(made, said, json=json)
    else:
        name = remove_person(opened, name)
        tell({"name": name, "removed": True}, f"{name} can no longer sign in; the answers stay.", json=json)


def check_installed() -> None:
    """Refuse where the packages of the page are missing."""
    from ratewise.errors import InputError

    try:
        import nh3  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise InputError(_MISSING) from None


@command(
    "output seed serve port json",
    output=option("Folder for the files it writes.", str, "ratewise-demo", "--output", "-o"),
    seed=option("Names the made-up pool and the draw.", int, 1, min=0),
    serve=flag("Open a labelling page to click through instead.", "--serve"),
    port=option("With --serve: port to listen at.", int, 8765),
)
def demo(*, output: str, seed: int, serve: bool, port: int, json: bool) -> None:
    """Run a whole campaign on a small made-up pool. Its true mean is known.

    Example: ratewise demo
    """
    if serve:
        check_installed()
        from ratewise.cli.demo import serve_demo

        serve_demo(os.path.join(output, "labelling"), seed=seed, port=port, as_json=json)
        return
    from ratewise.cli.demo import run_demo

    run_demo(output, seed=seed, as_json=json)
