"""Where a ledger is: a file, or a PostgreSQL database.

The password of a database is kept apart from the address that is shown and pickled. A pickle ends up in files, caches
and worker processes, so it leaves the password out; libpq finds it again in ``PGPASSWORD`` or ``~/.pgpass``, which is
the place for it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from discreet.arguments import ArgumentError

_SQLITE = ("sqlite", "sqlite+pysqlite")

_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")

_ACCEPTED = (
    "a path, 'sqlite:///path' or 'postgresql+psycopg://user@host/database' (the password in PGPASSWORD or ~/.pgpass)"
)


@dataclass(frozen=True)
class Address:
    """A place for a ledger.

    Attributes
    ----------
    url : str
        Without a password, absolute, and so the same from every folder and process.
    path : Path or None
        The file, or None for a database.
    password : str or None
        Never shown, compared or pickled.
    """

    url: str
    path: Path | None = None
    password: str | None = field(default=None, repr=False, compare=False)

    @classmethod
    def parse(cls, url: Any) -> Address:
        """Return the address that a path or a URL means.

        >>> Address.parse("postgresql+psycopg://ann:secret@localhost/budgets").url
        'postgresql+psycopg://ann@localhost/budgets'
        """
        given = os.fspath(url) if isinstance(url, os.PathLike) else url
        if not isinstance(given, str) or not given or "\0" in given:
            shown = "…" if isinstance(given, str) and given else given  # it may hold a password
            raise ArgumentError("url", shown, _ACCEPTED)
        driver, mark, rest = given.partition("://")
        if mark and driver not in _SQLITE:
            return cls._of_database(driver, rest)
        if mark and not rest.startswith("/"):
            raise ArgumentError("url", given, _ACCEPTED)
        name = rest[1:] if mark else given
        if name in ("", ":memory:"):
            raise ArgumentError("url", name, "a file; a record in memory is forgotten when the process ends")
        try:
            path = Path(os.path.abspath(Path(name).expanduser()))
        except RuntimeError:  # ~somebody
            raise ArgumentError("url", name, "a path without ~, since nobody of this name has a home") from None
        return cls(f"sqlite:///{path}", path)

    @classmethod
    def _of_database(cls, driver: str, rest: str) -> Address:
        shown = f"{driver}://…"  # the rest may hold a password, so no error shows it
        if driver not in _POSTGRESQL:
            raise ArgumentError("url", shown, _ACCEPTED)
        place, mark, options = rest.partition("?")
        names = {option.partition("=")[0] for option in options.split("&")}
        if names & {"password", "sslpassword"}:
            raise ArgumentError("url", shown, "the password in PGPASSWORD or ~/.pgpass, not among the options")
        login, at, server = place.rpartition("@")
        user, colon, password = login.partition(":")
        url = f"postgresql+psycopg://{user}{at}{server}{mark}{options}"
        return cls(url, password=unquote(password) if colon else None)

    def __reduce__(self) -> tuple[Any, ...]:
        return Address, (self.url, self.path)
