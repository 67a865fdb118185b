"""Whether the releases identify the parameters of a model: a parameter that they do not has only its prior.

With c a row's contribution and s its score, both under the model at the reference, the part of one row's information
that a noiseless release of c would keep along a direction a of the parameters is the squared correlation of aᵀs with
what of it c can predict: aᵀ(JᵀV⁻¹J)a / aᵀFa. It is between 0 and 1, whatever the noise. Where it is 0 for some a, no
budget would tell about it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.inference.clt.reference import Problem, Reference

Array = NDArray[np.float64]

LEAST = 1e-6
FAR = 10.0  # standard errors
CHANCE = 20.0  # how many times what chance would show


def check_determined(problem: Problem, reference: Reference) -> None:
    """Raise a ValueError where the measurements and the public rows say nothing about some parameter."""
    at, p = reference.at, problem.model.size
    _check_support(problem, reference)
    _check_rows(problem, reference)
    if problem.public is not None:
        return
    values, vectors = np.linalg.eigh(at.fisher)
    if values[0] <= values[-1] * 1e-10:
        _refuse(problem, vectors[:, 0], "the rows themselves do not depend on it")
    half = vectors / np.sqrt(values)
    spread, axes = np.linalg.eigh(at.covariance)
    kept = spread > spread[-1] * 1e-12
    seen = (axes[:, kept] / np.sqrt(spread[kept])).T @ at.slope @ half
    shares, directions = np.linalg.eigh(seen.T @ seen)
    chance = 0.0 if np.isinf(at.draws) else CHANCE * max(int(kept.sum()), p) / at.draws
    if kept.sum() < p or shares[0] < max(LEAST, min(chance, 0.05)):
        _refuse(problem, half @ directions[:, 0], "what was measured does not depend on it")


def _check_support(problem: Problem, reference: Reference) -> None:
    """Raise where scores do not have mean 0: then what rows are possible depends on a parameter."""
    at = reference.at
    if np.isinf(at.draws):
        return
    error = np.sqrt(np.diag(at.fisher) / at.draws)
    off = np.abs(at.score) / np.maximum(error, 1e-300)
    if off.max() > FAR and (np.abs(at.score) > 0.01 * np.sqrt(np.diag(at.fisher))).any():
        raise ArgumentError(
            "model",
            UNSHOWN,
            "rows whose range does not depend on parameters, as that of Uniform(0, a) does, but "
            f"{problem.model.named(int(off.argmax()))!r} changes it; give rows a fixed range, or one without ends",
        )


def _check_rows(problem: Problem, reference: Reference) -> None:
    """Raise where ln N has no information of its own, beside what other parameters could explain as well."""
    if problem.rows is not None:
        return
    _, n = problem.split(reference.w)
    told = n * n * reference.projection @ np.column_stack([reference.at.slope, reference.at.mean])
    others = np.linalg.lstsq(told[:-1, :-1], told[:-1, -1], rcond=1e-8)[0]
    if told[-1, -1] - told[-1, :-1] @ others < 1.0:
        raise ArgumentError(
            "rows",
            None,
            "the number of rows; it is private here (under add-remove, and where rows with gaps are dropped), and "
            "nothing that was released tells it; measure a count as well (Moments has one), or write rows=… where you "
            "know it",
        )


def _refuse(problem: Problem, direction: Array, why: str) -> None:
    name = problem.model.named(int(np.abs(direction).argmax()))
    raise ArgumentError(
        "model",
        UNSHOWN,
        f"parameters that the releases determine; {why}, for some direction along {name!r} (or several parameters "
        "only matter together). Measure more, write fewer parameters, or write undetermined='prior' to let the prior "
        "speak there",
    )
