"""A statistical database: answers to aggregate questions, with noise, until the budget is spent.

What this room guarantees:

- Every answer is one of ``discreet.statistics``, measured through the door and paid for in the ledger first. A question
  that is refused has cost nothing.
- What an analyst writes is names of declared columns, numbers, and conditions of ``records.declared.conditions``; no
  text of theirs reaches a database.
- Nothing that is raised, shown or returned, but the answer itself, depends on a row. How long an answer takes may:
  timing is outside of what is guaranteed.

``sensitivities`` has the bounds of the paper that this follows (Xi, Kantarcioglu and Inan 2011), exact.

May import everything up to ``statistics``.
"""

from discreet.database.pricing import Priced, Pricing, Reply
from discreet.database.questions import Draft, Drafting
from discreet.database.statistical_database import StatisticalDatabase

__all__ = ["Draft", "Drafting", "Priced", "Pricing", "Reply", "StatisticalDatabase"]
