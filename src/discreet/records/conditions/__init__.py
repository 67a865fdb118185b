"""Conditions: which rows count, in the words of the declared columns.

This room promises that a condition is a function of one row alone (``tree``, with the reason why it is safe to ask),
and that nothing of a text is ever run: a text becomes a tree of declared names, declared categories and finite numbers,
or an error that says what to write (``text``). It may import ``arguments`` and ``cells``.
"""

from discreet.records.conditions.tree import Condition

__all__ = ["Condition"]
