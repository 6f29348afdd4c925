"""kill -9, at any moment, of one process or of several: nothing paid for is lost, and the end is the same to the bit.

The seeded part of it runs with all tests; `make soak` does it at 200 random moments on each store.
"""

import itertools
import random
import time
from collections import Counter

import pytest

from ratewise.campaign.campaign import Campaign

from ..waiting import until
from .survival import End, Forks, Witness, calls, check_calls, check_ended, look, store_of, write_campaign

KILLED = -9
KILLS_EACH = 10  # in one campaign
PROCESSES = 8
WINDOWS = [
    (kind, side)
    for kind in ("begin", "join", "open_round", "take_up", "claim", "ask", "settle", "draw", "close_round", "leave")
    for side in (("before", "after") if kind == "ask" else ("before", "statement", "commit", "after"))
]
STORES = ["sqlite", "postgresql"]
QUESTIONS = ["slices", "compare", "board", "quantile"]
SOAKED = ["pool", "money", "failures", "chain", "alone", "features", "precision", *QUESTIONS]


@pytest.fixture(scope="module")
def forks():
    made = Forks()
    yield made
    made.close()


@pytest.fixture(scope="module")
def undisturbed(forks, tmp_path_factory):
    """A function: the end of a campaign that ran through, and the seconds it took."""
    made = {}

    def find(variant):
        if variant not in made:
            toml = write_campaign(tmp_path_factory.mktemp("undisturbed") / variant, variant)
            began = time.monotonic()
            ended(forks.run(toml), toml)
            made[variant] = End.of(toml), time.monotonic() - began
            check_calls(toml, check_ended(toml, made[variant][0]), {})
        return made[variant]

    return find


@pytest.fixture
def make_campaign(request, tmp_path):
    """A function: the TOML of a new campaign on a store."""
    count = 0

    def make(variant, store):
        nonlocal count
        count += 1
        address = "c.sqlite" if store == "sqlite" else request.getfixturevalue("database")
        return write_campaign(tmp_path / str(count), variant, store=address, name=f"c{count}")

    return make


def ended(code, toml):
    assert code == 0, toml.with_suffix(".log").read_text()


def died(code, toml):
    """True where the run was killed, False where it had come to its end before; anything else is a bug."""
    assert code in (0, KILLED), toml.with_suffix(".log").read_text()
    return code == KILLED


def finish(forks, witness, expected):
    """Let a campaign go on to its end, and hold it against one that nobody disturbed."""
    ended(forks.run(witness.toml), witness.toml)
    check_calls(witness.toml, check_ended(witness.toml, expected), witness.cut_off)


# At random moments


def kill_at_random(forks, toml, undisturbed, kills, rng):
    """Kill a campaign up to so many times, at moments that are spread over its whole life; returns what it was at."""
    expected, seconds = undisturbed
    witness = Witness(toml)
    for _ in range(kills):
        number = forks.start(toml)
        time.sleep(rng.uniform(0.0, 0.15 + 2 * seconds / KILLS_EACH))
        forks.kill(number)
        if not died(forks.wait(number), toml):
            break
        witness.see()
    finish(forks, witness, expected)
    return witness.phases


@pytest.mark.parametrize(
    ("variant", "store"),
    [
        ("pool", "sqlite"),
        ("pool", "postgresql"),
        ("features", "sqlite"),
        pytest.param("features", "postgresql", marks=pytest.mark.soak),
        ("slices", "sqlite"),
        ("compare", "sqlite"),
        ("board", "sqlite"),
        ("quantile", "sqlite"),
        pytest.param("compare", "postgresql", marks=pytest.mark.soak),
    ],
)
def test_killed_at_ten_moments(forks, undisturbed, make_campaign, store, variant):
    phases = kill_at_random(forks, make_campaign(variant, store), undisturbed(variant), 10, random.Random(store))
    assert phases.total() >= 5


@pytest.mark.soak
@pytest.mark.parametrize("store", STORES)
def test_killed_at_two_hundred_moments(forks, undisturbed, make_campaign, store):
    rng, phases = random.Random(f"{store} soak"), Counter()
    for variant in itertools.cycle(SOAKED):
        most = min(KILLS_EACH, 200 - phases.total())
        phases += kill_at_random(forks, make_campaign(variant, store), undisturbed(variant), most, rng)
        if phases.total() == 200:
            break
    print(f"killed while at {dict(phases)}")
    assert len(phases) == 4  # loading, planning, waiting for weak and for strong ratings


# At moments that no clock would hit


@pytest.mark.parametrize("store", STORES)
def test_killed_in_every_window(forks, undisturbed, make_campaign, store):
    """Before every kind of transaction, just before its commit, and just after it."""
    witness = Witness(make_campaign("pool", store))
    for kind, side in WINDOWS:
        if side == "statement":  # in the middle, where nothing is different: only in the soak
            continue
        code = forks.run(witness.toml, die=(kind, side, 1))
        assert died(code, witness.toml), f"{kind} {side} was not reached"
        witness.see()
    finish(forks, witness, undisturbed("pool")[0])


def random_window(rng, begun):
    """One that a run will come to, unless it is near its end: there are many claims and answers, and few rounds."""
    kind, side = rng.choice([window for window in WINDOWS if begun == (window[0] != "begin") and window[0] != "leave"])
    return kind, side, rng.randint(1, 12) if kind in ("claim", "ask", "settle") else 1


@pytest.mark.soak
@pytest.mark.parametrize("variant", SOAKED)
@pytest.mark.parametrize("store", STORES)
def test_killed_in_random_windows(forks, undisturbed, make_campaign, store, variant):
    rng, kills = random.Random(f"{store} {variant}"), 0
    while kills < 25:
        witness = Witness(make_campaign(variant, store))
        while kills + witness.kills < 25:
            window = random_window(rng, begun=witness.last is not None)
            if not died(forks.run(witness.toml, die=window), witness.toml):
                break
            witness.see()
        finish(forks, witness, undisturbed(variant)[0])
        kills += witness.kills
    assert kills == 25  # each looked at by the witness, each campaign compared at its end


# Questions that were in the hands of the dead


def killed_while_asking(forks, toml):
    """A campaign whose process died with strong ratings under way; what it had in hand."""
    assert died(forks.run(toml, die=("draw", "after", 1)), toml)
    assert died(forks.run(toml, die=("ask", "after", 3)), toml)
    return look(toml).in_hand


def test_a_lost_call_is_counted_once(forks, make_campaign):
    """Where lost calls count as paid and the process that counted them dies as well, they are not lost once more."""
    toml = make_campaign("lost", "sqlite")
    lost = killed_while_asking(forks, toml)
    assert len(lost) > 1
    assert died(forks.run(toml, die=("settle", "after", 1)), toml)  # the lost ones are settled before anything else
    assert not look(toml).in_hand
    ended(forks.run(toml), toml)
    found = look(toml)
    assert {(p, s, a) for p, s, a in found.settled if a > 1} == {(p, s, a + 1) for p, s, a in lost}
    assert Counter(key for _, key in calls(toml)).most_common(1)[0][1] == 1
    assert Campaign.open(toml).verify().passed


@pytest.mark.parametrize("store", STORES)
def test_the_dead_are_found_twice(forks, make_campaign, store):
    """Two processes find the same dead one: the later does not take away what a third has in hand by then."""
    toml = make_campaign("pool", store)
    lost = killed_while_asking(forks, toml)
    one, other = store_of(toml), store_of(toml)
    try:
        dead = one.dead(worker=1001)
        assert len(dead) == 1
        assert other.dead(worker=1002) == dead
        one.let_go(dead)
        claims = one.claim(1003, 1, len(lost))
        other.let_go(dead)
        assert {(c.position, c.step, c.attempt) for c in claims} == look(toml).in_hand
    finally:
        one.close()
        other.close()


# Several processes


def start_together(forks, toml, gate, count=PROCESSES):
    numbers = [forks.start(toml, gate=gate) for _ in range(count)]
    gate.touch()
    return numbers


def wait_for_calls(toml, more):
    """Until the raters have got so many more calls."""
    least = len(calls(toml)) + more
    until(lambda: len(calls(toml)) >= least, why=lambda: toml.with_suffix(".log").read_text())


def check_together(toml, expected, killed):
    """As one process would have ended; a question was asked twice only if the first who asked it was killed."""
    check_ended(toml, expected)
    asked = {}
    for process, key in calls(toml):
        asked.setdefault(key, []).append(process)
    assert all(process in killed for processes in asked.values() for process in processes[:-1])


def kill_some(forks, toml, tmp_path, expected, victims, rng):
    """Eight start at once; some are killed in mid-run, and the others go on. How many ended by themselves."""
    numbers = start_together(forks, toml, tmp_path / f"{toml.stem} first")
    wait_for_calls(toml, rng.randint(1, len(expected.seen.settled) * 4 // 5))
    killed = rng.sample(numbers, victims)
    for number in killed:
        forks.kill(number)
    codes = {number: forks.wait(number) for number in numbers}
    survivors = [number for number in numbers if number not in killed]
    for number in survivors:
        ended(codes[number], toml)
    if victims == PROCESSES:
        for number in start_together(forks, toml, tmp_path / f"{toml.stem} second"):
            ended(forks.wait(number), toml)
    check_together(toml, expected, killed)
    return len(survivors)


def test_eight_processes_and_one_is_killed(forks, undisturbed, make_campaign, tmp_path):
    toml = make_campaign("pool", "postgresql")
    assert kill_some(forks, toml, tmp_path, undisturbed("pool")[0], 1, random.Random(1)) == PROCESSES - 1


@pytest.mark.soak
@pytest.mark.parametrize("victims", [1, 3, PROCESSES])
def test_eight_processes_again_and_again(forks, undisturbed, make_campaign, tmp_path, victims):
    rng = random.Random(f"{victims} soak")
    for variant in SOAKED:
        toml, expected = make_campaign(variant, "postgresql"), undisturbed(variant)[0]
        assert kill_some(forks, toml, tmp_path, expected, victims, rng) == PROCESSES - victims


def test_the_one_that_plans_is_killed(forks, undisturbed, make_campaign, tmp_path):
    """Others wait for its plans; one of them takes its place."""
    toml = make_campaign("pool", "postgresql")
    first = forks.start(toml, die=("draw", "commit", 2))
    wait_for_calls(toml, 1)
    others = start_together(forks, toml, tmp_path / "gate", 2)
    assert died(forks.wait(first), toml)
    for number in others:
        ended(forks.wait(number), toml)
    check_together(toml, undisturbed("pool")[0], {first})


def test_two_begin_at_the_same_moment(forks, undisturbed, make_campaign, tmp_path):
    """On an empty database: one campaign, each item once, each question asked once."""
    toml = make_campaign("pool", "postgresql")
    for number in start_together(forks, toml, tmp_path / "gate", 2):
        ended(forks.wait(number), toml)
    check_together(toml, undisturbed("pool")[0], set())
    assert len(set(look(toml).items)) == len(look(toml).items)
    workers = {process for process, _ in calls(toml)}
    assert len(workers) == 2, toml.with_suffix(".log").read_text()
