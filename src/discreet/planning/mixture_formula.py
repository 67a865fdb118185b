"""The predicted error of a Gaussian mixture, in excess nats per row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.guarantees import Guarantee, Neighbors
from discreet.guarantees.normal import normal_mu
from discreet.planning.formula import Formula

KEPT = 0.4  # of the squared budget, in what a mixture ends with
LEVEL = 0.99  # of a component within the clipping radius
SHAPES = ("full", "tied", "diag", "spherical")


@dataclass(frozen=True, kw_only=True)
class MixtureFormula(Formula):
    """Excess nats a row of a fitted Gaussian mixture: an order of magnitude.

    K components of weight 1/K in d columns, measured in their own coordinates (mean 0, covariance I, clipped to R² =
    the 0.99 quantile of χ²_d). One release of Σγ_k(a, b·y, c·yyᵀ), y = z/R, with noise of standard deviation s = Δ/μ
    costs a row

        (K/n)²·s²·(A/a² + B/b² + C/c²),    A = ½ + d/4,    B = d·R²/2,    C = R⁴·d(d + 1)/8.

    Derivation. Noise of variance x on a component's share, mean and covariance in its own coordinates costs, in KL
    divergence to second order: ½x for its relative weight, ½x a coordinate of the mean, ¼‖E‖² for the covariance I + E.
    The noise on a share, relative to n/K rows, has variance (K/n)²s²/a², and dividing the second moment by it scales
    the covariance, d/4 more. First moments come back times R, seconds times R²; packed, ‖E‖² has d + d(d − 1)/2
    variances. The mean over components of weight 1/K is that of one. A diagonal covariance has C = R⁴·d/4; a spherical
    one R⁴/(4d); a tied one is measured on all rows, C/K². The best weights have a² ∝ √A and so on, and give (√A + √B +
    √C)². Δ² is 1 under add-remove and 2 under replace-one, times
    m² for units of m rows.

    Several rounds share the budget, and later ones forget the earlier ones in part. Four rounds of one Gaussian, each
    1.5 times the one before, leave 0.42 of μ² to the last. Ten rounds pooled with weights t^(−0.6) leave 0.63 of what
    the mixture has, 0.9 of all at most. ``KEPT`` = 0.4 of μ² stands for both.

    **What it leaves out**: that components overlap and rows are shared between them (more error), that fits shrink what
    could be noise (less, where noise is large), where the fit starts, how many steps it takes, and whether a mixture
    fits.

    **Measured.** ``GaussianMixture`` on components eight standard deviations apart, of random covariances, in 14
    settings of 1 to 3 components, 2 to 10 columns, 2,000 to 50,000 rows, ε from 0.3 to 1 and predictions from 0.001 to
    0.04 nats: the median error of ten fits was between 0.37 and 1.13 of the prediction, sampling error included. So it
    is right within a factor of 3, and too high rather than too low. A fit that misses a group, which happens where
    groups lie close or noise hides them, loses some tenths of a nat more (``GaussianMixture.diagnose``).

    The floor is the sampling error of a maximum likelihood fit, (number of parameters)/(2n) (Wilks 1938).

    Parameters
    ----------
    components : int
        K.
    shape : str
        ``"full"``, ``"tied"``, ``"diag"`` or ``"spherical"``.
    """

    components: int = 1
    shape: str = "full"

    name: ClassVar[str] = "gaussian-mixture"
    measure: ClassVar[str] = "excess nats a row, an order of magnitude"
    needs_delta: ClassVar[bool] = True

    @property
    def _costs(self) -> tuple[float, float, float]:
        """A, B and C."""
        from scipy.special import chdtri

        d, squared = self.d, float(chdtri(self.d, 1.0 - LEVEL))
        numbers = {
            "full": d * (d + 1.0) / 8.0,
            "tied": d * (d + 1.0) / 8.0 / self.components**2,
            "diag": d / 4.0,
            "spherical": 0.25 / d,
        }
        return 0.5 + d / 4.0, d * squared / 2.0, squared**2 * numbers[self.shape]

    def noise(self, guarantee: Guarantee) -> float:
        """Return what the noise costs, in nats a row."""
        squared = 2.0 if guarantee.neighbors is Neighbors.REPLACE_ONE else 1.0
        weighted = sum(math.sqrt(cost) for cost in self._costs) ** 2
        budget = KEPT * normal_mu(guarantee.epsilon, guarantee.delta) ** 2
        return (self.max_rows * self.components / self.n) ** 2 * squared * weighted / budget

    @property
    def parameters(self) -> int:
        """How many numbers a mixture has."""
        k, d = self.components, self.d
        each = {"full": d * (d + 1) // 2 * k, "tied": d * (d + 1) // 2, "diag": d * k, "spherical": k}[self.shape]
        return k - 1 + k * d + each

    @property
    def sampling_error(self) -> float:
        """Parameters over 2n."""
        return self.parameters / (2.0 * self.n)

    def error(self, guarantee: Guarantee) -> float:
        """Return the sum: nats are squares already."""
        return self.noise(guarantee) + self.floor
