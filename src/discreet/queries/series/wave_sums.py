"""The Fourier coefficients of events, with a tighter bound on replaced rows than any operator has.

Rows v at t and v' at t' contribute v·F·e_t and v'·F·e_t'. With N² = k/T the squared norm of every column and
⟨F·e_t, F·e_t'⟩ ≥ −ρ·N², where ρ ≥ 0 follows from the Dirichlet kernel (``Fourier.opposed``):

    ‖v·F·e_t − v'·F·e_t'‖² = (v² + v'²)·N² − 2vv'·⟨F·e_t, F·e_t'⟩.

If v·v' ≥ 0 it is at most 2(1 + ρ)·B²·N². If v·v' < 0 it is at most (|v| + |v'|)²·N² = (v − v')²·N² ≤ (h − l)²·N². So
the two are at most max(√(2(1 + ρ))·B, h − l if l < 0 < h)·N apart. For all T coefficients ρ = 0. The kernel's minimum
is near −0.22·N² where T is large against k, which makes it about 1.56·B·N; ρ = 1 would be 2·B·N.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from discreet.queries.bound import Bound
from discreet.queries.series.fourier_operator import Fourier
from discreet.queries.series.step_sums import StepSums

__all__ = ["WaveSums"]


@dataclass(frozen=True)
class WaveSums(StepSums):
    """F·S for events; see the module. The operator is a ``Fourier``."""

    @cached_property
    def bound(self) -> Bound:
        """See the module."""
        assert isinstance(self.operator, Fourier)
        low, high = self.limits
        l1, l2 = (self.largest * self.operator.column_norm(norm) for norm in ("l1", "l2"))
        apart = (high - low) / self.largest if low < 0.0 < high else 0.0
        replace_l2 = min(2.0, max(math.sqrt(2.0 * (1.0 + self.operator.opposed)), apart)) * l2
        shares = self._attained({"l2": l2, "l1": l1, "replace_l2": replace_l2, "replace_l1": 2.0 * l1})
        return Bound(l2, l1, replace_l2, 2.0 * l1, shares)
