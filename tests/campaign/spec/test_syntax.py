"""Every mistake of a campaign's file at once, each with its line: also where it is not TOML."""

import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratewise.campaign.spec.example import EXAMPLE
from ratewise.campaign.spec.spec import read_spec
from ratewise.campaign.spec.toml import parse_all
from ratewise.errors import SpecError


def refused(folder, text):
    """(line, what) of every mistake."""
    path = folder / "c.toml"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(SpecError) as caught:
        read_spec(path)
    bare = [mistake.removeprefix(f"{folder}/c.toml:") for mistake in caught.value.mistakes]
    return [(int(mistake.split(":")[0]), mistake.partition(": ")[2]) for mistake in bare]


BAD = """\
seed = seven
colour = "blue"
[items
table = "items.csv"
features = ["a",
[rating]
kind = binary
[goal]
budgett = "200"
budget = "200
[goal]
deadline = "soon"
[[raters]
name = "judge"
kind: "column"
colum = "judge"
price = "0.01"
price = "0.02"
[[raters]]
name = "human"
kind = "colum"
price = "-1"
"""


def test_every_mistake_is_told_at_once(tmp_path):
    found = refused(tmp_path, BAD)
    assert [line for line, _ in found] == [1, 2, 3, 5, 7, 9, 10, 11, 13, 15, 16, 18, 21, 22]
    said = dict(found)
    assert said[1] == "not TOML: invalid value; text needs quotes"
    assert said[2].startswith("colour is unknown")
    assert said[5] == "not TOML: invalid value; a bracket or a quote is not closed"
    assert said[9] == "goal.budgett is unknown; did you mean 'budget'?"
    assert said[10] == "not TOML: illegal character '\\n'; the quote is not closed"
    assert said[11].startswith("not TOML: cannot declare ('goal',) twice")
    assert said[16] == "raters.judge.colum is unknown; did you mean 'column'?"
    assert said[18] == "not TOML: cannot overwrite a value; the key stands there twice"
    assert said[21].endswith('got the text "colum"; did you mean "column"?')
    assert said[22].startswith("raters.human.price must be an amount of 0 or more")


def test_one_slip_of_the_pen_is_one_mistake(tmp_path):
    for good, bad in [
        ("[items]", "[items"), ("[goal]", "[goal]]"), ("[[raters]]\nname", "[[raters]\nname"),
        ('kind = "binary"', "kind = binary"), ('budget = "200"', 'budget = "200'), ("seed = 7", "seed: 7"),
        ('price = "1"', 'price = "1" # ok\n   price = "1"'), ('table = "items.csv"', 'table = items.csv'),
        ("seed = 7", "seed = 7\n\x00"), ("seed = 7", 'seed = 7\nname = """bot'),
    ]:  # fmt: skip
        assert good in EXAMPLE
        found = refused(tmp_path, EXAMPLE.replace(good, bad, 1))
        assert len(found) == 1, (bad, found)
        wrong = next(n for n, line in enumerate(EXAMPLE.split("\n"), start=1) if good.split("\n")[0] in line)
        assert wrong <= found[0][0] <= wrong + 1, (bad, found)


def test_windows_lines_and_lists_over_many_lines_keep_their_numbers(tmp_path):
    text = 'seed = 7\r\n[items]\r\ntable = "t.csv"\r\nfeatures = [\r\n "a", # ]\r\n b,\r\n]\r\nid = 3\r\n'
    assert [line for line, _ in refused(tmp_path, text)] == [6, 8]


def test_what_cannot_be_mended_is_still_told(tmp_path):
    assert refused(tmp_path, "x = " + "[" * 5_000)[0][1].startswith("lists or tables are nested too deeply")
    [(line, what)] = refused(tmp_path, "seed = 7\nname = " + "9" * 5000)
    assert (line, what.split(" (")[0]) == (2, "a value cannot be read: exceeds the limit")
    lines = "".join(f"line {n} is prose\n" for n in range(500))
    assert 50 <= len(refused(tmp_path, lines)) <= 60


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(EXAMPLE)), st.integers(0, 60), st.text(alphabet="[]{}\"'=\n#\\,. a1\r\x00é", max_size=12))
def test_damaged_files_are_read_to_their_end(start, length, instead):
    text = EXAMPLE[:start] + instead + EXAMPLE[start + length :]
    read = parse_all(text)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assert read.wrong
        assert all(1 <= line <= text.count("\n") + 1 for line, _ in read.wrong)
    else:
        assert (read.values, read.wrong) == (values, ())


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="[]{}\"'=\n#\\,. a1\r\x00é", max_size=80))
def test_hostile_texts_end(text):
    read = parse_all(text)
    assert read.wrong or read.values == tomllib.loads(text)
