"""The answers that a scale offers, as words for buttons in other tools and as the numbers they stand for."""

from ratewise.raters.scale import RatingScale

CANNOT_TELL = "Cannot tell"
_MOST_BUTTONS = 20


def choices_of(scale: RatingScale) -> tuple[tuple[str, float], ...]:
    """(word, number) of each answer, in the order of the buttons; none where a number is to be written."""
    if scale.words:
        return scale.words
    if scale.kind == "binary":
        return (("Yes", 1.0), ("No", 0.0))
    if scale.kind == "pairwise":
        return (("A", 1.0), ("B", 0.0), ("Tie", 0.5))
    if scale.kind == "likert" and scale.high - scale.low < _MOST_BUTTONS:
        return tuple((f"{value}", float(value)) for value in range(int(scale.low), int(scale.high) + 1))
    return ()


def number_of(scale: RatingScale, written: object) -> float | None:
    """The number that one of the words stands for, however it is spelled; None where it is none of them."""
    if not isinstance(written, str):
        return None
    text = " ".join(written.split()).lower()
    return next((number for word, number in choices_of(scale) if word.lower() == text), None)
