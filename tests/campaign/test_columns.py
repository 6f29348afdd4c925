"""Columns that a campaign names and its table does not have: all of them at once, before anything is asked."""

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.spec.example import EXAMPLE, write_example
from ratewise.errors import ColumnsError, TableError


def test_all_columns_that_are_not_there_are_told_at_once(tmp_path):
    campaign, _ = write_example(str(tmp_path), table=True)
    text = EXAMPLE.replace('id = "id"', 'id = "idd"').replace('# features = ["length", "topic"]', 'features = ["top"]')
    text = text.replace('column = "judge"', 'column = "jugde"').replace('column = "human"', 'column = "humann"')
    (tmp_path / "campaign.toml").write_text(text)
    with pytest.raises(ColumnsError) as caught:
        Campaign.open(campaign).begin()
    told = [mistake.split("campaign.toml:")[1].split("; did")[0] for mistake in caught.value.mistakes]
    wanted = [
        ('id = "idd"', "items.id needs a column that is not there: items.csv has no column 'idd'"),
        ("features =", "items.features needs a column that is not there: items.csv has no column 'top'"),
        ('column = "jugde"', "rater 'judge' needs a column that is not there: items.csv has no column 'jugde'"),
        ('column = "humann"', "rater 'human' needs a column that is not there: items.csv has no column 'humann'"),
    ]
    for (start, sentence), said in zip(wanted, told, strict=True):
        line = next(n for n, one in enumerate(text.split("\n"), start=1) if one.startswith(start))
        assert said.split("; its")[0] == f"{line}: {sentence}"
    assert isinstance(caught.value, TableError)
    assert not (tmp_path / "campaign.sqlite").exists()
