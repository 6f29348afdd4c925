"""Lines of keys in a TOML, for messages."""

from ratewise.campaign.spec.toml import line_numbers, line_of

TEXT = '''name = "c"
note = """
[no] = "table"
"""
[goal]
budget = [ # one
  1,
]
[[raters]]
name = "a"
[[raters]]
"odd key".deep = 1
'''


def test_every_key_has_its_line():
    lines = line_numbers(TEXT)
    assert lines["name",] == 1
    assert lines["goal", "budget"] == 6
    assert (lines["raters", 0, "name"], lines["raters", 1]) == (10, 11)
    assert lines["raters", 1, "odd key", "deep"] == 12
    assert ("no",) not in lines  # it stands in a text


def test_a_key_that_is_missing_has_the_line_of_its_table():
    lines = line_numbers(TEXT)
    assert line_of(("goal", "target_se"), lines) == 5
    assert line_of(("items", "table"), lines) is None
