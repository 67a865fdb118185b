"""Attack: the command line with flags, values and files that nobody meant. It ends in a plain message, and quietly."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

typer = pytest.importorskip("typer", reason="typer is not installed")
pytest.importorskip("duckdb", reason="duckdb is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("jinja2", reason="jinja2 is not installed")

import discreet as dp  # noqa: E402
from cli_folder import SCHEMA, Ran, command_line, make_folder, people, write_csv  # noqa: E402
from discreet.cli.app import application  # noqa: E402
from effort import measured, size  # noqa: E402
from public_calls import limited  # noqa: E402

CODES = {0, 1, 2, 3}
SECRET = "Zyxwvut"
INTERNAL = ("this is a bug", "Traceback", "set_int_max_str_digits", "recursion depth", "NoneType")
SECONDS = 60.0


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with files that are in order, and files that are not."""
    folder = make_folder(tmp_path_factory.mktemp("attacked"))
    write_csv(folder / "people.csv", [*people(300), (SECRET, SECRET, SECRET)])
    raw = gzip.compress((folder / "people.csv").read_bytes())
    model = (folder / "gaussians.json").read_text()
    files: dict[str, str | bytes] = {
        "empty.csv": "",
        "empty.json": "",
        "empty.toml": "",
        "empty.parquet": "",
        "binary.csv": bytes(range(256)) * 40,
        "binary.json": bytes(range(256)),
        "binary.toml": b"\xff\xfe\x00",
        "long.csv": "age,hours,income\n" + "9" * 300_000 + f",{SECRET},above\n",
        "header.csv": ",".join(f"c{j}" for j in range(3000)) + "\n",
        "rows.csv": f"41,{SECRET},below\n",
        "broken.csv.gz": raw[: len(raw) // 2],
        "head.csv.gz": raw[:12] + b"\0" * 40,
        "plain.csv.gz": f"age,hours,income\n1,2,{SECRET}\n",
        "deep.json": "[" * 50_000,
        "digits.json": '{"kind": ' + "9" * 5000 + "}",
        "twice.json": model.replace('"format": 1', '"format": 1, "format": 1'),
        "rows.json": json.dumps([SECRET] * 3),
        "other.json": model.replace('"GaussianMixture"', '"KMeans"'),
        "max_rows.json": model.replace('"max_rows": 1', '"max_rows": {}'),
        "nan.json": model.replace("0.", "NaN", 1),
        "deep.toml": "unit = " + "[" * 5000,
        "digits.toml": "[columns.age]\nlow = 1\nhigh = " + "9" * 5000,
        "odd.toml": SCHEMA.replace("low = 17", 'low = "x"'),
        "dotted.toml": "[columns]\nage.low = 0\nage.high = nan\n",
        "few.csv": "x0\n30\n",
        "wide.csv": "x0\n" + "1" * 200_000 + "\n30\n40\n",
        "not.duckdb": SECRET * 100,
        "not.ledger": SECRET * 100,
    }
    for name, content in files.items():
        place = folder / name
        place.write_bytes(content) if isinstance(content, bytes) else place.write_text(content)
    (folder / "a_folder.csv").mkdir()
    (folder / "a_folder.json").mkdir()
    for name in ("loop.csv", "loop.json", "loop.toml", "loop.ledger"):
        (folder / name).symlink_to(name)
    ledger = dp.Ledger(folder / "people.ledger")
    ledger.set_limit("people", dp.Guarantee(2.0, 1e-6))
    ledger.spend("people", dp.GaussianLoss(0.1), query="before")
    return folder


TEXTS = [
    "", " ", "nan", "inf", "-1", "0", "1e308", "5e-324", "9" * 400, "9" * 5000, "1,2,3", "a=b", "=", ":", "1:1e-6",
    "age", "hours", "income", "\ud800", "\u202eage", "a\0b", "'", "`", "--", "-", "((((", "age > 1", "2:3:4", "age=1:2",
    "age=90:17", "age=nan:inf", "income=a,b", "income=", "x" * 3000, "replace-one", "full", "adaptive",
]  # fmt: skip
ENDINGS = (".csv", ".json", ".toml", ".parquet", ".ledger", ".duckdb", ".gz")
# Valid lines to start from: one argument in them is then changed, or one added.
LINES = [
    "schema init people.csv",
    "schema check people.toml --data people.csv",
    "fit mixture people.csv --bounds age=17:90 --components 2 --steps 2 --epsilon 1",
    "fit table people.csv --schema people.toml --zero 'age_>_80' --epsilon 1",
    "fit kmeans people.csv --schema people.toml --clusters 2 --steps 1 --epsilon 0.1 --ledger people.ledger",
    "fit logistic people.csv --schema people.toml --target income --epsilon 1 --steps 2 --method gradient",
    "fit pca people.csv --schema people.toml --components 1 --epsilon 1",
    "fit regression people.csv --schema people.toml --target hours --epsilon 1",
    "fit classifier people.csv --schema people.toml --target income --epsilon 1 --where 'age_>_30'",
    "sample gaussians.json --rows 5 --out drawn.csv --overwrite",
    "query people.csv mean age --schema people.toml --ledger people.ledger --epsilon 0.01",
    "query people.csv histogram age --bins 3 --schema people.toml --ledger people.ledger --epsilon 0.01",
    "query people.csv quantile hours --q 0.5 --schema people.toml --ledger people.ledger --epsilon 0.01",
    "query people.csv count --by income --schema people.toml --ledger people.ledger --epsilon 0.01 --preview",
    "plan mean --rows 1000 --target 0.1",
    "explain --epsilon 1 --delta 1e-6 --rows 100",
    "explain --model gaussians.json",
    "compose gaussian:mu=0.1x5 laplace:epsilon=0.1 --delta 1e-6",
    "compose pure:epsilon=0.5x2 --delta 0",
    "budget show people.ledger",
    "budget history people.ledger --name people",
    "budget limit people.ledger 1:1e-6 --name people",
    "budget verify people.ledger",
    "audit nobody.json --seconds 0.01",
    "infer people.csv --draws 4 --chains 1 --warmup 2",
]
# What takes long by itself, and has tests of its own: a picture, a chain, an attack.
SLOW = ("report", "--posterior", "--all", "infer gaussians.json", "audit gaussians.json")


@st.composite
def lines(draw: Callable[[st.SearchStrategy[Any]], Any], files: list[str]) -> list[str]:
    """Return a line with some of its values changed, words left out, or flags of the same command put in."""
    words = [word.replace("'", "").replace("_>_", " > ") for word in draw(st.sampled_from(LINES)).split()]
    first = 2 if words[0] in ("schema", "budget") else 1
    known = FLAGS[" ".join(words[:first])]
    value = st.one_of(
        st.sampled_from(TEXTS),
        st.sampled_from(TEXTS),
        st.sampled_from(files),
        st.text(max_size=12),
        st.floats().map(str),
        st.integers(-(2**70), 2000).map(str),
    )
    for _ in range(draw(st.integers(1, 3))):
        places = [place for place in range(first, len(words)) if not words[place].startswith("--")]
        what = draw(st.sampled_from(["change"] * 6 + ["add"] * 3 + ["leave out", "put in"]))
        if what == "change" and places:
            place = draw(st.sampled_from(places))
            at_files = words[place].rpartition(".")[2] in ("csv", "json", "toml", "ledger")
            words[place] = draw(st.sampled_from([*files, *files, *TEXTS]) if at_files else value)
        elif what == "add":
            flag = draw(st.sampled_from(sorted(known)))
            words += [flag, draw(value)] if known[flag] else [flag]
        elif what == "leave out" and len(words) > first:
            del words[draw(st.integers(first, len(words) - 1))]
        else:
            words.insert(draw(st.integers(first, len(words))), draw(value))
    return words


def _flags() -> dict[str, dict[str, bool]]:
    """Return the flags of each command, and whether they take a value."""
    root = typer.main.get_command(application(fancy=False))
    result = {}
    for name, each in root.commands.items():
        for inner, command in getattr(each, "commands", {"": each}).items():
            flags = {one.opts[0]: not one.is_flag for one in command.params if one.opts[0].startswith("--")}
            left_out = ("--traceback", "--help", "--all", "--posterior", "--quick")  # they show rows, or take long
            result[f"{name} {inner}".strip()] = {flag: each for flag, each in flags.items() if flag not in left_out}
    return result


FLAGS = _flags()


def test_every_command_has_a_line():
    assert {name for name in FLAGS if not any(f"{line} ".startswith(f"{name} ") for line in LINES)} <= set(SLOW)


def run(words: list[str]) -> Ran:
    from click.testing import CliRunner

    with limited(SECONDS):
        return Ran(CliRunner().invoke(command_line(), words, prog_name="discreet"))


def spends() -> list[str]:
    return [entry.hash for entry in dp.Ledger("people.ledger").history()]


def wrong_with(words: list[str]) -> tuple[int, str | None]:
    """Run a line, and return its exit code and what is wrong with how it ended."""
    before = spends()
    ran = run(words)
    if not isinstance(ran.error, SystemExit | None):
        return ran.code, f"{type(ran.error).__name__}: {ran.error}"
    if ran.code not in CODES:
        return ran.code, f"exit code {ran.code}"
    told = next((word for word in INTERNAL if word in ran.printed), None)
    if told is not None:
        return ran.code, f"internal words: {ran.printed[-500:]}"
    if SECRET.lower() in ran.printed.lower():
        return ran.code, f"a row is shown: {ran.printed[-500:]}"
    # What failed while the rows were read stays recorded, as the documentation says: the noise may be out.
    if ran.code and spends() != before and "stays recorded" not in ran.printed:
        return ran.code, f"charged, and refused: {ran.printed[-500:]}"
    if ran.code and not ran.err.strip() and "--preview" not in words:
        return ran.code, "no message"
    return ran.code, None


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """Return a copy of it to work in, since commands may write over any file; and one that nobody may read."""
    copied = tmp_path / "attacked"
    shutil.copytree(made, copied, symlinks=True)
    (copied / "locked.csv").write_text(f"age,hours,income\n1,2,{SECRET}\n")
    (copied / "locked.csv").chmod(0)
    monkeypatch.chdir(copied)
    return copied


def test_whatever_is_written_a_command_ends_with_a_plain_message_and_spends_nothing(folder):
    files = sorted(place.name for place in folder.iterdir() if place.name.endswith(ENDINGS))
    files += [
        "nobody.csv",
        "nobody.json",
        "/dev/null",
        "/dev/stdin",
        "..",
        "a\0b.csv",
        "\udcff.csv",
        "x" * 5000 + ".csv",
    ]
    codes, commands = Counter[int](), Counter[str]()

    @settings(
        max_examples=size(50, 1500),
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(lines(files))
    def attacked(words: list[str]) -> None:
        if any(slow in " ".join(words) for slow in SLOW) or _large(words):
            return
        code, wrong = wrong_with(words)
        codes[code] += 1
        commands[words[0]] += 1
        assert wrong is None, f"discreet {words}: {wrong}"

    attacked()
    measured("input_cli", lines=codes.total(), codes=dict(codes), commands=dict(commands.most_common()))


def _large(words: list[str]) -> bool:
    """Return whether a line asks for much honest work."""
    numbers = [word for word in words if word.isdecimal()]
    return "sample" in words and any(len(number) > 5 for number in numbers)


@pytest.mark.parametrize(
    "name", ["broken.csv.gz", "head.csv.gz", "plain.csv.gz", "loop.csv", "a_folder.csv", "empty.csv"]
)
def test_a_file_of_rows_that_cannot_be_read_is_named_and_nothing_is_recorded(folder, name):
    line = ["fit", "kmeans", name, "--bounds", "age=17:90", "--epsilon", "1", "--out", f"{name}.out"]
    code, wrong = wrong_with(line)
    assert (code, wrong) == (1, None)
    assert not list(folder.glob("*.out*"))
    assert not list(folder.glob(".*.part"))


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["compose", "gaussian:mu=1,mu=2", "--delta", "1e-6"], 2, "expected one of gaussian:mu="),
        (["compose", f"gaussian:mu=1x{'9' * 5000}", "--delta", "1e-6"], 2, "expected one of gaussian:mu="),
        (["compose", "gaussian:mu=1e308", "--delta", "1e-6"], 0, ""),
        (["compose", "pure:epsilon=5e-324", "--delta", "1e-6"], 0, ""),
        (["explain", "--epsilon", "1", "--rows", "9" * 400], 1, "expected a whole number, at least 1 and at most"),
        (
            ["plan", "mean", "--rows", "9" * 400, "--target", "0.1"],
            1,
            "expected a whole number, at least 1 and at most",
        ),
        (["schema", "check", "digits.toml"], 1, "expected shorter numbers and flat lists"),
        (["schema", "check", "deep.toml"], 1, "not valid TOML"),
        (["schema", "init", "plain.csv.gz"], 1, "expected a file that gzip can read"),
        (["schema", "init", "a\0b.csv"], 2, "expected text without the character NUL"),
        (["explain", "--model", "max_rows.json"], 1, "max_rows={}: expected a whole number"),
        (["explain", "--model", "digits.json"], 1, "expected a fitted model as JSON"),
        (["report", "gaussians.json", "--out", "r.html", "--compare", "few.csv"], 1, "at least 2 complete rows"),
    ],
)
def test_plain_mistakes_have_plain_answers(folder, words, code, says):
    result, wrong = wrong_with(words)
    assert (result, wrong) == (code, None)
    assert says in " ".join(run(words).err.split())


def test_a_cell_that_is_far_too_long_is_no_row_to_compare_with(folder):
    from discreet.report.owned_rows import rows_from_csv

    model = dp.load_model("gaussians.json")
    assert rows_from_csv(model, "wide.csv").tolist() == [[30.0], [40.0]]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "code"), size([(signal.SIGTERM, 143)], [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
)
def test_a_command_that_is_stopped_leaves_no_half_of_a_file(made, number, code):
    command = [
        sys.executable,
        "-m",
        "discreet",
        "sample",
        "gaussians.json",
        "--rows",
        "1000000000",
        "--out",
        "much.csv",
    ]
    process = subprocess.Popen(
        command,
        cwd=made,
        stderr=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # what a shell starts in the background ignores it
    )
    try:
        end = time.monotonic() + SECONDS
        while not list(made.glob(".much.csv.*.part")) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(SECONDS) == code
    finally:
        process.kill()
        process.communicate()
        left = [*made.glob("*much.csv*"), *made.glob(".much.csv*")]
        for file in left:
            file.unlink()
    assert not left
