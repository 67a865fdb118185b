"""One line of a CSV file is one row, whatever stands in it and whatever stands beside it."""

from __future__ import annotations

import gzip
import os
import pickle
import tempfile

import numpy as np
import pytest

import discreet as dp
from discreet.noise import NotPrivateWarning
from discreet.records import Category, Number, Schema, Table, as_records
from discreet.records.sources import csv_files, text_files
from discreet.records.sources.csv_files import CsvEngine, csv_header
from discreet.records.sources.stored import StoredSource
from discreet.records.sources.text_files import TextSource
from effort import measured, size

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

NAMES = ["a", "b", "c"]
TOKENS = [b'"', b'"', b'""', b",", b",", b",", b"\r", b"1", b"2.5", b"x", b"\xff", b"\xc3\xa9", b"\x00"]
TOKENS += [b"\xef\xbb\xbf", b" ", b'"a"', b'"a,b"', b'"a""b"', b";", b"\x1a", b"\x85", b"\xe2\x80\xa8", b"\\"]
CLEAN = [b"1,oak,2", b'1,"oak",2', b'"1","oak, elm","2"', b"1,,2"]


def lines_of(rng) -> list[bytes]:
    """Return some lines, half of which are as they should be."""
    result = []
    for _ in range(rng.integers(1, 40)):
        odd = b"".join(TOKENS[place] for place in rng.integers(0, len(TOKENS), rng.integers(0, 10)))
        result.append(CLEAN[rng.integers(len(CLEAN))] if rng.random() < 0.5 else odd)
    return result


def rows_of(path, lines, end=b"\n") -> list[tuple]:
    """Return what is read of a file of these lines."""
    path.write_bytes(b"a,b,c" + end + end.join([*lines, b""]))
    engine = CsvEngine(path, ",", NAMES)
    batches = list(engine.stream(NAMES, [], 2**20))
    result = pa.Table.from_batches(batches, schema=engine.empty(NAMES, [])[0].schema).to_pylist()
    assert engine.rows() == len(lines) == len(result)
    return [tuple(row.values()) for row in result]


def test_a_line_is_read_as_if_it_stood_alone(tmp_path, monkeypatch):
    """So a row that comes, goes or changes moves no other row, and the number of rows by one at most."""
    rng, alone, read = np.random.default_rng(0), {}, 0
    for _ in range(size(30, 2000)):
        lines = lines_of(rng)
        monkeypatch.setattr(csv_files, "PIECE", int(rng.choice([5, 60, 2**22])))
        for line, row in zip(lines, rows_of(tmp_path / "t.csv", lines), strict=True):
            if line not in alone:
                alone[line] = rows_of(tmp_path / "one.csv", [line])[0]
            assert row == alone[line], line
        read += len(lines)
    assert len(alone) > 150
    engine = CsvEngine(tmp_path / "t.csv", ",", NAMES)
    for line, row in alone.items():  # by Arrow and one by one
        assert tuple(engine._by_line([line + b"\n"], NAMES).to_pylist()[0].values()) == row, line
    measured("csv", lines=read, distinct=len(alone))


@pytest.mark.parametrize("letters", [100, 2**16 - 10, 2**16 + 10, 2**17 + 10])
def test_a_long_quoted_cell_is_read_alike_beside_any_line(letters, tmp_path):
    """Python's reader takes cells of 131,072 letters; whether it is asked depends on the other lines of a piece."""
    line = b'1,"' + "é".encode() * letters + b'",2'
    beside = [rows_of(tmp_path / "t.csv", [line, other])[0] for other in (b"1,oak,2", b"1,\xff,2", b'1,"oak,2')]
    assert beside[0] == beside[1] == beside[2]
    assert (beside[0][0] is None) == (len(line) > csv_files.LONGEST_QUOTED)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["unix", "windows"])
@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b"1,oak,2", ("1", "oak", "2")),
        (b'1,"oak, elm",2', ("1", "oak, elm", "2")),
        (b'1,"o""k",2', ("1", 'o"k', "2")),
        (b'1,o"k,2', ("1", 'o"k', "2")),
        (b'1,"oak,2', (None, None, None)),  # the quote would have gone on
        (b'1,"oak"x,2', (None, None, None)),
        (b"1,oak", ("1", "oak", None)),
        (b"1,oak,2,3,4", ("1", "oak", "2")),
        (b"", (None, None, None)),
        (b",,", (None, None, None)),
        (b'"","",""', (None, None, None)),
        (b"1,Jos\xe9,2", ("1", None, "2")),
        (b'"1",Jos\xe9,"2"', ("1", None, "2")),
        (b"1,Jos\xc3\xa9,2", ("1", "José", "2")),
        (b"1,o\rk,2", ("1", "o\rk", "2")),
        (b"\xef\xbb\xbf1,oak,2", ("\ufeff1", "oak", "2")),
    ],
)
def test_what_a_line_says(line, row, end, tmp_path):
    lines = [b"9,elm,9", line, b"8,ash,8"]
    assert rows_of(tmp_path / "t.csv", lines, end) == [("9", "elm", "9"), row, ("8", "ash", "8")]
    assert rows_of(tmp_path / "t.csv", lines[1:], end)[0] == row  # the first that is read


def test_a_line_that_is_too_long_is_one_row_without_cells(tmp_path, monkeypatch):
    """Where it is cut must not depend on the lines before it."""
    monkeypatch.setattr(csv_files, "LONGEST_LINE", 100)
    for piece in (7, 150, 2**22):
        monkeypatch.setattr(csv_files, "PIECE", piece)
        for before in (0, 20, 60):
            first = b"1," + b"x" * before + b",2"
            for length, missing in ((99, False), (100, False), (101, True), (102, True), (500, True)):
                lines = [first, b"1,2," + b"3" * (length - 4), b"8,ash,8"]
                result = rows_of(tmp_path / "t.csv", lines)
                assert (result[1] == (None, None, None)) is missing
                assert result[2] == ("8", "ash", "8")
        path = tmp_path / "last.csv"
        path.write_bytes(b"a,b,c\n1,2,3\n" + b"4" * 500)  # no line feed at the end
        assert CsvEngine(path, ",", NAMES).rows() == 2


def test_an_open_quote_moves_nobodys_row(tmp_path):
    """A count and a sum of neighbours under add-remove, one of whom has left a quote open."""
    schema = Schema({"age": Number(0, 100), "town": Category(["a", "b"])})
    rows = [f"{20 + j},{'ab'[j % 2]}" for j in range(50)]
    result = []
    for odd in ([], ['30,"b'], ['30,"b\r'], ['"'], ["\r\r\r"], [""], ["x" * 200_000]):
        (tmp_path / "t.csv").write_text("\n".join(["age,town", *rows[:10], *odd, *rows[10:], ""]), newline="")
        records = as_records(tmp_path / "t.csv", schema=schema)
        result.append(records.reduce(lambda block: block.x.sum(axis=0), 1).tolist())
        assert records.rows == 50 + len(odd)
    assert result == [result[0]] * len(result)


def test_compressed_files_pickles_and_units(tmp_path):
    """Two rows of 7, one of "007", one of "ann"; a broken line and an empty name are nobody's."""
    text = b'who,age\n"7",30\n007,40\n"ann",50\n"ann,60\n,70\n7,20\n'
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text))
    for unit_type, total, units in (("text", 110.0, 3), ("integer", 20.0, 1)):
        schema = Schema({"age": Number(0, 100)}, unit="who", max_rows=1, unit_type=unit_type, order="age")
        records = pickle.loads(pickle.dumps(as_records(Table(tmp_path / "t.csv.gz"), schema=schema)))
        assert records.reduce(lambda block: block.x.sum(axis=0), 1).tolist() == [total]
        assert (records.rows, records.units) == (6, units)


def test_the_first_line(tmp_path):
    path = tmp_path / "t.csv"
    for text, separator, cells in (
        (b"\xef\xbb\xbfa;b\r\n1;2\r\n", ";", ["a", "b"]),
        (b'"a, b",c\n1,2\n', ",", ["a, b", "c"]),
        (b"a\tb", "\t", ["a", "b"]),
        (b"a,b\r1,2\r3,4\r", ",", []),  # returns alone: all of the file is one line
        (b'a,"b\n', ",", []),
        (b"a," + b"x" * 2**20 + b"\n1,2\n", ",", []),
    ):
        path.write_bytes(text)
        assert csv_header(path) == (separator, cells)
        if not cells:
            with pytest.raises(ValueError, match="expected a first line with the names") as caught:
                as_records(path, schema=Schema({"a": Number(0, 1)}))
            assert "1" not in str(caught.value).replace(str(path), "")


@pytest.mark.parametrize(
    "broken",
    [b"age\n40\n", gzip.compress(b"age\n40\n", mtime=0)[:12] + b"\0" * 40],
    ids=["not compressed", "broken off"],
)
def test_a_file_that_gzip_cannot_read(broken, tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(broken)
    with pytest.raises(ValueError, match=r"'t.csv.gz': expected a file that gzip can read"):
        as_records(path, schema=Schema({"age": Number(0, 100)}))


def test_a_file_that_is_gone_fails_without_its_words(tmp_path):
    path = tmp_path / "t.csv.gz"
    numbers = np.random.default_rng(0).integers(0, 10**9, 20_000)
    path.write_bytes(gzip.compress(b"age\n" + b"".join(b"%d\n" % one for one in numbers))[:-2000])
    records = as_records(path, schema=Schema({"age": Number(0, 100)}))
    for fails in (lambda: records.rows, lambda: records.reduce(lambda block: block.x.sum(axis=0), 1)):
        with pytest.raises(OSError, match="failed to answer") as caught:
            fails()
        assert caught.value.__context__ is None


class TestKeptColumns:
    """Cells are parsed once, and every reading gives the same rows."""

    @staticmethod
    def table(path, rows=500):
        rng = np.random.default_rng(0)
        cells = zip(rng.normal(size=rows), rng.normal(size=rows), rng.integers(0, 3, rows), range(rows), strict=True)
        lines = [f"{a},{'' if k % 7 == 0 else b},{'uvw'[g]},{k // 3}" for a, b, g, k in cells]
        path.write_text("\n".join(["a,b,g,person", *lines, ""]))

    @staticmethod
    def opened(path):
        columns = {"a": Number(-1, 1), "b": Number(-2, 2, missing="fill", fill=0.5), "g": Category(["u", "v"])}
        return as_records(path, schema=Schema(columns, unit="person", max_rows=2))

    @staticmethod
    def rows(records):
        return [(block.x.tolist(), block.codes.tolist()) for block in records.blocks()]

    def test_a_fit_parses_each_line_once(self, tmp_path, monkeypatch):
        parsed, parse = [], CsvEngine._table
        monkeypatch.setattr(CsvEngine, "_table", lambda *given: parsed.append(given[2]) or parse(*given))
        self.table(tmp_path / "t.csv")
        model = dp.GaussianMixture(2, bounds={"a": (-1, 1), "b": (-1, 1)}, random_state=0)
        with pytest.warns(NotPrivateWarning):
            model.fit(tmp_path / "t.csv")
        assert len(model.releases_) > 10
        assert parsed == [["a", "b"]]

    def test_columns_that_are_read_later_are_parsed_then(self, tmp_path, monkeypatch):
        self.table(tmp_path / "t.csv")
        parsed, parse = [], CsvEngine._table
        monkeypatch.setattr(CsvEngine, "_table", lambda *given: parsed.append(given[2]) or parse(*given))
        records = as_records(tmp_path / "t.csv", schema=Schema({"a": Number(-1, 1), "b": Number(-1, 1)}))
        for names in (["a"], ["b"], ["a", "b"], ["a"]):
            list(records.only(names).blocks())
        assert parsed == [["a"], ["b"]]

    @pytest.mark.parametrize("place", ["a temporary file", "no place"])
    def test_wherever_they_are_kept_the_rows_are_the_same(self, place, tmp_path, monkeypatch):
        self.table(tmp_path / "t.csv")
        with monkeypatch.context() as streaming:
            streaming.setattr(TextSource, "read", StoredSource.read)
            streamed = self.rows(self.opened(tmp_path / "t.csv"))
        in_memory = self.rows(self.opened(tmp_path / "t.csv"))
        monkeypatch.setattr(text_files, "IN_MEMORY", 0)
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
        if place == "no place":
            monkeypatch.setattr(os, "posix_fallocate", full_disk)
        records = self.opened(tmp_path / "t.csv")
        assert self.rows(records) == self.rows(records) == in_memory == streamed
        assert not list((tmp_path / "temporary").iterdir())

    def test_a_pickle_holds_no_cells(self, tmp_path):
        self.table(tmp_path / "t.csv")
        records = self.opened(tmp_path / "t.csv")
        rows = self.rows(records)
        kept = records._source._cached["columns"][1].columns
        pickled = pickle.dumps(records)
        assert kept["a"].tobytes()[:80] in pickle.dumps(kept)
        assert not any(column.tobytes()[:80] in pickled for column in kept.values())
        assert self.rows(pickle.loads(pickled)) == rows

    def test_a_file_that_is_written_anew_is_parsed_anew(self, tmp_path):
        path = tmp_path / "t.csv"
        self.table(path)
        records = self.opened(path)
        before = self.rows(records)
        self.table(path, rows=300)
        after = self.rows(records)
        assert after == self.rows(self.opened(path)) != before

    def test_columns_of_two_states_of_a_file_are_not_put_together(self, tmp_path, monkeypatch):
        path = tmp_path / "t.csv"
        path.write_text("a,b\n" + "0.1,0.1\n" * 100)
        records = as_records(path, schema=Schema({"a": Number(0, 1), "b": Number(0, 1)}))
        list(records.only(["a"]).blocks())
        frames = StoredSource._frames

        def changed(source, names):
            path.write_text("a,b\n" + "0.9,0.9\n" * 100)  # between the look at its state and the reading
            return frames(source, names)

        monkeypatch.setattr(StoredSource, "_frames", changed)
        (block,) = records.blocks()
        assert block.x.tolist() == [[0.9, 0.9]] * 100


def full_disk(*_):
    raise OSError(28, "No space left on device")
