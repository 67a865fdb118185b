"""The suite: attack every subject, and mixtures also in one run, at one joint confidence.

Each of m attacks may refute a true guarantee with probability (1 − confidence)/m, so that with the joint confidence
none is refuted (Bonferroni). Subjects differ a thousandfold in speed, so each gets the same time and as many runs as
fit into it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from itertools import repeat
from typing import Any

from discreet.audit import attacking
from discreet.audit.canaries import one_run
from discreet.audit.output import read_claim
from discreet.audit.result import Attack
from papers.audit.subjects import subjects
from papers.audit.subjects.every_estimator import mixtures
from papers.running import processes

__all__ = ["CONFIDENCE", "attack_all", "attack_subject", "audit_in_one_run", "confidence_of_each"]

CONFIDENCE = 0.999
APPROXIMATE, PURE = 8.0, 3.0  # ε at which a few thousand runs give a sharp bound
FEW = 3  # pairs that are tried if runs are slow


def attack_subject(
    name: str,
    *,
    confidence: float,
    seconds: float | None = None,
    runs: int | None = None,
    epsilon: float | None = None,
    few: bool = False,
) -> Attack:
    """Attack one subject, with a number of runs on each side or for a time; on ``few`` pairs of neighbours or all."""
    subject = subjects()[name]
    with (
        warnings.catch_warnings(action="ignore"),
        subject.pairs() as pairs,
    ):  # for example of a large ε; rows are synthetic
        at = epsilon if epsilon is not None else _choose_epsilon(subject, pairs[-1])

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


def _choose_epsilon(subject: Any, pair: Any) -> float:
    claim = read_claim(subject.ask(pair.other, PURE))
    return PURE if claim is not None and claim.guarantee.delta == 0.0 else APPROXIMATE


def confidence_of_each() -> float:
    """Return the confidence of one attack, so that all of them together have ``CONFIDENCE``."""
    return 1.0 - (1.0 - CONFIDENCE) / (len(subjects()) + len(mixtures()))


def audit_in_one_run(*, jobs: int = 2) -> list[dict[str, Any]]:
    """Return the audit in one run of every mixture, as plain values."""
    names, confidence = list(mixtures()), confidence_of_each()
    if jobs == 1:
        return [_one_run_to_dict(name, confidence) for name in names]
    with processes(min(jobs, len(names))) as pool:
        return list(pool.map(_one_run_to_dict, names, repeat(confidence)))


def attack_all(names: Sequence[str], *, seconds: float, jobs: int = 2) -> Iterator[dict[str, Any]]:
    """Yield the result of each attack, as plain values, as soon as it is done."""
    confidence = confidence_of_each()
    if jobs == 1:
        for name in names:
            yield _attack_to_dict(name, confidence, seconds)
        return
    with processes(min(jobs, len(names))) as pool:
        waiting = [pool.submit(_attack_to_dict, name, confidence, seconds) for name in names]
        for future in as_completed(waiting):
            yield future.result()


def _one_run_to_dict(name: str, confidence: float) -> dict[str, Any]:
    return one_run(mixtures()[name], confidence=confidence).to_dict() | {"name": name}


def _attack_to_dict(name: str, confidence: float, seconds: float) -> dict[str, Any]:
    return attack_subject(name, confidence=confidence, seconds=seconds).to_dict()
