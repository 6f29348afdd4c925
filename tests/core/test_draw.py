"""The replayable draw against hashlib, against DuckDB's SQL, and as a random draw."""

import hashlib
import tracemalloc

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ratewise.core.draw import draw, uniform
from ratewise.errors import InputError

from ..bounds import FALSE_ALARM

quick = settings(derandomize=True, max_examples=150, deadline=None, database=None)


def by_hashlib(ids, seed) -> list[float]:
    """METHODS section 9 as it is printed, one id at a time."""
    return [int(hashlib.md5(f"{seed}:{i}".encode()).hexdigest()[:13], 16) / 2**52 for i in ids]


def test_the_published_vector():
    ids = ["a", "42", "été", "", "x" * 200]
    expected = [0.437309749612953, 0.6761396172784646, 0.8100604573814794, 0.014179774644531351, 0.7080893594920399]
    assert uniform(ids, seed=7).tolist() == expected
    assert by_hashlib(ids, 7) == expected


text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=80)


@quick
@given(st.lists(text, min_size=1, max_size=12), st.integers(-(10**30), 10**30))
def test_any_text_hashes_as_hashlib_does(ids, seed):
    assert uniform(ids, seed=seed).tolist() == by_hashlib(ids, seed)
    assert uniform(np.array(ids, dtype=object), seed=seed).tolist() == by_hashlib(ids, seed)


@pytest.mark.parametrize("letter", ["x", "é", "漢", "🙂"])  # 1 to 4 bytes each
def test_every_length_around_the_block_ends(letter):
    """MD5 takes 64 bytes at a time and pads with at least 9: 55, 56, 63, 64, 119, 120 bytes are the edges."""
    ids = [letter * n for n in range(200)]
    assert uniform(ids, seed=3).tolist() == by_hashlib(ids, 3)
    exact = ["y" * (n - len("3:")) for n in (55, 56, 57, 63, 64, 65, 119, 120, 121, 127, 128, 129)]
    assert uniform(exact, seed=3).tolist() == by_hashlib(exact, 3)
    for one in exact:  # each also alone, where nothing longer widens the array
        assert uniform([one], seed=3).tolist() == by_hashlib([one], 3)
    assert uniform(["z" * 5000, letter], seed=3).tolist() == by_hashlib(["z" * 5000, letter], 3)


@pytest.mark.parametrize("seed", [0, -1, -98765, 2**31, 2**64 + 1, 10**90, np.int64(12)])
def test_any_whole_seed(seed):
    ids = ["a", "b" * 70, "é" * 31]
    assert uniform(ids, seed=seed).tolist() == by_hashlib(ids, seed)


@pytest.mark.parametrize("kind", ["int8", "int16", "int64", "uint8", "uint64"])
def test_whole_numbers_hash_as_their_text(kind):
    limits = np.iinfo(kind)
    ids = np.array([limits.min, 0, 7, 100, limits.max], dtype=kind)
    assert uniform(ids, seed=11).tolist() == by_hashlib(ids.tolist(), 11)
    assert uniform(ids, seed=11).tolist() == uniform([str(i) for i in ids.tolist()], seed=11).tolist()
    assert uniform([2**80, -(3**50)], seed=11).tolist() == by_hashlib([2**80, -(3**50)], 11)


def test_neither_order_nor_company_nor_number_of_items_matters():
    ids = [f"item-{i}" * (1 + i % 13) for i in range(20_011)]  # more than two pieces of 8,192
    r = uniform(ids, seed=2)
    assert r[::997].tolist() == by_hashlib(ids[::997], 2)
    assert uniform(ids[::-1], seed=2)[::-1].tolist() == r.tolist()
    assert uniform(np.array(ids)[5:9000:3], seed=2).tolist() == r[5:9000:3].tolist()
    assert uniform(np.array([], dtype=str), seed=2).tolist() == []


@pytest.mark.parametrize("form", [list, lambda ids: np.array(ids, dtype=object), lambda ids: np.array(ids, dtype="T")])
def test_one_long_id_does_not_take_memory_for_all(form):
    """20,000 ids and one of 200 kB: at a fixed width that would be 16 GB."""
    ids = [f"item-{i}" for i in range(20_000)]
    ids[11_111] = "é" * 200_000
    given = form(ids)
    tracemalloc.start()
    try:
        r = uniform(given, seed=5)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert r.tolist() == by_hashlib(ids, 5)
    assert most < 64e6


@pytest.mark.parametrize("letter", ["x", "é"])
def test_lengths_around_those_that_are_hashed_alone(letter):
    ids = [letter * n for n in range(250, 262)]
    assert uniform(ids, seed=3).tolist() == by_hashlib(ids, 3)
    assert uniform(np.array(ids), seed=3).tolist() == by_hashlib(ids, 3)
    assert uniform(np.array([i.encode() for i in ids]), seed=3).tolist() == by_hashlib(ids, 3)
    for wrong, said in ((letter * 300 + "\0", "NUL"), (letter * 300 + "\ud800", "surrogate")):
        with pytest.raises(InputError, match=said):
            uniform(["a", wrong], seed=3)


def test_bytes_among_other_objects_are_refused():
    with pytest.raises(InputError, match="bytes"):
        uniform(np.array([b"a", "b"], dtype=object), seed=1)


def test_spaces_count():
    ids = ["a", "a ", " a", "a\t", "A"]
    assert uniform(ids, seed=1).tolist() == by_hashlib(ids, 1)
    assert len(set(uniform(ids, seed=1).tolist())) == 5


def test_string_columns_of_numpy_hash_as_text():
    ids = ["a", "longer than a short string", "été"]
    column = np.array(ids, dtype=np.dtypes.StringDType())
    assert uniform(column, seed=4).tolist() == by_hashlib(ids, 4)


@pytest.mark.parametrize("seed", [7, -3])
def test_duckdb_computes_the_same_numbers_in_sql(seed):
    rng = np.random.default_rng(9)
    ids = [f"été {i} 漢" * int(k) for i, k in enumerate(rng.integers(1, 12, 300))] + ["", "42", "it's"]
    with duckdb.connect() as db:
        db.execute("create table pool (place integer, id varchar)")
        db.executemany("insert into pool values (?, ?)", list(enumerate(ids)))
        sql = "select ('0x' || md5(? || ':' || id)[1:13])::ubigint / pow(2, 52) from pool order by place"
        rows = db.execute(sql, [str(seed)]).fetchall()
    assert uniform(ids, seed=seed).tolist() == [row[0] for row in rows]


# Drawing


def test_an_item_is_drawn_when_its_number_is_below_its_rate():
    ids = ["a", "42", "été"]  # 0.437…, 0.676…, 0.810… with seed 7
    assert draw([0.44, 0.67, 1.0], ids, seed=7).tolist() == [True, False, True]
    r = uniform(ids, seed=7)
    assert not draw(r, ids, seed=7).any()  # r < r is false
    assert draw(np.nextafter(r, 1), ids, seed=7).all()
    assert draw(np.ones(3), ids, seed=7).all()
    assert not draw(np.zeros(3), ids, seed=7).any()
    assert draw([1.0], ["a"], seed=7).dtype == bool


@quick
@given(st.integers(0, 10**6), st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40))
def test_a_higher_rate_only_adds_items(seed, pairs):
    low, high = np.sort(np.array(pairs), axis=1).T
    ids = np.arange(low.size)
    assert np.all(draw(low, ids, seed=seed) <= draw(high, ids, seed=seed))


def test_a_chains_draws_are_nested_and_each_step_is_its_own_draw():
    rng = np.random.default_rng(4)
    rates = np.sort(rng.random((700, 3)), axis=1)[:, ::-1]
    xi = draw(rates, np.arange(700), seed=31)
    assert xi.shape == (700, 3)
    assert np.all(np.diff(xi.astype(int), axis=1) <= 0)
    for k in range(3):
        np.testing.assert_array_equal(xi[:, k], draw(rates[:, k], np.arange(700), seed=31))
    assert 0 < xi[:, 2].sum() < xi[:, 1].sum() < xi[:, 0].sum() < 700


def plausible(selected: np.ndarray, probability: float) -> bool:
    """Two-sided binomial bound at the stated false-alarm rate."""
    return stats.binomtest(int(selected.sum()), selected.size, probability).pvalue > FALSE_ALARM


@pytest.mark.parametrize("rate", [0.013, 0.3, 0.97])
def test_items_are_selected_as_often_as_their_rate_says_and_the_check_can_tell(rate):
    ids, n = np.arange(40_000), 40_000
    assert plausible(draw(np.full(n, rate), ids, seed=8), rate)
    assert plausible(draw(np.full(n, rate), [f"row-{i}" for i in ids], seed=-8), rate)
    r = uniform(ids, seed=8)
    assert not plausible(r**1.3 < rate, rate)  # a number that is not quite uniform
    assert not plausible(np.floor(r * 16) / 16 < rate, rate)  # one digit of the digest instead of thirteen


def test_numbers_fill_the_interval_evenly():
    """Kolmogorov–Smirnov at the stated false-alarm rate; 24 bits less of the digest's spread would show."""
    r = uniform([f"id/{i}" for i in range(30_000)], seed=123)
    assert r.min() >= 0
    assert r.max() < 1
    assert stats.kstest(r, "uniform").pvalue > FALSE_ALARM
    assert stats.kstest(r**1.05, "uniform").pvalue < FALSE_ALARM
    assert np.unique(r).size == r.size


def test_seeds_and_items_are_independent_and_the_check_can_tell():
    """With rate p, both of two draws take an item with probability p²."""
    ids, rates = np.arange(30_000), np.full(30_000, 0.3)
    first, second = draw(rates, ids, seed=1), draw(rates, ids, seed=2)
    assert plausible(first & second, 0.09)
    assert plausible(first[:-1] & first[1:], 0.09)  # neighbours
    assert not plausible(first & draw(rates, ids, seed=1), 0.09)  # the seed ignored


# What is refused


@pytest.mark.parametrize("ids", [["a\0", "b"], np.array(["a\0", "b"], dtype=object)], ids=["list", "objects"])
def test_an_id_that_ends_in_NUL_is_refused_or_told_from_the_one_without(ids):
    """NumPy drops trailing NULs, so two different items would silently share one number."""
    try:
        r = uniform(ids, seed=1)
    except InputError as refusal:
        assert "NUL" in str(refusal)  # noqa: PT017
    else:
        assert r.tolist() == by_hashlib(["a\0", "b"], 1)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1.5, 2.0], "ids must be text or whole numbers; these are float64"),
        (np.array([1.0, 2.0], dtype="float32"), "these are float32"),
        (np.array([1.5, "b"], dtype=object), "text or whole numbers"),
        ([1 + 2j], "these are complex128"),
        (np.array(["2024-01-01"], dtype="datetime64[D]"), "these are datetime64"),
        ([["a", "b"]], "one-dimensional; got 2"),
        ("a", "one-dimensional; got 0"),
        (["\ud800"], "ids"),
    ],
)
def test_ids_that_are_not_text_or_whole_numbers_in_a_row_are_refused(ids, message):
    with pytest.raises(InputError, match=message):
        uniform(ids, seed=1)


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ([0.5], "there are 2 ids but 1 rates"),
        ([0.5, 0.4, 0.3], "there are 2 ids but 3 rates"),
        ([[0.5, 0.4]], "there are 2 ids but 1 rates"),
        (0.5, "there are 2 ids but 1 rates"),
        ([0.5, 1.1], r"rates must be in \(0, 1\]"),
        ([-0.1, 0.5], r"rates must be in \(0, 1\]"),
        ([np.nan, 0.5], r"rates must be in \(0, 1\]"),
        (["often", 0.5], "rates must be numbers"),
    ],
)
def test_rates_that_do_not_fit_are_refused(rates, message):
    with pytest.raises(InputError, match=message):
        draw(rates, ["a", "b"], seed=1)


@pytest.mark.parametrize("seed", [7.0, None])
def test_a_seed_that_is_not_a_whole_number_is_refused(seed):
    """7.0 would draw other items than 7, and a forgotten seed must not become the text "None"."""
    with pytest.raises(InputError, match="seed"):
        uniform(["b"], seed=seed)
