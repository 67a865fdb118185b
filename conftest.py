"""Examples in documentation write files; each runs in an empty folder of its own. What makes all tests faster."""

from __future__ import annotations

import atexit
import gc
import hashlib
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestItem

# Tests press Ctrl-C, which whatever runs in the background of a shell does not hear unless it asks to.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Most of the time of posteriors is compilation, and many tests compile the same. JAX reads these when it is imported,
# in each worker and in what tests start. Two may write at once: what is half written is compiled anew (pyproject.toml).
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent / "build" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
if "DISCREET_AUDIT" not in os.environ:  # to make code fast takes longer than to run it; an audit runs what users run
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

# Thousands of commits to ledgers need not wait for a disk, but those of an audit do: it says how long they take.
MEMORY = Path("/dev/shm")
if "DISCREET_AUDIT" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# Noise without a seed is drawn from keys that follow from the name of a test, or of a fixture that tests share: what
# passes once passes always. Processes that a test starts ask the operating system.
SYSTEM, PROCESS = os.urandom, os.getpid()


@contextmanager
def _keyed(name: str) -> Iterator[None]:
    before, calls = os.urandom, count()

    def give(size: int) -> bytes:
        if os.getpid() != PROCESS:
            return SYSTEM(size)
        return hashlib.shake_256(f"{name}, call {next(calls)}".encode()).digest(size)

    os.urandom = give
    try:
        yield
    finally:
        os.urandom = before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Give a test, and what only it sets up, keys of its own."""
    with _keyed(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[None]:
    """Give a fixture that tests share its own keys: whichever test comes first, it is the same."""
    if fixturedef.scope == "function":
        return (yield)
    with _keyed(f"{fixturedef.baseid}::{fixturedef.argname}[{request.param_index}]"):
        return (yield)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(request: pytest.FixtureRequest) -> None:
    if isinstance(request.node, DoctestItem):  # others make no folder, which takes longer the more there are
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))


def pytest_runtest_teardown() -> None:
    """Close what a test has drawn: Matplotlib warns at the 21st open figure, wherever the others came from."""
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[Any]:
    """Collect without looking for garbage, as all of it stays; afterwards look less often, and not there.

    Every second worker imports test modules from the last to the first: what one has compiled another reads.
    """
    gc.disable()
    if int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 2:
        for folder in session.config.args:
            for path in sorted(Path(folder).rglob("test_*.py"), reverse=True):
                sys.path.insert(0, str(path.parent))
                with suppress(Exception, pytest.skip.Exception):  # collection comes to it again, and reports it
                    import_module(path.stem)
    result = yield
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
    return result


POSTERIORS = "inference", "public_calls", "described_rows", "williams"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put posteriors first, whatever order the rest has: then one worker compiles them, and not both."""
    items.sort(key=lambda item: not any(name in item.nodeid.partition("::")[0] for name in POSTERIORS))


def pytest_unconfigure() -> None:
    """Let what was passed over be freed in order at exit: some libraries complain about what is left at the end."""
    atexit.register(gc.unfreeze)  # not now: pytest would look through all of it five times
