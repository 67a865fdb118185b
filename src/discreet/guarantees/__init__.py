"""Guarantees: neighbour relations, privacy losses, composition and calibration.

This room promises that every ε and δ it gives is a true bound under the relation that it names, given losses that
are true. It knows nothing of data, queries or noise. It may import ``discreet.arguments`` and, from outside, numpy
and scipy.

Where to look: the values are in ``normal``, ``additive``, ``stated`` and ``objective``, what they have in common in
``loss``; the methods in ``composition`` and ``classical``; the verbs in ``calibration``.
"""

from discreet.guarantees.composition import Calibration, Composition, calibrate, compose
from discreet.guarantees.guarantee import Guarantee, Neighbors
from discreet.guarantees.loss import Loss
from discreet.guarantees.losses import ApproximateLoss, BoundedRangeLoss, GeometricLoss, LaplaceLoss, PureLoss, ZcdpLoss
from discreet.guarantees.normal import ClassicalGaussianLoss, GaussianLoss
from discreet.guarantees.objective import ObjectiveLoss

__all__ = [
    "ApproximateLoss",
    "BoundedRangeLoss",
    "Calibration",
    "ClassicalGaussianLoss",
    "Composition",
    "GaussianLoss",
    "GeometricLoss",
    "Guarantee",
    "LaplaceLoss",
    "Loss",
    "Neighbors",
    "ObjectiveLoss",
    "PureLoss",
    "ZcdpLoss",
    "calibrate",
    "compose",
]
