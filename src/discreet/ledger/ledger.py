"""``Ledger``: spend or raise ``BudgetExceeded``, reserve, set limits, and read what was spent.

**What it guarantees.** When ``spend`` or ``reserve`` returns, the entry is on the disk, and the whole history with it
keeps the data set's limit (``dataset_limits``). Noise is drawn after that. If the process dies in between, budget is
lost and privacy is not.

**A handle.** All handles on one address share one record. A copy is the same object; a pickle holds the address without
its password, and opening it again is left to the first use, so that what was saved with a handle in it can be loaded
anywhere. A handle that came out of a pickle never makes a ledger: a missing file is an error, not a fresh budget. No
lock and no connection is kept between two calls, so a handle may be used from threads and after a fork.

**What it does not stop.** A ledger guards against mistakes, crashes and races, and later shows that it was changed. It
cannot stop a person who may write the file: for that keep it where analysts may not, or in a database where they may
only insert.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from discreet.arguments import ArgumentError, positive
from discreet.guarantees import Guarantee, Loss
from discreet.guarantees.guarantee import common_relation
from discreet.guarantees.loss import Losses, as_counts
from discreet.ledger.address import Address
from discreet.ledger.book import (
    GENESIS,
    UNANSWERED,
    Book,
    Entry,
    check_chain,
    check_text,
    check_who,
    read_details,
    write_details,
)
from discreet.ledger.dataset_limits import Account, BudgetExceeded, Limit, Preview, Remaining
from discreet.ledger.history import History
from discreet.ledger.unanswered import answering

if TYPE_CHECKING:
    from discreet.ledger.storage import Storage


class Ledger:
    """A durable, append-only record of every spend, with a limit for each data set.

    It is a handle: copies are the same object, a pickle holds the address (without a password), and all handles on
    one address share one record, in threads, forks, worker processes and on other machines.

    Parameters
    ----------
    url : str or path
        A file (``"budget.db"``, ``"sqlite:///budget.db"``) on a local disk, or a PostgreSQL database
        (``"postgresql+psycopg://user@host/database"``, the password in ``PGPASSWORD`` or ``~/.pgpass``).
    create : bool
        Whether to create the ledger if there is none. A pickled handle never does.
    timeout : float
        How many seconds to wait while other processes write.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from discreet import GaussianLoss, Guarantee
    >>> folder = TemporaryDirectory()
    >>> ledger = Ledger(folder.name + "/budget.db")
    >>> ledger.set_limit("census", Guarantee(1.0, 1e-6)).filter
    'gaussian'
    >>> ledger.spend("census", GaussianLoss(0.1), query="mean age").number
    2
    >>> print(ledger.remaining("census"))
    ε=0.8995 at δ=1e-06 (Gaussian noise) or ε=0.1713 (Laplace noise)
    >>> ledger.spend("census", GaussianLoss(0.3), query="income")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
        ...
    BudgetExceeded: dataset='census': ε=1.299 at δ=1e-06 was asked for, and is not admitted; ...
    >>> head = ledger.verify()
    >>> folder.cleanup()
    """

    def __init__(self, url: str | PathLike[str], *, create: bool = True, timeout: float = 30.0) -> None:
        self._address = Address.parse(url)
        self._timeout = positive("timeout", timeout)
        self._seen = (0, GENESIS)  # the last entry that this handle has seen: it must never go away again
        self._storage = self._open(create=bool(create))

    @property
    def url(self) -> str:
        """The address, without a password."""
        return self._address.url

    def _open(self, create: bool) -> Storage:
        from discreet.ledger.storage import PostgresqlStorage, SqliteStorage  # a driver comes with the first ledger

        kind = PostgresqlStorage if self._address.path is None else SqliteStorage
        storage = kind(self._address, self._timeout)
        with storage.transaction(create=create) as book:
            book.check_layout(storage.missing)
        return storage

    @cached_property
    def _storage(self) -> Storage:
        """Where the record is; a handle that came out of a pickle opens it when it is first used."""
        return self._open(create=False)

    @property
    def head(self) -> str:
        """The hash of the last entry. Written down elsewhere, it is what ``verify`` can be held against."""
        with self._transaction() as book:
            return book.head[1]

    def open_dataset(
        self,
        dataset: str,
        *,
        unit: str,
        budget: Guarantee | None = None,
        who: str | None = None,
        declared: str | None = None,
    ) -> Limit | None:
        """See that a data set is charged for this unit and has this budget, before anything is spent.

        A budget becomes the limit of a data set that has none. Where there is a limit nothing is written. A name under
        which nothing is recorded, and that is spelt almost as another one, warns; so does one that may hold the people
        of another data set (``new_budgets``).

        Parameters
        ----------
        dataset : str
            The declared name of the data set.
        unit : str
            Whose privacy it is about, as in ``spend``.
        budget : Guarantee, optional
            What all releases together may cost. It must be that of the limit, where there is one.
        who : str, optional
            Who sets the limit; by default the login name.
        declared : str, optional
            A digest of how the columns are declared. It is recorded with the budget, and compared with those of other
            data sets.

        Returns
        -------
        Limit or None
            The limit in force.
        """
        dataset, unit = check_text("dataset", dataset), check_text("unit", unit)
        with self._transaction() as book:
            account, known = book.account(dataset), book.declarations()
        alike = [] if dataset in known else get_close_matches(dataset, known, cutoff=0.8)
        if alike:
            warnings.warn(
                f"name={dataset!r}: nothing is recorded under this name, and it has a budget of its own; did you mean "
                f"{alike[0]!r}?",
                stacklevel=4,
            )
        elif dataset not in known:
            from discreet.ledger.new_budgets import warn_of_new_budget  # with a driver, as ``storage``

            warn_of_new_budget(dataset, self._address.path, declared, known)
        account.check_unit(unit)
        limit = account.limit
        if budget is not None and limit is None:
            with self._transaction(write=True) as book:
                account = book.account(dataset)  # another process may have been faster
                limit = account.limit or _write_limit(
                    book, account, Limit.from_arguments(budget), check_who(who), unit, declared=declared
                )
        if limit is not None and budget not in (None, limit.guarantee):
            raise ValueError(
                f"budget={budget}: expected {limit.guarantee}, the limit that the ledger has for {dataset!r}; leave "
                "the budget out, or change it with ledger.set_limit or ledger.raise_limit"
            )
        return limit

    def set_limit(
        self,
        dataset: str,
        guarantee: Guarantee,
        filter: str = "gaussian",  # noqa: A002
        *,
        failures: float | None = None,
        unit: str | None = None,
        who: str | None = None,
    ) -> Limit:
        """Set the limit of a data set, or lower it.

        Set it before anything is spent. What was spent before counts, but a guarantee that was chosen after looking at
        releases says little about them. Setting the limit that is in force already does nothing. A limit is raised with
        ``raise_limit`` only. Its filter and its relation stay what they are.

        Parameters
        ----------
        dataset : str
            The declared name of the data set.
        guarantee : Guarantee
            What all releases together may cost. Its relation is the limit's. Losses under add-remove are converted to
            replace-one; the reverse is refused.
        filter : str
            How losses are added up. ``"gaussian"`` (default): Σμ², right for Gaussian mechanisms, good for pure ones,
            without a price for losses that are known by their zCDP alone. ``"zcdp"``: Σρ, a price for every loss and a
            higher one. ``"pure"``: Σε. The pure filter stands beside each of the others at no cost.
        failures : float, optional
            The part of δ that is set aside for mechanisms that have a δ of their own. By default nothing (all of δ
            with the pure filter), and such mechanisms are refused. It has to be settled beforehand: see
            ``discreet.ledger.privacy_filters``.
        unit : str, optional
            Whose privacy it is about: ``"row"``, or ``"each patient"``, say. By default the unit of what
            was spent, or is spent first.
        who : str, optional
            Who sets it; by default the login name.

        Returns
        -------
        Limit
            The limit in force.
        """
        dataset, who = check_text("dataset", dataset), check_who(who)
        asked = Limit.from_arguments(guarantee, filter, failures)
        unit = None if unit is None else check_text("unit", unit)
        with self._transaction(write=True) as book:
            account = book.account(dataset)
            current = account.limit
            if asked == current and unit in (None, account.unit):
                return asked
            if current is not None and not asked.is_at_most(current):
                raise ValueError(
                    f"guarantee: the limit of {dataset!r} is {current}, and {asked} is not lower in every respect; "
                    "expected a lower one with the same filter and relation, or raise_limit with a reason"
                )
            return _write_limit(book, account, asked, who, unit)

    def raise_limit(
        self,
        dataset: str,
        guarantee: Guarantee,
        *,
        reason: str,
        filter: str | None = None,  # noqa: A002
        failures: float | None = None,
        who: str | None = None,
    ) -> Limit:
        """Raise the limit of a data set. It is an entry of its own in the record, with a reason.

        What holds for all releases together is then the new limit, for those before the raise as well. (After
        lowering and raising: the largest ε that was ever in force, with the largest share of δ for noise plus the
        largest for failures.)

        Parameters
        ----------
        dataset, guarantee, failures, who
            As in ``set_limit``. ``failures`` stays as it is by default.
        reason : str
            Why, for the readers of the record.
        filter : str, optional
            Stays as it is by default. While nothing has been spent, it can be changed, and so can the relation and the
            share for failures, in any direction. Afterwards two filters in turn would each use up δ.

        Returns
        -------
        Limit
            The limit in force.
        """
        dataset, reason, who = check_text("dataset", dataset), check_text("reason", reason), check_who(who)
        with self._transaction(write=True) as book:
            account = book.account(dataset)
            current = account.limit
            if current is None:
                raise ArgumentError("dataset", dataset, "one with a limit; set_limit sets the first")
            keep = filter is None and failures is None and current.filter != "pure"
            chosen = current.filter if filter is None else filter
            asked = Limit.from_arguments(guarantee, chosen, current.failures if keep else failures)
            if asked.is_at_most(current):
                raise ValueError(f"guarantee: the limit of {dataset!r} is {current}; expected a higher one than that")
            if account.spent and not current.is_at_most(asked):
                raise ValueError(
                    f"guarantee: the limit of {dataset!r} is {current} and something was spent under it; expected the "
                    f"same filter and relation, and neither share of δ nor ε lower than before, got {asked}"
                )
            return _write_limit(book, account, asked, who, None, reason)

    def limit(self, dataset: str) -> Limit | None:
        """Return the limit in force, or None."""
        return self._account(dataset).limit

    def unit(self, dataset: str) -> str | None:
        """Return whose privacy the data set's losses are about, or None while nothing has settled it."""
        return self._account(dataset).unit

    def spend(self, dataset: str, losses: Losses, *, query: str, unit: str = "row", who: str | None = None) -> Entry:
        """Record a spend, if the limit admits it. Draw noise only after this has returned.

        Parameters
        ----------
        dataset : str
            The declared name of the data set.
        losses : Loss, iterable of Loss, or mapping of Loss to int
            Under one relation.
        query : str
            What is asked of the data.
        unit : str
            Whose privacy the losses are about: ``"row"``, or ``"each patient"``, say. It must be the same
            for all that is spent under one name: a loss for a row says nothing of a person who has many.
        who : str, optional
            Who asks; by default the login name.

        Returns
        -------
        Entry
            What was recorded. A data set without a limit is recorded and not limited.

        Raises
        ------
        BudgetExceeded
            Where the limit does not admit it. Nothing was recorded.
        LedgerError
            Where it could not be recorded.
        """
        return self._record("spend", dataset, losses, query, unit, who)

    def reserve(self, dataset: str, losses: Losses, *, query: str, unit: str = "row", who: str | None = None) -> Entry:
        """Record a fixed schedule of mechanisms as one entry.

        As ``spend``, for losses that will be used one after the other whatever the outputs are. As the first entry
        of a data set it is also admitted where its exact composition keeps the limit though no filter does; nothing
        can follow it then. So whatever was calibrated to (ε, δ) fits into a fresh limit of (ε, δ).
        """
        return self._record("reserve", dataset, losses, query, unit, who)

    def _record(self, kind: str, dataset: str, losses: Losses, query: str, unit: str, who: str | None) -> Entry:
        dataset, query, unit, who = (
            check_text("dataset", dataset),
            check_text("query", query),
            check_text("unit", unit),
            check_who(who),
        )
        asked = as_counts(losses)
        relation = common_relation(loss.neighbors for loss in asked)
        details = write_details({"losses": [[count, loss.to_dict()] for loss, count in asked.items()]})
        if dict(read_details(kind, details).losses) != asked:
            raise ArgumentError("losses", losses, "losses that are the same after to_dict and from_dict")
        with answering() as recorded, self._transaction(write=True) as book:
            account = book.account(dataset)
            account.check_unit(unit)
            if not account.admits(asked, reserve=kind == "reserve"):
                raise BudgetExceeded(account.preview(asked))
            entry = book.append((kind, dataset, who, query, unit, relation.value, details))
            recorded.append((self, entry))  # before the commit: see ``unanswered``
            return entry

    def mark_unanswered(self, entry: Entry) -> Entry | None:
        """Record that what an entry paid for was not answered: an error or Ctrl-C came first. It stays charged.

        ``history`` shows it. Returns the mark; or None where the entry is not in the record, since its commit failed. A
        process that is killed cannot leave this mark.
        """
        if not isinstance(entry, Entry):
            raise ArgumentError("entry", entry, "an entry of the history")
        details = write_details({"entry": entry.number, "losses": []})
        with self._transaction(write=True) as book:
            if not book.has(entry):
                return None
            columns = (UNANSWERED, entry.dataset, entry.who, entry.query, entry.unit, entry.relation, details)
            return book.append(columns)

    def preview(self, dataset: str, losses: Losses) -> Preview:
        """Return whether ``losses`` would be admitted and what would be left. Nothing is recorded."""
        asked = as_counts(losses)
        common_relation(loss.neighbors for loss in asked)
        return self._account(dataset).preview(asked)

    def remaining(self, dataset: str) -> Remaining:
        """Return the largest single losses that would be admitted next."""
        return self._account(dataset).remaining()

    def spent(self, dataset: str) -> Mapping[Loss, int]:
        """Return all losses that are recorded for a data set, and how many of each."""
        return self._account(dataset).spent

    def _account(self, dataset: str) -> Account:
        dataset = check_text("dataset", dataset)
        with self._transaction() as book:
            return book.account(dataset)

    def history(self, dataset: str | None = None) -> History:
        """Return the entries, all or those of one data set, in order. Those about limits are among them."""
        name = None if dataset is None else check_text("dataset", dataset)
        with self._transaction() as book:
            return History(entry.check_readable() for entry in book.entries(name))

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all data sets in the record, sorted."""
        with self._transaction() as book:
            return book.datasets()

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
            raise ArgumentError("expected_head", expected_head, "the 64 hexadecimal digits of a ledger's head")
        with self._storage.transaction() as book:
            seen = self._seen  # before the first row: what other threads record from then on is not in this reading
            book.check()
            head = check_chain(book.entries(), expected_head)
            self._seen = max(self._seen, book.check_head(seen))
            return head

    @contextmanager
    def _transaction(self, write: bool = False) -> Iterator[Book]:
        """Give the record, to read or to append to; what was appended is on the disk when the block has been left."""
        with self._storage.transaction(write) as book:
            self._seen = max(self._seen, book.check_head(self._seen))
            yield book
        if write:
            self._remember(book.head)

    def _remember(self, head: tuple[int, str]) -> None:
        """Note an entry that has been committed; another thread may have seen later ones."""
        self._seen = max(self._seen, head)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"_address": self._address, "_timeout": self._timeout}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _seen=(0, GENESIS))

    def __eq__(self, other: object) -> bool:
        return self._address == other._address if isinstance(other, Ledger) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._address)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


def _write_limit(
    book: Book,
    account: Account,
    limit: Limit,
    who: str | None,
    unit: str | None,
    why: str = "",
    declared: str | None = None,
) -> Limit:
    """Set a limit, or raise it for a reason. The caller has compared it with the one in force."""
    account.check_unit(unit)
    limit.convert(account.spent)  # raises where the history means nothing under its relation
    kind, reason = ("raise", {"reason": why}) if why else ("limit", {})
    details = write_details({"limit": limit.to_dict()} | reason | ({} if declared is None else {"declared": declared}))
    book.append((kind, account.dataset, who, None, unit, limit.guarantee.neighbors.value, details))
    return limit
