"""Results in order, whatever the number of processes."""

from operator import neg

import pytest

from ratewise.errors import InputError
from ratewise.lab.workers import in_order


def refuse(x):
    if x == 2:
        raise ValueError("two")
    return x


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_tasks(workers):
    assert list(in_order(neg, range(7), workers=workers)) == [0, -1, -2, -3, -4, -5, -6]
    assert list(in_order(neg, [], workers=workers)) == []


def test_an_error_is_the_task_s_own_and_what_came_before_it_is_there():
    found = in_order(refuse, range(4), workers=1)
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(ValueError, match="two"):
        next(found)


def test_no_workers_are_refused():
    with pytest.raises(InputError, match="workers"):
        list(in_order(neg, range(3), workers=0))
