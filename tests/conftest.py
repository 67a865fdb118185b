"""What the tests share."""

from __future__ import annotations

import warnings

import pytest

from discreet.noise import NotPrivateWarning, SeededBits

# A statistical test fails a right implementation with at most this probability. With fixed seeds none of them
# can flake at all; the number is what makes a failure mean something. 1,000 such tests stay below 1e-6.
FALSE_ALARM = 1e-9


@pytest.fixture
def seeded():
    """Return seeded bits without the warning, which has a test of its own."""

    def make(seed: int) -> SeededBits:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            return SeededBits(seed)

    return make
