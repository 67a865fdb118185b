"""Guarantees: neighbour relations, privacy losses, composition and calibration.

Where to look: (ε, δ) and the relation are in ``guarantee``; what every loss has in ``loss``, and the losses themselves
in ``normal`` (Gaussian), ``losses`` and ``objective_loss``; composition and calibration in ``composition``, on ``pld``
(convolution), ``renyi`` and ``arithmetic``; ``caution`` warns of a weak guarantee.

Imports these rooms, and may import any other above it: ``arguments``, ``plain``.

Every ε and δ that this room gives is a true bound under the relation that it names, given losses that are true. It
knows nothing of data, queries or noise.
"""

from discreet.guarantees.composition import Calibration, Composition, calibrate, compose
from discreet.guarantees.guarantee import Guarantee, Neighbors
from discreet.guarantees.loss import Loss
from discreet.guarantees.losses import ApproximateLoss, BoundedRangeLoss, GeometricLoss, LaplaceLoss, PureLoss, ZcdpLoss
from discreet.guarantees.normal import ClassicalGaussianLoss, GaussianLoss
from discreet.guarantees.objective_loss import ObjectiveLoss

__all__ = [
    "ApproximateLoss", "BoundedRangeLoss", "Calibration", "ClassicalGaussianLoss", "Composition", "GaussianLoss",
    "GeometricLoss", "Guarantee", "LaplaceLoss", "Loss", "Neighbors", "ObjectiveLoss", "PureLoss", "ZcdpLoss",
    "calibrate", "compose",
]  # fmt: skip
