"""Everything that the suite attacks: every passage of the door, statistic, mechanism, series and estimator."""

from discreet.audit.subjects.estimators import estimators
from discreet.audit.subjects.mechanisms import mechanisms
from discreet.audit.subjects.passages import passages
from discreet.audit.subjects.signals import signals
from discreet.audit.subjects.statistics import database, statistics
from discreet.audit.subjects.subject import Subject

__all__ = ["Subject", "subjects"]


def subjects() -> dict[str, Subject]:
    """Return all subjects by their names."""
    result = [*passages(), *statistics(), *database(), *mechanisms(), *signals(), *estimators()]
    return {subject.name: subject for subject in result}
