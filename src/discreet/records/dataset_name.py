"""What a ledger calls a data set where nobody says.

One data set has one budget only if it has one name, whoever opens it and however its place is written. So links are
followed, and a table of a database has the schema in which the database found it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from discreet.records.duckdb_engine import DUCKDB_SUFFIXES
from discreet.records.libraries import is_file
from discreet.records.postgresql_engine import is_postgresql
from discreet.records.sql_table import Table
from discreet.sql.text import quoted

__all__ = ["dataset_name"]

NAMELESS = "expected the data set's name in the ledger; write for example name='clinic'"


def dataset_name(data: Any) -> str:
    """Return the usual name of the rows in a file or in a table of a database.

    That of a file or folder is its own up to the first dot, not that of a link to it. That of a table in a DuckDB file
    or a PostgreSQL database is ``schema.table``, with the schema in which it was found; a part with a dot is quoted.

    >>> dataset_name("clinic/visits.csv.gz")
    'visits'
    """
    if not is_file(data):
        raise ValueError(f"name=None: {NAMELESS}")
    table = data if isinstance(data, Table) else Table(data)
    if is_postgresql(table.location) or str(table.location).lower().endswith(DUCKDB_SUFFIXES):
        engine: Any = table.engine()
        return ".".join(quoted(part) if set(part) & {".", '"'} else part for part in engine.table_name)
    name = Path(os.path.realpath(table.location)).name.lstrip(".").split(".")[0]
    if not name:
        raise ValueError(f"name=None: {NAMELESS}")
    return name
