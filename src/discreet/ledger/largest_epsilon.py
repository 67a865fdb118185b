"""What would fit in place of a spend that a limit refuses: the largest ε that would be admitted.

It is computed from the refusal alone, which has the requested losses and what is left of the limit. The noise of the
requested losses is increased until the limit admits them, and the ε of these losses is what would fit. This works since
the losses of most methods decrease together with ε.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from discreet.guarantees import GaussianLoss, Loss, compose
from discreet.ledger.dataset_limits import Account, Preview
from discreet.ledger.privacy_filters import is_within

HALVINGS = 50
RANGE = 1e4  # the largest factor on the noise; answers with more noise would be useless


def largest_epsilon(preview: Preview, *, by_share: bool) -> str | None:
    """Return the largest ε that would be admitted, rounded down to two digits; None where none is.

    Parameters
    ----------
    preview : Preview
    by_share : bool
        Whether only the chosen filter counts, as for a database, which shares a budget out.
    """
    limit = preview.remaining.limit
    assert limit is not None  # without a limit nothing is refused
    asked = limit.convert(dict(preview.losses))
    delta = limit.guarantee.delta
    low, high = 0.0, math.log(RANGE)  # logarithms of factors on the noise
    if any(loss.failure for loss in asked) or not _admitted(preview, _noisier(asked, math.exp(high)), by_share):
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        fits = _admitted(preview, _noisier(asked, math.exp(middle)), by_share)
        low, high = (low, middle) if fits else (middle, high)
    pure = sum(count * loss.pure for loss, count in asked.items())
    fitting = _noisier(asked, math.exp(high))
    if math.isfinite(pure) and len(asked) == 1:
        return _rounded_down(sum(count * loss.pure for loss, count in fitting.items()))
    return _rounded_down(compose(fitting).epsilon(delta))


def _noisier(losses: Mapping[Loss, int], factor: float) -> Counter[Loss]:
    noisier = Counter[Loss]()
    for loss, count in losses.items():
        noisier[loss.with_noise(factor)] += count
    return noisier


def _admitted(preview: Preview, losses: Counter[Loss], by_share: bool) -> bool:
    """Return whether the rest of the limit admits these losses; with shares only the chosen filter counts."""
    left, limit = preview.remaining, preview.remaining.limit
    assert limit is not None
    chosen = limit.filters()[0]
    relation = limit.guarantee.neighbors
    if left.mu and is_within(chosen.total(losses), chosen.price(GaussianLoss(left.mu, relation))):
        return True
    if by_share and limit.guarantee.delta > limit.failures:
        return False
    if is_within(sum(count * loss.pure for loss, count in losses.items()), left.epsilon):
        return True
    fresh = Account(preview.dataset, limit, {})
    return left == fresh.remaining() and not by_share and fresh.admits(losses, reserve=True)


def _rounded_down(value: float) -> str | None:
    """Return a number of two digits that is not above ``value``."""
    if not value > 0.0:
        return None
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.floor(value / step * (1.0 + 1e-9)) * step:.2g}"
