"""A handle on a record: where it is, what it was last seen to hold, and reading it.

All handles on one address share one record. A copy is the same object; a pickle holds the address without its
password, and opening it again is left to the first use, so that what was saved with a handle in it can be loaded
anywhere. A handle that came out of a pickle never makes a ledger: a missing file is an error, not a fresh budget.

No lock and no connection is kept between two calls, so a handle may be used from threads and after a fork.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from discreet.arguments import positive, shown
from discreet.ledger.address import Address
from discreet.ledger.chain import follow
from discreet.ledger.entry import GENESIS, Entry, read_entry
from discreet.ledger.errors import ChainError
from discreet.ledger.history import History
from discreet.ledger.naming import text

if TYPE_CHECKING:
    from discreet.ledger.book import Book
    from discreet.ledger.storage import Storage

__all__ = ["Handle"]


def _open(address: Address, timeout: float, *, create: bool) -> Storage:
    """Return the place that an address means. SQLAlchemy is imported here, when the first ledger is opened."""
    storage: Storage
    if address.path is not None:
        from discreet.ledger.sqlite import SqliteStorage

        storage = SqliteStorage(address, timeout)
    else:
        from discreet.ledger.postgresql import PostgresqlStorage

        storage = PostgresqlStorage(address, timeout)
    storage.prepare(create)
    return storage


class Handle:
    """What every handle on a record can do: read it, and tell whether it was changed."""

    def __init__(self, url: str | PathLike[str], *, create: bool = True, timeout: float = 30.0) -> None:
        self._address = Address.of(url)
        self._timeout = positive("timeout", timeout)
        self._seen = (0, GENESIS)  # the last entry that this handle has seen: it must never go away again
        self._opened: Storage | None = _open(self._address, self._timeout, create=bool(create))

    @property
    def url(self) -> str:
        """The address, without a password."""
        return self._address.url

    @property
    def _storage(self) -> Storage:
        if self._opened is None:
            self._opened = _open(self._address, self._timeout, create=False)
        return self._opened

    @property
    def head(self) -> str:
        """The hash of the last entry. Written down elsewhere, it is what ``verify`` can be held against."""
        with self._storage.reading() as book:
            return self._look(book)

    def history(self, dataset: str | None = None) -> History:
        """Return the entries, all or those of one data set, in order. Those about limits are among them."""
        name = None if dataset is None else text("dataset", dataset)
        with self._storage.reading() as book:
            self._look(book)
            return History(read_entry(row) for row in book.rows(name))

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all data sets in the record, sorted."""
        with self._storage.reading() as book:
            self._look(book)
            return tuple(book.datasets())

    def verify(self, expected_head: str | None = None) -> str:
        """Read the whole record and raise ``ChainError`` where it was changed; return its head.

        Edits, and entries that were taken out or moved, show by themselves. Entries cut off the end, an older copy of
        the file, or a record that was written anew from some entry on, show only against a head that was written down
        elsewhere (or seen by this very handle).

        Parameters
        ----------
        expected_head : str, optional
            A ``head`` from earlier. It must occur in the record.
        """
        if expected_head is not None and not (isinstance(expected_head, str) and len(expected_head) == len(GENESIS)):
            raise ValueError(
                f"expected_head={shown(expected_head)}: expected the 64 hexadecimal digits of a ledger's head"
            )
        self._storage.checkup()
        with self._storage.reading() as book:
            seen = self._seen  # before the first row: what other threads record from then on is not in this reading
            head = follow(book.rows(), expected_head)
            self._look(book, seen)
            return head

    def _look(self, book: Book, seen: tuple[int, str] | None = None) -> str:
        """Return the head, having seen that what this handle saw before is still there."""
        number, digest = seen or self._seen
        if book.hash_of(number) != digest:
            raise ChainError(
                f"entry {number}, which this handle has seen, has gone or changed: the record was replaced or rolled "
                "back; put back the newest copy"
            )
        head = book.head()
        self._seen = max(self._seen, head)
        return head[1]

    def _remember(self, entry: Entry) -> None:
        """Note an entry that has been committed; another thread may have seen later ones."""
        self._seen = max(self._seen, (entry.number, entry.hash))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"_address": self._address, "_timeout": self._timeout}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _seen=(0, GENESIS), _opened=None)

    def __eq__(self, other: object) -> bool:
        return self._address == other._address if isinstance(other, Handle) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._address)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"
