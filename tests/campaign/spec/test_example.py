"""The example that `ratewise init` writes: it can be read, shows every key, and its table is there."""

import re
from decimal import Decimal

import numpy as np
import pytest

from ratewise.campaign.spec.example import EXAMPLE, ROWS, made_up_items, write_example
from ratewise.campaign.spec.guess import begin_from
from ratewise.campaign.spec.read import TABLES, read_spec
from ratewise.campaign.spec.spec import Goal, InputsSpec, ItemsSpec, Spec, StartSpec
from ratewise.errors import InputError
from ratewise.raters.keys import keys_of
from ratewise.raters.kinds import rater_keys
from ratewise.raters.llm import LlmSettings
from ratewise.raters.people import PeopleSettings
from ratewise.raters.scale import RatingScale
from ratewise.tables import read_table

OPTION = re.compile(r"^# (\w+) = (.*)$", re.MULTILINE)


def test_it_is_a_campaign(tmp_path):
    written = write_example(str(tmp_path), table=False)
    assert written == (str(tmp_path / "campaign.toml"),)
    spec = read_spec(written[0])
    assert (spec.name, len(spec.raters), spec.goal.budget) == ("campaign", 2, Decimal(200))
    assert [(r.name, r.kind, r.column, str(r.price)) for r in spec.raters] == [
        ("judge", "column", "judge", "0.01"), ("human", "column", "human", "1"),
    ]  # fmt: skip
    assert spec.scale == RatingScale("binary")
    assert [path.name for path in tmp_path.iterdir()] == ["campaign.toml"]


def test_it_shows_every_key_and_fits_a_screen():
    for keys in (*map(keys_of, (Spec, ItemsSpec, InputsSpec, StartSpec, Goal)), rater_keys()):
        for key in {*keys} - {*TABLES, "teacher"}:
            assert re.search(rf"^(# )?{key} = ", EXAMPLE, re.MULTILINE), key
    assert max(map(len, EXAMPLE.split("\n"))) <= 120


KINDS = {
    "function": "python", "command": "command", "file": "recorded", "sheets": "sheet",
    "path": "trained", "device": "trained", "per_hour": "trained",
    **dict.fromkeys(keys_of(LlmSettings), "llm"), **dict.fromkeys(keys_of(PeopleSettings), "people"),
}  # fmt: skip
NEEDED = {"llm": ("model", "base_url", "judge", "show"), "trained": ("path",)}


@pytest.mark.parametrize("key", [match[1] for match in OPTION.finditer(EXAMPLE)])
def test_every_option_can_be_switched_on(tmp_path, key):
    text = EXAMPLE.replace(f"# {key} =", f"{key} =")
    if key in {"low", "high"}:
        text = EXAMPLE.replace("# low", "low").replace("# high", "high").replace('"binary"', '"likert"')
    if key in keys_of(InputsSpec):
        text = text.replace("# [inputs]", "[inputs]").replace("# strata =", "strata =")
    if key in keys_of(StartSpec):
        text = text.replace("# [start]", "[start]").replace("# labels =", "labels =")
    if key == "learner":
        text = text.replace("# text =", "text =")
    if key == "from":
        text = text.replace("# [start]", "[start]")
    if key in KINDS:
        text = text.replace('kind = "column" ', f'kind = "{KINDS[key]}" ').replace(
            '\ncolumn = "judge" ', '\n# column = "judge" '
        )
        for also in NEEDED.get(KINDS[key], ()):
            text = text.replace(f"# {also} =", f"{also} =")
    if key in {"a", "b"}:
        text = text.replace("# a =", "a =").replace("# b =", "b =")
    if key == "adjudicator":  # there is nothing to decide where one person votes
        text = text.replace("# votes = 1", "votes = 2")
    if key == "guidelines":
        (tmp_path / "guidelines.md").write_text("Read twice.")
    if key in {"kind", "by"}:
        text = text.replace("# [question]", "[question]").replace("# kind =", "kind =").replace("# by =", "by =")
    if key in {"prices", "price_column"}:
        text = text.replace('price = "0.01"', '# price = "0.01"')
    (tmp_path / "c.toml").write_text(text)
    spec = read_spec(tmp_path / "c.toml")
    shown = str(spec.to_dict())
    assert f"'{key}'" in shown


def test_the_defaults_it_names_are_the_defaults(tmp_path):
    (tmp_path / "campaign.toml").write_text(EXAMPLE)
    spec = read_spec(tmp_path / "campaign.toml")
    shown = {key: value.split("#")[0].strip() for key, value in OPTION.findall(EXAMPLE)}
    for key in ("method", "estimand"):
        assert shown[key] == f'"{getattr(spec, key)}"'
    assert float(shown["level"]) == spec.level
    for key in ("timeout", "attempts", "backoff"):
        assert float(shown[key]) == getattr(spec.strong, key)


def test_its_table_is_there_and_always_the_same(tmp_path):
    folder = tmp_path / "new" / "campaign"
    campaign, items = write_example(str(folder), table=True)
    spec = read_spec(campaign)
    assert str(spec.table_path) == items
    table = read_table(items)
    assert (table.rows, table.columns) == (ROWS, ("id", "prompt", "judge", "human"))
    assert len(set(table.texts("id"))) == ROWS
    assert all(prompt.endswith("?") for prompt in table.texts("prompt"))
    judge, human = table.numbers("judge"), table.numbers("human")
    assert ((judge >= 0) & (judge <= 1)).all()
    assert set(human) == {0.0, 1.0}
    assert abs(float(judge.mean() - human.mean())) < 4 * np.sqrt(
        0.16 / ROWS
    )  # 4 standard errors: the judge is calibrated
    np.testing.assert_array_equal(judge, made_up_items().numbers("judge"))


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "items.csv").write_text("mine")
    with pytest.raises(InputError, match=r"items\.csv is there already and is not overwritten; choose another folder"):
        write_example(str(tmp_path), table=True)
    assert not (tmp_path / "campaign.toml").exists()
    write_example(str(tmp_path), table=False)
    with pytest.raises(InputError, match=r"campaign\.toml is there already"):
        write_example(str(tmp_path), table=False)
    assert (tmp_path / "items.csv").read_text() == "mine"
    assert seedless((tmp_path / "campaign.toml").read_text()) == seedless(EXAMPLE)


def seedless(text):
    return re.sub(r"^seed = \d+ +#", "seed #", text, flags=re.MULTILINE)


def test_two_campaigns_have_two_seeds(tmp_path):
    """Else both would ask for the same items, unknown to those who compare them."""
    seeds = set()
    for name in ("one", "two", "three"):
        written = write_example(str(tmp_path / name), table=True)
        begun = begin_from(str(tmp_path / name / "items.csv"), str(tmp_path / name / "own.toml"))
        seeds |= {read_spec(path).seed for path in (written[0], begun.path)}
    assert len(seeds) == 6


def test_a_file_of_one_s_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert write_example("bot.toml", table=True) == ("bot.toml", "items.csv")
    assert read_spec("bot.toml").name == "bot"
    (tmp_path / "folder.toml").mkdir()
    assert write_example("folder.toml", table=False) == ("folder.toml/campaign.toml",)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    for bad in (str(tmp_path / "file" / "sub"), str(tmp_path / "file"), "a\0b"):
        with pytest.raises(InputError, match=r"cannot be made: .*; choose another folder"):
            write_example(bad, table=True)
