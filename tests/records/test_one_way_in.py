"""One way in: one grammar of bounds, one name for a data set, one place that knows libraries; what a count is."""

from __future__ import annotations

import re
from pathlib import Path

import dask.array
import dask.dataframe
import duckdb
import numpy as np
import pandas as pd
import polars
import pytest

import discreet as dp
from discreet import statistics as st
from discreet.planning.recognition import recognize
from discreet.records import dataset_name, open_records, read_bounds
from kept_connections import kept_connections

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"age": RNG.uniform(20, 80, 400), "pressure": RNG.uniform(100, 200, 400)})
ROWS = FRAME.to_numpy()
PAIRS = [(0, 120), (40, 250)]
BOX = dp.Box([0, 40], [120, 250])
NAMED = {"age": (0, 120), "pressure": (40, 250)}
SURE = 1e6
PROMISE = {"epsilon": 1.0, "delta": 1e-6}


class TestBounds:
    @pytest.mark.parametrize("bounds", [PAIRS, tuple(PAIRS), [[0, 120], [40, 250]], np.array(PAIRS), BOX])
    def test_a_list_of_pairs_has_one_pair_a_column(self, bounds):
        assert read_bounds(bounds) == BOX
        result = st.mean(ROWS, [0, 1], epsilon=SURE, bounds=bounds)
        assert result.value == pytest.approx(ROWS.mean(axis=0), rel=1e-3)
        model = dp.GaussianMixture(1, bounds=bounds, **PROMISE).fit(ROWS)
        assert dp.GaussianMixture.from_json(model.to_json()).means_.tolist() == model.means_.tolist()
        curator = dp.Curator(open_records(ROWS, bounds=bounds))
        assert curator.space == BOX

    def test_two_pairs_are_pairs_whatever_they_might_also_be(self):
        """As low ends and high ends these would be 0 to 1 and 5 to 9: another answer, and no error."""
        assert read_bounds([(0, 5), (1, 9)]) == dp.Box([0, 1], [5, 9])

    def test_one_pair_is_for_all_columns(self):
        for pair in ((0, 250), [0, 250], np.array([0, 250]), (np.float64(0), np.int64(250))):
            assert read_bounds(pair) == dp.Box(0, 250)

    def test_a_mapping_is_by_name(self):
        fill = dp.Number(0, 120, missing="fill", fill=40)
        result = read_bounds({"age": fill, "pressure": [40, 250], "ward": dp.Category(["a", "b"])})
        assert result == dp.Schema({"age": fill, "pressure": dp.Number(40, 250), "ward": dp.Category(["a", "b"])})
        assert read_bounds({"age": (0, 120)}, {"ward": ["a"]}).names == ("age", "ward")

    @pytest.mark.parametrize("bounds", [[[0, 40], [120, 250]], ((0, 40), (120, 250)), np.array([[0, 40], [120, 250]])])
    def test_two_lists_of_two_are_two_pairs(self, bounds):
        assert read_bounds(bounds) == dp.Box([0, 120], [40, 250])

    @pytest.mark.parametrize(
        ("bounds", "write"),
        [
            (([0, 40], [120, 250]), r"Box\(low=\[0, 40\], high=\[120, 250\]\)"),
            ((np.array([0, 40]), np.array([120, 250])), r"Box\(low=\[0, 40\], high=\[120, 250\]\)"),
            (([0, -3], [1, 3]), r"Box\(low=\[0, -3\], high=\[1, 3\]\)"),
            (([0, 40, 1], [120, 250, 9]), r"Box\(low=\[0, 40, 1\], high=\[120, 250, 9\]\)"),
            (np.array([[0, 40, 1], [120, 250, 9]]), r"Box\(low=\[0, 40, 1\], high=\[120, 250, 9\]\)"),
            (([0], [120]), r"Box\(low=\[0\], high=\[120\]\)"),
        ],
    )
    def test_low_ends_and_high_ends_are_written_as_a_box(self, bounds, write):
        for ask in (
            lambda: st.mean(ROWS, 0, epsilon=1.0, bounds=bounds),
            lambda: dp.KMeans(1, bounds=bounds, **PROMISE).fit(ROWS),
        ):
            with pytest.raises(ValueError, match=write):
                ask()

    @pytest.mark.parametrize("bounds", [None, {}, [], "age", 3, {"age": 3}, [(0, 1), 2], (1, 2, 3), {"age": (1, 0)}])
    def test_what_is_none_is_refused_with_an_example(self, bounds):
        with pytest.raises(ValueError, match=r"bounds.*expected.*write"):
            read_bounds(bounds)

    def test_a_database_takes_the_same(self, tmp_path):
        FRAME.to_parquet(tmp_path / "clinic.parquet")
        how = {"budget": dp.Guarantee(1e6, 1e-6), "name": "clinic"}
        for place, bounds in enumerate((PAIRS, BOX, NAMED, {"age": dp.Number(0, 120), "pressure": (40, 250)})):
            for data in (FRAME, tmp_path / "clinic.parquet"):
                db = dp.StatisticalDatabase(data, bounds=bounds, ledger=tmp_path / f"{place}.ledger", **how)
                assert db.curator.space == BOX

    def test_statistics_take_classes_as_a_database_does(self):
        frame = FRAME.assign(ward=["a", "b"] * 200)
        result = st.mean(frame, "age", by="ward", epsilon=SURE, bounds={"age": (0, 120)}, classes={"ward": ["b", "a"]})
        assert result.value == pytest.approx([FRAME.age[1::2].mean(), FRAME.age[::2].mean()], rel=1e-3)

    def test_numbers_with_a_fill_come_back_from_json(self):
        bounds = {"age": dp.Number(0, 120, missing="fill", fill=40), "pressure": (40, 250)}
        model = dp.GaussianMixture(1, bounds=bounds, **PROMISE).fit(FRAME)
        assert type(model).from_json(model.to_json()).bounds == bounds

    def test_a_plan_reads_the_bounds_of_an_estimator(self):
        for bounds in (PAIRS, NAMED, BOX):
            assert recognize(dp.PCA(bounds=bounds)).space == BOX

    def test_an_estimator_has_bounds_of_numbers_only(self):
        with pytest.raises(ValueError, match=r"bounds\['pressure'\].*Number"):
            dp.KMeans(1, bounds={"age": (0, 120), "pressure": dp.Category([1])}, **PROMISE).fit(FRAME)


SOURCES = {
    "pandas": lambda: FRAME,
    "polars": lambda: polars.from_pandas(FRAME),
    "arrow": lambda: polars.from_pandas(FRAME).to_arrow(),
    "numpy": lambda: ROWS,
    "torch": lambda: pytest.importorskip("torch").tensor(ROWS),
    "another array library": lambda: pytest.importorskip("array_api_strict").asarray(ROWS),
    "dask frame": lambda: dask.dataframe.from_pandas(FRAME, npartitions=2),
    "dask array": lambda: dask.array.from_array(ROWS, chunks=(100, 2)),
    "list": ROWS.tolist,
}


class TestRows:
    @pytest.mark.parametrize("kind", SOURCES)
    def test_every_opener_reads_every_library(self, kind):
        data = SOURCES[kind]()
        records = open_records(data, bounds=PAIRS)
        assert (records.rows, records.space) == (400, BOX)
        assert st.mean(data, 1, epsilon=SURE, bounds=PAIRS).value == pytest.approx(ROWS[:, 1].mean(), rel=1e-3)
        assert dp.KMeans(1, bounds=PAIRS, **PROMISE).fit(data).n_features_in_ == 2

    def test_what_is_stored_is_read_as_declared_and_what_is_handed_over_is_checked(self, tmp_path):
        gaps = FRAME.assign(age=[np.nan, *FRAME.age[1:]])
        gaps.to_parquet(tmp_path / "gaps.parquet")
        stored = open_records(tmp_path / "gaps.parquet", bounds=NAMED)
        assert sum(len(block.x) for block in stored.blocks()) == 399
        with pytest.raises(ValueError, match="the column 'age' holds NaN"):
            open_records(gaps, bounds=NAMED)
        assert sum(len(block.x) for block in open_records(gaps, bounds=NAMED, complete=False).blocks()) == 399
        fill = NAMED | {"age": dp.Number(0, 120, missing="fill", fill=40)}
        assert sum(len(block.x) for block in open_records(gaps, bounds=fill).blocks()) == 400

    def test_the_column_of_the_unit_is_not_among_those_that_are_checked(self):
        rows = np.column_stack([ROWS.astype(object), np.arange(400) // 2])
        rows[0, 2] = None  # whose row it is: nobody's, and so it is left out
        for bounds in (PAIRS, NAMED):
            records = open_records(rows, bounds=bounds, unit=2, max_rows=1)
            assert sum(len(block.x) for block in records.blocks()) == 200


DECLARED = "--bounds age=0:120 --bounds pressure=40:250"


def names_recorded(ledger: Path) -> list[str]:
    return list(dp.Ledger(ledger).datasets())


class TestNames:
    def ask(self, folder, data, table=None):
        """Ask the library and the command line about the same rows, one ledger each; return the names they use."""
        from cli_folder import discreet

        paths = folder / "library.ledger", folder / "shell.ledger"
        how = {"bounds": NAMED, "budget": dp.Guarantee(5.0, 1e-6), "table": table}
        dp.StatisticalDatabase(data, ledger=paths[0], **how).mean("age", share=0.01)
        flag = "" if table is None else f"--table '{table}'"
        ran = [
            discreet(f"query '{data}' mean age {DECLARED} --ledger '{paths[1]}' --limit 5:1e-6 --share 0.01 {flag}"),
            discreet(
                f"fit kmeans '{data}' {DECLARED} --ledger '{paths[1]}' --epsilon 0.01 --out '{folder}/m.json' "
                f"--clusters 1 --overwrite {flag}"
            ),
        ]
        assert [one.code for one in ran] == [0, 0], [one.err for one in ran]
        assert names_recorded(paths[0]) == names_recorded(paths[1])
        return names_recorded(paths[0])

    def test_a_link_has_the_name_of_the_file(self, tmp_path):
        FRAME.to_csv(tmp_path / "people.v2.csv", index=False)
        (tmp_path / "latest.csv").symlink_to(tmp_path / "people.v2.csv")
        assert self.ask(tmp_path, tmp_path / "latest.csv") == ["people"]
        assert self.ask(tmp_path, tmp_path / "people.v2.csv") == ["people"]

    def test_a_link_to_a_folder_has_its_name(self, tmp_path):
        (tmp_path / "visits.parts").mkdir()
        FRAME.to_parquet(tmp_path / "visits.parts" / "0.parquet")
        (tmp_path / "now").symlink_to(tmp_path / "visits.parts")
        assert self.ask(tmp_path, tmp_path / "now") == ["visits"]
        assert self.ask(tmp_path, f"{tmp_path}/visits.parts/") == ["visits"]

    def test_a_table_of_duckdb_has_its_schema_and_name(self, tmp_path):
        path = tmp_path / "clinic.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.register("frame", FRAME)
            connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
        with kept_connections():
            for table in (None, "visits", "main.visits"):
                assert self.ask(tmp_path, path, table) == ["main.visits"]
        assert dataset_name(f"{path}/") == "main.visits"  # by any spelling one data set has one budget

    def test_names_with_points_are_told_apart(self, tmp_path):
        path = tmp_path / "clinic.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute('CREATE SCHEMA a; CREATE TABLE a."b.c" AS SELECT 1 AS x')
            connection.execute('CREATE SCHEMA "a.b"; CREATE TABLE "a.b".c AS SELECT 1 AS x')
            connection.execute("CREATE TABLE Visits AS SELECT 1 AS x")
        assert dataset_name(dp.Table(path, "Visits")) == "main.Visits"
        with pytest.raises(ValueError, match="table='visits': expected one of"):
            dataset_name(dp.Table(path, "visits"))

    def test_a_table_of_postgresql_has_the_schema_in_which_the_server_finds_it(self, server, tmp_path):
        schema = server.new_schema()
        with server.connect(schema) as connection:
            for name in ("visits", '"Visits"', '"a.b"'):
                connection.execute(f"CREATE TABLE {name} (age FLOAT8, pressure FLOAT8)")
                connection.execute(
                    f"INSERT INTO {name} SELECT 20 + i % 60, 100 + i % 90 FROM generate_series(1, 500) i"
                )
        with kept_connections():
            for table in ("visits", f"{schema}.visits"):
                assert self.ask(tmp_path, server.url(schema), table) == [f"{schema}.visits"]
        assert dataset_name(dp.Table(server.url(schema), "Visits")) == f"{schema}.Visits"
        assert dataset_name(dp.Table(server.url(schema), "a.b")) == f'{schema}."a.b"'

    def test_a_name_of_ones_own_comes_first(self, tmp_path):
        FRAME.to_parquet(tmp_path / "clinic.parquet")
        db = dp.StatisticalDatabase(
            tmp_path / "clinic.parquet", bounds=NAMED, budget=dp.Guarantee(1.0, 1e-6), ledger=tmp_path / "l", name="own"
        )
        assert db.name == "own"

    @pytest.mark.parametrize("data", [FRAME, ROWS, "/"])
    def test_what_has_no_name_needs_one(self, data):
        with pytest.raises(ValueError, match="name=None: expected the data set's name"):
            dataset_name(data)

    def test_a_hidden_file_has_a_name(self, tmp_path):
        assert dataset_name(tmp_path / ".people.csv") == "people"


class TestCounts:
    GAPS = pd.DataFrame({"age": [30.0, np.nan] * 300, "ward": ["a", None, "b"] * 200})
    SCHEMA = dp.Schema({"age": dp.Number(0, 120), "ward": dp.Category(["a", "b"])})

    def test_a_gap_in_another_column_drops_no_row_from_a_count(self, tmp_path):
        how = {"schema": self.SCHEMA, "neighbors": "add-remove"}
        assert st.count(self.GAPS, epsilon=1e3, **how).value == pytest.approx(600, abs=0.1)
        curator = dp.Curator(self.GAPS, **how)
        assert st.count(curator, epsilon=1e3).value == pytest.approx(600, abs=0.1)
        assert st.count(curator.where("age > 10"), epsilon=1e3).value == pytest.approx(300, abs=0.1)
        assert st.count(curator, by="ward", epsilon=1e3).value == pytest.approx([200, 200], abs=0.1)
        db = dp.StatisticalDatabase(
            self.GAPS, name="gaps", ledger=tmp_path / "l", budget=dp.Guarantee(1e6, 1e-6, "add-remove"), **how
        )
        assert db.count(epsilon=1e4).value == pytest.approx(600, abs=1)

    def test_only_so_many_rows_of_a_person_count(self):
        frame = self.GAPS.assign(person=np.arange(600) // 3)
        schema = dp.Schema(dict(self.SCHEMA.columns), unit="person", max_rows=2)
        assert st.count(frame, epsilon=1e3, schema=schema).value == pytest.approx(400, abs=0.1)

    def test_what_is_public_is_not_counted_whoever_is_asked(self):
        with pytest.raises(ValueError, match="600, is public"):
            st.count(self.GAPS, epsilon=1.0, schema=self.SCHEMA)


SOURCE = Path(dp.__file__).parent
LOOKING = re.compile(
    r"is_array_api_obj|from_native|is_dask_collection|modules\.get\(\"(dask|pandas|polars|pyarrow)|PathLike \| Table"
    r"|import (pandas|polars|dask|pyarrow)"
)
PARSING = re.compile(r"Number\(\*\w|Box\(\*bounds|_is_pair|isinstance\((bounds|ends), (tuple|list|Box)")


@pytest.mark.parametrize(
    "room", ["door", "mechanisms", "statistics", "database", "signals", "estimators", "audit", "cli"]
)
def test_only_records_know_libraries_and_the_grammar_of_bounds(room):
    for path in sorted((SOURCE / room).rglob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            written = line.strip().startswith((">>>", "...", "#"))
            assert written or not LOOKING.search(line), f"{path}:{number}: {line}"
            assert written or not PARSING.search(line), f"{path}:{number}: {line}"
