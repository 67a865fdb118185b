"""What can go wrong with a ledger. Wrong arguments are ``ValueError``s, as everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.ledger.limit import Preview

__all__ = ["PUT_BACK", "BudgetExceeded", "ChainError", "LedgerError"]

PUT_BACK = "put back a good copy and verify it"  # what to do about a record that was changed


class LedgerError(OSError):
    """The record could not be read or written. Whatever was asked for does not count as spent: release nothing.

    An ``OSError``, since its causes are: a full disk, a file that is missing, read-only, locked or damaged, a server
    that does not answer.
    """


class ChainError(LedgerError):
    """The entries do not follow from one another: the record was edited, cut, reordered or rolled back."""


class BudgetExceeded(RuntimeError):  # noqa: N818  # the usual name for it
    """A spend that the limit of its data set does not admit. Nothing was recorded.

    A ``RuntimeError``: the same arguments are in order as long as there is budget left.

    Attributes
    ----------
    preview : Preview
        What was asked for and what is left.
    asked : str or None
        The same in the words of whoever asked.
    """

    def __init__(self, preview: Preview, asked: str | None = None) -> None:
        super().__init__(preview, asked)  # the arguments of an exception are what its pickle keeps
        self.preview = preview
        self.asked = asked

    def __str__(self) -> str:
        return f"{self.preview if self.asked is None else self.asked}; nothing was recorded"
