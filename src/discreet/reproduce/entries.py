"""All experiments by their names; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from discreet.arguments import choice
from discreet.reproduce.experiment import Experiment

__all__ = ["ENTRIES", "experiment"]

# Names, and the modules that have them as EXPERIMENT.
ENTRIES: dict[str, str] = {
    "dp-em/figure-1": "dpem.figure_1",
    "dp-em/figure-2": "dpem.figure_2",
    "dp-em/figure-3": "dpem.figure_3",
    "dp-em/figure-4": "dpem.figure_4",
    "dp-em/figure-5": "dpem.figure_5",
    "williams/table-2": "williams.table_2",
    "williams/table-3": "williams.table_3",
    "williams/figure-2a": "williams.figure_2a",
    "williams/figure-2b": "williams.figure_2b",
    "williams/figure-3a": "williams.figure_3a",
    "williams/figure-3b": "williams.figure_3b",
    "williams/figure-4": "williams.figure_4",
    "xi/table-1": "xi.table_1",
    "xi/figure-1": "xi.figure_1",
    "xi/figure-2": "xi.figure_2",
    "xi/figure-3": "xi.figure_3",
    "xi/figure-4": "xi.figure_4",
    "xi/figure-5": "xi.figure_5",
    "xi/parkinsons": "xi.parkinsons",
    "survey/figure-2": "survey.figure_2",
}


def experiment(name: str) -> Experiment:
    """Return an experiment by its name."""
    found = import_module(f"discreet.reproduce.{ENTRIES[choice('name', name, tuple(ENTRIES))]}").EXPERIMENT
    assert isinstance(found, Experiment)
    return found
