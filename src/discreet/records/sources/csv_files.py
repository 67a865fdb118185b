"""CSV files, read so that one line is always one row.

Other readers of CSV files let a cell between quotes continue over several lines. One person's cell with a quote that is
never closed then takes in the rows of others: the number of rows and all sums change by more than one row, and no bound
holds. So here a line ends at a line feed (or at a carriage return and a line feed) and nowhere else, each line is read
by itself, and there are as many rows as lines after the first. A row can only make its own cells unreadable:

- a line has no readable cell where its quotes do not match, where it is longer than 16 MiB, where it has quotes and is
  longer than 128 KiB, or where it is empty;
- cells that a line lacks are missing, and cells beyond the number of columns are ignored;
- a cell that is not UTF-8, or is empty, is missing.

All cells are text: a reader that infers types does so from the rows. The names are those of the first line, and the
separator is found from that line alone. Cells with line breaks cannot be read from CSV; use Parquet for them.

After the last line feed an empty rest is no line. Plain lines are parsed by Arrow together, which is fast; the others
are read one by one. Numbers and categories are parsed once and kept (``text_files``).
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.records.sources.frames import empty_table, import_optional
from discreet.records.sources.stored import Engine, replace_errors

DATE = re.compile(r"[\d\s./:T+-]*\d[-/.:]\d[\d\s./:TZ+-]*")
CSV_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
SEPARATORS = (",", ";", "\t", "|")
LONGEST_HEADER = 2**20
LONGEST_LINE = 2**24
LONGEST_QUOTED = 2**17  # Python's reader takes no longer cell, and all lines must be read alike, whoever reads them
PIECE = 2**22  # bytes that are read at a time
FEED, RETURN, QUOTE, NUL, ASCII, MARK = 10, 13, 34, 0, 128, 0xEF


def csv_header(path: Path) -> tuple[str, list[str]]:
    """Return what separates the cells of a CSV file and the cells of its first line, none where it is no such line."""
    try:
        with _opened(path) as file:
            line = file.readline(LONGEST_HEADER)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise ValueError(
            f"{path.name!r}: expected a file that gzip can read, since its name ends with .gz; it is broken, or not "
            "compressed"
        ) from None
    first = line.decode("utf-8-sig", errors="replace").removesuffix("\n").removesuffix("\r")
    separator = max(SEPARATORS, key=first.count)
    whole = len(line) < LONGEST_HEADER and "\r" not in first  # or all of a file whose lines end with a return alone
    return separator, (_cells(first, separator) if whole else None) or []


def _opened(path: str | os.PathLike[str]) -> Any:
    return gzip.open(path, "rb") if str(path).lower().endswith(".gz") else open(path, "rb")


def _cells(line: str, separator: str) -> list[str] | None:
    """Return the cells of a line; None where its quotes do not match."""
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader((line,), delimiter=separator, strict=True))
    except csv.Error:
        return None


class CsvEngine(Engine):
    """A CSV file.

    Parameters
    ----------
    path : Path
    separator : str
    names : sequence of str
        The columns, in the order of the file.
    """

    def __init__(self, path: Path, separator: str, names: Sequence[str]) -> None:
        super().__init__("CSV file", dict.fromkeys(names, "text"), [path])
        self._separator = separator

    def rows(self) -> int:
        """Return how many lines there are after the first."""
        with replace_errors():
            return sum(piece.count(b"\n") for piece in self._pieces())

    def empty(self, names: Sequence[str], numbers: Collection[str]) -> Sequence[Any]:
        """Return columns of text."""
        pa = import_optional("pyarrow")
        return [empty_table(pa.schema([(name, pa.string()) for name in names]))]

    def stream(self, names: Sequence[str], numbers: Collection[str], rows: int) -> Iterator[Any]:
        """Yield some of the columns, as text."""
        with replace_errors():
            for piece in self._pieces():
                yield from self._table(piece, list(names)).to_batches(max_chunksize=rows)

    def _pieces(self) -> Iterator[bytes]:
        """Yield the lines after the first, some at a time, each with a line feed; too long ones are empty ones."""
        with _opened(self.files[0]) as file:
            file.readline()
            kept, skipping = b"", False  # the beginning of a line, and whether it is too long to be kept
            while block := file.read(PIECE):
                end = block.rfind(b"\n") + 1
                if end:
                    lines = block[block.index(b"\n") :] if skipping else kept + block
                    end += len(lines) - len(block)
                    yield lines[:end]
                    kept, skipping = lines[end:], False
                elif not skipping:
                    kept += block
                    if skipping := len(kept) > LONGEST_LINE:
                        kept = b""
            if kept or skipping:
                yield b"\n" if skipping else kept + b"\n"

    def _table(self, piece: bytes, names: list[str]) -> Any:
        """Return whole lines as a table."""
        data = np.frombuffer(piece, dtype=np.uint8)
        ends = np.flatnonzero(data == FEED)
        starts = np.concatenate([[0], ends[:-1] + 1])
        odd = self._odd(piece, data, starts, ends)
        if not odd.any():
            return self._by_arrow(piece, names)
        lines = [piece[start : end + 1] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        even, others = np.flatnonzero(~odd), np.flatnonzero(odd)
        tables = [self._by_line([lines[place] for place in others.tolist()], names)]
        if len(even):
            tables.append(self._by_arrow(b"".join([lines[place] for place in even.tolist()]), names))
        order = np.argsort(np.concatenate([others, even]), kind="stable")
        return import_optional("pyarrow").concat_tables(tables).take(order)

    def _odd(
        self, piece: bytes, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which lines have other than as many cells as there are columns, or anything but plain text.

        Quotes are plain where they stand in pairs around whole cells, without a quote in between.
        """
        separator = ord(self._separator)
        quotes, separators = np.flatnonzero(data == QUOTE), np.flatnonzero(data == separator)
        before = np.searchsorted(quotes, starts)  # how many quotes there are in earlier lines
        within = np.searchsorted(ends, separators)
        free = (np.searchsorted(quotes, separators) - before[within]) % 2 == 0
        odd: NDArray[np.bool_] = np.bincount(within[free], minlength=len(ends)) != len(self.types) - 1
        odd |= np.diff(before, append=len(quotes)) % 2 == 1
        lengths, first = ends - starts, data[starts]
        odd |= (lengths == 0) | ((lengths == 1) & (first == RETURN)) | (lengths > LONGEST_LINE)
        odd |= (lengths > LONGEST_QUOTED) & (np.diff(before, append=len(quotes)) > 0)
        odd |= first == MARK  # Arrow takes a byte order mark off, where a line happens to be its first
        within = np.searchsorted(ends, quotes)
        opens = (np.arange(len(quotes)) - before[within]) % 2 == 0
        beside = np.where(opens, data[quotes - 1], data[quotes + 1])
        tidy = (beside == separator) | np.where(opens, quotes == starts[within], (beside == RETURN) | (beside == FEED))
        returns = np.flatnonzero(data == RETURN)
        strange = [quotes[~tidy], np.flatnonzero(data == NUL), returns[data[returns + 1] != FEED]]
        try:
            piece.decode()
        except UnicodeDecodeError:
            strange.append(np.flatnonzero(data >= ASCII))
        odd[np.searchsorted(ends, np.concatenate(strange))] = True
        return odd

    def _by_arrow(self, piece: bytes, names: list[str]) -> Any:
        reader, string = import_optional("pyarrow.csv"), import_optional("pyarrow").string()
        return reader.read_csv(
            io.BytesIO(piece),
            reader.ReadOptions(use_threads=False, block_size=len(piece) + 1, column_names=list(self.types)),
            reader.ParseOptions(delimiter=self._separator, double_quote=False),
            reader.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(names, string),
                null_values=[""],
                strings_can_be_null=True,
                include_columns=names,
            ),
        )

    def _by_line(self, lines: list[bytes], names: list[str]) -> Any:
        pa = import_optional("pyarrow")
        places = [list(self.types).index(name) for name in names]
        result: list[list[str | None]] = [[] for _ in names]
        for line in lines:
            text = line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", errors="surrogateescape")
            most = LONGEST_QUOTED if b'"' in line else LONGEST_LINE
            cells = (None if len(line) > most + 1 else _cells(text, self._separator)) or []
            for column, place in zip(result, places, strict=True):
                cell = cells[place] if place < len(cells) else ""
                column.append(cell if cell and _is_text(cell) else None)
        return pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, result, strict=True)})


def _is_text(cell: str) -> bool:
    """Return whether a cell was UTF-8; bytes that were none are surrogates."""
    return cell.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in cell)


def is_value(cell: str) -> bool:
    """Return whether a cell is empty, a number or a date, and so not the name of a column.

    >>> is_value("age"), is_value("57.0"), is_value("2022-12-07")
    (False, True, True)
    """
    try:
        float(cell)
    except ValueError:
        return not cell.strip() or DATE.fullmatch(cell.strip()) is not None
    return True
