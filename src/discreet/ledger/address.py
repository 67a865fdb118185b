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

from discreet.arguments import shown

__all__ = ["Address"]

_SQLITE = ("sqlite:///", "sqlite+pysqlite:///")
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
    def of(cls, url: Any) -> Address:
        """Return the address that a path or a URL means.

        >>> Address.of("postgresql+psycopg://ann:secret@localhost/budgets").url
        'postgresql+psycopg://ann@localhost/budgets'
        """
        if isinstance(url, os.PathLike):
            url = os.fspath(url)
        if not isinstance(url, str) or not url or "\0" in url:
            raise ValueError(f"url={shown(url)}: expected {_ACCEPTED}")
        if "://" not in url:
            return cls._of_file(url)
        if url.startswith("sqlite"):
            start = next((start for start in _SQLITE if url.startswith(start)), None)
            if start is None:
                raise ValueError(f"url={shown(url)}: expected {_ACCEPTED}")
            return cls._of_file(url[len(start) :])
        return cls._of_database(url)

    @classmethod
    def _of_file(cls, name: str) -> Address:
        if name in ("", ":memory:"):
            raise ValueError(f"url={name!r}: expected a file; a record in memory is forgotten when the process ends")
        try:
            path = Path(os.path.abspath(Path(name).expanduser()))
        except RuntimeError:  # ~somebody
            raise ValueError(f"url={name!r}: expected a path without ~, since nobody of this name has a home") from None
        return cls(f"sqlite:///{path}", path)

    @classmethod
    def _of_database(cls, url: str) -> Address:
        driver, _, rest = url.partition("://")
        shown = f"{driver}://…"  # the rest may hold a password, so no error shows it
        if driver not in _POSTGRESQL:
            raise ValueError(f"url={shown!r}: expected {_ACCEPTED}")
        place, mark, options = rest.partition("?")
        names = {option.partition("=")[0] for option in options.split("&")}
        if names & {"password", "sslpassword"}:
            raise ValueError(f"url={shown!r}: expected the password in PGPASSWORD or ~/.pgpass, not among the options")
        login, at, server = place.rpartition("@")
        user, colon, password = login.partition(":")
        return cls(
            f"postgresql+psycopg://{user}{at}{server}{mark}{options}", None, unquote(password) if colon else None
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Address, (self.url, self.path)
