"""Check that the releases identify the parameters of a model. An unidentified parameter has only its prior.

Let c be a row's contribution and s its score under the model at the reference, V = Var c, F = E ssᵀ and J = E (c − m)sᵀ
(``local_moments``). A noiseless release of c keeps the share

    aᵀ(JᵀV⁻¹J)a / aᵀFa

of one row's information along a direction a of the parameters: the squared correlation of aᵀs with its best linear
prediction from c. The share is between 0 and 1 and does not depend on the noise. Where it is 0 for some a, no budget
identifies that direction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.inference.clt.reference import Problem, Reference

Array = NDArray[np.float64]

MIN_SHARE = 1e-6  # of a row's information, along every direction
MAX_STANDARD_ERRORS = 10.0  # by which the mean score may differ from 0
CHANCE_FACTOR = 20.0  # the share must be so many times what Monte Carlo error alone would show


def check_identified(problem: Problem, reference: Reference) -> None:
    """Raise an error if neither the measurements nor the public rows depend on some parameter."""
    moments, p = reference.moments, problem.model.size
    _check_support(problem, reference)
    if problem.public is not None:
        return
    values, vectors = np.linalg.eigh(moments.fisher)
    if values[0] <= values[-1] * 1e-10:
        _refuse(problem, vectors[:, 0], "the rows themselves do not depend on it")
    half = vectors / np.sqrt(values)  # half·halfᵀ = F⁻¹
    spread, axes = np.linalg.eigh(moments.covariance)
    kept = spread > spread[-1] * 1e-12
    correlations = (axes[:, kept] / np.sqrt(spread[kept])).T @ moments.jacobian @ half  # V^(−½)·J·F^(−½)
    shares, directions = np.linalg.eigh(correlations.T @ correlations)
    chance = 0.0 if np.isinf(moments.draws) else CHANCE_FACTOR * max(int(kept.sum()), p) / moments.draws
    if kept.sum() < p or shares[0] < max(MIN_SHARE, min(chance, 0.05)):
        _refuse(problem, half @ directions[:, 0], "what was measured does not depend on it")


def _check_support(problem: Problem, reference: Reference) -> None:
    """Raise an error if the mean score is not 0: then the support of a row depends on a parameter."""
    moments = reference.moments
    if np.isinf(moments.draws):
        return
    error = np.sqrt(np.diag(moments.fisher) / moments.draws)
    off = np.abs(moments.mean_score) / np.maximum(error, 1e-300)
    large = np.abs(moments.mean_score) > 0.01 * np.sqrt(np.diag(moments.fisher))
    if off.max() > MAX_STANDARD_ERRORS and large.any():
        raise ArgumentError(
            "model",
            UNSHOWN,
            "rows whose range does not depend on parameters, as that of Uniform(0, a) does, but "
            f"{problem.model.parameter_at(int(off.argmax()))!r} changes it; give rows a fixed range, or one without "
            "ends",
        )


def check_rows_known(problem: Problem, reference: Reference) -> None:
    """Raise an error if ln N has no information of its own, beyond what the other parameters could explain."""
    if problem.rows is not None:
        return
    _, n = problem.split(reference.w)
    moments = reference.moments
    information = n * n * reference.projection @ np.column_stack([moments.jacobian, moments.mean])
    others = np.linalg.lstsq(information[:-1, :-1], information[:-1, -1], rcond=1e-8)[0]
    if information[-1, -1] - information[-1, :-1] @ others < 1.0:
        raise ArgumentError(
            "rows",
            None,
            "the number of rows; it is private here (under add-remove, and where rows with gaps are dropped), and no "
            "release determines it; measure a count as well (Moments has one), or write rows=… where you know it",
        )


def _refuse(problem: Problem, direction: Array, why: str) -> None:
    name = problem.model.parameter_at(int(np.abs(direction).argmax()))
    raise ArgumentError(
        "model",
        UNSHOWN,
        f"parameters that the releases determine; {why}, for some direction along {name!r} (or several parameters "
        "only matter together). Measure more, write fewer parameters, or write undetermined='prior' to use the prior "
        "there",
    )
