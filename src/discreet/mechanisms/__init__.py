"""General mechanisms that a user puts around a statistic, a score or a function of their own.

Where to look: ``trial`` has the checks of a user's function before anything is spent; ``perturbation`` adds noise to
rows or to results; ``exponential`` chooses by a score; ``factored_exponential`` chooses by the summed scores of all
rows; ``sample_and_aggregate`` combines results on random blocks of rows; ``smooth_sensitivity`` scales the noise to the
rows at hand; ``propose_test_release`` tests a proposed sensitivity first. The proofs are in ``queries.functions``.

Imports these rooms, and may import any other above it: ``arguments``, ``guarantees``, ``noise``, ``records``,
``scales``, ``queries``, ``door``.

Each mechanism guarantees what the proof in its module says, given the assumptions that its docstring names: a stated
sensitivity, a smooth bound, a distance. ``sample_and_aggregate`` only assumes that the function has no side effects and
keeps no state between calls. Rows go to the user's function and nowhere else. Its results are made finite, clipped to
declared bounds and released through the door.

Arguments that all mechanisms share are documented in ``output_perturbation``.
"""

from discreet.mechanisms.exponential import Choice, exponential, exponential_on_interval
from discreet.mechanisms.factored_exponential import FactoredChoice, FactoredExponential
from discreet.mechanisms.perturbation import NoisyValue, input_perturbation, output_perturbation
from discreet.mechanisms.propose_test_release import Verdict, propose_test_release
from discreet.mechanisms.sample_and_aggregate import Aggregate, sample_and_aggregate
from discreet.mechanisms.smooth_sensitivity import smooth_median, smooth_sensitivity
from discreet.queries.functions.admissible_noise import (
    AdmissibleNoise,
    CauchyNoise,
    GaussianSlide,
    LaplaceSlide,
    StudentNoise,
)
from discreet.queries.functions.median_sensitivity import iqr_distance, median_distance, smooth_sensitivity_of_median

__all__ = [
    "AdmissibleNoise",
    "Aggregate",
    "CauchyNoise",
    "Choice",
    "FactoredChoice",
    "FactoredExponential",
    "GaussianSlide",
    "LaplaceSlide",
    "NoisyValue",
    "StudentNoise",
    "Verdict",
    "exponential",
    "exponential_on_interval",
    "input_perturbation",
    "iqr_distance",
    "median_distance",
    "output_perturbation",
    "propose_test_release",
    "sample_and_aggregate",
    "smooth_median",
    "smooth_sensitivity",
    "smooth_sensitivity_of_median",
]
