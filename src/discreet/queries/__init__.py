"""What must be proved: every question that can be asked of rows, and every mechanism, by family.

This room guarantees that each question proves its bound, and each mechanism its loss, in the docstring beside it. A
question says what it takes from rows, and in which parts its sum comes (``question``). A mechanism says from public
numbers what to charge and what to draw (``mechanism``), and draws nothing: the door does. ``bound`` is where a
sensitivity is derived and contributions are held to their bound, ``search`` attacks bounds, ``naming`` writes questions
into files. It may import ``arguments``, ``plain``, ``guarantees``, ``noise`` and ``records``.

The families: ``counts``, ``moments``, ``ranks``, ``series``, ``objectives`` (regularised losses of labelled rows),
``functions`` (of a user), ``models`` (of a user, and likelihoods), and ``adapted``, queries over part of what a row
has. A test sees that no question and no mechanism of the library stands elsewhere.
"""

from discreet.queries.bound import Bound, Setting
from discreet.queries.counts.count_queries import Histogram, Mode
from discreet.queries.counts.grids import Grid
from discreet.queries.mechanism import Additive, Euclidean, Exponential, Mechanism, NoisyMax, Plan
from discreet.queries.moments.moments import Moments, Sum
from discreet.queries.question import Part, Query, Question, RowQuery, Selection

__all__ = [
    "Additive",
    "Bound",
    "Euclidean",
    "Exponential",
    "Grid",
    "Histogram",
    "Mechanism",
    "Mode",
    "Moments",
    "NoisyMax",
    "Part",
    "Plan",
    "Query",
    "Question",
    "RowQuery",
    "Selection",
    "Setting",
    "Sum",
]
