"""The door: the only way from rows to numbers.

This room promises that a ``Release`` with provenance ``measured`` was planned by a mechanism whose proof stands beside
it, at a sensitivity that was derived in one place (``queries.bound``) from the bound that its question proves, and
that its cost was recorded before it was drawn, where there is a ledger. Nothing else in the library brings rows and
random bits together. It may import ``arguments``, ``guarantees``, ``noise``, ``ledger``, ``records`` and ``queries``.

Where to look: ``exit`` is the one function through which numbers leave, and holds the order of things; ``curator`` has
the rows and pays, ``schedule`` is what was paid for before; ``opening`` is how rows come in,
``release`` what comes out, ``answer`` what is made of releases.
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
