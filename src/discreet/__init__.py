"""Learning from sensitive continuous data under differential privacy.

>>> import discreet as dp
>>> steps = [dp.GaussianLoss(1.0)] * 10
>>> round(dp.calibrate(dp.Guarantee(epsilon=1.0, delta=1e-6), steps).noise, 3)
13.36
"""

from discreet import datasets, guarantees, noise
from discreet.door import Curator, Histogram, Mode, Moments, Release, Sum
from discreet.guarantees import (
    ApproximateLoss,
    BoundedRangeLoss,
    ClassicalGaussianLoss,
    GaussianLoss,
    GeometricLoss,
    Guarantee,
    LaplaceLoss,
    Neighbors,
    PureLoss,
    ZcdpLoss,
    calibrate,
    compare,
    compose,
)
from discreet.ledger import BudgetExceeded, Ledger
from discreet.records import Ball, Box, Category, Number, Schema

__all__ = [
    "ApproximateLoss",
    "Ball",
    "BoundedRangeLoss",
    "Box",
    "BudgetExceeded",
    "Category",
    "ClassicalGaussianLoss",
    "Curator",
    "GaussianLoss",
    "GeometricLoss",
    "Guarantee",
    "Histogram",
    "LaplaceLoss",
    "Ledger",
    "Mode",
    "Moments",
    "Neighbors",
    "Number",
    "PureLoss",
    "Release",
    "Schema",
    "Sum",
    "ZcdpLoss",
    "calibrate",
    "compare",
    "compose",
    "datasets",
    "guarantees",
    "noise",
]
