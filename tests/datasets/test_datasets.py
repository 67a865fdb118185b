"""The promises of ``discreet.datasets`` about its value, the bundled table and the fetched tables.

Downloads go through pooch to a small server on this machine. What needs the published rows reads them from the
folder ``DISCREET_DATA`` and is skipped where that is not set.
"""

import copy
import gzip
import io
import os
import pickle
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import discreet.datasets as datasets
from discreet.datasets import Dataset, Plane, TrueMixture, load_adult
from discreet.datasets import readers as reading
from discreet.datasets.content import ParsedTable, content_hash
from discreet.datasets.sources import SOURCES, Remote

FETCHERS = {name: getattr(datasets, f"fetch_{name}") for name in SOURCES}
LABELLED = sorted(set(SOURCES) - {"gowalla"})

PUBLISHED = os.environ.get("DISCREET_DATA", "")  # kept here, as some tests unset it
needs_published_rows = pytest.mark.skipif(
    not PUBLISHED, reason="DISCREET_DATA does not name a folder with the published tables"
)


def published(file):
    return Path(PUBLISHED, file)


# --- the value ----------------------------------------------------------------------------------------------


def small(**changes):
    fields = {
        "name": "small",
        "X": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        "y": [0, 1, 1],
        "columns": ("a", "b"),
        "bounds": ((0.0, 10.0), (0.0, 10.0)),
        "licence": "CC0",
        "citation": "nobody",
    }
    return Dataset(**(fields | changes))


def test_rows_are_a_read_only_contiguous_float64_copy():
    given = np.asfortranarray(np.arange(6, dtype=np.int32).reshape(3, 2))
    dataset = small(X=given)
    given[:] = 0
    assert dataset.X.dtype == np.float64
    assert dataset.X.flags.c_contiguous
    assert dataset.X.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    with pytest.raises(ValueError, match="read-only"):
        dataset.X[0, 0] = 1.0


def test_labels_units_and_truth_are_read_only_as_well():
    truth = TrueMixture(np.ones(1), np.zeros((1, 2)), np.eye(2)[None])
    dataset = small(unit=[7, 7, 8], truth=truth)
    assert dataset.y.dtype == dataset.unit.dtype == np.int64
    arrays = [dataset.y, dataset.unit, *dataset.truth]
    assert not any(array.flags.writeable for array in arrays)
    assert truth.weights.flags.writeable, "the caller's own arrays are left alone"


def test_a_dataset_cannot_be_changed():
    with pytest.raises(AttributeError):
        small().name = "other"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda dataset: pickle.loads(pickle.dumps(dataset))])
def test_copies_and_pickles_keep_everything_and_stay_read_only(copied):
    twin = copied(small(unit=[1, 2, 3], truth=Plane(np.ones(2))))
    assert twin.X.tolist() == small().X.tolist()
    assert twin.unit.tolist() == [1, 2, 3]
    assert twin.truth.coef.tolist() == [1.0, 1.0]
    assert not twin.X.flags.writeable


def test_length_and_representation_show_no_value():
    dataset = small(X=[[123.25, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert len(dataset) == 3
    assert repr(dataset) == "Dataset(name='small', shape=(3, 2), licence='CC0')"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"X": [1.0, 2.0, 3.0]}, r"X has shape \(3,\): expected two dimensions"),
        ({"X": [[1.0, 2.0], [3.0]]}, "X: expected a rectangular array of numbers"),
        ({"columns": ("a",)}, "columns has 1 names: expected 2"),
        ({"y": [0, 1]}, r"y has type int64 and shape \(2,\): expected whole numbers of shape \(3,\)"),
        ({"y": [0.0, 1.0, 1.0]}, "y has type float64"),
        ({"unit": ["a", "b", "c"]}, "unit has type <U1"),
        ({"bounds": ((0.0, 1.0),)}, "bounds=.*: expected None or 2 pairs"),
        ({"bounds": ((0.0, 1.0), (1.0, 1.0))}, "bounds=.*low < high"),
        ({"bounds": ((0.0, 1.0), (0.0, np.inf))}, "bounds=.*low < high"),
        ({"bounds": 5}, "bounds=5: expected None or 2 pairs"),
    ],
)
def test_a_malformed_dataset_is_refused_by_the_name_of_the_field(changes, told):
    with pytest.raises(ValueError, match=told):
        small(**changes)


def test_an_error_about_rows_does_not_quote_them():
    with pytest.raises(ValueError, match="X: expected") as caught:
        small(X=[["Smith", 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert "Smith" not in str(caught.value)
    assert caught.value.__suppress_context__


def within_bounds(dataset):
    low, high = np.transpose(dataset.bounds)
    return np.array_equal(dataset.X, np.clip(dataset.X, low, high))


# --- the bundled table --------------------------------------------------------------------------------------


def test_adult_has_the_published_counts():
    adult = load_adult()
    assert adult.X.shape == (48_842, 6)
    assert int(adult.y.sum()) == 11_687
    assert adult.columns[0] == "age"
    assert adult.columns[-1] == "hours-per-week"
    assert adult.licence == "CC BY 4.0"
    assert "10.24432/C5XW20" in adult.citation


def test_adult_has_the_content_that_was_checked():
    adult = load_adult()
    expected = "776c68f9f6b74ab8bd9f03d7caef7aa5d768cc0a63e6c66f5ecb8868f8f6d05c"
    assert content_hash(ParsedTable(adult.X, adult.y)) == expected


def test_adult_is_divided_as_at_uci():
    train, test = load_adult(subset="train"), load_adult(subset="test")
    assert (len(train), int(train.y.sum())) == (32_561, 7_841)
    assert (len(test), int(test.y.sum())) == (16_281, 3_846)
    assert np.array_equal(np.vstack([train.X, test.X]), load_adult().X)


def test_adult_lies_in_its_code_book():
    assert within_bounds(load_adult())


def test_adult_refuses_an_unknown_subset_and_a_bad_flag():
    with pytest.raises(ValueError, match="subset='validation': expected one of 'all', 'train', 'test'"):
        load_adult(subset="validation")
    with pytest.raises(ValueError, match="return_X_y='yes': expected True or False"):
        load_adult(return_X_y="yes")


@needs_published_rows
def test_adult_equals_the_original_files():
    X, y = [], []
    for name in ("adult.data.gz", "adult.test.gz"):
        with gzip.open(published(name), "rt") as file:
            for line in file:
                cells = [cell.strip() for cell in line.split(",")]
                if len(cells) == 15:
                    X.append([float(cells[i]) for i in (0, 2, 4, 10, 11, 12)])
                    y.append(cells[14].startswith(">50K"))
    adult = load_adult()
    assert np.array_equal(adult.X, X)
    assert np.array_equal(adult.y, y)


def test_adult_loads_from_a_wheel(tmp_path):
    pytest.importorskip("hatchling")
    root = Path(__file__).parents[2]
    if not (root / "pyproject.toml").is_file():
        pytest.skip("these tests do not lie beside the project that they belong to")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    # A wheel is a zip file that Python can import from, so nothing of the working tree is at hand here.
    code = "import discreet.datasets as d; print(d.__file__, len(d.load_adult()))"
    environment = os.environ | {"PYTHONPATH": str(wheel)}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    assert wheel.name in run.stdout
    assert run.stdout.endswith(" 48842\n")


def test_importing_the_room_loads_no_heavy_module():
    code = (
        "import sys, discreet; before = set(sys.modules); import discreet.datasets; "
        "print(sorted({'pooch', 'sklearn', 'scipy', 'matplotlib', 'pandas'} & (set(sys.modules) - before)))"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("name", [name for name in datasets.__all__ if name[:5] in {"load_", "fetch", "make_"}])
def test_every_function_tells_licence_and_citation(name):
    text = getattr(datasets, name).__doc__
    assert "Licence:" in text
    assert "Cite " in text
    assert ">>> " in text


# --- the hash of the content --------------------------------------------------------------------------------


def test_the_hash_sees_values_shape_labels_and_units():
    rows = np.arange(6.0).reshape(3, 2)
    labels = np.array([0, 1, 1])
    tables = [
        ParsedTable(rows),
        ParsedTable(rows.reshape(2, 3)),
        ParsedTable(np.nextafter(rows, 9.0)),
        ParsedTable(rows, labels),
        ParsedTable(rows, unit=labels),
        ParsedTable(rows, labels, labels),
    ]
    assert len({content_hash(table) for table in tables}) == len(tables)


def test_the_hash_does_not_see_layout_or_byte_order():
    rows = np.arange(6.0).reshape(3, 2)
    labels = np.array([0, 1, 1])
    same = ParsedTable(np.asfortranarray(rows).astype(">f8"), labels.astype(np.uint8))
    assert content_hash(same) == content_hash(ParsedTable(rows, labels))


# --- readers of the remote formats, on small files in the same form -----------------------------------------


def test_comma_separated_numbers_are_read_with_and_without_header(tmp_path):
    (tmp_path / "plain.csv").write_text("6,148,0.627,1\n1,85,0.351,0\n")
    with gzip.open(tmp_path / "named.csv.gz", "wt") as file:
        file.write("a,b,c,outcome\n6,148,0.627,1\n1,85,0.351,0\n")
    plain = reading.comma_separated(tmp_path / "plain.csv", header=False)
    named = reading.comma_separated(tmp_path / "named.csv.gz", header=True)
    assert plain.X.tolist() == [[6.0, 148.0, 0.627], [1.0, 85.0, 0.351]]
    assert plain.y.tolist() == [1, 0]
    assert content_hash(plain) == content_hash(named)


def test_a_label_that_is_no_whole_number_is_not_rounded(tmp_path):
    (tmp_path / "bad.csv").write_text("6,148,0.5\n")
    with pytest.raises(ValueError, match="whole"):
        reading.comma_separated(tmp_path / "bad.csv", header=False)


@pytest.mark.parametrize("form", ["%d %d", "%.18e\t%.18e"])
def test_sipu_files_are_read_in_either_notation(tmp_path, form):
    np.savetxt(tmp_path / "s.data.gz", [[664159, 550946], [665845, 557965]], fmt=form)
    np.savetxt(tmp_path / "s.labels0.gz", [1, 15], fmt="%d")
    table = reading.numbers_and_labels(tmp_path / "s.data.gz", tmp_path / "s.labels0.gz")
    assert table.X.tolist() == [[664159.0, 550946.0], [665845.0, 557965.0]]
    assert table.y.tolist() == [1, 15]


def test_parkinsons_has_its_label_in_the_eighteenth_column_and_the_person_in_the_name(tmp_path):
    header = ",".join(["name", *SOURCES["parkinsons"].columns[:16], "status", *SOURCES["parkinsons"].columns[16:]])
    first = ["phon_R01_S01_1", *range(1, 17), 1, *range(17, 23)]
    second = ["phon_R01_S50_6", *range(1, 17), 0, *range(17, 23)]
    lines = [header, *(",".join(map(str, row)) for row in (first, second))]
    (tmp_path / "parkinsons.data").write_text("\n".join(lines) + "\n")
    table = reading.parkinsons_csv(tmp_path / "parkinsons.data")
    assert table.X.tolist() == [list(range(1, 23))] * 2
    assert table.y.tolist() == [1, 0]
    assert table.unit.tolist() == [1, 50]


def test_gowalla_text_is_joined_ordered_and_repeated(tmp_path):
    # As at the origin: tabs, lines that end in CR LF, none at the end of the last.
    texts = {
        "places": "0\t30.2359091167\t-97.7951395833\r\n2\t59.1\t18.2\r\n1\t40.5\t-73.25",
        "train": "1\t2\t1\r\n0\t1\t2",
        "test": "0\t0\t1",
        "tune": "1\t1\t3",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    table = reading.gowalla_text(*(tmp_path / name for name in texts))
    assert table.unit.tolist() == [0, 0, 0, 1, 1, 1, 1]
    places = np.array([[30.2359091167, -97.7951395833], [40.5, -73.25], [59.1, 18.2]], dtype=np.float32)
    assert np.array_equal(table.X, places[[0, 1, 1, 1, 1, 1, 2]])
    np.savez(
        tmp_path / "same.npz",
        poi_latlon=places,
        user=np.array([0, 0, 1, 1], dtype=np.uint16),
        poi=np.array([0, 1, 1, 2], dtype=np.uint16),
        count=np.array([1, 2, 3, 1], dtype=np.uint16),
    )
    assert content_hash(reading.gowalla_npz(tmp_path / "same.npz")) == content_hash(table)


def test_faces_from_matlab_are_turned_upright(tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    images = np.random.default_rng(0).integers(0, 256, (20, 64, 64), dtype=np.uint8)
    # MATLAB stores an image column by column.
    scipy_io.savemat(tmp_path / "faces.mat", {"faces": np.stack([image.ravel(order="F") for image in images], axis=1)})
    np.savez(tmp_path / "faces.npz", images=images)
    table = reading.olivetti_mat(tmp_path / "faces.mat")
    assert np.array_equal(table.X, images.reshape(20, -1))
    assert table.y.tolist() == [0] * 10 + [1] * 10
    assert content_hash(table) == content_hash(reading.olivetti_npz(tmp_path / "faces.npz"))


# --- the ways to a table ------------------------------------------------------------------------------------


class Server:
    """Files by their path, and the paths that were asked for."""

    def __init__(self):
        self.files, self.asked = {}, []
        files, asked = self.files, self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                content = files.get(self.path)
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def close(self):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    monkeypatch.delenv("DISCREET_CACHE", raising=False)
    server = Server()
    yield server
    server.close()


def serve(server, monkeypatch, name, files, *, known=None, content=None):
    """Let a table come from the server: what it sends, the hashes of its bytes, the hash of its content."""
    source = SOURCES[name]
    server.files.update({f"/{file}": sent for file, sent in files.items()})
    remote = tuple(
        Remote(url=f"{server.url}/{r.file}", file=r.file, known_hash=(known or {}).get(r.file)) for r in source.remote
    )
    monkeypatch.setitem(SOURCES, name, replace(source, remote=remote, content=content or source.content))


PIMA_FILE = "pima-indians-diabetes.data.csv"
PIMA_SENT = b"6,148,72,35,0,33.6,0.627,50,1\n1,85,66,29,0,26.6,0.351,31,0\n"
PIMA_IN_FOLDER = "a,b,c,d,e,f,g,h,outcome\n" + PIMA_SENT.decode()
PIMA_ROWS = ParsedTable(
    np.array([[6, 148, 72, 35, 0, 33.6, 0.627, 50], [1, 85, 66, 29, 0, 26.6, 0.351, 31]]), np.array([1, 0])
)


@pytest.fixture
def pima(server, monkeypatch):
    pytest.importorskip("pooch")
    serve(server, monkeypatch, "pima", {PIMA_FILE: PIMA_SENT}, content=content_hash(PIMA_ROWS))
    return server


def cached(folder):
    return sorted(path.name for path in Path(folder).rglob("*") if path.is_file())


def test_a_download_is_kept_and_not_repeated(pima, tmp_path):
    first = datasets.fetch_pima(data_home=tmp_path)
    X, y = datasets.fetch_pima(data_home=str(tmp_path), return_X_y=True)
    assert pima.asked == [f"/{PIMA_FILE}"]
    assert cached(tmp_path) == [PIMA_FILE]
    assert np.array_equal(first.X, PIMA_ROWS.X)
    assert np.array_equal(X, first.X)
    assert np.array_equal(y, [1, 0])
    assert first.columns[0] == "pregnancies"


def test_the_cache_is_where_the_variable_says(pima, tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "from-variable"))
    datasets.fetch_pima()
    assert cached(tmp_path / "from-variable") == [PIMA_FILE]
    datasets.fetch_pima(data_home=tmp_path / "from-argument")
    assert cached(tmp_path / "from-argument") == [PIMA_FILE], "the argument goes before the variable"


def test_the_cache_is_pooch_s_own_by_default(pima, tmp_path, monkeypatch):
    import pooch

    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / project)
    datasets.fetch_pima()
    assert cached(tmp_path / "discreet") == [PIMA_FILE]


def test_bytes_with_another_checksum_are_refused_and_not_kept(server, monkeypatch, tmp_path):
    pytest.importorskip("pooch")
    known = {PIMA_FILE: "md5:" + 32 * "0"}
    serve(server, monkeypatch, "pima", {PIMA_FILE: PIMA_SENT}, known=known, content=content_hash(PIMA_ROWS))
    with pytest.raises(ValueError, match=r"not the published file.*by hand.*DISCREET_DATA") as caught:
        datasets.fetch_pima(data_home=tmp_path)
    assert PIMA_FILE in str(caught.value)
    assert cached(tmp_path) == []


@pytest.mark.parametrize(
    "sent",
    [
        PIMA_SENT.replace(b"148", b"149"),
        PIMA_SENT[:-30],
        b"<html>moved</html>",
        b"",
    ],
    ids=["another value", "a row less", "a web page", "nothing"],
)
@pytest.mark.filterwarnings("ignore:loadtxt:UserWarning")
def test_other_content_is_refused_and_does_not_stay_in_the_cache(pima, tmp_path, sent):
    pima.files[f"/{PIMA_FILE}"] = sent
    with pytest.raises(ValueError, match=r"not the published rows of pima; removed from the cache") as caught:
        datasets.fetch_pima(data_home=tmp_path)
    assert str(tmp_path / "pima" / PIMA_FILE) in str(caught.value)
    assert "Call fetch_pima again" in str(caught.value)
    assert cached(tmp_path) == []
    pima.files[f"/{PIMA_FILE}"] = PIMA_SENT
    assert len(datasets.fetch_pima(data_home=tmp_path)) == 2


def test_all_files_of_a_table_go_when_its_content_is_wrong(server, monkeypatch, tmp_path):
    pytest.importorskip("pooch")
    visits = dict.fromkeys(("Gowalla_train.txt", "Gowalla_test.txt", "Gowalla_tune.txt"), b"0\t0\t1")
    serve(server, monkeypatch, "gowalla", {"Gowalla_poi_coos.txt": b"0\t1.0\t2.0", **visits})
    with pytest.raises(ValueError, match=r"Gowalla_tune\.txt: not the published rows of gowalla"):
        datasets.fetch_gowalla(data_home=tmp_path)
    assert len(server.asked) == 4
    assert cached(tmp_path) == []


def test_a_failed_download_tells_where_and_what_else_to_do(pima, tmp_path):
    del pima.files[f"/{PIMA_FILE}"]
    with pytest.raises(OSError, match=r"no download from http://127\.0\.0\.1.*404.*by hand.*DISCREET_DATA"):
        datasets.fetch_pima(data_home=tmp_path)
    assert cached(tmp_path) == []


def in_folder(folder, text=PIMA_IN_FOLDER):
    with gzip.open(folder / "pima.csv.gz", "wt") as file:
        file.write(text)


def test_the_named_folder_goes_before_cache_and_network(pima, tmp_path, monkeypatch):
    in_folder(tmp_path)
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    assert np.array_equal(datasets.fetch_pima(data_home=tmp_path / "cache").X, PIMA_ROWS.X)
    assert pima.asked == []
    assert not (tmp_path / "cache").exists()


def test_the_named_folder_needs_no_pooch(pima, tmp_path, monkeypatch):
    in_folder(tmp_path)
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert len(datasets.fetch_pima()) == 2


def test_a_table_that_the_named_folder_lacks_is_downloaded(pima, tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    assert len(datasets.fetch_pima(data_home=tmp_path / "cache")) == 2
    assert len(pima.asked) == 1


@pytest.mark.parametrize("text", ["a,outcome\n1,2\n", "not a table"])
@pytest.mark.filterwarnings("ignore:loadtxt:UserWarning")
def test_a_wrong_file_in_the_named_folder_is_refused_but_left_alone(pima, tmp_path, monkeypatch, text):
    in_folder(tmp_path, text)
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"pima\.csv\.gz: not the published rows of pima.*Replace it, or unset"):
        datasets.fetch_pima(data_home=tmp_path / "cache")
    assert (tmp_path / "pima.csv.gz").exists()
    assert pima.asked == []


def test_a_folder_that_is_not_there_is_an_error_and_no_reason_to_download(pima, tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path / "mistyped"))
    with pytest.raises(ValueError, match=r"DISCREET_DATA='.*mistyped': expected an existing folder"):
        datasets.fetch_pima(data_home=tmp_path)
    assert pima.asked == []


def test_without_pooch_the_error_says_what_to_install(pima, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'discreet\[data\]'"):
        datasets.fetch_pima(data_home=tmp_path)


@pytest.mark.parametrize("data_home", [5, b"folder", ""])
def test_a_data_home_that_is_no_path_is_refused(pima, data_home):
    with pytest.raises(ValueError, match=r"data_home=.*: expected the path of a folder, or None"):
        datasets.fetch_pima(data_home=data_home)


def test_every_source_is_complete():
    for name, source in SOURCES.items():
        assert source.name == name
        assert len(source.content) == 64
        assert source.bounds is None or len(source.bounds) == len(source.columns)
        assert all(remote.url.startswith("https://") for remote in source.remote)
        assert source.licence
        assert source.citation


# --- the published rows -------------------------------------------------------------------------------------

SHAPES = {
    "lifesci": (26_733, 10),
    "pima": (768, 8),
    "parkinsons": (195, 22),
    "gowalla": (620_683, 2),
    "olivetti": (400, 4_096),
    "s1": (5_000, 2),
}
POSITIVE = {"lifesci": 804, "pima": 268, "parkinsons": 147}
PERSONS = {"parkinsons": 32, "gowalla": 5_628, "olivetti": 40}


@needs_published_rows
@pytest.mark.parametrize("name", sorted(SOURCES))
def test_the_folder_gives_the_published_rows(name, tmp_path):
    dataset = FETCHERS[name](data_home=tmp_path)
    assert cached(tmp_path) == []
    assert dataset.X.shape == SHAPES[name]
    assert (None if dataset.unit is None else len(np.unique(dataset.unit))) == PERSONS.get(name)
    if name in POSITIVE:
        assert int(dataset.y.sum()) == POSITIVE[name]
    assert dataset.bounds is None or within_bounds(dataset)


@needs_published_rows
@pytest.mark.parametrize("name", LABELLED)
def test_labelled_tables_come_as_a_pair_if_asked(name):
    X, y = FETCHERS[name](return_X_y=True)
    assert X.shape == SHAPES[name]
    assert y.shape == SHAPES[name][:1]


def lifesci_as_sent():
    return {"lifesci.csv": gzip.decompress(published("lifesci.csv.gz").read_bytes())}


def pima_as_sent():
    _, _, rows = gzip.decompress(published("pima.csv.gz").read_bytes()).partition(b"\n")
    return {PIMA_FILE: rows}


def parkinsons_as_sent():
    return {"parkinsons.data": gzip.decompress(published("parkinsons.csv.gz").read_bytes())}


def gowalla_as_sent():
    with np.load(published("gowalla_checkins.npz")) as file:
        places = [f"{i}\t{lat}\t{lon}" for i, (lat, lon) in enumerate(file["poi_latlon"].astype(float).tolist())]
        visits = np.stack([file["user"], file["poi"], file["count"]], axis=1).tolist()
    np.random.default_rng(0).shuffle(visits)
    lines = ["\t".join(map(str, visit)) for visit in visits]
    parts = {
        "Gowalla_poi_coos.txt": places,
        "Gowalla_train.txt": lines[:250_000],
        "Gowalla_test.txt": lines[250_000:330_000],
        "Gowalla_tune.txt": lines[330_000:],
    }
    return {file: "\r\n".join(part).encode() for file, part in parts.items()}


def olivetti_as_sent():
    from scipy.io import savemat

    with np.load(published("olivetti_faces.npz")) as file:
        faces = file["images"].transpose(0, 2, 1).reshape(400, 4_096).T
    stream = io.BytesIO()
    savemat(stream, {"faces": faces})
    return {"olivettifaces.mat": stream.getvalue()}


def s1_as_sent():
    rows = np.loadtxt(published("s1.csv.gz"), delimiter=",", skiprows=1, dtype=int).tolist()
    data = "".join(f"{x} {y}\n" for x, y, _ in rows)
    labels = "".join(f"{label}\n" for _, _, label in rows)
    return {"s1.data.gz": gzip.compress(data.encode()), "s1.labels0.gz": gzip.compress(labels.encode())}


AS_SENT = {
    "lifesci": lifesci_as_sent,
    "pima": pima_as_sent,
    "parkinsons": parkinsons_as_sent,
    "gowalla": gowalla_as_sent,
    "olivetti": olivetti_as_sent,
    "s1": s1_as_sent,
}


@needs_published_rows
@pytest.mark.parametrize("name", sorted(SOURCES))
def test_the_download_gives_the_published_rows(name, server, monkeypatch, tmp_path):
    # The rows are written in the form of the origin and must have the same content after the way through the
    # server, pooch and the other reader. Of lifesci the bytes are the original ones, so their MD5 is checked too.
    pytest.importorskip("pooch")
    files = AS_SENT[name]()
    known = {remote.file: remote.known_hash for remote in SOURCES[name].remote} if name == "lifesci" else None
    serve(server, monkeypatch, name, files, known=known)
    dataset = FETCHERS[name](data_home=tmp_path)
    assert dataset.X.shape == SHAPES[name]
    assert cached(tmp_path) == sorted(files)


@needs_published_rows
def test_faces_are_those_of_the_usual_loader():
    # The first figures that scikit-learn's loader prints, which scales by the largest grey level, 242.
    X = datasets.fetch_olivetti().X / 242.0
    assert X[0, :3] == pytest.approx([0.30991736, 0.3677686, 0.41735536], abs=1e-7)
    assert X[0, -3:] == pytest.approx([0.15289256, 0.16115703, 0.1570248], abs=1e-7)
    assert X[1, :3] == pytest.approx([0.45454547, 0.47107437, 0.5123967], abs=1e-7)


@needs_published_rows
def test_the_folder_may_hold_the_files_of_the_origin(monkeypatch, tmp_path):
    """Somebody without a network puts the downloaded files there as they are."""
    original = gzip.decompress(published("lifesci.csv.gz").read_bytes())
    (tmp_path / "lifesci.csv").write_bytes(original)
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    assert datasets.fetch_lifesci().X.shape == (26733, 10)
