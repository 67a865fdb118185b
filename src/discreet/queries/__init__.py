"""Queries and mechanisms, by family: everything in the library that needs a privacy proof.

Where to look: ``question`` is what is computed from rows, as named parts of a sum, and ``mechanism`` decides from
public numbers what to charge and what to draw; ``bound`` derives sensitivities and clips contributions, ``search``
attacks bounds, ``question_files`` writes questions to files and reads older ones. Families: ``counts``, ``moments``,
``ranks``, ``series``, ``objectives`` (regularised losses of labelled rows), ``functions`` (of a user), ``models`` (of a
user, and likelihoods), and ``adaptors``, queries over some columns, rows or groups.

Imports these rooms, and may import any other above it: ``arguments``, ``cuda_kernels``, ``guarantees``,
``noise``, ``records``.

This room guarantees that each question proves its bound, and each mechanism its loss, in the docstring beside it. A
mechanism draws nothing itself: the door does. A test checks that no question and no mechanism of the library is defined
elsewhere.
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
