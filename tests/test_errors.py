"""The tree of errors: who is caught by whom, exit codes, and a line for each mistake."""

import pytest

from ratewise import errors


@pytest.mark.parametrize(
    ("kind", "parents", "code"),
    [
        (errors.InputError, (errors.RatewiseError, ValueError), 2),
        (errors.TableError, (errors.InputError,), 2),
        (errors.PolicyError, (errors.InputError,), 2),
        (errors.SpecError, (errors.InputError,), 2),
        (errors.OutsideError, (errors.RatewiseError,), 3),
        (errors.StoreError, (errors.OutsideError,), 3),
        (errors.RaterDownError, (errors.OutsideError,), 3),
    ],
)
def test_the_tree_is_as_it_is_drawn(kind, parents, code):
    assert issubclass(kind, parents)
    assert kind.exit_code == code
    assert kind.__name__ in errors.__doc__


def test_a_spec_names_every_mistake():
    assert str(errors.SpecError("one")) == "one"
    assert str(errors.SpecError("one", "two")) == "2 mistakes:\none\ntwo"
    assert errors.SpecError("one", "two").mistakes == ("one", "two")


def test_a_store_says_whether_it_may_pass():
    assert not errors.StoreError("damaged").may_pass
    assert errors.StoreError("full", may_pass=True).may_pass
