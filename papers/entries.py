"""All experiments by name; each is imported when it is first needed."""

from __future__ import annotations

from pkgutil import resolve_name

from discreet.arguments import choice
from papers.experiment import Experiment

__all__ = ["ENTRIES", "experiment"]

# Name and location of each experiment.
ENTRIES: dict[str, str] = {
    "dp-em/figure-1": "dpem.figure_1_one_person:EXPERIMENT",
    "dp-em/figure-2": "dpem.figure_2_stroke:EXPERIMENT",
    "dp-em/figure-3": "dpem.figure_3_lifesci:EXPERIMENT",
    "dp-em/figure-4": "dpem.figure_4_checkins:EXPERIMENT",
    "dp-em/figure-5": "dpem.figure_5_faces:EXPERIMENT",
    "williams/table-2": "williams.tables_2_and_3:TABLE_2",
    "williams/table-3": "williams.tables_2_and_3:TABLE_3",
    "williams/figure-2a": "williams.figure_2a:EXPERIMENT",
    "williams/figure-2b": "williams.figure_2b:EXPERIMENT",
    "williams/figure-3a": "williams.figure_3a:EXPERIMENT",
    "williams/figure-3b": "williams.figure_3b:EXPERIMENT",
    "williams/figure-4": "williams.figure_4_direction:EXPERIMENT",
    "xi/table-1": "xi.table_1:EXPERIMENT",
    "xi/figure-1": "xi.figure_1_diagonal:EXPERIMENT",
    "xi/figure-2": "xi.figures_2_to_5:FIGURE_2",
    "xi/figure-3": "xi.figures_2_to_5:FIGURE_3",
    "xi/figure-4": "xi.figures_2_to_5:FIGURE_4",
    "xi/figure-5": "xi.figures_2_to_5:FIGURE_5",
    "xi/parkinsons": "xi.parkinsons:EXPERIMENT",
    "survey/figure-2": "survey.figure_2_mean_and_median:EXPERIMENT",
}


def experiment(name: str) -> Experiment:
    """Return an experiment by its name."""
    found = resolve_name(f"papers.{ENTRIES[choice('name', name, tuple(ENTRIES))]}")
    assert isinstance(found, Experiment)
    return found
