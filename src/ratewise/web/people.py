"""Sign-in links: an admin makes them, and takes them back."""

from dataclasses import dataclass

from ratewise.campaign.beside import Tests, tests_found
from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError
from ratewise.store.accounts import Accounts, Person
from ratewise.store.desk import Desk

_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Link:
    """A person and the address that signs them in."""

    name: str
    link: str

    def to_dict(self) -> dict[str, str]:
        """Ready for JSON."""
        return {"name": self.name, "link": self.link}


def add_person(campaign: Campaign, name: str, *, admin: bool, url: str, new_link: bool = False) -> Link:
    """A sign-in link for a person; one whose link works is refused, or gets another with `new_link`, which ends it."""
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(f"a person's name has 1 to {_LONGEST_NAME} printable characters; got {name[:80]!r}")
    with campaign.labelling() as desk:
        accounts = Accounts(desk.store)
        token = (accounts.renew(name) if new_link else None) or accounts.add(name, admin=admin)
        found = accounts.find(name)
        name = name if found is None else found.name
    return Link(name, f"{url.rstrip('/')}/join/{token}")


def remove_person(campaign: Campaign, name: str) -> str:
    """Take the link back; what the person has in hand goes to others, and their answers stay. Their name."""
    with campaign.labelling() as desk:
        known = Accounts(desk.store).remove(name)
        if known is None:
            there = ", ".join(person.name for person in Accounts(desk.store).list() if person.active) or "nobody"
            raise InputError(f"{name!r} has no link that works; those who have one: {there}")
        Desk(desk.store).free_all(known)
    return known


def list_people(campaign: Campaign) -> list[Person]:
    """Everyone who was ever given a link."""
    with campaign.labelling() as desk:
        return Accounts(desk.store).list()


def tests_of(campaign: Campaign) -> dict[str, Tests]:
    """How those did who were trained or checked, by name."""
    with campaign.labelling() as desk:
        return tests_found(desk.store)
