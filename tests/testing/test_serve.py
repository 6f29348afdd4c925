import csv

from ratewise.testing.hidden_rule import HiddenRule, content_of, made_up_rows
from ratewise.testing.judge_server import main


def test_a_table_of_items_with_what_people_say(tmp_path):
    main(["--table", str(tmp_path / "items.csv"), "--items", "50", "--only-table"])
    with open(tmp_path / "items.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows == made_up_rows(50, HiddenRule())
    assert len({row["answer"] for row in rows}) == 50
    assert {row["human"] for row in rows} == {"0", "1"}
    shown = [("question", rows[0]["question"]), ("answer", rows[0]["answer"])]
    assert rows[0]["human"] == str(HiddenRule().truth(content_of(shown)))
