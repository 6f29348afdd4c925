"""Programs as raters: real processes that answer, die, talk nonsense and hang."""

import asyncio
import os
import sys
from decimal import Decimal
from pathlib import Path

import psutil
import pytest

from ratewise.errors import InputError
from ratewise.raters.calling import Caller
from ratewise.raters.command import CommandRater
from ratewise.raters.protocol import Answer, Failure

from ..waiting import eventually, until, until_async

ECHO = """
def say(**row): print(json.dumps(row), flush=True)
for line in sys.stdin:
    q = json.loads(line)
    {}
"""
PID = "say(key=q['key'], rating=os.getpid())"


@pytest.fixture
def batches(program, tmp_path):
    """What a program says to several batches, one after the other."""

    def run(source, *questions, **options):
        rater = CommandRater(program(source), folder=str(tmp_path), **options)

        async def go():
            try:
                return [list(await rater.rate(batch)) for batch in questions]
            finally:
                await rater.close()

        return asyncio.run(go())

    return run


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def pid_in(path: Path) -> int:
    """The number a program writes into a file as soon as it is up."""
    until(lambda: path.exists() and path.read_text().endswith("\n"), why=lambda: f"{path} was not written")
    return int(path.read_text())


def wait_until_gone(pid: int) -> bool:
    return bool(eventually(lambda: is_gone(pid), seconds=5))


def test_answers_in_order_with_price_and_note(batches, ask):
    source = ECHO.format("say(key=q['key'], rating=q['item']['text'], price='0.0020', note=q['id'])")
    (answers,) = batches(source, ask("a", "été 😀"))
    assert answers == [Answer(f"text of {i}", Decimal("0.0020"), i) for i in ("a", "été 😀")]


def test_answers_may_come_in_any_order(batches, ask):
    source = """
rows = [json.loads(sys.stdin.readline()) for _ in range(3)]
for q in reversed(rows):
    print(json.dumps({"key": q["key"], "rating": q["id"]}), flush=True)
sys.stdin.read()
"""
    assert batches(source, ask("a", "b", "c")) == [[Answer("a"), Answer("b"), Answer("c")]]


def test_errors_and_useless_answers_fail_only_their_question(batches, ask):
    source = ECHO.format(
        "say(key=q['key'], **{'a': {'error': 'busy', 'price': 0.1}, 'b': {}, 'c': {'rating': 1, 'price': -1},"
        " 'd': {'rating': None}}[q['id']])"
    )
    useless = "the program's answer cannot be used: "
    assert batches(source, ask(*"abcd")) == [
        [
            Failure("busy", Decimal("0.1")),
            Failure(useless + 'there is neither a "rating" nor an "error"'),
            Failure(useless + "price -1 makes no sense"),
            Answer(None),
        ]
    ]


def test_the_program_keeps_running(batches, ask):
    first, second = batches(ECHO.format(PID), ask("a"), ask("b"))
    assert first == second


def test_a_forgotten_flush_is_no_hang(batches, ask):
    source = "for line in sys.stdin:\n    print(json.dumps({'key': json.loads(line)['key'], 'rating': 1}))\n"
    assert batches(source, ask("a"), ask("b")) == [[Answer(1)], [Answer(1)]]


def test_a_batch_larger_than_the_pipes(batches, ask):
    source = ECHO.format("say(key=q['key'], rating=1, note=q['item']['text'])")
    (answers,) = batches(source, ask(*map(str, range(40)), text="x" * 20_000))
    assert answers == [Answer(1, note="x" * 20_000)] * 40


def test_blank_lines_do_no_harm_and_neither_does_a_missing_last_line_end(batches, ask):
    source = 'sys.stdin.readline(); print(\'\\n  \\n{"key": "k-a", "rating": 1}\', end=\'\', flush=True)'
    assert batches(source, ask("a")) == [[Answer(1)]]


def test_the_same_key_twice_in_a_batch_is_asked_once(batches, ask):
    source = "n = 0\n" + ECHO.format("n += 1; say(key=q['key'], rating=n)")
    assert batches(source, ask("a", "a"), ask("b")) == [[Answer(1), Answer(1)], [Answer(2)]]


def test_a_program_that_ends_with_an_error_says_why(batches, ask):
    source = ECHO.format("say(key=q['key'], rating=1) if q['id'] == 'a' else int('oops')")
    ((first, second, third),) = batches(source, ask("a", "b", "c"))
    assert first == Answer(1)
    assert second == third
    assert second.reason.startswith("the program ended with code 1: ValueError: invalid literal for int()")


def test_a_program_that_ends_quietly_and_a_new_one_next_time(batches, ask):
    source = f"""
first = not os.path.exists("was here")
open("was here", "w").close()
if first:
    sys.stdin.readline(); sys.exit(0)
{ECHO.format(PID)}
"""
    first, second = batches(source, ask("a"), ask("b"))
    assert first == [Failure("the program ended with code 0 before it had answered")]
    assert isinstance(second[0], Answer)


def test_a_program_that_is_killed(batches, ask):
    assert batches("os.kill(os.getpid(), 9)", ask("a")) == [
        [Failure("the program was ended by signal 9 before it had answered")]
    ]


def test_a_program_that_ends_between_batches_is_replaced(program, tmp_path, ask):
    rater = CommandRater(program(ECHO.format(PID + "; sys.exit(0)")), folder=str(tmp_path))

    async def go():
        first = await rater.rate(ask("a"))
        await until_async(lambda: is_gone(first[0].value))
        await asyncio.sleep(0.1)  # for the loop to notice
        second = await rater.rate(ask("b"))
        await rater.close()
        return first + second

    first, second = asyncio.run(go())
    assert first.value != second.value


def test_a_program_that_closes_its_output_but_stays(batches, ask, monkeypatch):
    monkeypatch.setattr("ratewise.raters.command._SHORT", 0.2)
    assert batches("os.close(1); time.sleep(30)", ask("a")) == [[Failure("the program closed its standard output")]]


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ("hello", "the program wrote a line that is no JSON object: 'hello'"),
        ("[1, 2]", "the program wrote a line that is no JSON object: '[1, 2]'"),
        ("{'key'", "the program wrote a line that is no JSON object: \"{'key'\""),
        ('{"key": "k-z", "rating": 1}', "the program answered an unknown key: 'k-z'"),
        ('{"rating": 1}', "the program answered an unknown key: None"),
        ('{"key": ["k-b"], "rating": 1}', "the program answered an unknown key: ['k-b']"),
        ('{"key": "k-a", "rating": 2}', "the program gave a second, different answer for the key 'k-a'"),
        ('{"key": "k-a", "rating": true}', "the program gave a second, different answer for the key 'k-a'"),
    ],
)
def test_a_program_that_breaks_the_rules_is_ended_and_replaced(batches, ask, says, reason):
    source = ECHO.format(f"{PID}; time.sleep(0.05)\n    if q['id'] == 'a': print({says!r}, flush=True); time.sleep(30)")
    (good, failed), (after,) = batches(source, ask("a", "b"), ask("c"))
    # the rating is the process id, so the second answers never equal the first by chance
    assert isinstance(good, Answer)
    assert failed == Failure(reason)
    assert after.value != good.value
    assert is_gone(good.value)


def test_an_identical_duplicate_is_ignored_even_when_it_comes_late(batches, ask):
    twice = ECHO.format("[say(key=q['key'], rating=float('nan'), note=q['id']) for _ in range(3)]")
    replies = batches(twice, ask("a", "b"), ask("c"), ask("d"))
    assert [[a.note for a in batch] for batch in replies] == [["a", "b"], ["c"], ["d"]]


@pytest.mark.parametrize("end", ["", "\\n"])
def test_a_line_that_is_too_long_is_refused(batches, ask, end):
    source = f"sys.stdin.readline(); sys.stdout.write('x' * 1_100_000 + '{end}'); sys.stdout.flush(); time.sleep(30)"
    assert batches(source, ask("a")) == [[Failure("the program wrote a line longer than 1,048,576 bytes")]]


def test_a_long_line_within_the_limit_is_fine(batches, ask):
    (((answer,)),) = batches(ECHO.format("say(key=q['key'], rating=1, note='x' * 1_000_000)"), ask("a"))
    assert len(answer.note) == 1_000_000


def test_a_flood_of_lines_and_errors_neither_blocks_nor_fills_the_memory(batches, ask):
    source = ECHO.format(
        "sys.stderr.write('e' * 500_000)\n"
        "    for _ in range(20_000): sys.stdout.write('\\n')\n"
        "    say(key=q['key'], rating=1)"
    )
    assert batches(source, ask("a"), ask("b")) == [[Answer(1)], [Answer(1)]]


def test_only_the_end_of_standard_error_is_kept(batches, ask):
    source = "sys.stdin.readline(); sys.stderr.write('é' * 100_000 + '\\nthe last line\\n\\n'); sys.exit(7)"
    assert batches(source, ask("a")) == [[Failure("the program ended with code 7: the last line")]]


HANGS = """
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
open("child", "w").write(f"{child.pid}\\n")
open("pid", "w").write(f"{os.getpid()}\\n")
if os.path.exists("go on"):
    for line in sys.stdin:
        print(json.dumps({"key": json.loads(line)["key"], "rating": "new"}), flush=True)
time.sleep(60)
"""


def test_a_timeout_kills_the_program_and_what_it_started(program, tmp_path, ask, monkeypatch):
    monkeypatch.setattr("ratewise.raters.command._SHORT", 0.5)

    async def go():
        caller = Caller(CommandRater(program(HANGS), folder=str(tmp_path)), timeout=1.0)
        late = await caller.ask(ask("a"))
        pids = [pid_in(tmp_path / name) for name in ("pid", "child")]
        gone = [wait_until_gone(pid) for pid in pids]
        (tmp_path / "go on").touch()
        (tmp_path / "pid").unlink()
        again = await caller.ask(ask("a"))
        await caller.close()
        return late, gone, again, wait_until_gone(pid_in(tmp_path / "pid"))

    late, gone, again, closed = asyncio.run(go())
    assert late == [Failure("no answer within 1 s")]
    assert gone == [True, True]
    assert again == [Answer("new")]
    assert closed


def test_cancelling_kills_the_program(program, tmp_path, ask):
    async def go():
        rater = CommandRater(program(HANGS), folder=str(tmp_path))
        task = asyncio.create_task(rater.rate(ask("a")))
        pid = await asyncio.to_thread(pid_in, tmp_path / "pid")
        assert not is_gone(pid)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pid

    assert is_gone(asyncio.run(go()))


def test_close_lets_a_program_finish(program, tmp_path, ask):
    async def go():
        rater = CommandRater(program(ECHO.format(PID) + "open('finished', 'w').close()"), folder=str(tmp_path))
        (answer,) = await rater.rate(ask("a"))
        await rater.close()
        return answer.value

    assert is_gone(asyncio.run(go()))
    assert (tmp_path / "finished").exists()


def test_close_kills_a_program_that_does_not_finish(program, tmp_path, ask, monkeypatch):
    monkeypatch.setattr("ratewise.raters.command._SHORT", 0.2)

    async def go():
        rater = CommandRater(program(ECHO.format(PID) + "time.sleep(60)"), folder=str(tmp_path))
        (answer,) = await rater.rate(ask("a"))
        await rater.close()
        return answer.value

    assert is_gone(asyncio.run(go()))


def test_close_while_a_batch_is_under_way_fails_it(program, tmp_path, ask):
    async def go():
        rater = CommandRater(program("open('up', 'w').close(); sys.stdin.read()"), folder=str(tmp_path))
        task = asyncio.create_task(rater.rate(ask("a")))
        await until_async((tmp_path / "up").exists)
        await rater.close()
        return await task

    assert asyncio.run(go()) == [Failure("the program ended with code 0 before it had answered")]


def test_after_close_nothing_is_started(program, tmp_path, ask):
    async def go():
        rater = CommandRater(program("open('started', 'w')"), folder=str(tmp_path))
        await rater.close()
        return await rater.rate(ask("a"))

    (failure,) = asyncio.run(go())
    assert failure.reason.endswith("the rater is closed")
    assert not (tmp_path / "started").exists()


def test_close_while_the_program_is_being_started_ends_it(program, tmp_path, ask):
    async def go():
        rater = CommandRater(program("time.sleep(60)"), folder=str(tmp_path))
        task = asyncio.create_task(rater.rate(ask("a")))
        await asyncio.sleep(0)
        await rater.close()
        return await task

    (failure,) = asyncio.run(go())
    assert failure.reason.endswith("the rater is closed")


@pytest.mark.parametrize(("processes", "expected"), [(1, 1), (2, 2)])
def test_up_to_so_many_processes(program, tmp_path, ask, processes, expected):
    async def go():
        source = ECHO.format("time.sleep(0.05); " + PID)
        rater = CommandRater(program(source), folder=str(tmp_path), processes=processes)
        replies = await asyncio.gather(*(rater.rate(ask(str(i))) for i in range(6)))
        await rater.close()
        return {reply.value for (reply,) in replies}

    assert len(asyncio.run(go())) == expected


def test_an_unused_rater_starts_nothing(program, tmp_path):
    asyncio.run(CommandRater(program("open('started', 'w')"), folder=str(tmp_path)).close())
    assert not (tmp_path / "started").exists()


def script(path: Path) -> None:
    """An executable file that answers with its first argument."""
    answer = "{'key': json.loads(line)['key'], 'rating': sys.argv[1]}"
    body = f"import sys, json\nfor line in sys.stdin:\n    print(json.dumps({answer}), flush=True)\n"
    path.write_text(f"#!{sys.executable} -S\n{body}")
    path.chmod(0o755)


@pytest.mark.parametrize("command", ["./judge 'a  $b;'", "judge-of-this-test 'a  $b;'", "tools/judge 'a  $b;'"])
def test_a_program_beside_the_campaign_without_a_shell(tmp_path, ask, command):
    (tmp_path / "tools").mkdir()
    script(tmp_path / command.split()[0])

    async def go():
        rater = CommandRater(command, folder=str(tmp_path))
        replies = await rater.rate(ask("a"))
        await rater.close()
        return replies

    assert asyncio.run(go()) == [Answer("a  $b;")]


def test_a_program_that_cannot_be_started_is_a_failure(tmp_path, ask):
    (tmp_path / "judge").write_bytes(b"\0\1\2")
    (tmp_path / "judge").chmod(0o755)
    (failure,) = asyncio.run(CommandRater("./judge", folder=str(tmp_path)).rate(ask("a")))
    assert failure.reason.startswith("cannot start ")
    assert "Exec format error" in failure.reason


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("no-such-program-anywhere x", "was not found"),
        ("./nowhere", "was not found"),
        ("./plain", "may not be executed"),
    ],
)
def test_commands_that_cannot_be_used(tmp_path, command, why):
    (tmp_path / "plain").write_text("x")
    with pytest.raises(InputError, match=why):
        CommandRater(command, folder=str(tmp_path))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        CommandRater("true", folder=str(tmp_path / "nowhere"))


def test_no_process_is_left_behind():
    ours = [p.cmdline() for p in psutil.Process(os.getpid()).children(recursive=True) if p.status() != "zombie"]
    assert not [line for line in ours if "program.py" in line]
