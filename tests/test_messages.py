"""Messages that name arguments as Python does, or as the reader types them."""

import pickle

import pytest

from ratewise.core.checks import number
from ratewise.errors import InputError, Message, argument


def dashed(name):
    return f"--{name.replace('_', '-')}"


def test_a_message_is_text_with_python_names():
    said = Message(f"give {argument('pool_size')}, or draw with {argument('within_budget')}")
    assert said == "give pool_size, or draw with within_budget"
    assert said.typed(dashed) == "give --pool-size, or draw with --within-budget"


def test_a_word_that_is_no_argument_stays():
    """Nothing is found and replaced: a column may be called like an argument."""
    said = Message(f"column 'pool_size' is no number; give {argument('pool_size')}")
    assert said.typed(dashed) == "column 'pool_size' is no number; give --pool-size"


def test_it_keeps_its_arguments_inside_others_words_and_in_a_pickle():
    said = Message(f"give {argument('pool_size')}").within("all is lost: ", "!")
    assert said == "all is lost: give pool_size!"
    again = pickle.loads(pickle.dumps(said))
    assert again.typed(dashed) == "all is lost: give --pool-size!"


def test_errors_about_an_argument_know_it():
    with pytest.raises(InputError) as caught:
        number(-1, name="weak_cost", minimum=0)
    assert str(caught.value) == "weak_cost must be at least 0; got -1"
    assert caught.value.args[0].typed(dashed) == "--weak-cost must be at least 0; got -1"
    with pytest.raises(InputError) as caught:
        number(-1, name="the rate of stratum 'weak_cost'", minimum=0)
    assert not isinstance(caught.value.args[0], Message) or caught.value.args[0].typed(dashed).startswith("the rate")
