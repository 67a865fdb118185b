"""What a step costs beside its arithmetic: calls, objects, graphs and bytes, counted since timings cannot decide."""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.models.mixture.adaptive_model import AdaptiveMixture, Pool
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.queries.models.model_query import ModelQuery
from discreet.queries.moments.components import Components

LOSS = dp.GaussianLoss(0.1)
SPACE = dp.Box(-1, 1)


def mixture_query(d: int, k: int = 3) -> tuple[ModelQuery[Any], Pool, AdaptiveMixture]:
    """Return the question of a step of a fit."""
    base = Components(np.ones(1), np.zeros((1, d)), 0.01 * np.eye(d)[None])
    model = AdaptiveMixture(k, base, Clipping.at_quantile(d, 0.9), Shape("full", d), (0.1, 0.3, 0.6), 10)
    means = 0.01 * np.arange(k)[:, None] * np.ones((1, d))
    pool = Pool.empty(Components(np.full(k, 1 / k), means, np.repeat(base.covariances, k, axis=0)))
    return ModelQuery(model, pool, SPACE.for_columns(d)), pool, model


def count_calls(work: Callable[[], Any]) -> int:
    """Return how many Python functions are called."""
    calls = 0

    def see(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def one_step(d: int) -> Callable[[], Any]:
    curator = dp.Curator(np.zeros((200, d)), space=SPACE.for_columns(d))
    query, pool, model = mixture_query(d)
    return lambda: model.maximize(pool, curator.measure(query, LOSS))


def test_a_step_of_a_hundred_columns_calls_little_more_than_one_of_ten() -> None:
    """Once a question was described number by number: 2.5 million objects, and half of the time of a fit."""
    few, many = one_step(10), one_step(100)
    few(), many()
    assert count_calls(many) <= 2 * count_calls(few)  # of 80 times as many numbers, whose noise is drawn in pieces


def test_a_release_of_a_hundred_columns_holds_no_more_objects_than_one_of_ten() -> None:
    def objects(d: int) -> int:
        curator = dp.Curator(np.zeros((200, d)), space=SPACE.for_columns(d))
        query = mixture_query(d)[0]
        curator.measure(query, LOSS)
        gc.collect(1)
        gc.freeze()  # a million objects of other tests, which need not be counted
        before = len(gc.get_objects())
        held = curator.measure(query, LOSS)
        gc.collect()
        return len(gc.get_objects()) - before + (held is None)

    assert objects(100) <= objects(10) + 20


def test_a_step_on_dask_is_one_graph_and_brings_back_one_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    dask = pytest.importorskip("dask", reason="dask is not installed")
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    query = mixture_query(3)[0]
    records = dp.records.as_records(da.zeros((4000, 3), chunks=(100, 3)), space=query.space)
    back: list[Any] = []
    compute = dask.compute
    monkeypatch.setattr(dask, "compute", lambda *given: back.append(compute(*given)) or back[-1])
    records.reduce(query.sum, query.size, query.bound.l2)
    assert len(back) == 1
    assert len(pickle.dumps(back[0])) <= 1000 + 16 * query.size


def test_a_pass_over_rows_makes_few_arrays_of_a_block() -> None:
    """New memory for each operation took as long as the operation, and on Dask's workers twice as long."""
    import tracemalloc

    rows = np.random.default_rng(0).uniform(-1, 1, (16_384, 10))
    query = mixture_query(10)[0]
    records = dp.records.as_records(rows, space=query.space)
    records.reduce(query.sum, query.size, query.bound.l2)
    tracemalloc.start()
    records.reduce(query.sum, query.size, query.bound.l2)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most <= 3.5 * rows.nbytes
