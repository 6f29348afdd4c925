"""Sign-in links: an admin makes them, and takes them back."""

from dataclasses import dataclass

from ratewise.campaign.beside import Tests, tests_found
from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError
from ratewise.queue.accounts import Accounts, Person
from ratewise.queue.desk import Desk

_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Link:
    """A person and the address that signs them in."""

    name: str
    link: str

    def to_dict(self) -> dict[str, str]:
        """Ready for JSON."""
        return {"name": self.name, "link": self.link}


def add_person(campaign: Campaign, name: str, *, admin: bool, url: str) -> Link:
    """A sign-in link for a person; one who has a link gets a new one, and the old one ends."""
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(f"a person's name has 1 to {_LONGEST_NAME} printable characters; got {name[:80]!r}")
    with campaign.labelling() as desk:
        token = Accounts(desk.store).add(name, admin=admin)
    return Link(name, f"{url.rstrip('/')}/join/{token}")


def remove_person(campaign: Campaign, name: str) -> None:
    """Take the link back; what the person has in hand goes to others, and their answers stay."""
    with campaign.labelling() as desk:
        if not Accounts(desk.store).remove(name):
            there = ", ".join(person.name for person in Accounts(desk.store).list() if person.active) or "nobody"
            raise InputError(f"{name!r} has no link that works; those who have one: {there}")
        Desk(desk.store).free_all(name)


def list_people(campaign: Campaign) -> list[Person]:
    """Everyone who was ever given a link."""
    with campaign.labelling() as desk:
        return Accounts(desk.store).list()


def tests_of(campaign: Campaign) -> dict[str, Tests]:
    """How those did who were trained or checked, by name."""
    with campaign.labelling() as desk:
        return tests_found(desk.store)
