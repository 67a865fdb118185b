"""Reproduce: every table and figure of the papers that can be run, with honest noise, and ours beside it.

This room promises that a number that it shows was measured by this code, in the run that its file names: an experiment
is a list of parts, each part is measured once and kept, and the table, the picture and the verdict are functions of
what was kept. Rows are public or made up; nothing here touches a person's data, and noise is seeded so that the numbers
can be had again. It may import every room and, from outside, numpy, scipy, scikit-learn and matplotlib.

Where to look: ``experiment`` says what an entry is, ``running`` how it is run and resumed, ``page`` makes the page of
the documentation, ``drawing`` has axes without a screen, ``entries`` lists all of them; then one folder a paper, one
file an entry.
"""

from discreet.reproduce.entries import ENTRIES, experiment
from discreet.reproduce.experiment import Experiment, Outcome, Verdict
from discreet.reproduce.page import page
from discreet.reproduce.running import run

__all__ = ["ENTRIES", "Experiment", "Outcome", "Verdict", "experiment", "page", "run"]
