"""A text that may be no TOML, in statements: none of its lines is lost, and what was meant is found."""

from hypothesis import given
from hypothesis import strategies as st

from ratewise.campaign.spec.toml import Statement, header_of, key_of, statements


@given(st.text(alphabet="[]{}\"'=\n# a", max_size=60))
def test_every_line_belongs_to_one_statement(text):
    lines = text.split("\n")
    covered = [n for s in statements(lines) for n in range(s.first, s.last + 1)]
    assert covered == list(range(len(lines)))


def test_a_list_that_is_not_closed_ends_where_the_next_statement_begins():
    lines = ['a = ["x",', ' "y"', "[table]", "b = [", "  1", "]", "c = 2"]
    assert statements(lines) == [
        Statement(0, 1, closed=False), Statement(2, 2, closed=True), Statement(3, 5, closed=True),
        Statement(6, 6, closed=True),
    ]  # fmt: skip


def test_what_was_meant():
    assert [header_of(line) for line in ("[items", " [[ raters ]", "[raters]", "items]", "a = 1")] == [
        "[items]", "[[raters]]", "[[raters]]", None, None,
    ]  # fmt: skip
    assert [key_of(line) for line in ("seed: 7", 'a."b c" = 1', "seed", "= 3", "# x")] == [
        "seed", 'a."b c"', "seed", None, None,
    ]  # fmt: skip
