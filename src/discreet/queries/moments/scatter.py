"""The scatter of rows about their own mean, Σ(u − ū)(u − ū)ᵀ, asked for directly (Xi, Kantarcıoğlu and Inan 2011).

It is no sum over rows, since every row moves the mean; so it is a question with a mechanism of its own. A row
is u in [0, 1]^d, its columns between their declared bounds. How far a row moves the scatter A of its group:

*A row comes (or goes).* With n rows before, of mean ū, and v = x − ū: A' − A = n/(n+1)·vvᵀ. Both x and ū lie in the
cube, so |v_i v_j| ≤ 1: every entry moves by at most n/(n+1) < 1. All of them do so at v = (1, …, 1).

*A row x is replaced by x'* among n. With m the mean of the others, a = x − m and b = x' − m, the paragraph above, taken
twice, says A − A' = (n−1)/n·(aaᵀ − bbᵀ). Each entry |a_i a_j − b_i b_j| is at most 1: a_i and b_i lie in [−s, 1−s], a_j
and b_j in [−t, 1−t], s = m_i and t = m_j. A product of two such numbers is at most (1−s)(1−t) or st, and at least
−s(1−t) or −(1−s)t. The four differences of these are 1−t, 1−s, s and t, all in [0, 1]. So every entry moves by at most
(n−1)/n, and all of them do so at once at m = x' = 0, x = (1, …, 1).

So with p = d(d+1)/2 numbers in an upper triangle, none of them with a √2, and r the most that one entry moves, L1 is
exactly p·r and L2 exactly √p·r, where r is

- 1 where a row comes or goes, the supremum over n, and where n is not public: a replaced row may be dropped, too;
- (n−1)/n where a row is replaced, n is public and every row counts.

*Groups.* One row comes or goes in one group. A row whose label changes leaves a group of s rows and comes to one of t,
s + t ≤ n: the two move by f(s) and f(t+1), f(s) = 1 − 1/s. f is concave, f² too from 3/2 on, and both rise; so for
s ≥ 2 and t + 1 ≥ 2 neither the sum of the two nor that of their squares is more than at s = t + 1 = (n+1)/2, where each
is (n−1)/(n+1). At s = 1 or t = 0 one of the two does not move, and the other by (n−1)/n at most. So r is (n−1)/n within
one group, and (n−1)/(n+1) in each of two, which makes 2r in L1 and √2·r in L2. Where n is not public: 1 and 1.

*A unit of m rows*: its rows are replaced, come or go one after the other, in at most m steps: m times all of this.

*Floats.* One reading of the rows gives n, s = Σz and S = Σzzᵀ of z = fl(u − ½), and A = S − ssᵀ/n; so A is of one set
of rows throughout, also in a table that changes from one reading to the next. A row becomes the same floats z in [−½,
½] whatever stands beside it, so z is taken as the row itself: its columns lie in intervals of length 1, which is all
that the bounds need. Let e = 2⁻⁵³ and γ the relative error of a source's sums (``discreet.records``). Counts are
exact. An entry of S is off by at most n(γ + e)/4 (and e more where γ multiplies it), s by nγ/2, so ssᵀ/n by n(γ/2 +
γ²/4), its product and quotient by n·e, and the difference by n·e/2. Together E = n(γ + 3e + γ²) is enough. Over
groups the n add up: p·E in L1, √p·E in L2, for each of the two neighbours.

*Range.* |A_ij| ≤ n/4, as a column in [0, 1] has variance at most 1/4 (and by Cauchy and Schwarz): what is computed is
moved into that, which brings no two of them farther apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, choice, integer
from discreet.guarantees import Loss, Neighbors
from discreet.queries.bound import UNIT_ROUNDOFF, Setting
from discreet.queries.mechanism import Mechanism, Plan, additive_noise
from discreet.queries.question import Part, Question
from discreet.records import Block, Box, Records, Space

Array = NDArray[np.float64]


class ScatterNoise(Mechanism):
    """Gaussian or Laplace noise on a grid; see the module for the proof."""

    kind = "additive"

    def entry(self, setting: Setting) -> tuple[float, float]:
        """Return r for a row that stays in its group, and for one that leaves it for another."""
        if setting.neighbors is Neighbors.REPLACE_ONE and setting.complete:
            rows = max(setting.rows, 2)  # of one row the scatter is 0, and noise of scale 0 is none
            return (rows - 1.0) / rows, (rows - 1.0) / (rows + 1.0)
        return 1.0, 1.0

    def sensitivity(self, query: Scatter, norm: str, setting: Setting) -> float:
        """Return how far apart two neighbours' computed scatters can be, in ``norm`` ("l1" or "l2")."""
        power = 1.0 if choice("norm", norm, ("l1", "l2")) == "l1" else 0.5
        stays, leaves = self.entry(setting)
        if query.groups > 1 and setting.neighbors is Neighbors.REPLACE_ONE:
            stays = max(stays, 2.0**power * leaves)
        return float(query.numbers**power) * (setting.max_rows * stays + 2.0 * self.float_error(setting))

    def float_error(self, setting: Setting) -> float:
        """Return E, over at most ``setting.rows`` rows."""
        gamma = setting.accumulation
        return setting.rows * (gamma + 3.0 * UNIT_ROUNDOFF + gamma * gamma)

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return Gaussian noise in L2 for a Gaussian loss, Laplace noise in L1 for a ``LaplaceLoss``."""
        if not isinstance(question, Scatter):
            raise ArgumentError("query", question.name, "Scatter")
        noise = additive_noise(
            loss,
            question.name,
            l2=self.sensitivity(question, "l2", setting),
            l1=self.sensitivity(question, "l1", setting),
            largest=question.largest(setting),
            size=question.groups * question.numbers,
        )
        return Plan(kind=self.kind, loss=loss, parts=question.parts, draw=noise, noise=noise)


@dataclass(frozen=True)
class Scatter(Question):
    """Σ(u − ū)(u − ū)ᵀ of some columns, each scaled to [0, 1] by its bounds, about the rows' own mean.

    Parameters
    ----------
    space : Box
        The curator's.
    columns : tuple of int
        Which of the numeric columns, each once.
    group : (int, int), optional
        A column of categories and how many it has: the scatter of each group about its own mean.

    The release has a part ``"upper"``, the upper triangle row by row, of shape (d(d+1)/2,), with an axis of groups
    before it where there are groups. No rows, or one, have a scatter of 0.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dp
    >>> rows = np.random.default_rng(0).uniform(0.0, 10.0, (1000, 2))
    >>> curator = dp.Curator(rows, space=dp.Box(0, 10))
    >>> release = curator.measure(Scatter(curator.space, (0, 1)), dp.GaussianLoss(0.5))
    >>> release["upper"].shape, bool(60.0 < release["upper"][0] < 110.0)
    ((3,), True)
    """

    space: Box
    columns: tuple[int, ...]
    group: tuple[int, int] | None = None

    name = "scatter"
    mechanism = ScatterNoise()

    def __post_init__(self) -> None:
        if not isinstance(self.space, Box):
            raise ArgumentError("space", self.space, "a Box", write="the bounds of each column")
        if not isinstance(self.columns, tuple) or not self.columns or len({*self.columns}) != len(self.columns):
            raise ArgumentError("columns", self.columns, "some columns, each once", write="for example (0, 1)")
        for place in self.columns:
            integer("columns", place, least=0, most=self.space.dimension - 1)
        if self.group is not None:
            if not isinstance(self.group, tuple) or len(self.group) != 2:
                raise ArgumentError("group", self.group, "a column and how many categories it has", write="(0, 2)")
            integer("group", self.group[0], least=0)
            integer("group", self.group[1], least=1)

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the space is another, or the groups are not there."""
        super().check(space, categories)
        if self.group is not None:
            column, groups = self.group
            if column >= len(categories) or len(categories[column]) != groups:
                raise ArgumentError(
                    "group",
                    self.group,
                    "a column of categories and as many groups as it has; they have "
                    f"{[len(values) for values in categories]}",
                )

    @property
    def groups(self) -> int:
        """How many groups there are, 1 without any."""
        return 1 if self.group is None else self.group[1]

    @property
    def numbers(self) -> int:
        """How many numbers an upper triangle has."""
        d = len(self.columns)
        return d * (d + 1) // 2

    @property
    def parts(self) -> Mapping[str, Part]:
        """The upper triangle, or those of the groups."""
        return {"upper": Part((self.numbers,) if self.group is None else (self.groups, self.numbers))}

    @property
    def widths(self) -> Array:
        """What 1 is in the units of each of the columns."""
        low, high = (np.asarray(end)[[*self.columns]] for end in (self.space.low, self.space.high))
        return np.asarray(high - low)

    def largest(self, setting: Setting) -> float:
        """Return a bound on the size of every entry."""
        return 0.25 * setting.rows

    def rows(self, block: Block) -> list[Any]:
        """Return u, for each group: in [0, 1] in floats too, since rounding is monotone and clipping comes first."""
        xp = array_namespace(block.x)
        x = self.space.clip(block.x)
        x = xp.stack([x[:, place] for place in self.columns], axis=1)
        low = xp.asarray(np.asarray(self.space.low)[[*self.columns]], device=device(x))
        u = (x - low) / xp.asarray(self.widths, device=device(x))
        if self.group is None:
            return [u]
        codes = block.codes[:, self.group[0]]
        return [xp.take(u, xp.nonzero(codes == code)[0], axis=0) for code in range(self.groups)]

    def sums(self, block: Block) -> Any:
        """Return for each group how many rows it has, the sum of z, and the upper triangle of that of zzᵀ."""
        groups = [u - 0.5 for u in self.rows(block)]
        xp = array_namespace(groups[0])
        d = len(self.columns)
        i, j = np.triu_indices(d)
        upper = xp.asarray(i * d + j, device=device(groups[0]))
        result = []
        for z in groups:
            products = xp.take(xp.reshape(xp.matmul(z.T, z), (-1,)), upper, axis=0)
            result += [xp.sum(xp.ones_like(z[:, :1]), axis=0), xp.sum(z, axis=0), products]
        return xp.concat(result, axis=0)

    def collect(self, records: Records, setting: Setting) -> Array:
        """Return the scatter, by one reading of the rows."""
        d = len(self.columns)
        size = 1 + d + self.numbers  # of which each number of a row is at most 1
        sums = records.reduce(self.sums, self.groups * size, math.sqrt(size)).reshape(self.groups, -1)
        counts, first, second = np.maximum(sums[:, :1], 1.0), sums[:, 1 : 1 + d], sums[:, 1 + d :]
        i, j = np.triu_indices(d)
        most = self.largest(setting)
        return np.clip(second - first[:, i] * first[:, j] / counts, -most, most).ravel()
