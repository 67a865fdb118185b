"""A mechanism that is paid for once and drawn from piece by piece, as its numbers become known.

A stream releases u_1, …, u_D, each with Gaussian noise of its own, and knows u_t at step t only. What comes next may
depend on what was released before: people react to published numbers.

*Proof.* Let two neighbouring streams have distance Σ_t (u_t − u'_t)² ≤ Δ² whatever was released before. Step t is a
Gaussian mechanism of loss μ_t = |u_t − u'_t|/σ, which may depend on earlier releases, and Σμ_t² ≤ (Δ/σ)² always. Such
an adaptive composition is as private as one Gaussian mechanism of μ = Δ/σ (the Gaussian filter; Smith and Thakurta
2022, and Denisov et al. 2022 for streams). On the grid each u_t moves by at most one step for both neighbours, which
adds 2·grid·√D to Δ, as ``GaussianNoise.for_query`` charges. So who stands behind a mechanism proves Δ, float error
included, and that at most D numbers are drawn; this class does the rest.
"""

from __future__ import annotations

import os
import threading
from numbers import Real
from typing import Any

import numpy as np

from discreet.arguments import integer, shown
from discreet.door.curator import Curator
from discreet.door.part import Part
from discreet.door.release import PublicSize, Release, measured
from discreet.guarantees import Loss
from discreet.noise import Bits, GaussianNoise

__all__ = ["Standing"]


class Standing:
    """The right to draw so many numbers, one after the other. To make one is to pay for all of them.

    Parameters
    ----------
    curator : Curator
        Who pays; it need not have rows.
    loss : Loss
        A Gaussian one, for all that is drawn together.
    query : str
        For the ledger and the releases.
    sensitivity : float
        Δ: how far apart in L2 two neighbours' numbers are, all of them together, float error included.
    largest : float
        A public bound on the size of each number; those beyond it are moved to it.
    size : int
        D: how many may be drawn.
    bits : Bits, optional
        Seeded bits, for a test.
    """

    def __init__(
        self,
        curator: Curator,
        loss: Loss,
        *,
        query: str,
        sensitivity: float,
        largest: float,
        size: int,
        bits: Bits | None = None,
    ) -> None:
        if loss.gaussian is None or loss.neighbors is not curator.neighbors:
            raise ValueError(f"loss={shown(loss)}: expected a GaussianLoss under {curator.neighbors}")
        if bits is not None and not isinstance(bits, Bits):
            raise ValueError(f"bits={shown(bits)}: expected SeededBits, for a test, or None")
        if bits is not None and not bits.private and curator.ledger is not None:
            raise ValueError("bits: expected None where a ledger records; noise from a seed lets the exact sum out")
        self._law = GaussianNoise.for_query(mu=loss.gaussian, sensitivity=sensitivity, largest=largest, size=size)
        self._largest = largest
        self._left = integer("size", size, least=1)
        self._query, self._loss, self._bits = query, loss, bits
        self._declared = curator.declared
        self._dataset = curator.name
        self._recorded = curator.reserve([loss], query=query).take([loss])
        self._process = os.getpid()
        self._lock = threading.Lock()

    @property
    def law(self) -> GaussianNoise:
        """The noise of each number."""
        return self._law

    @property
    def recorded(self) -> bool:
        """Whether a ledger has it."""
        return self._recorded

    @property
    def seeded(self) -> bool:
        """Whether the noise comes from a seed, so that nothing is promised."""
        return self._bits is not None and not self._bits.private

    @property
    def left(self) -> int:
        """How many may still be drawn."""
        return self._left

    def check(self) -> None:
        """Raise where nothing more may be drawn, by public facts."""
        if os.getpid() != self._process:
            raise RuntimeError(
                "a standing mechanism belongs to the process that paid for it; pay for one in this process"
            )
        if not self._left:
            raise ValueError("size: all numbers that were paid for are drawn; pay for another mechanism")

    def draw(self, value: float) -> Release:
        """Return the next number with noise. Its ``loss`` is that of all of them together."""
        given: Any = value
        if not isinstance(given, Real):
            raise ValueError("value: expected a number; nothing was drawn")
        self.check()  # a lock that another process held would never open
        with self._lock:
            self.check()
            self._left -= 1
        kept = min(max(value, -self._largest), self._largest) if value == value else 0.0
        return measured(
            query=self._query,
            value=self._law.add(np.array([kept]), self._bits),
            parts={"number": Part((1,))},
            passage="additive",
            law=self._law,
            exact=True,
            loss=self._loss,
            size=PublicSize(None, False),
            dataset=self._dataset,
            recorded=self._recorded,
            declared=self._declared,
            private=not self.seeded,
        )

    def __repr__(self) -> str:
        return f"<Standing mechanism of {self._dataset or 'unnamed data'}: {self._left} numbers left>"

    def __copy__(self) -> Standing:
        raise TypeError("a standing mechanism cannot be copied: two copies could draw the same number twice")

    def __deepcopy__(self, memo: Any) -> Standing:
        return self.__copy__()

    def __reduce__(self) -> str:
        raise TypeError("a standing mechanism cannot be pickled: two copies could draw the same number twice")
