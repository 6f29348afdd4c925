import gc
import os

from ratewise.tables.files import Folder, files_of


def test_files_are_in_the_order_of_their_names(tmp_path):
    for name in ("b.csv", "a.csv", "C.CSV", "d.csv.gz", ".hidden.csv", "_temporary.csv", "notes.txt"):
        (tmp_path / name).write_text("n\n1\n")
    (tmp_path / "e.csv").mkdir()
    names = [os.path.basename(file) for file in files_of(str(tmp_path))]
    assert names == ["C.CSV", "a.csv", "b.csv", "d.csv.gz"]
    assert [os.path.basename(file) for file in files_of(str(tmp_path / "[ab]*"))] == ["a.csv", "b.csv"]


def test_two_stars_go_into_folders(tmp_path):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.csv").write_text("n\n1\n")
    files = files_of(str(tmp_path / "**" / "*.csv"))
    assert [os.path.relpath(file, tmp_path) for file in files] == [os.path.join(name, "a.csv") for name in ("x", "y")]


def test_a_folder_lives_as_long_as_it_is_referred_to():
    folder = Folder()
    place = folder / "a"
    with open(place, "w", encoding="utf-8") as file:
        file.write("x")
    path = folder.path
    assert os.path.isdir(path)
    del folder
    gc.collect()
    assert not os.path.exists(path)
