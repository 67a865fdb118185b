"""The ledger: a durable record of every spend, and limits that hold for adaptive analysts.

Where to look: ``ledger`` has the class ``Ledger`` and its methods, ``dataset_limits`` what a limit admits and what is
left of it, ``privacy_filters`` why a limit holds. ``book`` has the chain of entries, ``history`` shows them,
``unanswered`` marks what was paid and not answered. ``largest_epsilon`` has what would fit in place of a refused spend,
``new_budgets`` where people may get a second budget, ``address`` where a ledger is, and ``storage`` writes it to the
disk.

Imports these rooms, and may import any other above it: ``arguments``, ``guarantees``.

This room guarantees that an entry is on the disk before ``spend`` returns, that the whole history of a data set then
keeps its limit whatever the analyst does, and that later changes to the record are detected. It knows nothing of data,
queries or noise.
"""

from discreet.ledger.book import ChainError, Entry, LedgerError
from discreet.ledger.dataset_limits import BudgetExceeded, Limit, Preview, Remaining
from discreet.ledger.history import History
from discreet.ledger.ledger import Ledger

__all__ = ["BudgetExceeded", "ChainError", "Entry", "History", "Ledger", "LedgerError", "Limit", "Preview", "Remaining"]
