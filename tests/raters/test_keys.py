import pytest
from pydantic import TypeAdapter, ValidationError

from ratewise.raters.keys import Text


@pytest.mark.parametrize(("value", "words"), [("", "between the quotes"), (" \n", "between"), ("a\0b", "NUL")])
def test_text_that_says_nothing_is_refused_with_a_hint(value, words):
    with pytest.raises(ValidationError, match=words):
        TypeAdapter(Text).validate_python(value)


def test_legal_text_stays_as_it_is():
    assert TypeAdapter(Text).validate_python(" été ") == " été "
