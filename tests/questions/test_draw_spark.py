"""A real Spark: draws that are those of memory to the bit, and estimates from sums."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import ratewise as rw
from ratewise.cli.main import main
from ratewise.errors import TableError
from ratewise.lab.worlds import calibrated
from ratewise.questions.rated import large_relation
from ratewise.tables import count_groups, count_rows, open_relation
from ratewise.tables.spark import is_spark, with_value

pytestmark = pytest.mark.filterwarnings("ignore")  # PySpark's own, about pandas and sockets

N = 2000


@pytest.fixture(scope="module")
def judged():
    return calibrated(N + 400, mean=0.8, spread=0.6, rng=np.random.default_rng(77))


@pytest.fixture(scope="module")
def pool(judged):
    topic = np.where(judged.weak[400:] > 0.9, "easy", "hard").astype(object)
    return {"id": np.array([f"é{i}" for i in range(N)], dtype=object), "g": judged.weak[400:], "topic": topic}


def plan_of(judged, **options):
    pilot = {"g": judged.weak[:400], "h": judged.strong[:400]}
    return rw.plan(pilot, weak="g", strong="h", weak_cost=0.02, strong_cost=1.0, **options)


@pytest.fixture(scope="module")
def frame(spark, pool, tmp_path_factory):
    """The pool in many small files and one large one, in partitions of very different sizes, with a column of gaps."""
    folder = tmp_path_factory.mktemp("spark") / "pool"
    folder.mkdir()
    gaps = np.where(np.arange(N) % 3 == 0, np.nan, np.arange(N))
    for number, (start, stop) in enumerate([(0, 1400), *((i, i + 50) for i in range(1400, N, 50))]):
        rows = {name: values[start:stop] for name, values in pool.items()} | {"gaps": gaps[start:stop]}
        rw.write_table(rw.read_table(rows), folder / f"{number:03d}.parquet")
    return spark.read.parquet(str(folder)).repartition(3, "topic").cache()


def by_id(frame):
    rows = {row["id"]: row for row in frame.collect()}
    return [rows[f"é{i}"] for i in range(N)]


def test_a_frame_is_drawn_as_memory_draws_it_whatever_the_partitions(frame, pool, judged):
    plan = plan_of(judged, budget=50)
    whole = rw.draw_pool(pool, plan, seed=4)
    assert whole.items < N  # the line ends before its end
    drawn = rw.draw_pool(frame, plan, seed=4)
    assert is_spark(drawn)
    rows = by_id(drawn)
    assert [row["selected"] for row in rows] == whole.selected.tolist()
    rates = np.array([np.nan if row["rate"] is None else row["rate"] for row in rows])
    np.testing.assert_array_equal(rates, whole.rates)
    assert [row["gaps"] is None for row in rows[:4]] == [True, False, False, True]
    assert sum(row["selected"] for row in drawn.collect()) == whole.asked  # computed again, it is the same


@pytest.mark.soak
def test_a_task_that_fails_and_runs_again_gives_the_same_rows(frame, pool, judged, tmp_path):
    """The first worker that has handed out a batch dies, once; rates are those of learned models."""
    mark = str(tmp_path / "died")

    def dies_once(batches):
        for batch in batches:
            yield batch
            if not os.path.exists(mark):
                with open(mark, "w"):
                    os._exit(7)

    plan = plan_of(judged, budget=50, calibrate="auto")
    drawn = rw.draw_pool(frame.mapInArrow(dies_once, frame.schema), plan, seed=4)
    assert os.path.exists(mark)
    found = sorted(row["id"] for row in drawn.where("selected").collect())
    assert found == sorted(pool["id"][rw.draw_pool(pool, plan, seed=4).selected].tolist())


def test_the_command_line_lets_spark_write_what_duckdb_draws(spark, pool, judged, tmp_path, capsys):
    """`ratewise draw FOLDER --engine spark`: parts of Parquet, the same rows, and the same figures."""
    answers, plan = tmp_path / "answers", tmp_path / "plan.json"
    plan_of(judged, budget=50).save(plan)
    answers.mkdir()
    rw.write_table(rw.read_table({name: values[:500] for name, values in pool.items()}), answers / "a.parquet")
    said, chosen = [], []
    for engine, more in (("spark", ("--master", "local[2]")), ("duckdb", ())):
        given = ["draw", answers, "--plan", plan, "--seed", 4, "--engine", engine, *more, "-o", f"{tmp_path}/{engine}/"]
        with pytest.raises(SystemExit) as left:
            main([*map(str, given), "--json"])
        assert left.value.code == 0
        said.append(json.loads(capsys.readouterr().out) | {"output": ""})
        table = open_relation(tmp_path / engine).table()
        chosen.append(dict(zip(table.ids().tolist(), table.texts("selected").tolist(), strict=True)))
    assert said[0] == said[1]
    assert chosen[0] == chosen[1]


def test_plans_and_estimates_collect_sums_and_labels_only(frame, spark, pool, judged, monkeypatch):
    plan = plan_of(judged, budget=400, pool_size=N)
    whole = rw.draw_pool(pool, plan, seed=9, within_budget=False)
    human = np.where(whole.selected, judged.strong[400:], np.nan)
    columns = {**pool, "rate": whole.rates, "selected": whole.selected, "human": human}
    rows = rw.read_table(columns).to_frame("pyarrow")
    rated = spark.createDataFrame(rows).repartition(2)
    monkeypatch.setattr(type(rated), "toPandas", None)
    for options in ({"method": "difference"}, {"method": "regression", "interval": "t"}):
        found = rw.estimate_table(rated, weak="g", strong="human", **options)
        right = rw.estimate_table(columns, weak="g", strong="human", **options)
        assert found.value == pytest.approx(right.value, rel=1e-12)
        assert found.standard_error == pytest.approx(right.standard_error, rel=1e-9)
        assert (found.items, found.labels) == (right.items, right.labels)
    sliced = rw.estimate_slices(rated, by="topic", weak="g", strong="human", method="difference")
    right = rw.estimate_slices(columns, by="topic", weak="g", strong="human", method="difference")
    assert [one.value for one in sliced.slices] == pytest.approx([one.value for one in right.slices], rel=1e-12)
    assert rw.estimate_table(rated, weak="g", strong="human").labels == whole.asked
    found, right = (
        rw.estimate_table(t, weak="g", strong="human", clusters="topic", method="difference") for t in (rated, columns)
    )
    assert found.standard_error == pytest.approx(right.standard_error, rel=1e-9)
    pair = {"weak": ("g", "rate"), "strong": ("human", "human"), "names": ("a", "b"), "method": "difference"}
    found, right = (rw.compare(t, **pair) for t in (rated, columns))
    assert found.difference.value == pytest.approx(right.difference.value, rel=1e-12)
    without = rw.estimate_table(rated.drop("id"), weak="g", strong="human")
    assert any("no line was fitted" in note for note in without.notes)
    assert (count_rows(rated), count_groups(rated, "topic")) == (N, count_groups(pool, "topic"))
    assert with_value(rated, ["human"]).num_rows == whole.asked
    options = {"weak": "g", "strong": "human", "weak_cost": 0.02, "strong_cost": 1.0, "budget": 100}
    labelled = {name: values[whole.selected] for name, values in columns.items()}
    found, right = rw.plan(rated, **options, pool=rated), rw.plan(labelled, **options, pool=columns)
    assert found.recommendation == right.recommendation
    for name in ("rows", "labels", "variance", "weak_error", "pool_size"):
        assert found.basis[name] == pytest.approx(right.basis[name], rel=1e-12)
    assert found.transfer.items == pytest.approx(right.transfer.items, rel=1e-6)


@pytest.fixture(scope="module")
def in_words(judged, pool):
    """A drawn pool whose people answer yes or no, as columns of memory."""
    whole = rw.draw_pool(pool, plan_of(judged, budget=400, pool_size=N), seed=9, within_budget=False)
    said = np.where(judged.strong[400:] == 1, "yes", "no").astype(object)
    said[~whole.selected] = None
    return {**pool, "rate": whole.rates, "selected": whole.selected, "human": said}


@pytest.mark.parametrize("without", [(), ("rate", "selected")])
def test_words_and_tables_without_rates_agree_with_memory(spark, in_words, without):
    """Strong ratings are yes and no; without rates, whoever has a label is taken as drawn at one rate."""
    columns = {name: values for name, values in in_words.items() if name not in without}
    rated = spark.createDataFrame(rw.read_table(columns).to_frame("pyarrow"))
    found, right = (
        rw.estimate_table(t, weak="g", strong="human", method="difference", interval="t") for t in (rated, columns)
    )
    assert found.value == pytest.approx(right.value, rel=1e-12)
    assert found.standard_error == pytest.approx(right.standard_error, rel=1e-9)
    assert (found.items, found.labels) == (right.items, right.labels) == (N, sum(in_words["selected"]))
    assert sorted(found.notes) == sorted(right.notes)
    assert any("no rate column" in note for note in found.notes) == bool(without)


def test_plans_from_words_agree_with_memory(spark, in_words):
    rated = spark.createDataFrame(rw.read_table(in_words).to_frame("pyarrow"))
    options = {"weak": "g", "strong": "human", "weak_cost": 0.02, "strong_cost": 1.0, "budget": 60}
    labelled = {name: values[in_words["selected"]] for name, values in in_words.items()}
    found, right = rw.plan(rated, **options, pool=rated), rw.plan(labelled, **options, pool=in_words)
    assert found.recommendation == right.recommendation
    assert found.basis["variance"] == pytest.approx(right.basis["variance"], rel=1e-12)
    assert found.transfer.items == pytest.approx(right.transfer.items, rel=1e-6)


CONNECTED = """
import numpy as np
from pyspark.sql import SparkSession

import ratewise as rw

spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
rng = np.random.default_rng(1)
judge = rng.random(800)
human = (rng.random(800) < judge).astype(float)
pilot, ids = {"g": judge[:200], "h": human[:200]}, np.array([f"é{i}" for i in range(600)], dtype=object)
plan = rw.plan(pilot, weak="g", strong="h", weak_cost=0.02, strong_cost=1.0, budget=50)
pool = {"id": ids, "g": judge[200:]}
whole = rw.draw_pool(pool, plan, seed=4)
drawn = rw.draw_pool(spark.createDataFrame(rw.read_table(pool).to_frame("pandas")), plan, seed=4)
assert sorted(row["id"] for row in drawn.where("selected").collect()) == sorted(ids[whole.selected])
rated = {**pool, "rate": whole.rates, "selected": whole.selected, "h": np.where(whole.selected, human[200:], np.nan)}
there = spark.createDataFrame(rw.read_table(rated).to_frame("pandas"))
found, right = (rw.estimate_table(t, weak="g", strong="h", method="difference") for t in (there, rated))
assert abs(found.value - right.value) <= 1e-12 * abs(right.value), (found, right)
print(type(there).__module__, whole.asked)
spark.stop()
"""


@pytest.mark.soak
def test_spark_connect_draws_and_estimates_the_same():
    """In a process of its own: a session of Spark Connect and one of classic Spark do not go together."""
    here = os.environ | {"PYSPARK_PYTHON": sys.executable, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CONNECTED], capture_output=True, text=True, check=False, env=here
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split()[0] == "pyspark.sql.connect.dataframe"


def test_what_spark_cannot_do_is_refused_in_a_line(frame, spark, pool, judged):
    plan = plan_of(judged, budget=50)
    with pytest.raises(TableError, match="have no order; name the column"):
        rw.draw_pool(frame.drop("id"), plan, seed=4)
    twice = frame.union(frame.limit(1))
    with pytest.raises(TableError, match=r"the id 'é\d+' more than once"):
        rw.draw_pool(twice, plan, seed=4)
    with pytest.raises(TableError, match="ids are text or whole numbers"):
        rw.draw_pool(frame, plan, seed=4, id_column="g")
    with pytest.raises(TableError, match="no value in row"):
        rw.draw_pool(frame.withColumn("g", frame["gaps"]), plan, seed=4)
    with pytest.raises(TableError, match="would collect all of its rows"):
        rw.estimate_table(frame.withColumn("rate", frame["g"]), weak="g", strong="topic", clusters="id")
    assert large_relation(frame).row_in_sql is not None
