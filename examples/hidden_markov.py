"""A hidden Markov model with Gaussian emissions. A row is a whole sequence, so a sequence is what is protected.

**Bound.** A row z in [−1, 1]^T has probabilities γ_t(s) of its states and ξ_t(s, s') of its moves, each on a simplex.
It contributes γ_1, the mean of ξ_t over t, and that of (γ_t(s)·(a, b·e, c·e²))_s, with e = (z_t − m_s)/(R·w_s) clipped
to [−1, 1]. A mean is no longer than the longest vector, and all squared weights sum to 1: ‖c‖ ≤ 1. The product of two
rows' contributions is a sum of numbers ≥ 0, a² + b²v + c²v² with v = ee' among them as b² ≤ 2ac: ‖c − c'‖² ≤ 2. Floats:
all is positive, so relative errors add up: for each t (2S + 16)u, and 6,000u as densities are ≥ e^−500; twice for γ.
"""
# ruff: noqa: D102, D103  (discreet.Model says what the methods do)

import numpy as np
from array_api_compat import array_namespace, device

import discreet as dp
from discreet.models.noisy_sums import positive_counts

WEIGHTS = {"start": 0.03, "moves": 0.3, "counts": 0.1, "first": 0.2, "second": 0.37}  # squared, by what errors cost
R, NARROWEST, RAREST = 3.0, 0.03, 1e-3  # clipping, in widths of the state before; least width and probability


def shares(x, axis=-1):
    return x / array_namespace(x).sum(x, axis=axis, keepdims=True)


class HiddenMarkov(dp.Model[tuple]):
    """S states with a start, moves, means and widths; z is a place between the bounds, the same for every column."""

    def __init__(self, states, name="hidden markov model"):
        self.states, self.name = states, name

    def initialize(self, dimension, rng):  # wide states, spread evenly, that would rather stay
        even = np.ones(self.states)
        return shares(even), shares(1.0 + 3.0 * np.diag(even)), np.linspace(-0.6, 0.6, self.states), 0.4 * even

    def parts(self, params):
        return {name: dp.Part((self.states,) * (1 + (name == "moves")), w**0.5) for name, w in WEIGHTS.items()}

    def bound(self, params):
        return dp.Bound(l2=1.0, replace_l2=2.0**0.5)

    def roundoff(self, params, dimension):
        return 15_000.0 * dimension * 2.0**-53

    def contributions(self, params, block):
        xp, (n, times) = array_namespace(block.x), block.x.shape
        start, moves, means, widths = (xp.asarray(part, device=device(block.x)) for part in params)
        e = (xp.clip(block.x * times**0.5, -1.0, 1.0)[:, :, None] - means) / widths
        seen = xp.exp(-0.5 * xp.clip(e * e, 0.0, 1000.0)) / widths
        ahead, back = [shares(start * seen[:, 0, :])], [xp.ones_like(seen[:, 0, :])]
        for t in range(1, times):  # forward and backward; scaled at each step, so that nothing underflows
            ahead.append(shares(xp.matmul(ahead[-1], moves) * seen[:, t, :]))
            back.insert(0, shares(xp.matmul(seen[:, times - t, :] * back[0], moves.T)))
        ahead, back = xp.stack(ahead, axis=1), xp.stack(back, axis=1)
        states, own = shares(ahead * back), xp.clip(e / R, -1.0, 1.0)
        pairs = shares(ahead[:, :-1, :, None] * moves * (seen * back)[:, 1:, None, :], axis=(2, 3))
        result = zip([states[:, :1, :], pairs, states, states * own, states * own * own], WEIGHTS.values(), strict=True)
        return xp.concat([w**0.5 * xp.reshape(xp.mean(part, axis=1), (n, -1)) for part, w in result], axis=1)

    def maximize(self, params, release):  # all positive, means inside, widths at most half or twice what they were
        sums = [positive_counts(release, part) for part in list(WEIGHTS)[:3]]
        start, moves = shares(shares(sums[0]) + RAREST), shares(shares(sums[1].reshape(self.states, -1)) + RAREST)
        reach, shift = R * params[3], np.clip(release["first"] / sums[2], -1.0, 1.0)
        widths = reach * np.sqrt(np.clip(release["second"] / sums[2] - shift**2, (0.5 / R) ** 2, (2.0 / R) ** 2))
        return start, moves, np.clip(params[2] + reach * shift, -1.0, 1.0), np.clip(widths, NARROWEST, 1.0)


def main():
    """Print three states behind made-up sequences of eight measurements, which stay with a probability of 80 %."""
    rng = np.random.default_rng(0)
    drawn = np.maximum.accumulate(np.where(rng.random((8, 10_000)) < 0.7, 0, np.arange(8)[:, None]))  # when last anew
    states = rng.integers(0, 3, (8, 10_000))[drawn, np.arange(10_000)].T
    rows = rng.normal(np.array([25.0, 50.0, 80.0])[states], np.array([5.0, 8.0, 4.0])[states])
    fit = dp.fit_model(HiddenMarkov(3), rows, epsilon=2.0, delta=1e-6, n_steps=12, bounds=dp.Box(0.0, 100.0))
    print("start, moves, means, widths:", *[part.round(2) for part in fit.params], fit, sep="\n")


if __name__ == "__main__":
    main()
