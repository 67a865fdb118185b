"""Rows with declared bounds, and sums over them.

Where to look: ``opening`` goes from data and declarations to ``Records``, ``reading`` turns raw rows into blocks,
``row_choice`` limits the rows of a person; ``declared`` has what an owner declares, ``sources`` reads rows of one kind
each.

Imports these rooms, and may import any other above it: ``arguments``, ``plain``, ``cuda_kernels``, ``threads``,
``ledger``, ``sql``.

What this room guarantees:

- **Bounds are declared.** A ``Box``, a ``Ball`` or a ``Schema`` says where rows lie and which categories there are;
  nothing of that is ever taken from the data. Rows are clipped, and in floats too the clipped row lies in the space.
- **One row at a time.** Whether and how a row is read, filled, dropped, clipped or left out by a condition is a
  function of that row alone, to the last bit. Whether it is among the ``max_rows`` rows of its unit that count depends
  on that unit's own declared rows alone (``row_choice``).
- **Silence.** Nothing here prints, logs, stores or raises anything that depends on the value of a row. Names, types and
  shapes are checked when records are made. (``check_finite`` is the one exception, for owners who may see the data.)
- **User code.** A user's function or model sees rows in ``queries.functions.user_functions`` alone, which returns plain
  numbers and nothing else.
- **One sum.** The same kernel gives the same sum on arrays, tables, files, Dask collections and in a database, within
  γ·N·B of the exact one, γ = ``Records.float_error``; a sum of whole numbers is exact (``sources.whole_sums`` has the
  proof, ``sql.text`` for databases). The same blocks give the same bits, in whatever order they come and whoever sums
  them.

>>> import numpy as np
>>> from discreet.records import Box, as_records
>>> records = as_records(np.array([[17.0, 2e9], [90.0, 50.0]]), space=Box(low=[17, 40], high=[90, 250]))
>>> records.reduce(lambda block: block.x.sum(axis=0), size=2).tolist()
[107.0, 300.0]
"""

from discreet.records.complete_rows import check_finite
from discreet.records.declared.ball import Ball
from discreet.records.declared.bounds import Bounds, read_bounds, space_of
from discreet.records.declared.box import Box
from discreet.records.declared.columns import Category, Date, Number
from discreet.records.declared.conditions import Condition
from discreet.records.declared.schema import Schema
from discreet.records.declared.space import Space
from discreet.records.given_data import dataset_name
from discreet.records.opening import as_records, open_records
from discreet.records.reading import Block, Unit
from discreet.records.records import Records
from discreet.records.sources.engines import Table
from discreet.records.sources.whole_sums import float_error

__all__ = [
    "Ball", "Block", "Bounds", "Box", "Category", "Condition", "Date", "Number", "Records", "Schema",
    "Space", "Table", "Unit", "as_records", "check_finite", "dataset_name", "float_error", "open_records",
    "read_bounds", "space_of",
]  # fmt: skip
