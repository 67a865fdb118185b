"""Subjects: time series of events and of persons, and streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from discreet import signals as si
from discreet.audit.pairs import Pair
from discreet.guarantees import Guarantee, Loss
from discreet.queries.question import additive_loss
from discreet.records import Number, Schema
from papers.audit.subjects.subject import BOTH, DELTA, Subject, of_schema

__all__ = ["signals"]

Ask = Callable[[Any, float], Any]
STEPS = 8
EVENTS = Schema({"day": Number(0.0, 8.0), "amount": Number(-1.0, 4.0)})
WIDE = Schema({f"day{step}": Number(-1.0, 4.0, missing="fill", fill=0.0) for step in range(STEPS)})
LONG: dict[str, Any] = {"time": "day", "value": "amount", "steps": STEPS}

UNDER_BOTH: dict[str, Ask] = {
    "running sum": lambda c, e: si.running_sum(c, **LONG, epsilon=e, delta=DELTA),
    "running sum, tree": lambda c, e: si.running_sum(c, **LONG, epsilon=e, delta=0.0, method="tree"),
}
OF_EVENTS: dict[str, Ask] = {
    "running sum, streaming": lambda c, e: si.running_sum(c, **LONG, epsilon=e, delta=DELTA, method="streaming"),
    "running sum, doubling": lambda c, e: si.running_sum(c, **LONG, epsilon=e, delta=DELTA, method="doubling"),
    "filter": lambda c, e: si.lti_filter(c, [1.0, 0.5], [1.0, -0.8], **LONG, epsilon=e, delta=DELTA),
    "Fourier": lambda c, e: si.fourier(c, **LONG, epsilon=e, delta=DELTA),
    "Kalman": lambda c, e: si.kalman(c, **LONG, epsilon=e, delta=DELTA),
    "FAST": lambda c, e: si.fast(c, **LONG, epsilon=e, delta=DELTA),
}
OF_PERSONS: dict[str, Ask] = {
    "running sum of persons": lambda c, e: si.running_sum(c, epsilon=e, delta=DELTA),
    "Fourier of persons": lambda c, e: si.fourier(c, epsilon=e, delta=DELTA),
    "FAST of persons": lambda c, e: si.fast(c, epsilon=e, delta=0.0),
}


def _stream(steps: list[list[float]], epsilon: float) -> list[float]:
    stream = si.Stream(bounds=(-1.0, 4.0), horizon=STEPS, epsilon=epsilon, delta=DELTA, at_most=1000)
    return [stream.add(step) for step in steps]


def _unbounded(steps: list[list[float]], epsilon: float) -> list[float]:
    stream = si.Stream(bounds=(-1.0, 4.0), epsilon=epsilon, delta=DELTA, at_most=1000)
    return [stream.add(step) for step in steps]


@contextmanager
def _streams() -> Iterator[tuple[Pair, ...]]:
    empty: list[list[float]] = [[] for _ in range(STEPS)]
    yield (
        Pair("a value, at the first step or at the last", [[4.0], *empty[1:]], [*empty[1:], [4.0]]),
        Pair("the first value, at both ends", [[-1.0], *empty[1:]], [[4.0], *empty[1:]]),
        Pair("the first value, far outside", [[-1e308], *empty[1:]], [[1e308], *empty[1:]]),
    )


def signals() -> list[Subject]:
    """Return the subjects of this module."""

    def claimed(epsilon: float) -> Loss:
        return additive_loss(Guarantee(epsilon, DELTA))

    return [
        *of_schema("signals", UNDER_BOTH, EVENTS, BOTH),
        *of_schema("signals", OF_EVENTS, EVENTS),
        *of_schema("signals", OF_PERSONS, WIDE),
        Subject("signals: stream", _stream, _streams, claimed=claimed),
        Subject("signals: stream without an end", _unbounded, _streams, claimed=claimed),
    ]
