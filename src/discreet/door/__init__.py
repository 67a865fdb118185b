"""The door: the only way from rows to numbers.

This room promises that a ``Release`` with provenance ``measured`` went through a passage whose proof stands beside it,
at a sensitivity that was derived in one place (``bound``) from norms that the query proves, and that its cost was
recorded before it was drawn, where there is a ledger. Nothing else in the library sees rows and makes numbers public.
It may import ``arguments``, ``guarantees``, ``noise``, ``records`` and ``ledger``.

Where to look: ``curator`` holds the order of things, ``passages`` the mechanisms, ``question`` what can be asked,
``query`` what a sum over rows must prove, ``queries`` those that come with the library, ``search`` the attack on their
bounds, ``opening`` how rows come in, ``release`` what comes out.
"""

from discreet.door.answer import Answer
from discreet.door.bound import Bound
from discreet.door.curator import Curator
from discreet.door.opening import Declarations, open_rows
from discreet.door.part import Part
from discreet.door.passages import Additive, Euclidean, Exponential, NoisyMax, Passage
from discreet.door.queries import Grid, Histogram, Moments, Sum
from discreet.door.query import Query
from discreet.door.question import Gathering, Question
from discreet.door.release import PublicSize, Release, simulate
from discreet.door.schedule import Schedule
from discreet.door.selection import Mode, Selection
from discreet.door.standing import Standing

__all__ = [
    "Additive",
    "Answer",
    "Bound",
    "Curator",
    "Declarations",
    "Euclidean",
    "Exponential",
    "Gathering",
    "Grid",
    "Histogram",
    "Mode",
    "Moments",
    "NoisyMax",
    "Part",
    "Passage",
    "PublicSize",
    "Query",
    "Question",
    "Release",
    "Schedule",
    "Selection",
    "Standing",
    "Sum",
    "open_rows",
    "simulate",
]
