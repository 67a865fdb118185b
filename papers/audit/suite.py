"""The suite: every subject attacked, and mixtures in one run too, at one confidence for all of them together.

Each attack may fail to hold with probability (1 − confidence)/m, m their number, so that with the joint confidence no
true promise is refuted among all of them (Bonferroni). Subjects differ a thousandfold in speed, so each gets the same
time and as many runs as fit into it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from typing import Any

from discreet.audit import attacking
from discreet.audit.canaries import one_run
from discreet.audit.output import read_claim
from discreet.audit.result import Attack
from papers.audit.subjects import subjects
from papers.audit.subjects.every_estimator import mixtures
from papers.running import processes

__all__ = ["CONFIDENCE", "attack_subject", "attacked", "confidence_of_each", "in_one_run"]

CONFIDENCE = 0.999
APPROXIMATE, PURE = 8.0, 3.0  # at which ε some thousand runs see most of a promise
FEW = 3  # pairs that are scouted where runs are slow


def attack_subject(
    name: str,
    *,
    confidence: float,
    seconds: float | None = None,
    runs: int | None = None,
    epsilon: float | None = None,
    few: bool = False,
) -> Attack:
    """Attack one subject, with so many runs a side or for about so long; on ``few`` pairs of neighbours, or on all."""
    subject = subjects()[name]
    with subject.pairs() as pairs, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of noise that hides a line, say: nobody's rows are here
        at = epsilon if epsilon is not None else _usual(subject, pairs[-1])

        def ask(data: Any) -> Any:
            return subject.ask(data, at)

        ask.__name__ = name
        if seconds is not None:
            runs = attacking.estimate_runs(ask, pairs, seconds)
            few = runs == attacking.FEWEST
        claimed = None if subject.claimed is None else subject.claimed(at)
        return attacking.attack(
            ask,
            pairs[:FEW] if few else pairs,
            claimed=claimed,
            runs=runs or attacking.FEWEST,
            confidence=confidence,
            spends=True,
            progress=False,
        )


def _usual(subject: Any, pair: Any) -> float:
    claim = read_claim(subject.ask(pair.other, PURE))
    return PURE if claim is not None and claim.guarantee.delta == 0.0 else APPROXIMATE


def confidence_of_each() -> float:
    """Return the confidence of one attack, so that all of them together have that of the suite."""
    return 1.0 - (1.0 - CONFIDENCE) / (len(subjects()) + len(mixtures()))


def in_one_run() -> list[dict[str, Any]]:
    """Return what canaries tell of every mixture, as plain values."""
    return [
        one_run(model, confidence=confidence_of_each()).to_dict() | {"name": name} for name, model in mixtures().items()
    ]


def attacked(names: Sequence[str], *, seconds: float, jobs: int = 2) -> Iterator[dict[str, Any]]:
    """Yield what was found of each subject, as plain values, as soon as it is there."""
    confidence = confidence_of_each()
    if jobs == 1:
        for name in names:
            yield _plain(name, confidence, seconds)
        return
    with processes(min(jobs, len(names))) as pool:
        waiting = [pool.submit(_plain, name, confidence, seconds) for name in names]
        for future in as_completed(waiting):
            yield future.result()


def _plain(name: str, confidence: float, seconds: float) -> dict[str, Any]:
    return attack_subject(name, confidence=confidence, seconds=seconds).to_dict()
