"""The report as Markdown: the sentence first, tables, and nothing that the items' words could make of it."""

import re

from ratewise.core.document import as_html, as_markdown, as_sentence, escaped, grid_of
from ratewise.report.campaign import snapshot_markdown
from ratewise.report.words import finding

from ..campaign.making import judged, ran, scored


def test_the_sentence_comes_first_and_words_of_items_are_escaped(tmp_path):
    columns = judged(300)
    columns["topic"] = ["a|b" if i % 2 else "[x](javascript:1)" for i in range(300)]
    campaign = ran(tmp_path, columns, goal='budget = "90"', items='features = ["topic"]')
    with campaign.look() as now:
        text, said = snapshot_markdown(now), finding(now.spec, now.status.lead)
    assert text.splitlines()[0].startswith("c, ")
    assert text.splitlines()[2] == f"# {escaped(said.rstrip('.'))}"
    assert "## Round by round" in text
    assert "a\\|b" in text
    assert "[x](" not in text
    assert "ratewise verify c.toml --head" in text


def test_raters_of_a_chain_are_named_with_their_worth(tmp_path):
    raters = (("judge", "0.02"), ("expert", "0.3"), ("human", "1"))
    columns = scored(400, mid=4.0, weak=4.0)
    campaign = ran(tmp_path, columns, rating='kind = "score"\nlow = 1\nhigh = 9', raters=raters, goal='budget = "60"')
    with campaign.look() as now:
        text, worth = snapshot_markdown(now), now.worth
    assert len(worth) == 2
    assert f"\n\n- {escaped(as_sentence(worth[0]))}\n- {escaped(as_sentence(worth[1]))}" in text


def test_tables():
    grid = grid_of(("a", "b"), [("x", "<1")])
    assert as_markdown([grid]).splitlines() == ["| a | b |", "| --- | ---: |", "| x | \\<1 |"]
    assert [re.sub("<[^>]*>", "", cell) for cell in re.findall("<t[dh].*?</t[dh]>", as_html([grid]))] == [
        "a", "b", "x", "&lt;1",
    ]  # fmt: skip
