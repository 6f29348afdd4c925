"""A judge and its prompts, as tests of the room share them."""

from ratewise.judges.ladder import Rung
from ratewise.judges.prompt import JudgeSpec
from ratewise.judges.template import built_in, parse
from ratewise.judges.verdicts import Verdicts

ITEM = {"question": "How much is 2 + 2?", "answer": "It is 4."}
PAIR = {"question": "How much is 2 + 2?", "one": "It is 4.", "two": "It is 5."}
SHOWN = {"show": ("question", "answer")}
BOTH = {"show": ("question",), "a": "one", "b": "two"}
CODE = "0123456789abcdef"


def spec(kind="binary", **changes):
    """A judge of a kind; likert and score run from 1 to 5."""
    template = parse(built_in(kind), kind)
    shown = BOTH if kind == "pairwise" else SHOWN
    given = {"model": "small-judge", "criterion": "The answer is correct."} | changes
    return JudgeSpec(template=template, verdicts=Verdicts.of(kind, 1.0, 5.0), **shown, **given)


def rung(form="json", source="none"):
    """A rung whose answers have this form."""
    return Rung(source, takes=frozenset()) if form == "line" else Rung(source)


def prompt(kind="binary", form="json", source="none", item=None, swap=False, code=CODE):
    """A prompt about an item."""
    item = (PAIR if kind == "pairwise" else ITEM) if item is None else item
    return spec(kind).prompt(item, rung(form, source), swap=swap, code=code)
