"""Rows of Parquet files, streamed by Arrow in batches: a file is never read whole.

A folder stands for all files ``*.parquet`` below it, in the order of their paths. Each file is read with the types that
it states itself: nothing is cast to the types of another file, which could fail with a text that shows a value.
Columns that are only in the names of folders (``key=value``) are not read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.records.sources.frames import empty_table, import_optional, unique_names
from discreet.records.sources.stored import Engine, replace_errors

BUFFER = 2**18  # bytes read ahead in each column; without it a column of a row group is read at once


def parquet_files(path: Path) -> list[Path]:
    """Return the files that a path stands for."""
    if path.exists() and not path.is_dir():
        return [path]
    files = sorted(path.rglob("*.parquet"))
    if not files and path.is_dir():
        raise ValueError(f"{str(path)!r}: expected a folder with files named *.parquet, and there are none")
    if not files:
        wanted = "Parquet files, or a .csv, .arrow or .duckdb file"
        raise FileNotFoundError(f"{str(path)!r}: no such file or folder; expected {wanted}")
    return files


def _open(file: Path) -> Any:
    parquet = import_optional("pyarrow.parquet")
    try:
        return parquet.ParquetFile(file, buffer_size=BUFFER, pre_buffer=False)
    except import_optional("pyarrow").lib.ArrowInvalid:
        wrong = f"{str(file)!r}: expected a Parquet file, or one whose name ends with .csv, .arrow or .duckdb"
    raise ValueError(wrong)  # outside of the except block, so that nothing of the file comes along


class ParquetFiles(Engine):
    """Parquet files, in the order of their rows.

    Parameters
    ----------
    files : list of Path
    """

    def __init__(self, files: list[Path]) -> None:
        self._rows = 0
        self.schemas: list[Any] = []  # Arrow's, of each file
        for file in files:
            with _open(file) as opened:
                unique_names(opened.schema_arrow.names)
                self.schemas.append(opened.schema_arrow)
                self._rows += opened.metadata.num_rows
        types = dict.fromkeys(self.schemas[0].names, "other")  # no database computes with them
        Engine.__init__(self, "Parquet", types, files)

    def rows(self) -> int:
        """Return how many rows the files say that they have."""
        return self._rows

    def stream(self, names: Sequence[str], numbers: Collection[str], rows: int) -> Iterator[Any]:
        """Yield batches, file by file."""
        with replace_errors():
            for file in self.files:
                with _open(file) as opened:
                    yield from opened.iter_batches(rows, columns=list(names), use_threads=False)

    def empty(self, names: Sequence[str], numbers: Collection[str]) -> Sequence[Any]:
        """Return the types that each file states."""
        for schema in self.schemas:
            if missing := set(names) - set(schema.names):
                raise ValueError(f"the column {min(missing)!r} is not in every file: expected the same columns in all")
        return [empty_table(schema).select(list(names)) for schema in self.schemas]
