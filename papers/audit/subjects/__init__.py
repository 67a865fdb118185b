"""All subjects of the suite: every kind of release at the door, statistic, mechanism, series and estimator."""

from papers.audit.subjects.door_releases import door_releases
from papers.audit.subjects.every_estimator import estimators
from papers.audit.subjects.every_statistic import database, statistics
from papers.audit.subjects.general_mechanisms import mechanisms
from papers.audit.subjects.subject import Subject
from papers.audit.subjects.time_series import signals

__all__ = ["Subject", "subjects"]


def subjects() -> dict[str, Subject]:
    """Return all subjects by their names."""
    found = [*door_releases(), *statistics(), *database(), *mechanisms(), *signals(), *estimators()]
    return {subject.name: subject for subject in found}
