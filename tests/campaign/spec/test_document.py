"""A campaign's file before its keys are looked at: what is not TOML, not text or not there; and where keys stand."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratewise.campaign.spec.example import EXAMPLE
from ratewise.campaign.spec.read import read_spec, spec_of
from ratewise.campaign.spec.spec import Goal, ItemsSpec, Spec
from ratewise.campaign.spec.toml import line_numbers, line_of
from ratewise.errors import SpecError
from ratewise.raters.keys import keys_of
from ratewise.raters.kinds import rater_keys


def refused(folder, text):
    """The mistakes in a text, without the folder's name; each is one line."""
    path = folder / "c.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SpecError) as caught:
        read_spec(str(path))
    assert all(mistake.isprintable() for mistake in caught.value.mistakes)
    return [mistake.removeprefix(f"{folder}/") for mistake in caught.value.mistakes]


SYNTAX = [
    ("seed = 7\nname = bot\n", "2:8: not TOML: invalid value; text needs quotes"),
    (
        "seed 7\n",
        "1:6: not TOML: expected '=' after a key in a key/value pair; a line is key = value, a [table] or a # comment",
    ),
    ("seed = 7\nseed = 8\n", "2:9: not TOML: cannot overwrite a value; the key stands there twice"),
    (
        "[goal]\n[items]\n[goal]\n",
        "3:6: not TOML: cannot declare ('goal',) twice; the table stands there twice, and every "
        "rater begins with [[raters]]",
    ),
    ('seed = 7\nname = "a\n', "2:10: not TOML: illegal character '\\n'"),
    ("seed = 7\n\x00\n", "2:1: not TOML: invalid statement"),
    ("seed = 7\nx = [1,\n\n", "2: not TOML: invalid value; a bracket or a quote is not closed"),
    ("seed = 2026-13-45T00:00:00Z", "1:"),
]


@pytest.mark.parametrize(("text", "start"), SYNTAX)
def test_what_is_not_toml_is_told_with_line_and_column(tmp_path, text, start):
    [mistake] = refused(tmp_path, text)
    assert mistake.startswith(f"c.toml:{start}")


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("[items]", "[items"), ("[goal]", "[goal]]"), ("[[raters]]\nname", "[[raters]\nname"),
        ('kind = "binary"', "kind = binary"), ('budget = "200"', 'budget = "200'), ("seed = 7", "seed: 7"),
        ('price = "1"', 'price = "1" # ok\n   price = "1"'), ('table = "items.csv"', "table = items.csv"),
        ("seed = 7", "seed = 7\n\x00"), ("seed = 7", 'seed = 7\nname = """bot'), ("seed = 7", "seed = 7\r\nname = b"),
    ],
)  # fmt: skip
def test_a_slip_of_the_pen_is_told_where_it_is(tmp_path, good, bad):
    [mistake] = refused(tmp_path, EXAMPLE.replace(good, bad, 1))
    wrong = next(n for n, line in enumerate(EXAMPLE.split("\n"), start=1) if good.split("\n")[0] in line)
    assert wrong <= int(mistake.split(":")[1]) <= wrong + 1, mistake


def test_hostile_values_are_refused_in_plain_words(tmp_path):
    assert "nested too deeply" in refused(tmp_path, "x = " + "[" * 50_000)[0]
    assert "cannot be read: exceeds the limit" in refused(tmp_path, "seed = " + "9" * 5000)[0]
    assert (
        "seed must be a whole number from 0 to 2^63 − 1; got a number of more than 20 digits"
        in refused(tmp_path, "seed = 0x" + "f" * 5000)[0]
    )
    assert "larger than 256 KiB" in refused(tmp_path, "#" * 300_000)[0]
    huge = "0x" + "f" * 5000
    junk = f"[goal]\nbudget = {huge}\ntarget_se = {huge}\n[[raters]]\nname = {huge}\nprice = {huge}\ntimeout = {huge}\n"
    assert len([m for m in refused(tmp_path, junk) if "more than 20 digits" in m]) == 5
    deep = ".".join("a" * 2000)
    assert any(m.startswith("c.toml:1: a is unknown") for m in refused(tmp_path, f"{deep} = 1\n"))
    many = "".join(f"k{n} = 1\n" for n in range(2000))
    assert len(refused(tmp_path, many)) == 2000 + 5  # and what is missing


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(
        SpecError, match=r"no\.toml does not exist; check the path, or write an example with `ratewise init`"
    ):
        read_spec(tmp_path / "no.toml")
    with pytest.raises(SpecError, match="is a directory; give the path of the TOML in it"):
        read_spec(tmp_path)
    with pytest.raises(SpecError, match="not a regular file"):
        read_spec("/dev/null")
    with pytest.raises(SpecError, match="cannot be read"):
        read_spec("a\0b")
    assert refused(tmp_path, b"seed = 7\n# caf\xe9\n") == [
        "c.toml:2: the file is not UTF-8 text; save it in that encoding"
    ]
    assert "is not UTF-8 text" in refused(tmp_path, "seed = 7".encode("utf-16"))[0]


def test_a_file_of_someone_else(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(SpecError, match=r"c\.toml may not be read; ask its owner for the permission"):
        read_spec(tmp_path / "c.toml")


def test_lines_are_found_in_any_way_of_writing():
    text = '''\
a = """
b = 1
"""
b = [ # ] "
  ["c"],
  [1]
]
"c d".e = { f = 1 }
[ g . "h" ]
i = 'x # [' # ]
[[ r ]]
j = 1
[[r]]
j = 2
[r.sub]
k = 1
[[r.list]]
[[r.list]]
l = 1
'''
    lines = line_numbers(text)
    assert lines[("a",)] == 1
    assert lines[("b",)] == 4
    assert lines[("c d",)] == lines[("c d", "e")] == 8
    assert lines[("g",)] == lines[("g", "h")] == 9
    assert lines[("g", "h", "i")] == 10
    assert (lines[("r", 0)], lines[("r", 0, "j")], lines[("r", 1)], lines[("r", 1, "j")]) == (11, 12, 13, 14)
    assert lines[("r", 1, "sub", "k")] == 16
    assert (lines[("r", 1, "list", 0)], lines[("r", 1, "list", 1, "l")]) == (17, 19)
    assert line_of(("c d", "e", "f"), lines) == 8  # an inline table: the line it stands on
    assert line_of(("zzz",), lines) is None


def mistakes_in(path):
    try:
        read_spec(path)
    except SpecError as error:
        return error.mistakes
    return ()


LEGAL = sorted(
    {name for record in (Spec, ItemsSpec, Goal) for name in keys_of(record)}
    | set(rater_keys())
    | {"items", "goal", "raters", "low"}
)
junk = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.datetimes(), st.dates()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(LEGAL) | st.text(max_size=3), inner),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(LEGAL), junk))
def test_junk_is_refused_in_lines_that_can_be_printed(document):
    with pytest.raises(SpecError) as caught:
        spec_of(document, "c.toml")
    assert all(mistake.isprintable() for mistake in caught.value.mistakes)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(EXAMPLE)), st.integers(0, 200), st.text(max_size=3))
def test_a_damaged_file_is_read_or_refused(tmp_path, start, length, instead):
    path = tmp_path / "c.toml"
    path.write_text(EXAMPLE[:start] + instead + EXAMPLE[start + length :], encoding="utf-8", newline="")
    assert all(mistake.isprintable() for mistake in mistakes_in(path))
