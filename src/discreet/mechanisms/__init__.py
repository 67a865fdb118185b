"""General mechanisms: to put around a statistic, a score or a function of one's own.

This room guarantees what the proof in each module says, given what its function takes on trust and names: a stated
sensitivity, a smooth bound, a distance. ``sample_and_aggregate`` takes nothing on trust but that a function has no side
effects and keeps no state between calls. Rows go to a user's function and nowhere else; what comes back is made finite,
moved into declared bounds and released through the door. It may import ``arguments``, ``guarantees``, ``noise``,
``records`` and ``door``.

Where to look: ``trial`` for what is checked of a user's function before anything is spent; ``perturbation`` for noise
on rows and on results; ``exponential`` for choices by a score, ``factored_exponential`` for choices by scores of each
row; ``sample_and_aggregate``; ``smooth_sensitivity`` for noise that fits the rows at hand; ``propose_test_release``.
Proofs are in ``queries.functions``.
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
