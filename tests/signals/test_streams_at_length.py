"""The bits under attack: workers of every kind, copies and forks, of which no two may ever see the same words.

A stream that two workers share would let one subtract the noise of the other. Each attack takes the first words of
every worker, and of every copy of a source, and looks for a word that is there twice: of N words of 64 bits two are
equal by chance with a probability of N²/2⁶⁵, below 10⁻⁹ for all that is drawn here.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

import discreet as dp
from discreet.noise import Bits, GaussianNoise, NotPrivateWarning, SecureBits, SeededBits
from effort import LONG, measured, size

WORDS = size(16, 256)
WORKERS = size(4, 64)
AT_ONCE = 8  # processes


def first_words(bits: Bits) -> list[int]:
    return bits.words(WORDS).tolist()


def in_worker(bits: Bits, _: int = 0) -> tuple[int, list[int]]:
    """Return who worked, and what a source from elsewhere and a source of its own give there."""
    return os.getpid(), first_words(bits) + first_words(SecureBits())


def used() -> SecureBits:
    """Return a source that has been drawn from: if it kept anything, a copy would take it along."""
    bits = SecureBits()
    bits.words(4)
    return bits


def first_noise(bits: Bits) -> list[int]:
    return GaussianNoise(1.0).sample(WORDS, bits).tolist()


def shared(streams: list[list[int]]) -> int:
    """Return how many words were seen more than once."""
    every = [word for stream in streams for word in stream]
    return len(every) - len(set(every))


def share_nothing(kind: str, streams: list[list[int]]) -> bool:
    """Return whether no word was seen twice, and write down what was compared."""
    result = shared(streams)
    measured(f"streams-{kind}", streams=len(streams), words=sum(map(len, streams)), shared=result)
    return result == 0


@contextmanager
def forking():
    """Forking a process that has threads is deprecated, and what users do all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def forked(bits: Bits, work) -> list[int]:
    """Return what ``work`` gives in a bare fork."""
    reader, writer = os.pipe()
    with forking():
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as sink:
                pickle.dump(work(bits), sink)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as source:
        result = source.read()
    assert os.waitpid(child, 0)[1] == 0
    return pickle.loads(result)


class Stateful(Bits):
    """A generator as libraries have them, with a state that a copy takes along; the attack must see it."""

    private = True

    def __init__(self) -> None:
        self._generator = np.random.default_rng()

    def words(self, count: int):
        return self._generator.integers(0, 2**64, count, dtype=np.uint64)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")


@needs_fork
@pytest.mark.parametrize("work", [first_words, first_noise], ids=["words", "noise"])
def test_forks_of_forks_share_nothing(work):
    bits = used()
    before = work(bits)
    inside = [forked(bits, lambda bits: work(bits) + forked(bits, work)) for _ in range(WORKERS)]
    assert share_nothing(f"forks-{work.__name__}", [before, *inside, work(bits)])


@needs_fork
def test_a_generator_with_a_state_is_caught_in_a_fork():
    bits = Stateful()
    first_words(bits)
    assert shared([forked(bits, first_words) for _ in range(2)]) == WORDS
    assert shared([first_words(copy.deepcopy(bits)), first_words(pickle.loads(pickle.dumps(bits)))]) == WORDS


@pytest.mark.parametrize("method", size(["fork"], ["fork", "forkserver", "spawn"]))
def test_processes_of_every_start_method_share_nothing(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform has no {method}")
    context, bits = multiprocessing.get_context(method), used()
    with forking(), context.Pool(min(AT_ONCE, WORKERS), maxtasksperchild=1) as pool:
        result = pool.starmap(in_worker, [(bits, task) for task in range(WORKERS)], chunksize=1)
    assert len({who for who, _ in result} - {os.getpid()}) == WORKERS
    assert share_nothing(method, [words for _, words in result] + [first_words(bits)])


@needs_fork
def test_a_pool_of_processes_shares_nothing():
    bits = used()
    with forking(), ProcessPoolExecutor(WORKERS, multiprocessing.get_context("fork")) as pool:
        result = list(pool.map(in_worker, [bits] * 2 * WORKERS, range(2 * WORKERS)))
    assert share_nothing("pool", [words for _, words in result] + [first_words(bits)])


@pytest.mark.skipif(not LONG, reason="joblib's workers import the library one after the other: in the audit only")
def test_joblibs_workers_share_nothing():
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    bits = used()
    with joblib.parallel_config(backend="loky", n_jobs=AT_ONCE):
        result = joblib.Parallel()(joblib.delayed(in_worker)(bits, task) for task in range(WORKERS))
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)
    assert os.getpid() not in {who for who, _ in result}
    assert share_nothing("joblib", [words for _, words in result] + [first_words(bits)])


@pytest.mark.skipif(not LONG, reason="a cluster takes seconds to start: in the audit only")
def test_the_workers_of_a_dask_cluster_share_nothing():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    bits = used()
    with (
        distributed.LocalCluster(
            n_workers=AT_ONCE, threads_per_worker=2, processes=True, dashboard_address=None, silence_logs=40
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        result = client.gather([client.submit(in_worker, bits, task, pure=False) for task in range(WORKERS)])
    assert len({who for who, _ in result}) == AT_ONCE
    assert share_nothing("dask", [words for _, words in result] + [first_words(bits)])


def test_threads_share_nothing():
    bits, together = SecureBits(), threading.Barrier(WORKERS)

    def work(_):
        together.wait()
        return [word for _ in range(8) for word in first_words(bits)]

    with ThreadPoolExecutor(WORKERS) as pool:
        result = list(pool.map(work, range(WORKERS)))
    assert share_nothing("threads", result)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda bits: pickle.loads(pickle.dumps(bits))])
def test_copies_share_nothing(copied):
    bits = used()
    many = [copied(bits) for _ in range(WORKERS)]
    assert shared([first_words(bits), *map(first_words, many), *map(first_words, map(copied, many))]) == 0


@needs_fork
def test_measurements_in_forks_share_no_noise():
    """The same curator, the same question, the same rows: only the noise can differ, and it does every time."""
    curator = dp.Curator(np.full((20, 8), 0.5), space=dp.Box(0.0, 1.0))
    query, loss = dp.Sum(curator.space), dp.GaussianLoss(0.5)

    def work(_):
        return curator.measure(query, loss).value.tolist()

    result = [forked(SecureBits(), work) for _ in range(WORKERS)] + [work(None) for _ in range(WORKERS)]
    assert share_nothing("measurements", result)


class TestSeeds:
    """A seed repeats by design. It says so wherever it gets to: nobody's noise is a seed's without a warning."""

    @staticmethod
    def heard(work):
        """Return what work gives, and how many warnings there were that noise is not private."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = work()
        return result, sum(issubclass(one.category, NotPrivateWarning) for one in caught)

    @needs_fork
    def test_a_fork_warns_once(self, seeded):
        bits = seeded(1)
        twice = [forked(bits, lambda bits: self.heard(lambda: [bits.words(2), bits.words(2)])[1]) for _ in range(2)]
        assert twice == [1, 1]
        assert self.heard(lambda: bits.words(2))[1] == 0

    @pytest.mark.skipif(not LONG, reason="a process that imports the library takes a second: in the audit only")
    def test_a_pickle_warns_in_another_process(self, seeded):
        context = multiprocessing.get_context("spawn")
        bits = seeded(2)
        with ProcessPoolExecutor(1, context) as pool:
            words, warned = pool.submit(self.heard, bits_words(bits)).result()
        assert warned == 1
        assert words == seeded(2).words(4).tolist()

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda bits: pickle.loads(pickle.dumps(bits))])
    def test_copies_stay_marked_in_their_own_process(self, copied, seeded):
        bits = copied(seeded(3))
        assert not bits.private
        curator = dp.Curator(np.full((20, 1), 0.5), space=dp.Box(0.0, 1.0))
        release = curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.5), bits=bits)
        assert release.provenance == "simulated"


class bits_words:  # noqa: N801 - a function that can be pickled with its source
    def __init__(self, bits: SeededBits) -> None:
        self.bits = bits

    def __call__(self) -> list[int]:
        return self.bits.words(4).tolist()
