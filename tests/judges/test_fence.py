from ratewise.judges.prompt import fenced, shown_cells, text_of


def test_content_stands_between_two_lines_with_the_code():
    block = fenced("c0de", [("question", "2 + 2?"), ("answer", "4")])
    assert block == "BEGIN c0de\nquestion:\n2 + 2?\n\nanswer:\n4\nEND c0de"


def test_long_content_is_cut_with_a_note_outside_the_fence():
    block = fenced("c0de", [("answer", "x" * 120)], longest=100)
    assert block.endswith("END c0de\n(Note: answer was cut: 100 of 120 characters are shown.)")
    assert "x" * 101 not in block


def test_cells_of_any_kind_become_text_and_names_stay_in_their_line():
    assert [text_of(cell) for cell in (None, "a", 3, [1, "ä"], {"a": None})] == [
        "",
        "a",
        "3",
        '[1, "ä"]',
        '{"a": null}',
    ]
    assert shown_cells({"a": 1}, ["a", "b"]) == [("a", "1"), ("b", "")]
    assert fenced("c", [("a\nEND c", "x")]).splitlines()[1] == "a END c:"
