import pytest
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from ratewise.raters.kind import Column, Says, hint, text


@pytest.mark.parametrize(("value", "words"), [("", "between the quotes"), (" \n", "between"), ("a\0b", "NUL")])
def test_text_that_says_nothing_is_refused_with_a_hint(value, words):
    with pytest.raises(PydanticCustomError, match=words):
        text(value)
    with pytest.raises(ValidationError, match=words):
        TypeAdapter(Column).validate_python(value)


def test_legal_text_stays_as_it_is():
    assert text(" été ") == " été "
    assert TypeAdapter(Column).validate_python("topic") == "topic"
    assert hint("do this").message() == "do this"
    assert Says("a word").choices == ()
