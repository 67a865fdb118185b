"""How a line goes on along directions of which nothing is known.

Predictions do not tell: rows do not vary along them. Among all lines that agree on what was seen, this is the shortest
one in the coordinates of the unit ball. So two equal columns with the same bounds share their coefficient evenly, and
a column that does not vary has none. To leave a direction out in the whitened coordinates would not do: these are
stretched most along the very directions that rows do not have, and a tilt of the frame that is small beside its noise
would become a large coefficient.

**The line.** On axes i with the weights a_i as far as they were seen, by shares γ_i, let Q be the Gram matrix of the
axes in the unit ball, so that a line α has the squared length αᵀQα there. With S the axes of γ = 1 and F the others,
α_S = a_S, and α_F makes αᵀQα + Σ_F h_i(α_i − a_i)² smallest, h_i = Q_ii·γ_i/(1 − γ_i): from the shortest line at γ = 0
to a_i at γ = 1, without a jump. So α_F = (Q_FF + H)⁻¹(Ha_F − Q_FS·a_S).

**Its noise**, beside that of a. Noise δC tilts an axis of F by Σ_S v_j·δC_ij/(g_i − g_j), which to first order moves
α_F by (Q_FF + H)⁻¹ times Σ_S δC_ij·(Qα)_j/(g_j − g_i). And it moves the share of an axis that is partly seen by
δγ, and its weight by about δγ_i·a_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Completion"]

Array = NDArray[np.float64]

NEARLY = 1.0 - 1e-6  # seen: all of it


@dataclass(frozen=True, eq=False)
class Completion:
    """A line that goes on where it was not seen.

    Attributes
    ----------
    line : array of shape (d,)
        α.
    response : array of shape (d, d)
        How α follows a.
    seen : array of shape (d,)
        γ.
    within : array of shape (d, d)
        (Q_FF + H)⁻¹, and 0 elsewhere.
    pull : array of shape (d,)
        Qα.
    wavering : array of shape (d,)
        Deviations of α by δγ.
    """

    line: Array
    response: Array
    seen: Array
    within: Array
    pull: Array
    wavering: Array

    @classmethod
    def all_seen(cls, line: Array) -> Completion:
        """Return a line of which all is known."""
        d = len(line)
        return cls(line, np.eye(d), np.ones(d), np.zeros((d, d)), np.zeros(d), np.zeros(d))

    @classmethod
    def of(cls, known: Array, seen: Array, gram: Array, wavering: Array) -> Completion:
        """Return the line that goes on from what is known of it.

        Parameters
        ----------
        known : array of shape (d,)
            a.
        seen : array of shape (d,)
        gram : array of shape (d, d)
            Q.
        wavering : array of shape (d,)
            Deviations of what is seen of the line, by δγ.

        Examples
        --------
        Two equal columns: of their difference, the second axis, nothing is known.

        >>> axes = np.array([[1.0, 1000.0], [0.0, -1000.0]])
        >>> found = Completion.of(np.array([3.0, 0.0]), np.array([1.0, 0.0]), axes.T @ axes, np.zeros(2))
        >>> (axes @ found.line).round(6).tolist()
        [1.5, 1.5]
        """
        free = np.flatnonzero(seen < NEARLY)
        if not len(free):
            return cls.all_seen(known)
        d, share = len(known), seen[free]
        sure = np.setdiff1d(np.arange(d), free)
        lengths = np.diag(gram)[free]
        held, response, within = lengths * share / (1.0 - share), np.eye(d), np.zeros((d, d))
        root = np.sqrt(lengths)  # axes of one length make the inverse an exact one
        inner = np.linalg.inv(gram[np.ix_(free, free)] / np.outer(root, root) + np.diag(held / lengths))
        inner /= np.outer(root, root)
        within[np.ix_(free, free)] = inner
        response[np.ix_(free, free)] = inner * held
        response[np.ix_(free, sure)] = -inner @ gram[np.ix_(free, sure)]
        line = response @ known
        return cls(line, response, seen, within, gram @ line, np.where(seen < NEARLY, wavering, 0.0))

    def unseen_noise(self, back: Array, values: Array, entries: Array) -> Array:
        """Return variances of the weights ``back`` @ α by noise in the axes and in what was seen of them.

        Parameters
        ----------
        back : array of shape (d, d)
        values : array of shape (d,)
            g.
        entries : array of shape (d, d)
            Variances of δC.
        """
        sure = self.seen >= NEARLY
        apart = np.maximum(values[None, :] - values[:, None], 0.5 * values[None, :])  # of first order only where far
        tilts = np.divide(self.pull, apart, out=np.zeros_like(entries), where=~sure[:, None] & sure[None, :])
        moved = (back @ self.within) ** 2 @ (entries * tilts**2).sum(axis=1)
        return np.asarray(moved + back**2 @ self.wavering**2)
