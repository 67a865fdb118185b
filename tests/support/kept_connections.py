"""Connections that are used again: opening one costs far more than what most tests then ask of it.

What a reader sees is what a new connection would show: of DuckDB a connection of its own to an instance that is kept,
of PostgreSQL one whose transaction is rolled back and whose session is reset before it is handed out again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

__all__ = ["kept_connections", "kept_memory"]


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep one instance of DuckDB in memory for all who read files; each has a connection of their own to it."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    connect = duckdb.connect
    instances: dict[int, Any] = {}  # one for each process: the threads of an instance do not survive a fork

    def open_memory(database: str = ":memory:", *given: Any, **more: Any) -> Any:
        if database != ":memory:" or "config" not in more:
            return connect(database, *given, **more)
        if os.getpid() not in instances:
            instances[os.getpid()] = connect(database, *given, **more)
        return instances[os.getpid()].cursor()

    with mock.patch.object(duckdb, "connect", open_memory):
        yield


@contextmanager
def kept_connections() -> Iterator[None]:
    """Keep the connections of tables that are read, of DuckDB and of PostgreSQL; close them at the end."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    adbc = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="adbc-driver-postgresql is not installed")
    connect, connect_to_server = duckdb.connect, adbc.connect
    instances: dict[str, Any] = {}
    idle: dict[str, list[Any]] = {}

    def open_duckdb(database: str, read_only: bool = False, **more: Any) -> Any:
        if "config" not in more or not (read_only or database == ":memory:"):  # a test that writes
            if database in instances:
                instances.pop(database).close()
            return connect(database, read_only=read_only, **more)
        if database not in instances:
            instances[database] = connect(database, read_only=read_only, **more)
        return instances[database].cursor()

    def open_postgresql(url: str, **more: Any) -> Any:
        waiting = idle.setdefault(url, [])
        return _Kept(waiting.pop() if waiting else connect_to_server(url, **more), waiting)

    with mock.patch.object(duckdb, "connect", open_duckdb), mock.patch.object(adbc, "connect", open_postgresql):
        try:
            yield
        finally:
            for one in [*instances.values(), *(one for waiting in idle.values() for one in waiting)]:
                one.close()


class _Kept:
    """A connection to PostgreSQL that waits for its next user where it would be closed."""

    def __init__(self, connection: Any, waiting: list[Any]) -> None:
        self._connection, self._waiting = connection, waiting

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def __enter__(self) -> _Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            with self._connection.cursor() as cursor:
                cursor.execute("ROLLBACK")
                cursor.execute("DISCARD ALL")
        except Exception:
            self._connection.close()  # in the middle of something that did not end
        else:
            self._waiting.append(self._connection)
