"""Rows of Parquet files, streamed: a file is never read whole.

A folder stands for all files ``*.parquet`` below it, in the order of their paths. Each file is read with the types that
it states itself: nothing is cast to the types of another file, which could fail with a text that shows a value.
Columns that are only in the names of folders (``key=value``) are not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import narwhals as nw

from discreet.records.optional import need
from discreet.records.reading import Reading
from discreet.records.table_source import FrameSource, check_types, unique_names

__all__ = ["ParquetSource", "file_state", "parquet_files", "parquet_names"]

BUFFER = 2**18  # bytes read ahead in each column; without it a column of a row group is read at once


def parquet_files(path: Path) -> list[Path]:
    """Return the files that a path stands for."""
    if "\n" in str(path):  # somebody's rows, most likely: they do not belong into an error
        raise ValueError("data: expected the path of Parquet files, and got text of several lines; make a table of it")
    if not path.exists():
        raise FileNotFoundError(
            f"{str(path)!r}: no such file or folder; expected Parquet files, or a .csv, .arrow or .duckdb file"
        )
    if not path.is_dir():
        return [path]
    files = sorted(path.rglob("*.parquet"))
    if not files:
        raise ValueError(f"{str(path)!r}: expected a folder with files named *.parquet, and there are none")
    return files


def file_state(files: Iterable[str | Path]) -> tuple[tuple[int, int, int], ...] | None:
    """Return what changes where files are written anew; None where one is gone, which whoever reads it will say."""
    try:
        found = [os.stat(file) for file in files]
    except OSError:
        return None
    return tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in found)


def _open(file: Path) -> Any:
    parquet = need("pyarrow.parquet")
    try:
        return parquet.ParquetFile(file, buffer_size=BUFFER, pre_buffer=False)
    except need("pyarrow").lib.ArrowInvalid:
        wrong = ValueError(
            f"{str(file)!r}: expected a Parquet file; read other ones with pandas or Polars, and hand over the table"
        )
    raise wrong  # outside of the except block, so that nothing of the file comes along


def parquet_names(files: list[Path]) -> list[str]:
    """Return the names of the first file's columns."""
    with _open(files[0]) as opened:
        return unique_names(opened.schema_arrow.names)


class ParquetSource(FrameSource):
    """Rows of Parquet files.

    Parameters
    ----------
    files : list of Path
        In the order of the rows.
    reading : Reading
        Its columns must be in every file.
    """

    kind = "Parquet"

    def __init__(self, files: list[Path], reading: Reading) -> None:
        super().__init__(reading)
        self._files = files
        self._rows = 0
        for file in files:
            with _open(file) as opened:
                missing = set(reading.columns) - set(unique_names(opened.schema_arrow.names))
                if missing:
                    raise ValueError(
                        f"the column {min(missing)!r} is not in every file: expected the same columns in all"
                    )
                check_types(nw.from_native(opened.schema_arrow.empty_table(), eager_only=True), reading)
                self._rows += opened.metadata.num_rows

    def state(self) -> Any:
        """Return the sizes of the files and when they were written."""
        return file_state(self._files)

    def rows(self) -> int:
        """Return how many rows the files say that they have."""
        return self._rows

    def _frames(self, columns: tuple[str, ...]) -> Iterator[nw.DataFrame[Any]]:
        table = need("pyarrow").Table
        for file in self._files:
            with _open(file) as opened:
                for batch in opened.iter_batches(self.declared.slab_rows, columns=list(columns), use_threads=False):
                    yield nw.from_native(table.from_batches([batch]), eager_only=True)
