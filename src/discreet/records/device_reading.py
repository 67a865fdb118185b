"""Reads rows of a GPU in one pass over them: missing numbers are filled and all are clipped, as ``Reading.block`` says.

It is for columns of plain numbers between declared bounds. The result has the bits that ``Reading.block`` gives with
one array operation after the other, which reads and writes all rows seven times.

It also lists the devices that rows can be computed on, and how many rows a block has on each.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import device as array_device
from array_api_compat import is_array_api_obj

from discreet.arguments import ArgumentError
from discreet.cuda_kernels import load_kernel
from discreet.records.declared.box import Box
from discreet.records.row_choice import DeclaredRows

BLOCKS, THREADS = 2112, 256
DEVICE_ROWS, DEVICE_CELLS = 2**22, 2**26  # of a block on a GPU, at most
COPIED_ROWS, STORED_ROWS = 2**20, 2**16  # of a block that is copied there, from an array and from a table or a file

SOURCE = r"""
extern "C" __global__ void read(const double* __restrict__ raw, long long cells, long long columns,
                                const double* __restrict__ numbers, double* __restrict__ result, int* gap) {
  const double *fill = numbers, *low = numbers + columns, *high = low + columns;
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x, step = (long long)gridDim.x * blockDim.x;
  const int on = (int)(step % columns);
  int column = (int)(first % columns);
  for (long long cell = first; cell < cells; cell += step) {
    double x = __dadd_rn(raw[cell], 0.0);  // 0.0 for -0.0
    const bool finite = (__double2hiint(x) & 0x7ff00000) != 0x7ff00000;
    if (!finite) x = fill[column];
    if (x != x) *gap = 1;  // a row that is to be dropped
    result[cell] = x < low[column] ? low[column] : x > high[column] ? high[column] : x;
    column = column + on < columns ? column + on : column + on - columns;
  }
}
"""


def is_on_device(data: Any) -> bool:
    """Return whether rows are an array that is not in the memory of the host."""
    return is_array_api_obj(data) and "cpu" not in str(array_device(data)).lower()


def device_block_rows(data: Any, device: str | None) -> int:
    """Return how many rows a block has that is computed on a GPU; where ``device`` is None, rows that are there."""
    if not is_array_api_obj(data):
        return STORED_ROWS
    cells = max(math.prod(data.shape[1:]), 1)  # of a row
    return int(min(DEVICE_ROWS if device is None else COPIED_ROWS, max(DEVICE_CELLS // cells, 2**14)))


def check_device(name: Any, *, workers: bool) -> str:
    """Return the name of a device of torch that is there, for rows on the host.

    ``workers`` says that other processes compute the sums: they have no device.
    """
    try:
        import torch

        torch.empty(0, dtype=torch.float64, device=name)
    except ImportError:
        raise ArgumentError(
            "device", name, "None where torch is not installed", "pip install 'discreet[torch]'"
        ) from None
    except (RuntimeError, TypeError, AssertionError):
        raise ArgumentError("device", name, "a device of torch that is there, with float64", "device='cuda'") from None
    if workers:
        raise ArgumentError("device", name, "None for Dask and Spark, whose workers compute")
    return str(name)


def read_numbers_on_device(numbers: Any, fills: tuple[float | None, ...], bounds: Box) -> Any:
    """Return rows filled and clipped; None where that is for array operations, as in rows that are to be dropped.

    Parameters
    ----------
    numbers : tensor of shape (n, d)
        On an NVIDIA GPU.
    fills : tuple of float or None
        What takes the place of a number that is missing or not finite, column by column; None: the row is dropped.
    bounds : Box
    """
    kernel = load_kernel(SOURCE, "read", (), numbers.device.index)
    if kernel is None:
        return None
    public, gap = _public_numbers(fills, bounds, numbers.device)
    raw = numbers.double().contiguous()
    result = raw.new_empty(raw.shape)
    gap = gap.clone() if None in fills else gap
    kernel.launch(BLOCKS, THREADS, raw, raw.numel(), raw.shape[1], public, result, gap)
    return None if None in fills and bool(gap) else result


def copy_to_device(rows: DeclaredRows, name: str) -> DeclaredRows:
    """Return rows with numbers on a device of torch. From pinned memory they do not pass through the processor."""
    import torch

    numbers = rows.numbers
    if isinstance(numbers, np.ndarray):  # torch takes neither every type nor memory that is only read
        numbers = torch.as_tensor(np.require(numbers, np.float64, "W"))
    return rows._replace(numbers=numbers.to(name, non_blocking=True))


@lru_cache(maxsize=8)
def _public_numbers(fills: tuple[float | None, ...], bounds: Box, place: Any) -> Any:
    """Return what missing numbers become, NaN for none, and the ends of the columns, on the GPU; and a 0 there."""
    import torch

    low, high = zip(*bounds.for_columns(len(fills)).intervals(), strict=True)
    values = [*(math.nan if fill is None else fill for fill in fills), *low, *high]
    return torch.as_tensor(values, dtype=torch.float64, device=place), torch.zeros(1, dtype=torch.int32, device=place)
