"""Sources of random bits: a cipher keyed by the operating system, or a seed for tests.

``SecureBits`` expands 256 fresh bits of ``os.urandom`` by AES-256 in counter mode, a new key at every call. It has no
state: so there is nothing that a fork, a pickle, a worker process or a resumed virtual machine could copy, no stream
that two threads could share, and no key left from which past noise could be computed. A call costs some microseconds
and then what AES costs, about 5 GB a second; the noise asks for a megabyte at a time.

The assumption: AES-256-CTR is indistinguishable from random within the 2⁴⁰ bytes that one key may make here.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from abc import ABC, abstractmethod

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer

Words = NDArray[np.uint64]

_MOST = 2**37  # words a call
_PIECE = 2**17  # words that are encrypted at a time, so that they stay in the processor's cache
_ZEROS = memoryview(bytes(8 * _PIECE))

MOST_SEED = 2**128 - 1


class NotPrivateWarning(UserWarning):
    """Noise from a seed, which anybody could compute again, is in use."""


class Bits(ABC):
    """A source of independent uniform 64-bit words.

    ``private`` says whether noise made from it is private.
    """

    private: bool

    @abstractmethod
    def words(self, count: int) -> Words:
        """Return ``count`` fresh words."""


def _expand(key: bytes, first_block: int, count: int) -> Words:
    """Return ``count`` words of the AES-256-CTR stream of ``key``, from a block number on."""
    stream = Cipher(AES(key), CTR(first_block.to_bytes(16, "big"))).encryptor()
    words = np.empty(count, dtype="<u8")
    for start in range(0, count, _PIECE):
        piece = words[start : start + _PIECE].view(np.uint8).data
        stream.update_into(_ZEROS[: piece.nbytes], piece)
    return words.astype(np.uint64, copy=False)


class SecureBits(Bits):
    """Bits for real noise: AES-256-CTR under a key that the operating system gives anew for every call.

    >>> first, second = SecureBits().words(2), SecureBits().words(2)
    >>> bool((first == second).any())
    False
    """

    private = True

    def words(self, count: int) -> Words:
        """Return ``count`` fresh words."""
        return _expand(os.urandom(32), 0, integer("count", count, least=0, most=_MOST))


class SeededBits(Bits):
    """Reproducible bits, for tests and examples. Noise from them is not private, so they warn.

    They warn once more in every other process that they reach, by a fork or as a pickle: that process draws the same
    words as the first one.

    Parameters
    ----------
    seed : int
        At least 0.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     words = SeededBits(1).words(3), SeededBits(1).words(3)
    >>> bool((words[0] == words[1]).all()), caught[0].category.__name__
    (True, 'NotPrivateWarning')
    """

    private = False

    def __init__(self, seed: int) -> None:
        self.seed = integer("seed", seed, least=0, most=MOST_SEED)
        self._warn()
        self._key = hashlib.sha256(b"discreet seeded bits" + str(self.seed).encode()).digest()
        self._place = 0

    def _warn(self) -> None:
        self._process = os.getpid()
        warnings.warn(
            f"seed={self.seed}: noise from a seed can be computed again by anybody, so its output is not private; "
            "leave the seed out for a release",
            NotPrivateWarning,
            stacklevel=3,
        )

    def words(self, count: int) -> Words:
        """Return the next ``count`` words of the seed's stream, the same ones however they are asked for."""
        if os.getpid() != self._process:
            self._warn()
        block, skip = divmod(self._place, 2)
        self._place += integer("count", count, least=0, most=_MOST)
        return _expand(self._key, block, skip + count)[skip:]


def as_bits(bits: Bits | None) -> Bits:
    """Return the bits to draw from: secure ones unless others are given."""
    if bits is None:
        return SecureBits()
    if not isinstance(bits, Bits):
        raise ArgumentError("bits", bits, "None for secure bits, or SeededBits for a test")
    return bits
