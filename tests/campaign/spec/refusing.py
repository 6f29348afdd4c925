"""The parts of a TOML without a mistake, and what a TOML with some is told."""

import pytest

from ratewise.campaign.spec.read import read_spec
from ratewise.errors import SpecError

TOP = "seed = 7\n"
ITEMS = '[items]\ntable = "items.csv"\n'
RATING = '[rating]\nkind = "binary"\n'
GOAL = '[goal]\nbudget = "200"\n'
HUMAN = '[[raters]]\nname = "human"\nkind = "column"\ncolumn = "human"\nprice = "1"\n'
JARGON = ("Input should", "pydantic", " valid ", "NoneType", "literal", "float", "str ", "int ", "dict", "Decimal")


def refused(folder, text, name="c.toml"):
    """The mistakes in a text, without the folder's name; each is one line of plain words."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SpecError) as caught:
        read_spec(str(path))
    for mistake in caught.value.mistakes:
        assert mistake.isprintable()
        assert not [word for word in JARGON if word in mistake.removeprefix(str(folder))], mistake
    return [mistake.removeprefix(f"{folder}/") for mistake in caught.value.mistakes]
