import pytest

from ratewise.judges.template import KINDS
from ratewise.testing.hidden_rule import made_up_rows, write_rows
from ratewise.testing.judge_server import JudgeServer


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_is_written_to_be_changed_and_never_overwritten(run, folder, kind):
    written = run("init", "--judge", kind, "--json")
    assert written.document == {"written": [f"{kind}-judge.txt"]}
    assert f"kind: {kind}" in (folder / f"{kind}-judge.txt").read_text()
    again = run("init", "--judge", kind)
    assert (again.code, again.out) == (2, "")
    assert "is there already" in again.err


def test_wrong_uses_are_one_line(run):
    for arguments, said in (
        (("init", "--judge", "nice"), "there is no judge 'nice'; choose one of binary, likert, score, pairwise"),
        (("init", "--judge", "binary", "--table"), "--judge writes a judge's template, and no campaign"),
        (
            ("judge", "-", "-o", "x.csv", "--judge", "binary", "--model", "m", "--base-url", "http://x/v1"),
            "needs files",
        ),
    ):
        found = run(*arguments)
        assert found.code == 2
        assert said in found.err
        assert found.err.count("\n") == 1


def test_a_table_is_judged_and_a_dry_run_asks_for_nothing(run, folder):
    with JudgeServer() as server:
        write_rows(folder / "items.csv", made_up_rows(12, server.rule))
        address = ("--model", "small-judge", "--base-url", server.base_url)
        common = ("--show", "question,answer", "--prices", "input=0.15,output=0.60", "--json")
        done = run(
            "judge", "items.csv", "-o", "out.csv", "--judge", "likert", "--low", "1", "--high", "5", *address, *common
        )
        assert done.code == 0, done.err
        assert (done.document["rated"], done.document["missing"]) == (12, 0)
        assert done.document["judge"]["priced"] == "as given"  # there is no TOML
        assert "pays for a strong rating" not in done.err  # to rate everything is what was asked for
        assert (folder / "out.csv").read_text().startswith("id,question,answer,human,judge,judge_uncertainty\n")
        lost = run("judge", "items.csv", "-o", "o.csv", "--judge", "likert", *address, *common)
        assert (lost.code, "write --low 1 --high 5" in lost.err) == (2, True)
        (folder / "c.toml").write_text(
            'seed = 1\n[items]\ntable = "items.csv"\n[rating]\nkind = "binary"\n[goal]\nbudget = "5"\n[[raters]]\n'
            f'name = "j"\nkind = "llm"\nmodel = "m"\nbase_url = "{server.base_url}"\njudge = "binary"\n'
            'show = ["answer"]\nprices = { input = "1", output = "1" }\n'
        )
        calls = server.billed.calls
        cost = run("run", "c.toml", "--dry-run", "--json")
        assert cost.document["calls"] == 12
        assert server.billed.calls == calls
        assert "12 ratings in 12 calls" in run("run", "c.toml", "--dry-run").out
