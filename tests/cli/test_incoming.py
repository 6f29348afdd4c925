"""`export --questions` and `import` as a user types them."""

import json

from ..web.making import write


def test_out_and_back_and_what_is_wrong_is_one_line(tmp_path, run):
    write(tmp_path).run(wait=False)
    toml, tasks, labels = (str(tmp_path / name) for name in ("c.toml", "tasks.json", "labels.json"))
    said = run("export", toml, "--questions", "-o", tasks).out
    assert "tasks.xml" in said
    assert "ratewise import c.toml" in said
    asked = json.loads((tmp_path / "tasks.json").read_text())
    rows = [
        {**task["data"], "id": n, "annotator": 1, "annotation_id": n, "lead_time": 2.0, "rating": "Yes"}
        for n, task in enumerate(asked[:3])
    ]
    (tmp_path / "labels.json").write_text(json.dumps(rows))
    found = run("import", toml, labels, "--json").document
    assert (found["taken"], found["still_open"]) == (3, len(asked) - 3)
    assert "0 labels taken (3 there already)" in run("import", toml, labels).out
    more = run("export", toml, "--questions", "-o", str(tmp_path / "more.csv"), "--json").document
    assert more["questions"] == len(asked) - 3
    (tmp_path / "own.csv").write_text("id,rating\nnone,yes\n")
    for words, word in (
        (("import", toml, str(tmp_path / "own.csv")), "--leave-out"),
        (("import", toml, str(tmp_path / "gone.json")), "gone.json"),
        (("export", toml, "-o", str(tmp_path / "x.csv"), "--hold", "3"), "--questions"),
        (("export", toml, "-o", str(tmp_path / "x.csv"), "--questions", "--ledger"), "--ledger"),
    ):
        refused = run(*words)
        assert (refused.code, word in refused.err) == (2, True)
        assert len(refused.err.strip().splitlines()) == 1
