"""The door: the only way from rows to numbers.

This room guarantees that a ``Release`` with provenance ``measured`` was planned by a mechanism whose proof stands
beside it, at a sensitivity that was derived in one place (``queries.bound``) from the bound that its question proves.
Where there is a ledger, the cost was recorded before the noise was drawn. Nothing else in the library brings rows and
random bits together. It may import ``arguments``, ``guarantees``, ``noise``, ``ledger``, ``records`` and ``queries``.

Where to look: ``exit`` is the one function through which numbers leave, in five steps. ``curator`` has the rows, plans
and pays. ``schedule`` is what was paid for before. ``release`` is what comes out. ``inquiry`` says what would be asked
and at what cost, and what is made of the releases.
"""

from discreet.door.curator import Curator, Declarations, open_rows
from discreet.door.inquiry import Answer
from discreet.door.release import PublicSize, Release, simulate
from discreet.door.schedule import Schedule, StreamMechanism

__all__ = [
    "Answer",
    "Curator",
    "Declarations",
    "PublicSize",
    "Release",
    "Schedule",
    "StreamMechanism",
    "open_rows",
    "simulate",
]
