"""One thread writes for all requests: together where they come together, alone where one of them fails."""

import asyncio

import pytest
from starlette.responses import Response

from ratewise.errors import InputError
from ratewise.store.accounts import Session
from ratewise.web.service import RefusedError
from ratewise.web.writer import Job, Writer

from ..waiting import until
from .making import service_of, write

ANN = Session("ann", False, "token")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with service_of(write(tmp_path_factory.mktemp("writer"))) as (service, _):
        yield service


def served(service, *acts, check=lambda: ANN):
    """What each of the requests gets that were there at the same time."""
    made = [Job(check, act) for act in acts]
    Writer(service).serve(made)
    return [job.told.exception(0) or job.told.result(0) for job in made]


def noting(service, text, then=None):
    def act(session):
        service.labelling.store.note(f"{session.name}: {text}")
        if then is not None:
            raise then
        return Response(text)

    return act


def notes(service):
    return [text for _, text in service.labelling.store.notes()]


def entries(service):
    return int(service.labelling.store.head().split("-")[0])


def test_requests_that_come_together_share_a_transaction(service):
    before, kept = entries(service), len(notes(service))
    got = served(service, *(noting(service, str(i)) for i in range(5)))
    assert [response.body for response in got] == [b"0", b"1", b"2", b"3", b"4"]
    assert entries(service) == before + 1
    assert notes(service)[kept:] == [f"ann: {i}" for i in range(5)]


@pytest.mark.parametrize("error", [RefusedError(409, "too late"), InputError("not on the scale"), KeyError("bug")])
def test_one_that_fails_leaves_nothing_and_takes_nobody_with_it(service, error):
    before, kept = entries(service), len(notes(service))
    got = served(service, noting(service, "a"), noting(service, "b", then=error), noting(service, "c"))
    assert got[1] is error
    assert [response.body for response in (got[0], got[2])] == [b"a", b"c"]
    assert notes(service)[kept:] == ["ann: a", "ann: c"]
    assert entries(service) == before + 2


def test_one_who_is_not_signed_in_changes_nothing(service):
    def nobody():
        raise RefusedError(401, "you are not signed in")

    kept = notes(service)
    (got,) = served(service, noting(service, "a"), check=nobody)
    assert got.status == 401
    assert notes(service) == kept


def test_a_caller_who_has_gone_is_served_and_not_told(service):
    job = Job(lambda: ANN, noting(service, "gone"))
    job.told.cancel()
    Writer(service).serve([job])
    assert notes(service)[-1] == "ann: gone"

    async def ends_at_once():
        waits = asyncio.ensure_future(Writer(service).do(lambda: ANN, noting(service, "closed")))
        await asyncio.sleep(0)
        waits.cancel()

    asyncio.run(ends_at_once())
    until(lambda: notes(service)[-1] == "ann: closed")


def test_many_callers_at_once_are_all_told(service):
    async def all_of_them():
        writer = Writer(service)
        return await asyncio.gather(*(writer.do(lambda: ANN, noting(service, str(i))) for i in range(30)))

    before = entries(service)
    got = asyncio.run(all_of_them())
    assert [int(response.body) for response in got] == list(range(30))
    assert entries(service) < before + 30
