"""The door: the only way from rows to numbers.

Where to look: ``exit`` has the one function through which numbers leave, in five steps. ``curator`` holds the rows,
plans and pays. ``schedule`` has losses that were paid in advance. ``release`` is the result. ``inquiry`` describes what
would be asked and at what cost, and how the answer follows from the releases.

Imports these rooms, and may import any other above it: ``arguments``, ``plain``, ``notebook``, ``guarantees``,
``noise``, ``ledger``, ``records``, ``queries``.

This room guarantees that a ``Release`` with provenance ``measured`` was planned by a mechanism with a proof beside it,
for a sensitivity that was derived in one place (``queries.bound``) from the bound that its question proves, or in the
proof of a mechanism of another kind (selections, ``queries.moments.scatter``). If there is a ledger, the cost was
recorded before the noise was drawn. No other code of the library combines rows and random bits.
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
