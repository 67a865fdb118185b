"""A statistical database: it answers aggregate questions with noise until its budget is spent.

Where to look: ``statistical_database`` is the database, ``questions`` what an analyst may ask, ``pricing`` what an
answer costs before it is asked, ``budget_shares`` how it is said.

Imports these rooms, and may import any other above it: ``arguments``, ``notebook``, ``guarantees``, ``ledger``,
``records``, ``door``, ``statistics``.

What this room guarantees:

- Every answer is one of ``discreet.statistics``, recorded in the ledger and then measured through the door. A refused
  question costs nothing.
- An analyst writes names of declared columns, numbers, and conditions of ``records.declared.conditions``. No text of
  theirs reaches a database.
- Nothing that is raised, shown or returned depends on a row, except the answer itself. The time that an answer takes
  may depend on rows: the guarantee does not cover timing.
"""

from discreet.database.pricing import Priced, Pricing, Reply
from discreet.database.questions import Draft, Drafting
from discreet.database.statistical_database import StatisticalDatabase

__all__ = ["Draft", "Drafting", "Priced", "Pricing", "Reply", "StatisticalDatabase"]
