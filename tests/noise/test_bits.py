"""The bits: a vetted cipher, a fresh key at every call, in every process; seeds only for tests."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
import warnings

import numpy as np
import pytest

from discreet.noise import GaussianNoise, NotPrivateWarning, SecureBits, SeededBits
from discreet.noise.bits import _expand
from effort import size


def test_the_cipher_is_aes_256_in_counter_mode():
    """NIST SP 800-38A, F.5.5: the first two output blocks."""
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    words = _expand(key, int("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", 16), 4)
    assert words.astype("<u8").tobytes().hex() == "0bdf7df1591716335e9a8b15c860c5025a6e699d536119065433863c8f657b94"


def test_words_are_the_same_stream_in_pieces_of_any_size(seeded):
    whole = seeded(1).words(300_001)
    bits = seeded(1)
    pieces = [bits.words(count) for count in [0, 1, 2, 3, 131_072, 7, 168_916]]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_words_look_uniform():
    words = SecureBits().words(size(250_000, 1_000_000))
    ones = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert np.abs(ones - 0.5).max() < 7.0 * 0.5 / np.sqrt(words.size)
    assert len(np.unique(words)) == words.size


def test_every_call_has_a_key_of_its_own(monkeypatch):
    """Nothing is kept between calls: the operating system is asked for 32 bytes each time."""
    asked = []
    monkeypatch.setattr("discreet.noise.bits.os.urandom", lambda n: asked.append(n) or bytes([len(asked)]) * n)
    bits = SecureBits()
    bits.words(3)
    bits.words(3)
    assert asked == [32, 32]
    assert vars(bits) == {}


def _draw(queue, bits):
    queue.put(GaussianNoise(1.0).sample(8, bits).tolist())


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_never_share_a_stream(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform has no {method}")
    context = multiprocessing.get_context(method)
    bits = SecureBits()
    GaussianNoise(1.0).sample(8, bits)
    queue = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking a process that has threads
        workers = [
            context.Process(target=_draw, args=(queue, bits)) for _ in range(2 if method == "fork" else size(1, 2))
        ]
        for worker in workers:
            worker.start()
    draws = [tuple(queue.get(timeout=120)) for _ in workers]
    for worker in workers:
        worker.join()
    draws.append(tuple(GaussianNoise(1.0).sample(8, bits).tolist()))
    assert len({value for draw in draws for value in draw}) == 8 * len(draws)


def test_a_bare_fork_does_not_repeat_noise():
    reader, writer = os.pipe()
    bits = SecureBits()
    bits.words(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.write(writer, bits.words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reader, 32), dtype=np.uint64)
    os.close(reader)
    os.close(writer)
    assert not np.isin(theirs, bits.words(4)).any()


def test_threads_never_share_a_stream():
    bits, draws = SecureBits(), []
    threads = [threading.Thread(target=lambda: draws.append(bits.words(100))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(np.unique(np.concatenate(draws))) == 1600


def test_a_pickled_source_is_as_fresh():
    bits = SecureBits()
    assert not np.isin(pickle.loads(pickle.dumps(bits)).words(10), bits.words(10)).any()


def test_a_seed_warns_and_repeats():
    with pytest.warns(NotPrivateWarning, match="not private"):
        first = SeededBits(5)
    with pytest.warns(NotPrivateWarning):
        second = SeededBits(5)
    noise = GaussianNoise(1.0)
    np.testing.assert_array_equal(noise.sample(100, first), noise.sample(100, second))
    assert not first.private
    assert SecureBits().private


def test_seeds_give_different_streams(seeded):
    assert not np.isin(seeded(1).words(10), seeded(2).words(10)).any()
