"""The paper's datasets, from small files in the publishers' form; values worked out by hand."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from ratewise import InputError
from ratewise.errors import TableError
from ratewise.lab.datasets import (
    PUBLISHED,
    WHERE,
    load_aqa,
    load_arena,
    load_imagenet,
    load_seahorse,
    stand_in,
)
from ratewise.tables import read_table

REAL = Path(os.environ.get("RATEWISE_DATA") or Path(__file__).parents[2].parent / "shared" / "data")
GPT, CLAUDE = "gpt-4-1106-preview", "claude-2.1"


def written(path, rows, *, line_end="\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator=line_end).writerows(rows)


def changed(path, old, new):
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new).encode())


def complaint(load, *args, **options):
    """The message of the TableError: one line."""
    with pytest.raises(TableError) as caught:
        load(*args, **options)
    message = str(caught.value)
    assert message.isprintable()
    return message


# ImageNet


@pytest.fixture
def imagenet(tmp_path):
    predictions = [("00000293", 394, 0.5530332327), ("00002138", 0, 0.8365915418), ("00006007", 111, 0.6011706591)]
    labels = [("00006007", 1), ("00000293", 0), ("00002138", 0), ("00000262", 1)]  # in another order, and one more
    named = "ILSVRC2012_val_{}.JPEG".format
    written(
        tmp_path / "model_predictions/base/ResNet50.csv",
        [("file_name", "predicted_class", "predicted_probability"), *((named(i), *rest) for i, *rest in predictions)],
    )
    written(
        tmp_path / "imagenet_x/annotations/filename_label.csv",
        [("file_name", "label"), *((named(i), label) for i, label in labels)],
    )
    return tmp_path


def test_imagenet_is_right_where_prediction_and_label_agree(imagenet):
    data = load_imagenet(imagenet)
    assert data.weak.tolist() == [0.5530332327, 0.8365915418, 0.6011706591]
    assert data.strong.tolist() == [0, 1, 0]
    assert data.transfer is None
    assert "paper" not in data.source  # it does not say which model it took
    assert "which ResNet it took is unknown" in data.differs
    assert "3 ImageNet" in data.source


def test_imagenet_without_subfolders(imagenet):
    for path in list(imagenet.rglob("*.csv")):
        path.rename(imagenet / path.name)
    assert load_imagenet(str(imagenet)).strong.tolist() == [0, 1, 0]


def test_imagenet_complaints(imagenet):
    predictions = imagenet / "model_predictions/base/ResNet50.csv"
    labels = imagenet / "imagenet_x/annotations/filename_label.csv"
    changed(labels, "val_00002138", "val_99999999")
    message = complaint(load_imagenet, imagenet)
    assert "filename_label.csv has no label for 1 of 3 items, such as 'ILSVRC2012_val_00002138.JPEG'" in message
    changed(predictions, "0.8365915418", "83.65915418")
    changed(labels, "val_99999999", "val_00002138")
    message = complaint(load_imagenet, imagenet)
    assert "must be from 0 to 1; it is 83.6592 for 'ILSVRC2012_val_00002138.JPEG'" in message
    changed(predictions, "predicted_probability", "score")
    assert "has no column 'predicted_probability'" in complaint(load_imagenet, imagenet)
    labels.unlink()
    message = complaint(load_imagenet, imagenet)
    assert f"{imagenet} has no filename_label.csv" in message
    assert WHERE["imagenet"] in message


# Chatbot Arena


VOTES = [
    (
        "id",
        "model_a",
        "model_b",
        "prompt",
        "response_a",
        "response_b",
        "winner_model_a",
        "winner_model_b",
        "winner_tie",
    ),
    (30192, GPT, CLAUDE, '["Is it, ""morally"", right?"]', '["Yes, and\nno."]', '["Ça dépend 🙂"]', 1, 0, 0),
    (53567, CLAUDE, GPT, '["two\r\nlines"]', '["a"]', '[null,"b"]', 1, 0, 0),
    (65089, "koala-13b", GPT, '["x,y"]', '["a"]', '["b"]', 0, 1, 0),
    (96401, CLAUDE, GPT, '["x"]', '["a"]', '["b"]', 0, 0, 1),
    (198779, GPT, CLAUDE, '["x"]', '["a"]', '["b"]', 0, 1, 0),
    (292873, "vicuna-13b", "koala-13b", '["x"]', '["a"]', '["b"]', 0, 0, 1),
    (313413, CLAUDE, "koala-13b", '["x"]', '["a"]', '["b"]', 1, 0, 0),
    (361012, CLAUDE, GPT, '["x"]', '["a"]', '["b"]', 0, 1, 0),
]
WEAK = {
    30192: 0.75,
    53567: 0.25,
    65089: 0.125,
    96401: 0.5,
    198779: 0.0,
    292873: 0.625,
    313413: 1.0,
    361012: 0.375,
}


@pytest.fixture
def arena(tmp_path):
    written(tmp_path / "train.csv", VOTES)
    written(tmp_path / "ratings.csv", [("id", "weak"), *reversed(WEAK.items())])
    return tmp_path


def test_arena_is_turned_so_that_the_first_model_wins(arena):
    data = load_arena(arena)
    assert data.weak.tolist() == [0.75, 0.75, 0.5, 0.0, 0.625]
    assert data.strong.tolist() == [1, 0, 0.5, 0, 1]
    assert [part.tolist() for part in data.transfer] == [[0.125, 0.625, 1.0], [0, 0.5, 1]]
    assert f"5 comparisons of {GPT} (wins) with {CLAUDE}" in data.source
    assert "the human vote" in data.source


def test_a_better_rater_replaces_the_human_vote(arena):
    rows = [(i, weak, 1 if i in {53567, 292873} else 0.0) for i, weak in WEAK.items()]
    written(arena / "ratings.csv", [("id", "weak", "strong"), *rows])
    data = load_arena(arena)
    assert data.strong.tolist() == [0, 0, 1, 0, 1]
    assert data.transfer[1].tolist() == [0, 1, 0]
    assert "your own strong rating" in data.source


def test_transfer_is_what_has_a_score(arena):
    only = {30192, 53567, 96401, 198779, 361012}
    written(arena / "ratings.csv", [("id", "weak"), *((i, w) for i, w in WEAK.items() if i in only | {313413})])
    assert [part.tolist() for part in load_arena(arena).transfer] == [[1.0], [1.0]]
    written(arena / "ratings.csv", [("id", "weak"), *((i, w) for i, w in WEAK.items() if i in only)])
    assert load_arena(arena).transfer is None


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("ratings.csv", "53567,0.25", "53568,0.25", "no weak rating for 1 of 5 items, such as '53567'"),
        ("ratings.csv", "53567,0.25", "53567,", "no weak rating for 1 of 5 items, such as '53567'; every item needs"),
        ("ratings.csv", "53567,0.25", "53567,low", "text where a number belongs: 'low'"),
        ("ratings.csv", "53567,0.25", "53567,-2", "from 0 to 1; it is -2 for '53567' (1 of 8 are outside): give prob"),
        ("ratings.csv", "53567,0.25", "96401,0.25", "has the id '96401' twice; rate every item once"),
        ("ratings.csv", "id,weak", "id,week", "ratings.csv has no column 'weak'; did you mean 'week'?"),
        ("train.csv", 'null,""b""]",1,0,0', 'null,""b""]",1,1,0', "1 rows have not, such as id '53567': get the file"),
        ("train.csv", "winner_tie", "tie", "train.csv has no column 'winner_tie'"),
    ],
)
def test_arena_complaints(arena, file, old, new, expected):
    changed(arena / file, old, new)
    assert expected in complaint(load_arena, arena)


def test_an_unknown_pair_is_told_which_there_are(arena):
    changed(arena / "train.csv", CLAUDE, "claude-9")
    message = complaint(load_arena, arena)
    assert f"no comparison of '{GPT}' with '{CLAUDE}'; choose one of claude-9 against {GPT} (5 rows), " in message


# Attributed QA


PASSAGE = 'Title: Jason Flemyng\nSection: Television, film\n\nHe said: "It was a bit of a nightmare…", 2003.'
ANSWERS = [
    ("system_name", "question", "answer", "attribution", "passage", "human_rating", "auto_ais", "nli_score"),
    ("Post-4", "who played hyde", "Jason Flemyng", "http://en.wikipedia.org/wiki/X#1", PASSAGE, "Y", "Y", 0.9814687),
    ("Post-4", "who sang it", "Zoë", "http://en.wikipedia.org/wiki/X#2", PASSAGE, "Y", "N", 0.25),
    ("RTR-10", "who played hyde", "Flemyng, J.", "http://en.wikipedia.org/wiki/X#3", PASSAGE, "Y", "Y", 0.75),
    ("RTR-10", "who sang it", "Zoë", "http://en.wikipedia.org/wiki/X#4", PASSAGE, "N", "Y", 0.625),
    ("RTR-10", "what is π", "3", "http://en.wikipedia.org/wiki/X#5", PASSAGE, "Y", "N", 0.125),
    ("RTR-10", "not rated", "3", "http://en.wikipedia.org/wiki/X#6", PASSAGE, "", "N", 0.5),
    ("RTR-2", "who played hyde", "Hyde", "http://en.wikipedia.org/wiki/X#7", PASSAGE, "N", "N", 0.0625),
    ("RTR-2", "who sang it", "Zoë", "http://en.wikipedia.org/wiki/X#8", PASSAGE, "Y", "Y", 0.5625),
    ("LLM-1", "who sang it", "nobody", "", "", "N", "N", 0.0),
]


@pytest.fixture(params=["\n", "\r\n"])
def aqa(tmp_path, request):
    written(tmp_path / "ratings.csv", ANSWERS, line_end=request.param)
    return tmp_path


def test_aqa_takes_the_best_retrieve_then_read_system(aqa):
    data = load_aqa(aqa)  # Post-4 has mean 1, RTR-10 2/3, RTR-2 1/2
    assert data.weak.tolist() == [0.75, 0.625, 0.125]
    assert data.strong.tolist() == [1, 0, 1]
    assert "3 answers of the system RTR-10 (the best human rating of the RTR systems" in data.source


def test_aqa_takes_the_best_of_all_if_no_name_tells_the_architecture(aqa):
    changed(aqa / "ratings.csv", "RTR-", "Reader-")
    data = load_aqa(aqa)
    assert data.weak.tolist() == [0.9814687, 0.25]
    assert "Post-4 (the best human rating of all systems" in data.source


def test_aqa_without_scores_takes_the_verdicts(aqa):
    written(aqa / "ratings.csv", [row[:-1] for row in ANSWERS])
    data = load_aqa(aqa)
    assert data.weak.tolist() == [1, 1, 0]
    assert "published auto_ais" in data.source


def test_aqa_complaints(aqa):
    changed(aqa / "ratings.csv", "N,Y,0.625", "N,Y,")
    assert "no nli_score for 1 of 3 items, such as 'who sang it'; every item needs one" in complaint(load_aqa, aqa)
    changed(aqa / "ratings.csv", "N,Y,", "N,Y,much")
    assert "text where a number belongs: 'much'" in complaint(load_aqa, aqa)
    changed(aqa / "ratings.csv", "human_rating", "rating")
    assert "has no column 'human_rating'" in complaint(load_aqa, aqa)
    written(aqa / "ratings.csv", [ANSWERS[0], (*ANSWERS[1][:5], "yes", "Y", 0.5)])
    message = complaint(load_aqa, aqa)
    assert "has no Y or N" in message
    assert WHERE["aqa"] in message


# SEAHORSE


HEAD = ("gem_id", "worker_lang", "summary", "model", *(f"question{number}" for number in range(1, 7)))
SUMMARIES = [
    HEAD,
    ("xlsum_english-validation-6416", "en-US", "Schools are urged, again.", "t5_base", *["Yes"] * 6),
    ("xlsum_english-test-1", "en-US", '"Unbalanced at the start', "mt5_xxl", "Yes", "Yes", "Yes", "Yes", "No", "No"),
    ("mlsum_de-test-2", "de", '"Noch einer: „Größe“', "mt5_xxl", "Yes", "Yes", "Yes", "No", "No", "No"),
    ("xsum-test-3", "en-US", 'He said "so".', "mt5_xxl", "Yes", "Yes", "Yes", "Unsure", "No", "No"),
    ("xlsum_vietnamese-test-4", "vi", "Việt Nam", "mt5_xxl", "No", "", "", "", "", ""),
    ("wiki_lingua_turkish_tr-test-5", "tr", "Facebook’ı aç.\u2028Bul.", "mt5_xxl", *["Yes"] * 6),
    ("xlsum_english-test-1", "en-US", "Another model, same article.", "mt5_small_250steps", *["Yes"] * 6),
]
SCORES = [("xlsum_english-test-1", 0.875), ("mlsum_de-test-2", 0.5), ("wiki_lingua_turkish_tr-test-5", 0.25)]


def tabbed(path, rows, *, line_end="\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join("\t".join(row) + line_end for row in rows).encode())


@pytest.fixture(params=["test.tsv", "seahorse_data/test.tsv"])
def seahorse(tmp_path, request):
    tabbed(tmp_path / request.param, SUMMARIES)
    written(tmp_path / "ratings.csv", [("gem_id", "weak"), *SCORES])
    return tmp_path


def test_seahorse_reads_attribution_of_one_model(seahorse):
    data = load_seahorse(seahorse)
    assert data.weak.tolist() == [0.875, 0.5, 0.25]
    assert data.strong.tolist() == [1, 0, 1]
    assert "test set, 3 summaries by mt5_xxl (2 more without a Yes or No left out)" in data.source


def test_seahorse_with_quoted_cells_and_windows_lines(tmp_path):
    quoted = [list(row) for row in SUMMARIES]
    quoted[2][2] = 'Two\nlines,\t"quoted"\r\nand more'
    with open(tmp_path / "test.tsv", "w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, "excel-tab").writerows(quoted)
    written(tmp_path / "ratings.csv", [("gem_id", "weak"), *SCORES])
    assert load_seahorse(tmp_path).strong.tolist() == [1, 0, 1]
    with open(tmp_path / "test.tsv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, "excel-tab", quoting=csv.QUOTE_ALL).writerows(SUMMARIES)
    assert load_seahorse(tmp_path).weak.tolist() == [0.875, 0.5, 0.25]
    tabbed(tmp_path / "test.tsv", SUMMARIES, line_end="\r\n")
    assert load_seahorse(tmp_path).strong.tolist() == [1, 0, 1]


def test_seahorse_joins_on_the_model_too(seahorse):
    rows = [(article, "mt5_xxl", score) for article, score in SCORES]
    others = [("xlsum_english-test-1", "mt5_small_250steps", 0.0625)]
    written(seahorse / "ratings.csv", [("gem_id", "model", "weak"), *others, *rows])
    assert load_seahorse(seahorse).weak.tolist() == [0.875, 0.5, 0.25]


def test_seahorse_complaints(seahorse):
    table = next(seahorse.rglob("test.tsv"))
    changed(table, "mt5_xxl", "mt5_xl")
    message = complaint(load_seahorse, seahorse)
    assert "no summary by the model 'mt5_xxl'; choose one of mt5_xl (5 rows), t5_base (1 rows), mt5_small" in message
    changed(table, "mt5_xl", "mt5_xxl")
    changed(seahorse / "ratings.csv", "mlsum_de-test-2", "mlsum_de-test-9")
    assert "no weak rating for 1 of 3 items, such as 'mlsum_de-test-2'" in complaint(load_seahorse, seahorse)
    changed(seahorse / "ratings.csv", "mlsum_de-test-9", "xlsum_english-test-1")
    message = complaint(load_seahorse, seahorse)
    assert "has the gem_id 'xlsum_english-test-1' twice; rate every item once; add a column 'model'" in message
    changed(table, "question4", "attribution")
    assert "test.tsv has no column 'question4'" in complaint(load_seahorse, seahorse)
    tabbed(table, [HEAD, *(row for row in SUMMARIES if row[3] == "mt5_xxl" and row[7] in {"", "Unsure"})])
    assert "has no Yes or No for the model 'mt5_xxl'" in complaint(load_seahorse, seahorse)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "test.tsv is empty; unpack it again"),
        (b"gem_id\tmodel\n", "test.tsv has no rows"),
        (b"gem_id\tmodel\na\tb\nc\n", "row 2 has 1 cells where the header has 2 (rows are"),
        (b"gem_id\tmodel\na\t\xff\n", "test.tsv is not UTF-8 text; unpack it again"),
        (b'gem_id\tmodel\na\t"' + b"b\n" * 70_000, "cannot be read as tab-separated values: field larger"),
    ],
)
def test_broken_tab_separated_files(tmp_path, data, expected):
    (tmp_path / "test.tsv").write_bytes(data)
    assert expected in complaint(load_seahorse, tmp_path)


# All of them


def test_every_dataset_has_a_loader_and_a_place_to_get_it():
    assert list(PUBLISHED) == list(WHERE) == ["imagenet", "arena", "aqa", "seahorse"]
    for line in WHERE.values():
        assert line.isprintable()
        assert "https://" in line


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_not_there_is_told_where_to_get(name, tmp_path):
    assert WHERE[name] in complaint(PUBLISHED[name], tmp_path)
    missing = complaint(PUBLISHED[name], tmp_path / "nowhere")
    assert f"{tmp_path / 'nowhere'} is not a folder" in missing
    assert WHERE[name] in missing
    message = complaint(stand_in, name, tmp_path)
    assert f"{tmp_path} has no " in message
    assert f".parquet, the stand-in for {name}" in message
    assert WHERE[name] in message


def test_an_unknown_stand_in():
    with pytest.raises(InputError, match="unknown dataset 'mnist'; choose one of imagenet, arena, aqa, seahorse"):
        stand_in("mnist", ".")


# Real tables


def real(name, file):
    if not (REAL / file).exists():
        pytest.skip(f"{file} is not in {REAL}; set RATEWISE_DATA to the folder of the real tables")
    return stand_in(name, REAL)


@pytest.mark.parametrize(
    ("name", "file", "items", "mean", "mse", "own"),
    [  # items, mean(h) and MSE as published in the README of the tables
        ("imagenet", "imagenet_resnet50.parquet", 50000, 0.7613, 0.1238, True),
        ("aqa", "evouna_qa.parquet", 24788, 0.7778, 0.0553, False),
        ("seahorse", "summeval_llm.parquet", 4800, 4.0581, 1.4774, False),
    ],
)
def test_stand_ins(name, file, items, mean, mse, own):
    data = real(name, file)
    assert data.name == name
    assert data.weak.size == data.strong.size == items
    assert data.strong.mean() == pytest.approx(mean, abs=5e-5)
    assert ((data.strong - data.weak) ** 2).mean() == pytest.approx(mse, abs=5e-5)
    assert data.transfer is None
    assert data.source.startswith("A stand-in, not the paper's data") is not own
    assert data.differs  # why the paper may have found something else
    assert str(items) in data.source


def test_the_arena_stand_in_is_the_most_frequent_pair():
    data = real("arena", "chatbot_arena_33k.parquet")
    weak, strong = data.transfer
    assert data.weak.size == data.strong.size == 712
    assert weak.size == strong.size == 26919 - 712
    assert "712 comparisons of koala-13b (wins) with vicuna-13b" in data.source
    assert data.strong.sum() == 299  # 132.5 wins of koala-13b as model_a, 388 − 221.5 as model_b
    table = read_table(REAL / "chatbot_arena_33k.parquet")
    errors = (table.numbers("h") - table.numbers("g"))[table.texts("pair") == "koala-13b|vicuna-13b"]
    assert np.abs(data.strong - data.weak) == pytest.approx(np.abs(errors))  # only if both or neither are turned
