"""What the tests share."""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import pytest

import ledger_places
from discreet.noise import NotPrivateWarning, SeededBits
from kept_connections import kept_memory

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


@pytest.fixture(scope="session", autouse=find_spec("duckdb") is not None)
def _kept_memory():
    with kept_memory():
        yield


@pytest.fixture(scope="session")
def server():
    """Start a PostgreSQL server of the tests' own; each of them takes a schema of its own in it."""
    pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")
    with ledger_places.server() as running:
        yield running
