"""Spark data frames: the sums of one process to the last bit, one draw of noise, and silence, whatever tasks do."""

from __future__ import annotations

import gc
import os
import random
import weakref

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.queries.moments.clipped_moments import ClippedMoments, MomentSums
from discreet.queries.moments.components import Components
from discreet.queries.moments.moments import Moments, Sum
from discreet.records import Box, as_records
from discreet.records.sources import spark_frames
from discreet.records.sources.partitions import CHANGED, Partitions
from spark_session import spark

# PySpark's connections to its JVM are closed when they are collected.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

BLOCK, PARTS = 50, 5
BOX = Box([-3.0, -3.0, -3.0], [3.0, 3.0, 3.0])
COLUMNS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def session():
    return spark()


def table(rows=1000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(rows, 3)), columns=COLUMNS)


def in_parts(session, frame, parts=PARTS):
    """Return rows as a Spark data frame of so many partitions, whose order and cuts are those of the rows."""
    rows = session.sparkContext.parallelize(frame.to_numpy().tolist(), parts)
    return session.createDataFrame(rows, ", ".join(f"{name} double" for name in frame.columns))


def mixture():
    means, covariances = np.array([[0.2, 0.0, 0.1], [-0.2, 0.1, 0.0]]), np.repeat(0.05 * np.eye(3)[None], 2, axis=0)
    return ClippedMoments(Components(np.array([0.4, 0.6]), means, covariances), 2.0, (0.2, 0.3, 0.5))


def queries():
    return Sum(BOX), Moments(BOX, (0.2, 0.3, 0.5)), MomentSums(mixture(), BOX, "mixture")


def summed(records, query):
    return records.reduce(query.sum, query.size, query.bound.l2)


def test_the_same_blocks_give_the_bits_of_one_process(session):
    frame = table()
    data = in_parts(session, frame)
    for query in queries():
        local, far = (as_records(rows, space=BOX, block_rows=BLOCK) for rows in (frame, data))
        assert summed(local, query).tobytes() == summed(far, query).tobytes()


def test_rows_counts_columns_and_gathered_values_are_those_of_the_frame(session):
    frame = table(97)
    records = as_records(in_parts(session, frame, 3), space=BOX)
    assert (records.rows, records.columns, records.kind) == (97, ("a", "b", "c"), "Spark data frame")
    assert sum(len(block.x) for block in records.blocks()) == 97
    values = np.sort(np.clip(frame["b"].to_numpy(), -3, 3))
    assert records.only(["b"]).gather(lambda block: block.x, 1)[:, 0].tolist() == values.tolist()


def test_an_empty_frame_and_empty_partitions_are_rows_too(session):
    nothing = session.createDataFrame(table(4)).where("a > 100")
    assert summed(as_records(nothing, space=BOX), Sum(BOX)).tolist() == [0.0] * Sum(BOX).size
    few = session.createDataFrame(table(4)).repartition(7)
    assert summed(as_records(few, space=BOX), Sum(BOX)) == pytest.approx(
        summed(as_records(table(4), space=BOX), Sum(BOX)), abs=1e-12
    )


# Chaos: tasks that die, that are late, that run twice.


class Mortal:
    """A kernel in whose first attempt some partitions' processes die, and others are late."""

    def __init__(self, kernel, seed):
        self.kernel, self.seed = kernel, seed

    def __call__(self, block):
        from pyspark import TaskContext

        task = TaskContext.get()
        chance = random.Random(self.seed * 1000 + task.partitionId())
        if task.attemptNumber() == 0 and chance.random() < 0.3:
            os._exit(1)  # as the kernel's out-of-memory killer would
        return self.kernel(block)


def test_killed_tasks_change_no_bit(session):
    frame, query = table(), queries()[2]
    expected = summed(as_records(frame, space=BOX, block_rows=BLOCK), query)
    records = as_records(in_parts(session, frame), space=BOX, block_rows=BLOCK)
    for seed in range(3):
        result = records.reduce(Mortal(query.sum, seed), query.size, query.bound.l2)
        assert result.tobytes() == expected.tobytes()


def test_partitions_that_come_twice_are_noticed(session, monkeypatch):
    records = as_records(in_parts(session, table()), space=BOX)
    frame = type(session.createDataFrame(table(1)))
    collect = frame.collect
    monkeypatch.setattr(frame, "collect", lambda self: [*collect(self), *collect(self)[:1]])
    with pytest.raises(RuntimeError) as caught:
        summed(records, Sum(BOX))
    assert str(caught.value) == CHANGED


def test_kept_partitions_that_are_lost_or_come_twice_are_noticed(session, monkeypatch):
    from pyspark import RDD

    collect = RDD.collect
    for spoil in (lambda own: collect(own)[1:], lambda own: [*collect(own), *collect(own)[:1]]):
        records = as_records(in_parts(session, table()), space=BOX)
        summed(records, Sum(BOX))
        with monkeypatch.context() as patch:
            patch.setattr(RDD, "collect", spoil)
            with pytest.raises(RuntimeError) as caught:
                summed(records, Sum(BOX))
        assert str(caught.value) == CHANGED


@pytest.mark.parametrize("parts", [1, 3])
def test_kept_blocks_give_the_bits_of_the_first_pass(session, parts, monkeypatch):
    """With a unit, a view of some columns, a block that is not full, and without RDDs too (Spark Connect has none)."""
    frame = table(730).assign(who=np.arange(730) % 300)
    data = session.createDataFrame(frame).coalesce(parts).cache()
    options = {"space": BOX, "unit": "who", "unit_type": "integer", "max_rows": 2, "block_rows": BLOCK}
    for view in (COLUMNS, ["c", "a"]):
        records = as_records(data, **options).only(view)
        sums = [records.reduce(lambda block: block.x.sum(axis=0), len(view)) for _ in range(3)]
        assert len({one.tobytes() for one in sums}) == 1
        with monkeypatch.context() as patch:
            patch.setattr(spark_frames, "_has_rdds", lambda session: False)
            again = records.reduce(lambda block: block.x.sum(axis=0), len(view))
        assert again.tobytes() == sums[0].tobytes()


def test_a_block_that_cannot_be_prepared_is_an_error_without_a_row(session, monkeypatch):
    records = as_records(in_parts(session, table()), space=BOX)
    summed(records, Sum(BOX))
    monkeypatch.setattr(Partitions, "prepare", lambda own, part, units: loud(part))
    with pytest.raises(RuntimeError, match="Spark failed with the error AttributeError"):
        summed(records, Sum(BOX))


def count_tracked(block):
    """Return for each row how many objects the garbage collection of its worker looks at."""
    return np.full((len(block.x), 1), float(len(gc.get_objects())))


def test_workers_that_are_used_again_do_not_look_for_garbage_among_modules(session):
    """Spark collects garbage after each task of a worker: with all modules of a fit that takes as long as 10⁵ rows."""
    records = as_records(in_parts(session, table()), space=BOX)
    first, *_, last = (records.gather(count_tracked, 1).min() for _ in range(8))
    assert last < 20_000, f"{first} objects in the first pass, {last} in the last one"


def test_modules_are_spared_once_and_rows_are_freed_as_before():
    class Rows:
        def __init__(self):
            self.own = self  # a cycle, which only a garbage collection frees

    spark_frames._spare_imports.cache_clear()
    try:
        spark_frames._spare_imports(1)
        spared, rows = gc.get_freeze_count(), Rows()
        freed, new = weakref.ref(rows), [[] for _ in range(1000)]
        spark_frames._spare_imports(1)  # nothing was imported since: nothing more is spared
        assert gc.get_freeze_count() <= spared
        del rows
        gc.collect()
        assert freed() is None
        spark_frames._spare_imports(2)
        assert gc.get_freeze_count() >= spared + len(new) // 2
    finally:
        gc.unfreeze()


def test_rows_that_are_drawn_anew_in_every_pass_are_noticed(session, tmp_path):
    from pyspark.sql import functions

    changing = functions.udf(lambda: random.SystemRandom().random(), "double").asNondeterministic()
    data = session.createDataFrame(table(50)).select(changing().alias("a"))
    with pytest.raises(RuntimeError) as caught:
        dp.GaussianMixture(2, epsilon=1.0, delta=1e-6, bounds=(0, 1)).fit(data)
    assert str(caught.value) == CHANGED


# One draw, one spend.


def test_noise_is_drawn_once_whatever_spark_computes_again(session, tmp_path):
    """PipelineDP draws anew at every action on its lazy result: six collects of one count gave six values."""
    data = session.createDataFrame(table(500)).cache()
    ledger = dp.Ledger(tmp_path / "ledger.db")
    curator = dp.Curator(data, space=BOX, name="visits", ledger=ledger)
    answer = dp.statistics.mean(curator, "a", epsilon=1.0)
    values = set()
    for _ in range(6):
        data.unpersist()
        data.count()
        values.add(float(answer.value))
    assert len(values) == 1
    assert len(ledger.history("visits")) == 1


def test_a_killed_worker_costs_nothing_more(session, tmp_path, monkeypatch):
    ledger = dp.Ledger(tmp_path / "ledger.db")
    curator = dp.Curator(in_parts(session, table(500)), space=BOX, name="visits", ledger=ledger, neighbors="add-remove")
    kernel = Moments.sum
    monkeypatch.setattr(Moments, "sum", lambda self, block: Mortal(lambda rows: kernel(self, rows), 1)(block))
    release = curator.measure(Moments(BOX, (0.2, 0.3, 0.5)), dp.GaussianLoss(1.0, "add-remove"))
    assert np.isfinite(release["first"]).all()
    assert len(ledger.history("visits")) == 1


# Silence.


def loud(block):
    raise ValueError(f"a row: {block.x[0, 0]!r}")


def test_errors_of_tasks_show_no_row(session, capfd):
    secret = 0.123456789
    frame = pd.DataFrame({"a": [secret] * 3, "b": 0.5, "c": 0.25})
    records = as_records(session.createDataFrame(frame), space=BOX)
    for ask in (lambda: records.reduce(loud, 1), lambda: records.gather(loud, 1)):
        with pytest.raises(RuntimeError, match="Spark failed with the error ValueError") as caught:
            ask()
        assert caught.value.__context__ is None
    out, err = capfd.readouterr()
    assert "12345678" not in out + err


def test_errors_of_the_driver_show_no_row_either(session):
    """Rows of persons with too many rows come to the driver."""
    frame = pd.DataFrame({"who": ["ann", "ann", "bob", "bob"], "x": [0.75, 0.75, 0.125, 0.125]})
    records = as_records(session.createDataFrame(frame), space=Box(0, 1), unit="who", max_rows=1)
    with pytest.raises(RuntimeError, match="Spark failed with the error ValueError"):
        records.reduce(loud, 1)


def test_timestamps_are_dates_and_streams_are_refused(session):
    days = pd.DataFrame({"when": pd.to_datetime(["2022-01-01 10:00", "2022-03-01 23:00"])})
    schema = dp.Schema({"when": dp.Date("2022-01-01", "2022-12-31")})
    records = as_records(session.createDataFrame(days), schema=schema)
    assert records.where("when < '2022-02-01'").rows == 2
    assert sum(len(block.x) for block in records.where("when < '2022-02-01'").blocks()) == 1
    stream = session.readStream.format("rate").load()
    with pytest.raises(ValueError, match="streaming data frame"):
        as_records(stream, schema=dp.Schema({"value": dp.Number(0, 9)}))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda frame: frame.selectExpr("a", "b", "array(c) as c"), "the column 'c' has the type"),
        (lambda frame: frame.selectExpr("a", "b", "b", "c"), "there twice"),
        (lambda frame: frame.selectExpr("a", "b"), "'c' is not in the data"),
    ],
)
def test_what_cannot_be_read_is_refused_before_anything_is_spent(session, make, said):
    schema = dp.Schema({name: dp.Number(-3, 3) for name in COLUMNS})
    with pytest.raises(ValueError, match=said):
        as_records(make(session.createDataFrame(table(4))), schema=schema)


def test_odd_names_of_columns_are_names(session):
    frame = pd.DataFrame({"a.b": [1.0, 2.0], "the `old` ward": [0.5, 0.25], "c d": [1.0, 1.0]})
    records = as_records(session.createDataFrame(frame), space=Box(0, 3))
    assert records.reduce(lambda block: block.x.sum(axis=0), 3).tolist() == [3.0, 0.75, 2.0]


# What users call.


def visits(session, rows=4000):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "patient": rng.integers(0, rows // 4, rows),
            "age": rng.normal(60, 12, rows).round(),
            "stay": rng.gamma(2.0, 2.0, rows),
            "ward": rng.choice(["heart", "lung", "hip"], rows),
        }
    )
    schema = dp.Schema(
        {"age": dp.Number(0, 110), "stay": dp.Number(0, 60), "ward": dp.Category(["heart", "lung", "hip"])},
        unit="patient", max_rows=5, unit_type="integer",
    )  # fmt: skip
    return frame, session.createDataFrame(frame).repartition(4), schema


def test_statistics_and_a_database_answer_as_from_a_frame(session, tmp_path):
    frame, data, schema = visits(session)
    own = {"schema": schema, "ledger": tmp_path / "ledger.db", "budget": dp.Guarantee(90.0, 1e-6)}
    near = dp.StatisticalDatabase(frame, name="near", **own)
    far = dp.StatisticalDatabase(data, name="far", **own)
    for db in (near, far):
        answer = db.mean("age", by="ward", epsilon=20.0)
        expected = frame.groupby("ward")["age"].mean()[["heart", "lung", "hip"]]
        assert np.abs(np.asarray(answer.value).ravel() - expected.to_numpy()).max() < 3.0
    assert far.count(epsilon=1.0).value == pytest.approx(near.count(epsilon=1.0).value, abs=200.0)
    checked = [db.check_schema(epsilon=5.0) for db in (near, far, far)]  # the third time from rows that are kept
    assert len({str(one.value.shape) for one in checked}) == 1
    assert far.median("stay", epsilon=10.0).value == pytest.approx(frame["stay"].median(), abs=0.5)


def test_models_are_fitted(session):
    frame, data, schema = visits(session)
    mixture = dp.GaussianMixture(2, epsilon=20.0, delta=1e-6, bounds={"age": (0, 110), "stay": (0, 60)})
    result = mixture.fit(data.select("age", "stay"))
    assert (result.weights_ @ result.means_)[0] == pytest.approx(frame["age"].mean(), abs=3.0)
    table = dp.TableMixture(2, epsilon=20.0, delta=1e-6, schema=schema).fit(data)
    assert {*table.sample(50)} == {"age", "stay", "ward"}
    assert isinstance(result.sample(5)[0], pd.DataFrame)
