"""Campaigns with LLM judges, against the shipped server: estimates, money, faults, identity, secrets, dry runs."""

import html
import json
import sqlite3
from contextlib import closing
from decimal import Decimal

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.clients.callers import DOWN
from ratewise.campaign.cost import campaign_cost
from ratewise.campaign.judges import judge_table, judges_found, parsed_prices
from ratewise.cli.main import main
from ratewise.errors import InputError, OutsideError, RaterDownError
from ratewise.judges.prices import Usage, given_prices
from ratewise.report.campaign import campaign_page
from ratewise.tables import read_table
from ratewise.testing.hidden_rule import HiddenRule, made_up_rows, write_rows
from ratewise.testing.judge_server import FAULTS, Behaviour, JudgeServer

SECRET = "sk-verysecret-0123456789abcdef"
PRICES = given_prices({"input": Decimal("0.15"), "output": Decimal("0.6")})
JUDGE = """
[[raters]]
name = "judge"
kind = "llm"
model = "small-judge"
base_url = "{url}"
judge = "{judge}"
show = ["question", "answer"]
concurrency = 8
backoff = 0
{more}
"""
ONE_BY_ONE = JUDGE.replace("concurrency = 8", "concurrency = 1")  # so that no failure is heard before a good answer
HUMAN = '\n[[raters]]\nname = "human"\nkind = "column"\ncolumn = "human"\nprice = "1"\n'
TOP = 'seed = 7\n[items]\ntable = "items.csv"\n[rating]\nkind = "binary"\n[goal]\nbudget = "{budget}"\n'
COST = 'prices = { input = "0.15", output = "0.60" }\n'


@pytest.fixture(scope="module")
def running():
    with JudgeServer(HiddenRule(noise=0.5)) as server:
        yield server


@pytest.fixture
def server(running):
    running.behaviour = Behaviour()
    running.faults.queue.clear()
    running.faults.shares.clear()
    return running


@pytest.fixture
def campaign(tmp_path, server):
    def made(rows=120, more=COST, budget="25", raters=JUDGE + HUMAN, judge="binary", store="c.sqlite"):
        if not (tmp_path / "items.csv").exists():
            write_rows(tmp_path / "items.csv", made_up_rows(rows, server.rule, seed=3))
        judged = raters.replace("{url}", server.base_url).replace("{more}", more).replace("{judge}", judge)
        (tmp_path / "c.toml").write_text(f'store = "{store}"\n' + TOP.format(budget=budget) + judged)
        return Campaign.open(tmp_path / "c.toml")

    return made


def bill(server):
    return PRICES.cost(Usage(server.billed.input, server.billed.output))


def test_a_campaign_finds_the_truth_and_pays_what_the_server_bills(campaign, server):
    before = bill(server)
    opened = campaign(rows=200, budget="60")
    ended = opened.run()
    truth = sum(int(row["human"]) for row in made_up_rows(200, server.rule, seed=3)) / 200
    low, high = ended.estimate.interval
    assert low <= truth <= high
    assert ended.spent - ended.status.labels == bill(server) - before
    assert ended.status.servers == ()
    assert opened.verify().passed
    with opened.look() as now:
        (judge,) = judges_found(now)
        assert (judge.rated, judge.missing, judge.priced) == (200, 0, "TOML")
        x = now.state.history.looked.x
        assert x.uncertainty is not None  # by itself: no column was named
        assert x.uncertainty.std() > 0
    opened.export(path := opened.spec.folder / "out.csv")
    assert "uncertainty_judge" in read_table(str(path)).columns
    assert "its probabilities come from the decisions endpoint" in campaign_page(opened)


def test_what_fails_is_asked_again_and_every_attempt_is_in_the_ledger(campaign, server):
    server.faults.shares.update({"429": 0.05, "500": 0.08, "refusal": 0.03})
    before = bill(server)
    opened = campaign(more=COST + "attempts = 6\n")
    ended = opened.run()
    assert ended.status.failed_calls > 0
    assert ended.spent - ended.status.labels == bill(server) - before
    assert opened.verify().passed
    with closing(sqlite3.connect(opened.spec.folder / "c.sqlite")) as store:
        attempts = store.execute("SELECT COUNT(*) FROM ledger WHERE kind = 'settle' AND step = 0").fetchone()[0]
        missing = store.execute("SELECT COUNT(*) FROM ratings WHERE step = 0 AND state = 2").fetchone()[0]
    assert attempts == 120 + ended.status.failed_calls
    assert missing > 0  # refusals, counted


def test_the_key_is_written_nowhere_whatever_goes_wrong(campaign, server, tmp_path, monkeypatch, caplog, capsys):
    monkeypatch.setenv("JUDGE_KEY", SECRET)
    server.behaviour.key = SECRET
    server.behaviour.slow = 30.0
    said = []
    opened = campaign(rows=40, more=COST + 'key_env = "JUDGE_KEY"\ntimeout = 0.3\nattempts = 3\n', budget="10")
    server.faults.queue.extend([None, *FAULTS])
    opened.run()
    server.behaviour.key = "sk-another-key"  # from now on the server refuses the key, and repeats it
    (tmp_path / "c.toml").write_text((tmp_path / "c.toml").read_text().replace('budget = "10"', 'budget = "30"'))
    server._answered.clear()
    other = tmp_path / "other"
    other.mkdir()
    (other / "items.csv").write_bytes((tmp_path / "items.csv").read_bytes())
    (other / "c.toml").write_text((tmp_path / "c.toml").read_text())
    refused = Campaign.open(other / "c.toml")
    with pytest.raises(RaterDownError) as caught:
        refused.run()
    said += [str(caught.value), repr(caught.value), caplog.text, *capsys.readouterr()]
    trace = caught.value
    while trace is not None:
        said.append(repr(vars(trace)) + str(trace))
        trace = trace.__cause__ or trace.__context__
    for one in (opened, refused):
        said.append(campaign_page(one))
        said.append(one.status().summary())
        said += [text for _, text in one.notes()]
        one.export_folder(one.spec.folder / "out")
        one.backup(one.spec.folder / "copy.sqlite")
    assert "HTTP 401" in str(caught.value)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 12
    for path in files:
        assert SECRET.encode() not in path.read_bytes(), path
    assert all(SECRET not in text and SECRET[8:] not in text for text in said)


def test_an_endpoint_that_is_down_stops_the_campaign_and_the_next_run_goes_on(campaign, server):
    server.faults.queue.extend([None] * 10)
    opened = campaign(rows=60, raters=ONE_BY_ONE + HUMAN)
    server.faults.shares["500"] = 1.0
    with pytest.raises(RaterDownError, match="HTTP 500") as caught:
        opened.run()
    assert caught.value.exit_code == 3
    done = opened.status()
    server.faults.shares.clear()
    before = server.billed.calls
    ended = opened.run()
    # What was given up is asked again, but for items that were drawn before the rater was taken to be down.
    assert 60 - 10 - (DOWN - 1) <= server.billed.calls - before <= 60 - 10
    assert ended.status.looked == 60
    assert done.spent <= ended.spent


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_server_that_asks_for_more_than_patience_ends_the_run_and_nothing_is_given_up(campaign, server, attempts):
    server.behaviour.retry_after = 999_999_999.0
    server.faults.queue.extend([None] * 10 + ["429"])
    opened = campaign(rows=60, raters=ONE_BY_ONE + HUMAN, more=f"{COST}attempts = {attempts}\n")
    with pytest.raises(RaterDownError, match="asks to wait 999,999,999 s, and patience = 900 allows") as caught:
        opened.run()
    assert caught.value.exit_code == 3
    assert opened.status().spent > 0
    before = server.billed.calls
    ended = opened.run()  # the server has recovered
    assert server.billed.calls - before == 60 - 10
    assert (ended.status.looked, ended.status.missing) == (60, 0)
    assert ended.estimate is not None
    assert opened.verify().passed


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_restored_backup_is_refused_and_asks_under_the_same_keys_where_that_is_meant(
    campaign, server, tmp_path, kind, request
):
    make_database = request.getfixturevalue("make_database") if kind == "postgresql" else lambda like=None: like
    server.faults.queue.extend([None] * 20)
    server.faults.shares["401"] = 1.0
    opened = campaign(rows=60, store=(store := make_database() or "c.sqlite"))
    with pytest.raises(RaterDownError):
        opened.run()
    server.faults.shares.clear()
    opened.backup(tmp_path / "copy.sqlite")
    copy = make_database(store)
    ended, billed = opened.run(), server.billed.calls
    if kind == "sqlite":
        for path in tmp_path.glob("c.sqlite*"):
            path.unlink()
        (tmp_path / "copy.sqlite").rename(tmp_path / "c.sqlite")
    else:
        opened = campaign(store=copy)
    with pytest.raises(InputError, match=r"an older copy.* up to (4|5|6)\d questions may have been asked") as caught:
        opened.run()
    assert "ratewise run c.toml --after-restore" in str(caught.value)
    assert server.billed.calls == billed
    again = opened.run(after_restore=True)
    assert (str(again.estimate), again.spent) == (str(ended.estimate), ended.spent)
    assert server.billed.calls == billed  # a service that honours keys bills nothing twice
    assert any("went on from an older copy" in text for _, text in opened.notes())
    assert opened.verify().passed
    opened.run()


def test_the_same_text_is_not_paid_twice(campaign, server, tmp_path):
    rows = made_up_rows(30, server.rule, seed=5)
    twice = rows + [{**row, "id": f"again-{row['id']}"} for row in rows]
    write_rows(tmp_path / "items.csv", twice)
    before = server.billed.calls
    ended = campaign().run()
    assert server.billed.calls - before == 30
    assert ended.status.looked == 60


def test_a_changed_judge_is_refused_and_a_changed_template_too(campaign, server, tmp_path):
    (tmp_path / "mine.txt").write_text(
        "kind: binary\n=== system ===\nYou judge.\n=== user ===\n{criterion}\n{item}\n{format}\n"
    )
    campaign(rows=30, judge="mine.txt").run()
    for more, said in (
        ('criterion = "It is short."\n', r"raters\.judge\.criterion from"),
        ("samples = 2\n", r"raters\.judge\.samples from 1 to 2"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            campaign(more=COST + more, judge="mine.txt")
        assert "a changed judge is another rater" in str(caught.value)
    (tmp_path / "mine.txt").write_text((tmp_path / "mine.txt").read_text().replace("You judge", "You decide"))
    with pytest.raises(InputError, match="because its template has changed, and ratings of two raters cannot be mixed"):
        campaign(judge="mine.txt").run()


def test_a_server_that_changes_the_model_is_told(campaign, server):
    opened = campaign(rows=60)
    server.faults.queue.extend([None] * 20)
    server.faults.shares["500"] = 1.0
    with pytest.raises(RaterDownError):
        opened.run()
    server.faults.shares.clear()
    server.behaviour.fingerprint = "fp_2"
    opened.run()
    assert any("the server answers as 'small-judge fp_2'" in text for _, text in opened.notes())
    assert "server answered under several names" in campaign_page(opened)
    (line,) = opened.status().servers
    assert line.startswith("rater 'judge': the server answers as 'small-judge fp_2' where it was 'small-judge fp_1'")


def test_status_says_it_if_another_model_answers_from_the_start(campaign, server, capsys):
    opened = campaign(rows=30)
    server.behaviour.reported_model = "llama-3"
    status = opened.run().status
    line = "rater 'judge': the server answers as 'llama-3 fp_1', though model = 'small-judge' was asked for"
    assert status.servers == (line,)
    assert str(status).endswith(f"; {line}")
    assert html.escape(line) in opened._repr_html_()
    assert line in campaign_page(opened).replace("&#x27;", "'")
    with pytest.raises(SystemExit, match="0"):
        main(["status", str(opened.spec.path)])
    assert line in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit, match="0"):
        main(["status", str(opened.spec.path), "--json"])
    assert json.loads(capsys.readouterr().out)["servers"] == [line]
    with opened.look() as now:
        (judge,) = judges_found(now)
    assert "the server answered as llama-3, though small-judge was asked for" in judge.sentences


def test_how_unsure_a_later_judge_is_is_known_where_it_was_asked(campaign, server):
    """A second judge between the first one and people: its doubt is kept with its ratings, and plans go by it."""
    opened = campaign(rows=60, raters=JUDGE + JUDGE.replace('"judge"', '"second"') + HUMAN)
    opened.run()
    with opened.look() as now:
        looked = now.state.history.looked
        (doubts,) = looked.x.doubts
    p = looked.values[:, 0]
    assert np.count_nonzero(~np.isnan(p)) >= 8
    np.testing.assert_allclose(doubts, np.where(np.isnan(p), 0.25, p * (1 - p)), atol=1e-9)
    assert opened.verify().passed


def test_prices_are_those_the_campaign_began_with(campaign, server, tmp_path, monkeypatch):
    opened = campaign(rows=30)
    opened.run()
    with opened.look() as now:
        kept = json.loads(now.store.meta("rater judge: prices"))
    assert kept == {"input": "0.15", "output": "0.6", "cached": "0.15", "call": "0", "source": "TOML"}
    with pytest.raises(InputError, match=r"raters\.judge\.prices from"):
        campaign(more='prices = { input = "9", output = "9" }\n')


def test_an_unknown_price_stops_before_anything_is_asked(campaign, server, tmp_path):
    opened = campaign(rows=10, more="")
    before = server.billed.calls
    with pytest.raises(InputError, match="the price of model 'small-judge' is unknown"):
        opened.run()
    assert server.billed.calls == before
    assert not (tmp_path / "c.sqlite").exists()


def test_a_dry_run_tells_the_cost_and_asks_for_nothing(campaign, server):
    opened = campaign(rows=50, budget="20")
    before = server.billed.calls + server.billed.turned_away
    found = campaign_cost(opened.spec).to_dict()
    assert server.billed.calls + server.billed.turned_away == before
    assert not opened.has_begun()
    assert {"calls", "cost_expected", "cost_most", "priced"} <= set(found)
    judge, human = found["raters"]
    assert (judge["items"], judge["calls"], human["items"]) == (50, 50, 19)
    assert 0 < Decimal(judge["cost_expected"]) < Decimal(judge["cost_most"])
    assert Decimal(found["cost_most"]) <= 20
    assert found["priced"] == {"judge": "TOML", "human": "TOML"}
    cost = bill(server)
    opened.run()
    assert Decimal(judge["cost_expected"]) / 3 < bill(server) - cost < Decimal(judge["cost_most"])


PAIRS = """
[[raters]]
name = "votes"
kind = "llm"
model = "large-judge"
base_url = "{url}"
judge = "pairwise"
criterion = "Which answer helps more?"
show = ["question"]
a = "one"
b = "two"
samples = 10
concurrency = 4
{more}
"""


def test_ten_votes_in_both_orders_are_a_strong_rater(campaign, server, tmp_path):
    """The paper's strong rater: twenty calls an item, the majority counts, ties are ties."""
    rows = [{"id": str(i), "question": "Why?", "one": f"Since {i}.", "two": f"Because {i}."} for i in range(4)]
    write_rows(tmp_path / "items.csv", rows)
    server.behaviour.position_bias = 1.0
    before = server.billed.calls
    opened = campaign(raters=PAIRS, budget="5")
    text = (tmp_path / "c.toml").read_text().replace('kind = "binary"', 'kind = "pairwise"')
    (tmp_path / "c.toml").write_text(text)
    opened = Campaign.open(tmp_path / "c.toml")
    assert opened.run().status.labels == 4
    assert server.billed.calls - before == 80
    with opened.look() as now:
        (judge,) = judges_found(now)
    assert judge.position_effect.pairs == 4
    assert judge.position_effect.gain > 0
    assert "standing first is worth" in campaign_page(opened)


def judge(server, tmp_path, **changes):
    keys = {"judge": "binary", "model": "m", "base_url": server.base_url, "show": ["question", "answer"],
            "prices": parsed_prices("input=0.15,output=0.60"), "concurrency": 1, "backoff": 0}  # fmt: skip
    return judge_table(str(tmp_path / "items.csv"), str(tmp_path / "out.csv"), settings=keys | changes)


def test_a_table_gets_the_judges_columns_and_an_unfinished_one_is_gone_on_with(server, tmp_path):
    rows = made_up_rows(25, server.rule, seed=9)
    write_rows(tmp_path / "items.csv", rows)
    server.faults.queue.extend([None] * 8)
    server.faults.shares["500"] = 1.0
    before, cost = server.billed.calls, bill(server)
    with pytest.raises(RaterDownError):
        judge(server, tmp_path)
    server.faults.shares.clear()
    done = judge(server, tmp_path)
    assert server.billed.calls - before == 25
    assert (done.items, done.rated, done.missing, done.spent) == (25, 25, 0, bill(server) - cost)
    table = read_table(str(tmp_path / "out.csv"))
    assert table.texts("id").tolist() == [row["id"] for row in rows]
    value, doubt = table.numbers("judge"), table.numbers("judge_uncertainty")
    assert doubt == pytest.approx(value * (1 - value))
    assert judge(server, tmp_path).rated == 25  # nothing is asked again
    assert server.billed.calls - before == 25
    with pytest.raises(InputError, match=r"was begun otherwise.*delete out.csv.judge.sqlite to begin anew"):
        judge(server, tmp_path, criterion="It is short.")


def test_a_table_that_has_the_columns_already_is_refused(server, tmp_path):
    write_rows(tmp_path / "items.csv", [{"id": "1", "question": "q", "answer": "a", "judge": "1"}])
    with pytest.raises(InputError, match="has a column 'judge' already"):
        judge(server, tmp_path)
    with pytest.raises(InputError, match="write prices per million tokens as --prices"):
        parsed_prices("0.15")


def judged(server, tmp_path, **settings):
    write_rows(tmp_path / "items.csv", made_up_rows(12, server.rule, seed=3))
    given = {"judge": "binary", "model": "small-judge", "base_url": server.base_url, "show": ["question", "answer"]}
    return judge_table(
        str(tmp_path / "items.csv"), str(tmp_path / "out.csv"),
        settings=given | {"prices": {"input": "1", "output": "1"}} | settings,
    )  # fmt: skip


def test_a_judged_table_is_told_of_in_the_words_of_the_command_line(server, tmp_path):
    """No TOML is spoken of: nobody wrote one."""
    done = judged(server, tmp_path, probability="samples", samples=3)
    said = " ".join(done.judge.sentences)
    assert "(as given)" in said
    assert "TOML" not in said
    with pytest.raises(InputError, match=r"^a binary judge needs the columns .* --show question,answer$"):
        judged(server, tmp_path, show=[])
    with pytest.raises(InputError, match=r"^a pairwise judge compares two answers; write --a answer_a --b answer_b$"):
        judged(server, tmp_path, judge="pairwise")


def test_ratings_without_the_probability_that_was_promised_are_told(server, tmp_path, monkeypatch):
    """The server's tokens are another answer's."""
    server.behaviour.decisions = False
    other = [{"token": "hm", "logprob": 0.0, "top_logprobs": [{"token": "hm", "logprob": 0.0}]}]
    monkeypatch.setattr("ratewise.testing.judge_server.logprobs_of", lambda *given: other)
    done = judged(server, tmp_path)
    assert (done.rated, done.judge.bare, done.to_dict()["judge"]["bare"]) == (12, 12, 12)
    assert "no probability was found in 12 of 12 ratings" in done.summary()
    assert np.isnan(read_table(tmp_path / "out.csv").numbers("judge_uncertainty", missing="keep")).all()


def test_a_server_that_does_not_sample_is_told(server, tmp_path):
    server.behaviour.sampling = False
    done = judged(server, tmp_path, samples=5)
    assert done.judge.alike == 5
    assert "word for word, on each of 12 items" in done.summary()


@pytest.mark.parametrize("name", ["问题-{}", "line\r\nbreak: {}", "long " * 24_000 + "{}", "😀\t{}"])
def test_ids_may_be_any_text(server, tmp_path, name):
    """They are in no header: what the server gets is a digest."""
    rows = [{**row, "id": name.format(i)} for i, row in enumerate(made_up_rows(15, server.rule, seed=3))]
    write_rows(tmp_path / "items.csv", rows)
    before = server.billed.turned_away
    done = judge(server, tmp_path)
    assert (done.rated, done.missing) == (15, 0)
    assert server.billed.turned_away == before
    assert read_table(str(tmp_path / "out.csv")).texts("id").tolist() == [row["id"] for row in rows]


def test_finding_out_what_the_endpoint_has_stays_within_the_budget(campaign, server, monkeypatch):
    """The server gives no log-probabilities and its judge no confidence: each call is reserved before it is sent."""
    server.behaviour = Behaviour(decisions=False)
    monkeypatch.setattr("ratewise.testing.judge_server.logprobs_of", lambda *given: [])
    server.faults.queue.extend([None, None, "rambling", "rambling"])
    before = server.billed.calls
    opened = campaign(more='prices = { call = "0.05" }\n', budget="0.10", raters=JUDGE)
    opened.run()
    assert server.billed.calls - before == 2
    assert opened.status().spent <= Decimal("0.10")
    assert opened.verify().passed


def test_a_usage_beyond_what_was_reserved_is_a_dispute(campaign, server, monkeypatch):
    opened = campaign(rows=30, raters=ONE_BY_ONE + HUMAN)
    found = {"input_tokens": 400_000_000, "output_tokens": 1}
    monkeypatch.setattr("ratewise.testing.judge_server._usage", lambda *given: found)
    with pytest.raises(
        OutsideError, match=r"charged 60\.0000006 for item .* 0\.00\d+ were reserved .* its rating is kept"
    ):
        opened.run()
    assert opened.status().spent < 1
    with opened.look() as now:
        (judge,) = judges_found(now)
    assert judge.rated == 1
    assert opened.verify().passed
    monkeypatch.undo()
    opened.run()
    assert opened.status().spent <= 25


def test_a_server_that_counts_no_tokens_is_told_and_counted_at_the_most(campaign, server, monkeypatch):
    opened = campaign(rows=30)
    monkeypatch.setattr("ratewise.testing.judge_server._usage", lambda *given: {"input_tokens": 0, "output_tokens": 0})
    opened.run()
    assert sum("0 tokens for a prompt that is not empty" in text for _, text in opened.notes()) == 1
    assert opened.status().spent_by["judge"] > 0
