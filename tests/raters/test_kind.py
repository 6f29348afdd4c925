import dataclasses

import pytest

from ratewise.raters.kind import Place, RaterKind
from ratewise.raters.kinds import KINDS


def test_a_kind_asks_little_unless_it_says_more():
    kind = RaterKind(settings=Place, make=None, example=())
    assert (kind.batch, kind.columns(None), dict(kind.fixed), kind.leads_to) == (1, (), {}, ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        kind.batch = 2


def test_every_kind_that_ships_is_whole():
    for name, kind in KINDS.items():
        assert dataclasses.is_dataclass(kind.settings), name
        names = {field.name for field in dataclasses.fields(kind.settings)}
        assert set(kind.fixed) <= names
        assert set(kind.leads_to) <= names
        assert all(line.split(" = ")[0] in names and meaning for line, meaning in kind.example), name
