"""Objects without their numbers: what is compiled for one question serves the next of the same form.

What JAX compiles has the numbers of a question in it (θ at which a gradient was taken, say), and would be compiled anew
for each. So the arrays are taken out, and what is left, as pickle's bytes, says whether two objects have the same form.
Put back, in place of the arrays, may be what stands for them while JAX traces. The bytes never leave this process.
"""

from __future__ import annotations

import copyreg
import dataclasses
import io
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["lifted", "restored"]

Array = NDArray[np.float64]


class _Lifting(pickle.Pickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.arrays: list[Array] = []

    def persistent_id(self, what: Any) -> int | None:
        if not isinstance(what, np.ndarray) or what.dtype != np.float64:
            return None
        self.arrays.append(what)
        return len(self.arrays) - 1

    def reducer_override(self, what: Any) -> Any:
        """Leave out what a dataclass has computed and kept, but for arrays: its numbers are not part of the form."""
        if not dataclasses.is_dataclass(what) or isinstance(what, type) or hasattr(what, "__setstate__"):
            return NotImplemented
        fields = {field.name for field in dataclasses.fields(what)}
        state = {name: part for name, part in vars(what).items() if name in fields or isinstance(part, np.ndarray)}
        return copyreg.__newobj__, (type(what),), state  # type: ignore[attr-defined]


class _Restoring(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, arrays: Sequence[Any]) -> None:
        super().__init__(file)
        self.arrays = arrays

    def persistent_load(self, place: int) -> Any:
        return self.arrays[place]


def lifted(what: Any) -> tuple[bytes, list[Array]]:
    """Return the form of an object, and its arrays.

    >>> from discreet.records import Box
    >>> one, other = ((Box(0, 1), np.full(2, number)) for number in (1.0, 2.0))
    >>> lifted(one)[0] == lifted(other)[0], lifted(other)[1][0].tolist()
    (True, [2.0, 2.0])
    >>> restored(lifted(one)[0], ["an array"])
    (Box(low=0.0, high=1.0), 'an array')
    """
    file = io.BytesIO()
    lifting = _Lifting(file)
    lifting.dump(what)
    return file.getvalue(), lifting.arrays


def restored(form: bytes, arrays: Sequence[Any]) -> Any:
    """Return the object with other arrays in it."""
    return _Restoring(io.BytesIO(form), arrays).load()
