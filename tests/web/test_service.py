"""How often an address may guess."""

from ratewise.web import service
from ratewise.web.service import Limiter


def test_tries_come_back_with_time_and_addresses_do_not_disturb_each_other(monkeypatch):
    now = [0.0]
    limiter = Limiter(tries=2, seconds=10.0, clock=lambda: now[0])
    for _ in range(2):
        assert limiter.allows("a")
        limiter.failed("a")
    assert not limiter.allows("a")
    assert limiter.allows("b")
    now[0] = 11.0
    assert limiter.allows("a")
    monkeypatch.setattr(service, "_MOST_ADDRESSES", 3)
    for i in range(10):
        limiter.failed(str(i))
    assert len(limiter._failed) == 3
