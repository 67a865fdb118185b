"""The statistic of ``clipped_moments`` on an NVIDIA GPU: kernels that read each row once, compiled at run time.

torch computes the statistic in some twenty passes over memory. Here rows are read once, mapped into the unit ball,
shared out and added up in registers. There are three ways, and ``choose`` takes one by public numbers alone:

- *soft*: up to 32 components and few columns (12 for "full" and "tied", up to 17 in two launches; 34 for "diag", 48 for
  "spherical"). A lane has one component of a row and all of its sums in registers.
- *hard*: rows that are assigned, for as many components as fit into shared memory. A lane finds the nearest mean of a
  row; then the lanes of a warp add its 32 rows one after the other, each lane some of the sums.
- *many*: up to 32 components and more columns, for "full" and "tied". Matrix products of torch give z, of which many
  with the zeros above P's diagonal are left out; one kernel makes √γ·y_k and √γ of z; products of these with their
  transpose give all moments at once, of which many that come twice are left out.

Anything else, and any GPU for which the kernels cannot be compiled, is for torch (``ClippedMoments.sum``).

**Nothing but the rows decides over a bit.** The grid is a constant, ``BLOCKS``, whatever GPU there is. Each lane adds
its rows in their order, a block adds up its lanes in a fixed order, and torch adds up the blocks as an array of fixed
shape. No float is added by an atomic operation. So two launches over the same rows give the same bits. What a
kernel does depends on the numbers of rows, columns and components: no share is left out for being small, and the
functions below have no branches. What remains is how memory, exact division and roots treat single numbers. Logits are
at least −700 below the largest (a share that this changes is below 10⁻³⁰⁰).

**Floats.** All terms of *Floats* in ``clipped_moments`` hold here; u = 2⁻⁵³. By NVIDIA's *CUDA C++ Programming Guide*
(mathematical functions, double precision) + − × ÷ √ and fma are correctly rounded. The *PTX ISA* bounds the float32
instructions that start the functions below: rcp.approx by 1 ulp, rsqrt.approx by 2⁻²²·⁹. Starts that are four times as
far off would cost 0.02u more.

- The map into the unit ball takes the operations of ``Box.to_unit``, with none of them fused, to the same bits. For the
  quotient t = a/h the float y nearest to 1/h is passed: fl(ay) is within 2 ulp of a/h, t + (a − ht)y, both by fma,
  within 1, and the same once more is the float nearest to a/h (Markstein 1990, *Computation of elementary functions on
  the IBM RISC System/6000 processor*). Where |a| is below 2⁻⁹⁰⁰ the last bit may be another one, but where rows are
  assigned: there it is a division. Whatever t is, it is cut to [−1, 1], so ‖y‖ ≤ 1.
- z is a sum of at most d + 1 products, fused or not: (d + 2)u(‖P_k‖_F + ‖o_k‖) as there.
- From logits a float32 number m near the largest is taken off, |m − largest| ≤ 2⁻²⁴|largest|. γ does not depend on m,
  and the rounding of logit − m is larger by a factor 1 + 2⁻²⁴ at most, for which 6Q in λ has room (2Q is used). As
  |l_k| is below 10⁶, logits less m are at most 0.07, and Σexp is from 0.9 to 35.
- ``exponential``: x = n·ln 2 + r with |r| ≤ 0.347, r from two fma with ln 2 in two parts, so off by u/2. Taylor's
  series to r¹³ lacks 0.06u. Its even and its odd part are each off by less than u, of which the odd part counts by |r|;
  with the last fma that is at most 3u (4u there).
- ``reciprocal``, of Σexp: the start is off by less than 2⁻²², two steps x + x(1 − ax) square that twice, and the last
  rounding is left: 1.01u. Its product with the exponential: u. (There: one division.)
- ``inverse_root``, of max(‖z‖², R²): with e = 1 − mx², |e| < 2⁻²¹, the step x + xe(½ + ⅜e) leaves e³. The product m·x
  inside of e rounds once (u/2 of x), the last fma once more (u): 1.6u. (There: a root and a division, 2u.)
- y_k: that factor is multiplied with γ once (u), for the second moment twice (2u) and with z (u): with ‖z‖² off by
  (d + 1)u, all of that is within 2.3(d/2 + 7)u + 12u. With many columns there are √γ (u) and its product with the
  factor (u) in their place, and a count is Σ(√γ)², off by 2u each.

**The depth of the sums** (``FusedPlan.depth``). In n rows, by the way that ``choose`` takes:

- *soft*: a lane adds R rows of each of its tiles. There are ⌈n/(GR)⌉ tiles of G·R rows, G = ⌊32/K⌋, for ``BLOCKS``·8
  warps, so a lane adds at most R·⌈⌈n/(GR)⌉/(8·``BLOCKS``)⌉ terms. A block adds up 8·G lanes.
- *hard*: a warp adds at most 32·⌈⌈n/32⌉/(W·``BLOCKS``)⌉ terms, a block adds up its W warps.
- Both: the blocks are added as an array of 22 × 24 numbers, first along one axis, then along the other, in any order.
- *many*: a product adds ``PIECE`` rows in any order, then come the pieces of a stretch, and then the stretches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.cuda_kernels import CudaKernel, load_kernel
from discreet.queries.question import upper_triangle
from discreet.records import Ball, Box

if TYPE_CHECKING:
    from discreet.queries.moments.clipped_moments import ClippedMoments

Array = NDArray[np.float64]

ROUNDS = (22, 24)
BLOCKS = 22 * 24  # a multiple of the 132 multiprocessors of an H100 or H200, and nearly one of the 108 of an A100
WARPS = 8
MOST_COMPONENTS = 32
MOST_SHARED = 96 * 1024  # bytes of shared memory a block, which a GPU has since 2020
REGISTERS, MOST_REGISTERS = 108, 118  # numbers that a lane has room for, with several rows at a time and with one
MOST_LANE_ROWS = 4
AT_ONCE = 16  # as in fused.cu
MOST_LAUNCHES = 2
MOST_AHEAD = 6  # numbers that a lane loads ahead
MOST_COLUMNS = {"soft": 48, "hard": 48, "many": 512}
PIECE = 2048  # rows
TOGETHER = 2**27  # numbers of z at a time: a stretch
SPLIT_COLUMNS = 72  # from here on products that are not needed are left out, at the price of smaller ones


@dataclass(frozen=True)
class FusedPlan:
    """How a statistic is computed on a GPU.

    Attributes
    ----------
    way : str
        "soft", "hard" or "many".
    components, columns : int
        K and d.
    second : int
        0 for no second moments, 1 for their sum over columns, 2 for the diagonal, 3 for the upper triangle.
    own, diagonal : bool
        Whether rows are in their components' own coordinates, and whether P is passed as its diagonal.
    lane_rows, warps : int
        R and W.
    launches : int
        How many times the rows are read, each time for some of the sums.
    """

    way: str
    components: int
    columns: int
    second: int
    own: bool
    diagonal: bool
    lane_rows: int = 1
    warps: int = WARPS
    launches: int = 1

    @property
    def sums(self) -> int:
        """How many numbers are summed for a component."""
        d = self.columns
        return 1 + d + (0, 1, d, d * (d + 1) // 2)[self.second]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """From where to where each launch has the sums."""
        ends = [self.sums * part // self.launches for part in range(self.launches + 1)]
        return list(pairwise(ends))

    @property
    def entries(self) -> int:
        """How many numbers of P are passed."""
        return self.columns if self.diagonal else self.columns * (self.columns + 1) // 2

    @property
    def groups(self) -> int:
        """How many rows the lanes of a warp have at once, G."""
        return max(32 // self.components, 1)

    @property
    def width(self) -> int:
        """The numbers of a row of z, with √γ and zeros: a multiple of 4."""
        return -(-(self.columns + 1) // 4) * 4

    @property
    def half(self) -> int:
        """How many columns are multiplied with each other alone, as the products with later ones come twice."""
        return self.width // 8 * 4 if self.columns >= SPLIT_COLUMNS else 0

    @property
    def split(self) -> int:
        """How many columns of z come from a product of their own, without the zeros of P beside them."""
        return self.half or self.columns

    @property
    def ahead(self) -> int:
        """The numbers that a lane would load ahead."""
        return -(-self.groups * self.lane_rows * self.columns // 32)

    @property
    def is_ahead(self) -> bool:
        """Whether it does."""
        return self.ahead <= MOST_AHEAD

    @property
    def registers(self) -> int:
        """The numbers that a lane has, about."""
        held = self.ahead if self.is_ahead else 0
        return -(-self.sums // self.launches) + self.lane_rows * (self.columns + 3) + held + 8

    @property
    def has_room(self) -> bool:
        """Whether that many fit into registers."""
        one = self.lane_rows == 1
        return self.registers <= (MOST_REGISTERS if one else REGISTERS) and (one or self.is_ahead)

    @property
    def shared(self) -> int:
        """The bytes of shared memory of a block, where rows are in the units of a box."""
        k, d, stride = self.components, self.columns, (self.columns + 1) | 1
        numbers = (self.entries + d) * k + 5 * d + 1
        if self.way == "soft":
            return 8 * (numbers + max(self.warps * self.groups * self.lane_rows * stride, AT_ONCE * 32 * self.warps))
        return 8 * (numbers + (k + 1) * d + self.warps * (k * self.sums + 32 * stride + 16))

    def depth(self, rows: int) -> int:
        """Return a bound on the additions that a term of a sum over some rows goes through, plus one."""
        if self.way == "many":
            return product_depth(rows, self.components * self.width)
        each, most = (32, 32) if self.way == "hard" else (self.groups * self.lane_rows, self.lane_rows)
        tiles = -(-rows // each)
        lanes = self.warps * (self.groups if self.way == "soft" else 1)
        return most * -(-tiles // (self.warps * BLOCKS)) + lanes + sum(ROUNDS)


def product_depth(rows: int, numbers: int) -> int:
    """Return the depth of sums by products over pieces, where a row takes so many numbers of memory."""
    pieces, together = -(-rows // PIECE), max(TOGETHER // (numbers * PIECE), 1)
    return PIECE + min(together, pieces) + -(-pieces // together) + 1


def choose(moments: ClippedMoments) -> FusedPlan | None:
    """Return how a statistic is computed on a GPU, by public numbers; None where that is for torch."""
    k, d = moments.components.means.shape
    second = {"full": 3, "tied": 3, "diag": 2, "spherical": 1}[moments.shape] if moments.weights[2] else 0
    own, diagonal = moments.radius is not None, moments.components.is_diagonal
    if moments.hard:
        tried = [FusedPlan("hard", k, d, second, own, diagonal, 1, warps) for warps in (8, 4, 2)]
    elif k > MOST_COMPONENTS:
        return None
    else:
        tried = [FusedPlan("soft", k, d, second, own, diagonal, rows) for rows in range(MOST_LANE_ROWS, 0, -1)]
        tried += [
            FusedPlan("soft", k, d, second, own, diagonal, 1, WARPS, times) for times in range(2, MOST_LAUNCHES + 1)
        ]
        tried = [one for one in tried if one.has_room]
        tried += [FusedPlan("many", k, d, second, own, False)] if second == 3 else []
    fits = (one for one in tried if d <= MOST_COLUMNS[one.way] and (one.way == "many" or one.shared <= MOST_SHARED))
    return next(fits, None)


def sum_rows(moments: ClippedMoments, space: Box | Ball | None, x: Any) -> Any:
    """Return the sum of the contributions of rows on a GPU, or None where it is for torch.

    Parameters
    ----------
    moments : ClippedMoments
    space : Box, Ball or None
        Where the rows lie; None for the unit ball.
    x : tensor of shape (n, d)
        On a GPU, float64.
    """
    if x.shape[1:] != (moments.components.dimension,) or not str(x.dtype).endswith("float64"):
        return None
    kernels = _prepare(moments, space if isinstance(space, Box) else None, x.device.index)
    if kernels is None:
        return None
    x = space.to_unit(x) if isinstance(space, Ball) else x
    return kernels.scale(kernels.sum(x.contiguous()))


@lru_cache(maxsize=8)
def _prepare(moments: ClippedMoments, box: Box | None, device: int) -> _Kernels | None:
    """Return the kernels of a statistic, with its public numbers on the GPU."""
    choice = choose(moments)
    if choice is None:
        return None
    made = (_ProductKernels if choice.way == "many" else _RegisterKernel)(choice, moments, box, device)
    return made if all(made.kernels) else None


@lru_cache(maxsize=1)
def _source() -> str:
    return files("discreet.queries.moments").joinpath("fused.cu").read_text(encoding="utf-8")


def _box_numbers(box: Box | None) -> list[Array]:
    """Return low, high, centre, half-width and its inverse of each column, and 1/√d."""
    if box is None:
        return []
    *ends, half, root = (np.asarray(part, dtype=np.float64) for part in box.unit_map)
    return [*ends, half, 1.0 / half, root]


class _Kernels:
    """Compiled kernels of one statistic on one GPU, with its public numbers there."""

    kernels: list[CudaKernel | None]

    def __init__(self, choice: FusedPlan, moments: ClippedMoments, box: Box | None, device: int) -> None:
        self.choice, self.device = choice, device
        k, d = choice.components, choice.columns
        radius = 1.0 if moments.radius is None else moments.radius
        self.last = np.asarray([radius**2, moments.cap])
        self.constants = (
            ("D", d),
            ("K", k),
            ("SECOND", choice.second),
            ("OWN", int(choice.own)),
            ("DIAGONAL", int(choice.diagonal)),
            ("BOX", int(box is not None)),
            ("WARPS", choice.warps),
        )
        a, b, c = (math.sqrt(weight) for weight in moments.weights)
        seconds = c * (upper_triangle(d)[2] if choice.second == 3 else np.ones(choice.sums - 1 - d))
        self._factors = self.put([a], np.full(d, b), seconds)
        places = np.arange(k * choice.sums).reshape(k, choice.sums)
        places = places if moments.only is None else places[moments.only : moments.only + 1]
        self._is_tied = moments.shape == "tied" and choice.second == 3
        parts = zip((a, b, c), (places[:, 0], places[:, 1 : 1 + d], places[:, 1 + d :]), strict=True)
        kept = [part.ravel() for weight, part in parts if weight]
        self._order = self.put(*kept).long()
        self._kept, self._last = len(places), len(kept[-1]) // len(places)

    def put(self, *parts: Any) -> Any:
        """Return public numbers one after the other, on the GPU."""
        import torch

        flat = np.concatenate([np.ravel(part) for part in parts])
        return torch.as_tensor(flat, dtype=torch.float64, device=f"cuda:{self.device}")

    def sum(self, x: Any) -> Any:
        """Return counts, first and second moments, of shape (K, sums)."""
        raise NotImplementedError

    def scale(self, sums: Any) -> Any:
        """Return sums of shape (K, sums) as the query has them: weighted, in its order, with √2 off the diagonal."""
        import torch

        result = (sums * self._factors).reshape(-1)[self._order]
        if not self._is_tied:
            return result
        second = result[-self._last * self._kept :].reshape(self._kept, self._last)
        return torch.cat([result[: -self._last * self._kept], second.sum(dim=0)])


class _RegisterKernel(_Kernels):
    """The kernels "soft" and "hard"."""

    def __init__(self, choice: FusedPlan, moments: ClippedMoments, box: Box | None, device: int) -> None:
        super().__init__(choice, moments, box, device)
        components, d = moments.components, choice.columns
        i, j = (np.arange(d),) * 2 if choice.diagonal else np.tril_indices(d)
        parts = [components.whitening[:, i, j].T, components.offsets.T]
        if choice.way == "soft":
            parts += [components.log_constants]
        else:
            parts += [components.means * moments.metric, moments.metric]
        resident = min(max(128 // (choice.registers + 10), 1), 4)
        more: Any = (("LANE_ROWS", choice.lane_rows), ("RESIDENT", resident), ("AHEAD", int(choice.is_ahead)))
        constants = ((choice.way.upper(), 1), *self.constants, *more)
        self.kernels = [
            load_kernel(_source(), choice.way, (*constants, ("FROM", start), ("TO", stop)), device, choice.shared)
            for start, stop in choice.spans
        ]
        self._numbers = self.put(*parts, *_box_numbers(box), self.last)

    def sum(self, x: Any) -> Any:
        """Return counts, first and second moments, of shape (K, sums)."""
        import torch

        choice, sums = self.choice, []
        for kernel, (start, stop) in zip(self.kernels, choice.spans, strict=True):
            assert kernel is not None
            partial = x.new_empty((*ROUNDS, choice.components, stop - start))
            kernel.launch(BLOCKS, 32 * choice.warps, x, x.shape[0], self._numbers, partial)
            sums.append(partial.sum(dim=0).sum(dim=0))
        return sums[0] if len(sums) == 1 else torch.cat(sums, dim=1)


class _ProductKernels(_Kernels):
    """The kernels "widen" and "shares" around torch's matrix products."""

    def __init__(self, choice: FusedPlan, moments: ClippedMoments, box: Box | None, device: int) -> None:
        super().__init__(choice, moments, box, device)
        components, (k, d), width, split = (
            moments.components,
            moments.components.means.shape,
            choice.width,
            choice.split,
        )
        matrices = np.zeros((width, k, d))  # from (1, y, 0 …) to z
        matrices[0] = -components.offsets
        matrices[1 : 1 + d] = components.whitening.transpose(2, 0, 1)
        used = min(-(-(1 + split) // 4) * 4, width)  # numbers of a row that the first columns of z depend on
        self._matrices = [self.put(matrices[:used, :, :split]).reshape(used, -1)]
        if split < d:
            self._matrices.append(self.put(matrices[:, :, split:]).reshape(width, -1))
        constants = (("MANY", 1), *self.constants, ("WIDTH", width), ("SPLIT", split))
        self.kernels = [load_kernel(_source(), name, constants, device) for name in ("widen", "shares")]
        self._box = self.put(*_box_numbers(box)) if box is not None else self.put([0.0])
        self._numbers = self.put(components.log_constants, self.last)
        # Where (√γ)², √γ·y and y·yᵀ are in the products: row i of those of the later half with all columns, or of the
        # first half with itself
        half = choice.half
        i, j = np.triu_indices(d)
        rows = np.concatenate([np.full(1 + d, d), j])
        columns = np.concatenate([[d], np.arange(d), i])
        later = half * half + (rows - half) * width + columns
        self._places = self.put(np.where(rows < half, rows * half + columns, later)).long()

    def sum(self, x: Any) -> Any:
        """Return counts, first and second moments, of shape (K, sums)."""
        k, width, half = self.choice.components, self.choice.width, self.choice.half
        stretch = max(TOGETHER // (k * width * PIECE), 1) * PIECE
        total = x.new_zeros((k, half * half + (width - half) * width))
        for start in range(0, x.shape[0], stretch):
            total += self._stretch(x[start : start + stretch])
        return total[:, self._places]

    def _stretch(self, x: Any) -> Any:
        """Return Σ of the products of (√γ·y_k, √γ) with each other, over some pieces."""
        import torch

        widen, shares = self.kernels
        assert widen is not None
        assert shares is not None
        choice, n = self.choice, x.shape[0]
        k, d, width, half = choice.components, choice.columns, choice.width, choice.half
        padded = -(-n // PIECE) * PIECE
        wide, z, own = (x.new_empty(shape) for shape in ((padded, width), padded * k * d, (k, padded, width)))
        widen.launch(BLOCKS, 256, x, n, padded, self._box, wide)
        start = 0
        for matrix in self._matrices:
            used, columns = matrix.shape
            torch.mm(wide[:, :used], matrix, out=z[start : start + padded * columns].view(padded, columns))
            start += padded * columns
        shares.launch(BLOCKS, 256, z, n, padded, wide, self._numbers, own)
        pieces = own.view(-1, PIECE, width)
        products = [torch.bmm(pieces[:, :, half:].transpose(1, 2), pieces)]
        if half:
            products.insert(0, torch.bmm(pieces[:, :, :half].transpose(1, 2), pieces[:, :, :half]))
        return torch.cat([one.view(k, padded // PIECE, -1).sum(dim=1) for one in products], dim=1)
