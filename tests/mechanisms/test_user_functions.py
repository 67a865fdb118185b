"""The guard around code of a user: what comes out of a private call is the same whatever that code does with a row."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import traceback
import warnings
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path

import dask.array
import numpy as np
import pytest
from test_mechanisms import MECHANISMS, as_rows, quiet_bits

import discreet as dp
import discreet.mechanisms as dm
from discreet.guarantees.caution import WeakGuaranteeWarning
from discreet.noise import NotPrivateWarning
from discreet.queries.bound import Bound
from discreet.queries.functions.user_functions import WhileOwnCodeRuns
from discreet.queries.models.model_query import GuardedQuery
from discreet.records import Block
from effort import size

seeds_are_fine = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")

SPACE = dp.Ball(1.0, center=[0.0, 0.0])
MARK = 0.123  # the first number of the row on which a model goes wrong; no made-up row has it
SECRET = "a row is 0.123"
EXPECTED = (NotPrivateWarning, WeakGuaranteeWarning)  # of seeded noise, and of a large ε

_spec = spec_from_file_location("model_skeleton", Path(__file__).parents[2] / "examples" / "model_skeleton.py")
_skeleton = sys.modules.setdefault("model_skeleton", module_from_spec(_spec))
if not hasattr(_skeleton, "Mean"):
    _spec.loader.exec_module(_skeleton)


class NoException(BaseException):
    """What a narrow ``except`` lets through."""


class Liar(np.ndarray):
    """An array that says of every comparison, and of every look for infinity, what keeps it unnoticed."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(one) for one in inputs]
        result = getattr(ufunc, method)(*plain, **{k: v for k, v in options.items() if k != "out"})
        if ufunc is np.isfinite:
            result = np.ones_like(result)
        elif ufunc is np.greater:
            result = np.zeros_like(result)
        return np.asarray(result).view(Liar)

    def __array_function__(self, function, types, arguments, options):
        return np.asarray(super().__array_function__(function, types, arguments, options)).view(Liar)


class Lazy:
    """Numbers that are computed when they are asked for, and then fail."""

    dtype = np.dtype(np.float64)

    def __init__(self, shape):
        self.shape = shape

    def __array__(self, *arguments, **options):
        raise RuntimeError(SECRET)


class Touchy:
    """A result that fails when it is looked at."""

    dtype = np.dtype(np.float64)

    @property
    def shape(self):
        raise SystemExit(SECRET)


def raising(error):
    def fault(rows, here):
        raise error

    return fault


def masked(rows, here):
    rows[here] = np.inf
    return np.ma.masked_array(rows, mask=np.isinf(rows))


def lying(rows, here):
    rows[here] = np.inf
    return rows.view(Liar)


def objects(rows, here):
    return np.array(rows, dtype=object)


FAULTS = {
    "masked": masked,
    "a subclass that lies": lying,
    "an exception of its own": raising(NoException(SECRET)),
    "generator exit": raising(GeneratorExit(SECRET)),
    "cancelled": raising(asyncio.CancelledError(SECRET)),
    "exit": raising(SystemExit(SECRET)),
    "interrupt": raising(KeyboardInterrupt(SECRET)),
    "stop": raising(StopIteration(SECRET)),
    "no memory": raising(MemoryError(SECRET)),
    "lazy": lambda rows, here: Lazy(rows.shape),
    "touchy": lambda rows, here: Touchy(),
    "complex": lambda rows, here: rows + 1j,
    "objects": objects,
    "huge": lambda rows, here: np.broadcast_to(np.float64(0.0), (10**9, 10**9)),
    "one number": lambda rows, here: np.float64(1.0),
    "nothing": lambda rows, here: None,
    "a generator": lambda rows, here: (row for row in rows),
}


class Odd(_skeleton.Mean):
    """The skeleton, with a fault on one row."""

    def __init__(self, fault):
        super().__init__()
        object.__setattr__(self, "fault", fault)

    def contributions(self, params, block):
        rows = np.array(super().contributions(params, block))
        here = np.abs(np.asarray(block.x)[:, 0] - MARK) < 1e-9
        return self.fault(rows, here) if here.any() else rows


def zero(rows, here):
    rows[here] = 0.0
    return rows


def some_rows(count):
    """Return rows, one of which is marked, far from the ends of its block."""
    rows = np.random.default_rng(0).uniform(-0.5, 0.5, (count, 2))
    rows[count // 3] = [MARK, 0.25]
    return rows


def fit(fault, rows, **more):
    more = {"epsilon": 20.0, "random_state": 0} | more
    return dp.fit_model(Odd(fault), rows, delta=1e-6, n_steps=2, bounds=SPACE, **more).params


@cache
def expected(kind, count):
    """Return the fit in which the marked row contributes zero: the same for every fault, so it is made once."""
    return fit(zero, held(kind, some_rows(count)))


def held(kind, rows):
    return dask.array.from_array(rows, chunks=(300, 2)) if kind == "dask" else rows


MANY = 100_000  # seven blocks, so that threads are used

own_model = sys.modules[dp.fit_model.__module__]
check_model = own_model.check_model


@cache
def _checked(space, size):
    check_model(Odd(zero), space, size=size)


@pytest.fixture(autouse=True)
def _one_check(monkeypatch):
    """Before each fit a model is checked on made-up rows, on which no fault shows: once does for all of them."""

    def check(model, space, *, size):
        return _checked(space, size) if type(model) is Odd else check_model(model, space, size=size)

    monkeypatch.setattr(own_model, "check_model", check)


@seeds_are_fine
class TestModels:
    @pytest.mark.parametrize("fault", FAULTS)
    def test_a_row_on_which_it_fails_contributes_nothing(self, fault):
        np.testing.assert_array_equal(fit(FAULTS[fault], some_rows(60)), expected("array", 60))

    @pytest.mark.parametrize(
        ("fault", "kind"),
        [*product(["exit", "masked", "lazy", "a subclass that lies", "interrupt"], ["threads", "dask"])][:: size(3, 1)],
    )
    def test_on_threads_and_on_workers(self, fault, kind):
        count = MANY if kind == "threads" else 900
        np.testing.assert_array_equal(fit(FAULTS[fault], held(kind, some_rows(count))), expected(kind, count))

    @pytest.mark.parametrize("count", [60, MANY])
    @pytest.mark.parametrize("sets_filters", [False, True])
    def test_its_warnings_stay_inside(self, count, sets_filters):
        threads = set()

        def warns(rows, here):
            threads.add(threading.current_thread())
            if sets_filters:
                warnings.simplefilter("always")
            warnings.warn(SECRET, stacklevel=1)
            return zero(rows, here)

        rows = some_rows(count)
        without = expected("array", count)
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            result = fit(warns, rows)
            warnings.warn("afterwards", UserWarning, stacklevel=1)
        assert {str(one.message) for one in shown if one.category not in EXPECTED} == {"afterwards"}
        np.testing.assert_array_equal(result, without)
        if count == MANY and len(os.sched_getaffinity(0)) > 1:
            assert threading.main_thread() not in threads

    def test_warnings_that_are_errors_elsewhere_change_nothing(self):
        def warns(rows, here):
            warnings.warn(SECRET, stacklevel=1)
            return rows

        rows = some_rows(60)
        np.testing.assert_array_equal(fit(warns, rows), fit(lambda rows, here: rows, rows))

    def test_the_bound_that_is_enforced_is_the_one_that_was_charged(self):
        class Growing(_skeleton.Mean):
            seen = False

            def bound(self, params):
                return Bound(l2=1000.0) if self.seen else super().bound(params)

            def contributions(self, params, block):
                object.__setattr__(self, "seen", True)
                return 1000.0 * np.asarray(super().contributions(params, block))

        query = GuardedQuery(Growing(), np.zeros(2), SPACE)
        charged = query.bound.l2
        rows = query.contributions(Block(some_rows(60), np.zeros((60, 0), dtype=np.int64)))
        assert np.linalg.norm(rows, axis=1).max() <= charged * (1.0 + query.roundoff)

    def test_what_it_writes_into_rows_reaches_no_second_try(self):
        class Writing(_skeleton.Mean):
            categories = (2,)

            def contributions(self, params, block):
                several = len(block.x) > 1
                result = super().contributions(params, block) * block.codes
                if several:
                    block.codes[:] = 0
                    raise RuntimeError(SECRET)
                return result

        codes = np.ones((8, 1), dtype=np.int64)
        x = some_rows(8)
        result = GuardedQuery(Writing(), np.zeros(2), SPACE).contributions(Block(x, codes))
        np.testing.assert_array_equal(
            result, GuardedQuery(_skeleton.Mean(), np.zeros(2), SPACE).contributions(Block(x, codes))
        )
        assert np.all(codes == 1)


def bare(error, *names):
    """See that an interruption has no text, nothing it came from, and no frame of these functions."""
    assert error.args == ()
    assert (error.__cause__, error.__context__) == (None, None)
    assert not {*names} & {frame.name for frame in traceback.extract_tb(error.__traceback__)}


class TestInterruption:
    """Ctrl-C, as the system sends it."""

    @seeds_are_fine
    @pytest.mark.parametrize("count", [60, MANY])
    @pytest.mark.parametrize("swallowed", [False, True])
    def test_ends_a_fit_and_tells_nothing(self, count, swallowed):
        pressed = iter([True])  # once: other threads would press again after the fit has ended, and stop the tests

        def stops(rows, here):
            try:
                if next(pressed, False):
                    signal.raise_signal(signal.SIGINT)
                raise RuntimeError(SECRET)
            except BaseException:
                if not swallowed:
                    raise
            return rows

        before = signal.getsignal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt) as caught:
            fit(stops, some_rows(count))
        bare(caught.value, "stops")
        assert signal.getsignal(signal.SIGINT) is before

    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_ends_a_mechanism_and_tells_nothing(self, mechanism):
        def stops(rows):
            if len(rows) > 8 or not len(rows):  # made-up ones, and blocks without any
                return 0.0
            try:
                raise RuntimeError(str(rows))
            except RuntimeError:
                signal.raise_signal(signal.SIGINT)
            return 0.0

        with pytest.raises(KeyboardInterrupt) as caught:
            MECHANISMS[mechanism](stops, np.full((6, 1), 0.625), bounds=(0, 1), epsilon=1.0)
        bare(caught.value, "stops")

    def test_the_program_is_told_by_its_own_handler(self):
        def stops(rows):
            return 0.0 if len(rows) == 100 else signal.raise_signal(signal.SIGINT)

        told = []
        before = signal.signal(signal.SIGINT, lambda number, frame: told.append((number, frame)))
        try:
            with pytest.raises(KeyboardInterrupt) as caught:
                dm.output_perturbation(
                    stops, as_rows([0.5]), bounds=(0, 1), sensitivity=1.0, output=(0, 1), epsilon=1.0
                )
        finally:
            signal.signal(signal.SIGINT, before)
        bare(caught.value, "stops")
        assert told == [(signal.SIGINT, None)]

    def test_reaches_the_outer_of_two(self):
        def outer(rows):
            if len(rows) == 100:
                return 0.0
            return dm.output_perturbation(
                lambda rows: 0.0 if len(rows) == 100 else signal.raise_signal(signal.SIGINT),
                rows, bounds=(0, 1), sensitivity=1.0, output=(0, 1), epsilon=1.0,
            ).value  # fmt: skip

        with pytest.raises(KeyboardInterrupt) as caught:
            dm.output_perturbation(outer, as_rows([0.5]), bounds=(0, 1), sensitivity=1.0, output=(0, 1), epsilon=1.0)
        bare(caught.value, "outer")


def once(result):
    """Return a function that has a result for real rows, and another for made-up ones."""
    return lambda rows: 0.0 if len(rows) == 100 else result(rows)


def stopped(rows):
    raise KeyboardInterrupt(f"the first row is {rows[:1]}") from RuntimeError(str(rows))


def cancelled(rows):
    raise asyncio.CancelledError(str(rows))


class TestFunctions:
    @pytest.mark.parametrize("result", [stopped, cancelled, lambda rows: 1j, lambda rows: Lazy(())])
    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_a_failure_is_a_failure(self, mechanism, result):
        def answer(f):
            rows = np.full((6, 1), 0.625)
            return MECHANISMS[mechanism](once(f), rows, bounds=(0, 1), epsilon=1.0, bits=quiet_bits(3)).value

        assert answer(result) == answer(lambda rows: 1 / 0)
        assert answer(lambda rows: np.ma.masked) == answer(lambda rows: np.nan)

    def test_masked_numbers_are_none(self):
        def f(rows):
            return np.ma.masked_array([3.0, 3.0], mask=[len(rows) != 100, False])

        result = dm.output_perturbation(
            f, as_rows([0.5]), bounds=(0, 1), sensitivity=1e-6, output=(0, 5), size=2, default=1.0, epsilon=1.0
        )
        np.testing.assert_allclose(result.value, [1.0, 3.0], atol=0.01)

    def test_numbers_that_are_not_real_are_refused_before_anything_is_spent(self):
        for wrong in (1j, np.array(1.0 + 1j), "3.5", np.datetime64("2020-01-01")):
            with pytest.raises(ValueError, match="expected a function that returns one number, got values of type"):
                dm.output_perturbation(
                    lambda rows, wrong=wrong: wrong, [0.5], bounds=(0, 1), sensitivity=1.0, output=(0, 1), epsilon=1.0
                )

    def test_a_score_cannot_write_into_candidates(self):
        def score(rows, candidates):
            candidates[0][0] = float(rows[0, 0])
            return [100.0, -100.0]

        result = dm.exponential(
            score, np.full((5, 1), MARK), [[7.0], [8.0]], bounds=(0, 1), sensitivity=0.1, epsilon=50.0
        )
        assert result.value == [7.0]

    def test_masked_scores_of_a_row_are_low(self):
        def score(rows, candidates):
            result = np.tile([1.0, 0.5], (len(rows), 1))
            return np.ma.masked_array(result, mask=rows[:, :1] * np.ones(2) == MARK)

        mechanism = dm.FactoredExponential(score, [1, 2], low=-2.0, high=2.0)
        assert mechanism.log_scores(as_rows([MARK, 0.5])).tolist() == [[-2.0, -2.0], [1.0, 0.5]]


def released(f):
    return dm.output_perturbation(once(f), as_rows([0.5]), bounds=(0, 1), sensitivity=1.0, output=(0, 1), epsilon=1.0)


def warns(rows):
    warnings.warn(SECRET, stacklevel=1)
    return 0.0


class Elsewhere:
    """A thread that opens a block of warnings of its own, and closes it when it is told to."""

    def __init__(self, **options):
        self.opened, self.close, self.log = threading.Event(), threading.Event(), []
        self._thread = threading.Thread(target=self._run, kwargs=options)

    def _run(self, **options):
        with warnings.catch_warnings(**options) as log:
            if options:
                warnings.simplefilter("always")
            self.opened.set()
            assert self.close.wait(30)
            self.log = [str(one.message) for one in log or []]

    def start(self):
        self._thread.start()
        assert self.opened.wait(30)

    def end(self):
        self.close.set()
        self._thread.join()


@pytest.fixture
def shown():
    """Return what a program would see of warnings; all are shown."""
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        yield log


class TestWarningsOnThreads:
    def test_a_block_that_ends_elsewhere_does_not_end_the_silence(self, shown):
        other = Elsewhere()
        other.start()

        def f(rows):
            other.end()
            return warns(rows)

        released(f)
        assert [str(one.message) for one in shown] == []

    def test_a_block_that_begins_elsewhere_does_not_record(self, shown):
        other = Elsewhere(record=True)

        def f(rows):
            other.start()
            warns(rows)
            other.end()
            return 0.0

        released(f)
        assert other.log == []
        assert [str(one.message) for one in shown] == []

    def test_two_calls_that_overlap_are_silent_and_leave_no_silence(self, shown):
        first, second = threading.Event(), threading.Event()

        def begins(rows):
            first.set()
            assert second.wait(30)
            return warns(rows)

        thread = threading.Thread(target=released, args=(begins,))

        def ends(rows):
            thread.start()
            assert first.wait(30)
            return warns(rows)

        released(ends)
        second.set()
        thread.join()
        assert [str(one.message) for one in shown] == []
        warnings.warn("public", UserWarning, stacklevel=1)
        assert [str(one.message) for one in shown] == ["public"]

    def test_a_thread_that_the_function_starts_is_silent(self, shown):
        def f(rows):
            thread = threading.Thread(target=warns, args=(rows,))
            thread.start()
            thread.join()
            return 0.0

        released(f)
        assert [str(one.message) for one in shown] == []

    def test_what_is_added_does_nothing_otherwise(self):
        released(warns)
        assert not issubclass(UserWarning, WhileOwnCodeRuns)
        with pytest.warns(UserWarning, match="public"):
            warnings.warn("public", UserWarning, stacklevel=1)
        for filters in ("error", "default"):
            with warnings.catch_warnings():
                warnings.simplefilter(filters)
                released(warns)
                count = sum(one[2] is WhileOwnCodeRuns for one in warnings.filters)
                assert count == 1
