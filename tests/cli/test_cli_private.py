"""Nothing of a row is printed, whatever stands in the files: the command line against poisoned ones."""

from __future__ import annotations

import gzip
import logging
import warnings
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="typer is not installed")
pytest.importorskip("duckdb", reason="duckdb is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

from cli_folder import ROWS, SCHEMA, discreet, people, write_csv  # noqa: E402
from discreet.cli.command import command  # noqa: E402
from discreet.cli.error_messages import message_for  # noqa: E402
from discreet.cli.printing import CommandOutput  # noqa: E402
from discreet.planning import PlanningWarning  # noqa: E402

SECRET = "Zyxwvut"
POISON = [
    (f"{SECRET}", "40", "below"),
    ("1e999", f'"{SECRET}', "below"),
    ("0x41", "nan", f"{SECRET}"),
    (f"=cmd|{SECRET}", "-inf", "a\0b"),
    ("30", f"{SECRET}\n{SECRET}", "above", SECRET, SECRET),
    (SECRET,),
]


@pytest.fixture
def folder(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    Path("people.toml").write_text(SCHEMA)
    return tmp_path


def quiet(line: str) -> int:
    """Run a command and see that nothing private was printed; return its exit code."""
    ran = discreet(line)
    assert SECRET.lower() not in ran.printed.lower(), f"{line}\n{ran.printed}"
    assert not ran.counts_rows()
    return ran.code


COMMANDS = [
    "fit mixture {data} --schema people.toml --components 2 --epsilon 1 --neighbors add-remove --overwrite",
    "fit logistic {data} --schema people.toml --target income --epsilon 1 --neighbors add-remove --overwrite",
    "query {data} mean age --by income --schema people.toml --neighbors add-remove --ledger l.ledger --limit 3:1e-6"
    " --name people",
    "query {data} median hours --schema people.toml --neighbors add-remove --ledger l.ledger --name people",
    "schema init {data}",
    "schema check people.toml --data {data} --json",
]


def test_poisoned_cells_and_the_number_of_rows_show_nowhere(folder, caplog):
    write_csv(Path("people.csv"), [*people(ROWS - len(POISON)), *POISON])
    raw = Path("people.csv").read_bytes() + b"\xff\xfe" + SECRET.encode() + b',"' + SECRET.encode() + b"\n"
    Path("people.csv").write_bytes(raw)
    Path("people.csv.gz").write_bytes(gzip.compress(raw))
    assert [quiet(line.format(data="people.csv")) for line in COMMANDS] == [0] * len(COMMANDS)
    assert [quiet(line.format(data="people.csv.gz")) for line in COMMANDS[2:]] == [0] * len(COMMANDS[2:])
    assert quiet("budget history l.ledger") == 0
    assert quiet("budget show l.ledger --json") == 0
    assert SECRET not in caplog.text
    assert SECRET not in Path("model.json").read_text()


def test_a_schema_to_fill_in_depends_on_no_row(folder):
    drafts = []
    for seed in (1, 2):
        rows = people(100 * seed, seed)
        write_csv(Path("people.csv"), rows)
        columns = dict(zip(("age", "hours", "income"), zip(*rows, strict=True), strict=True))
        table = pa.table({name: list(values) for name, values in columns.items()})
        pq.write_table(table.set_column(2, "income", table["income"].dictionary_encode()), "people.parquet")
        drafts.append([discreet(f"schema init people.{suffix}").out for suffix in ("csv", "parquet")])
    assert drafts[0] == drafts[1]
    assert "[columns.age]  # integer" in drafts[0][1]
    assert "[columns.age]\n# numbers:" in drafts[0][0]  # a CSV file states no types, and none is guessed
    assert discreet("schema init people.csv").code == 0


def test_a_first_line_that_is_a_row_is_not_taken_for_names(folder):
    Path("people.csv").write_text(f"41,{SECRET},below\n35,{SECRET},above\n")
    for line in COMMANDS:
        assert quiet(line.format(data="people.csv")) == 1
    assert "expected a first line with the names" in discreet("schema init people.csv").err


def test_rows_in_the_place_of_another_file_are_not_quoted(folder):
    write_csv(Path("people.csv"), POISON)
    Path("rows.toml").write_text(f"{SECRET}, 41\n")
    Path("rows.parquet").write_text(f"age\n{SECRET}\n")
    Path("rows.duckdb").write_text(f"age\n{SECRET}\n")
    Path("rows.arrow").write_text(f"age\n{SECRET}\n")
    wrong = [
        "fit kmeans people.csv --schema people.csv --epsilon 1",
        "fit kmeans people.csv --schema rows.toml --epsilon 1",
        "schema check people.csv",
        "sample people.csv --rows 1 --out rows.csv",
        "explain --model people.csv",
        "budget show people.csv",
        "fit kmeans rows.parquet --bounds age=1:2 --epsilon 1",
        "fit kmeans rows.duckdb --bounds age=1:2 --epsilon 1",
        "fit kmeans rows.arrow --bounds age=1:2 --epsilon 1",
    ]
    assert [quiet(line) for line in wrong] == [1] * len(wrong)


def test_a_damaged_file_fails_without_its_parsers_words(folder):
    pq.write_table(pa.table({"age": [SECRET] * 5000}), "people.parquet", compression="none", use_dictionary=False)
    raw = bytearray(Path("people.parquet").read_bytes())
    raw[4:64] = b"\xff" * 60  # the head of the first page
    Path("people.parquet").write_bytes(raw)
    line = "fit kmeans people.parquet --bounds age=1:2 --clusters 1 --epsilon 1 --ledger l.ledger --limit 1:1e-6"
    assert quiet(line) == 1
    assert "Its own error is left out, since it may show rows" in discreet(line + " --name other").err
    shown = discreet(line + " --name third --traceback")
    assert (shown.code, "Traceback (most recent call last)" in shown.err) == (1, True)
    assert not Path("model.json").exists()


def caught(code: str, module: str) -> str:
    try:
        exec(compile(code, "a.py", "exec"), {"__name__": module})  # noqa: S102
    except Exception as error:
        return message_for(error)
    raise AssertionError


def test_words_are_shown_where_the_library_wrote_them_and_nowhere_else():
    unknown = "ValueError: this is a bug or a broken file; rerun with --traceback on data you may show"
    assert caught("raise ValueError('age: expected a number')", "discreet.records.box") == "age: expected a number"
    assert caught(f"int('{SECRET}')", "discreet.records.box") == unknown  # of Python itself, in the library's code
    assert caught(f"raise ValueError('{SECRET}')", "pyarrow.lib") == unknown
    assert caught(f"raise ValueError('{SECRET}')", "discreet_rows") == unknown
    wrapped = f"try:\n    int('{SECRET}')\nexcept ValueError as error:\n    raise"
    assert caught(wrapped, "discreet.records.box") == unknown
    assert caught("import adbc_driver_nowhere", "discreet.records.box").endswith("pip install 'discreet[all]'")


def test_warnings_of_others_are_not_shown(capsys):
    @command()
    def warned() -> CommandOutput:
        warnings.warn_explicit(f"cannot read {SECRET}", UserWarning, "/somewhere/pyarrow/csv.py", 1)
        warnings.warn("the library's own", PlanningWarning, stacklevel=1)
        return CommandOutput({}, ["fine"])

    warned(as_json=False, traceback=False)
    assert capsys.readouterr() == ("fine\n", "note: the library's own\n")


@pytest.mark.parametrize(
    "first", ["Alice Smith,cardiology", "Alice Smith,1980-02-03", "Alice Smith,", "Alice Smith,3/4/80"]
)
def test_a_first_line_that_may_be_a_row_is_not_shown(folder, first):
    Path("rows.csv").write_text(f"{first}\nBob Jones,surgery\n")
    lines = ["fit kmeans rows.csv --bounds age=17:90 --epsilon 1 --out k.json"]
    lines += ["query rows.csv mean age --bounds age=17:90 --ledger q.ledger --limit 1:1e-6"]
    lines += ["schema check people.toml --data rows.csv"]
    lines += ["schema init rows.csv"]
    lines += ["schema init rows.csv --header"] if "cardiology" not in first else []  # else it has been stated
    for line in lines:
        told = discreet(line)
        assert told.code == 1
        assert "nothing of it is shown" in told.err
        assert "Alice" not in told.out + told.err
    assert not Path("q.ledger").exists()


FIRST_ROWS = [  # none has a cell that is a number, a date or empty, and none has a cell twice
    "Smith,C50.9,berlin",
    "Smith,12 kg,berlin",
    "Smith,44%,berlin",
    "Smith,$12,berlin",
    "Smith,yes,berlin",
    "smith;57,3;berlin",
    "smith\t1st\tberlin",
    "smith|a@b.org|berlin",
    '"Smith, Alice",cardiology,berlin',
    "Smith,female,berlin",
    "Smith,NA,berlin",
    "Smith,3rd floor,berlin",
    "Smith,+49 30 1234,berlin",
    "Smith,A-123,berlin",
    "Smith,?,berlin",
]


@pytest.mark.parametrize("first", FIRST_ROWS)
def test_no_cell_of_a_row_gets_into_a_schema(folder, first):
    Path("rows.csv").write_text(f"{first}\nJones,other,paris\n")
    for line in ("schema init rows.csv", "schema init rows.csv --json", "schema init rows.csv --out draft.toml"):
        told = discreet(line)
        assert told.code == 1
        assert "nothing of it is shown" in told.err.replace("\n", " ")
        assert "--header" in told.err
        assert not any(cell in (told.out + told.err).lower() for cell in ("smith", "berlin", "12", "c50", "a@b"))
    assert not Path("draft.toml").exists()


def test_who_states_that_the_first_line_has_names_gets_them(folder):
    Path("rows.csv").write_text("blood pressure,weight (kg),Größe\n120,80,170\n")
    assert discreet("schema init rows.csv").code == 1
    assert '[columns."blood pressure"]' in discreet("schema init rows.csv --header").out
    Path("rows.csv").write_text("capital-gain,Sepal.Length,x1,_id,größe\n1,2,3,4,5\n")
    assert discreet("schema init rows.csv").code == 0
    Path("rows.csv").write_text("12,Smith\n13,Jones\n")
    assert discreet("schema init rows.csv --header").code == 1  # no command reads a file with such names


def test_a_draft_says_that_its_names_are_the_first_line(folder):
    Path("rows.csv").write_text("smith,cardiology\njones,surgery\n")  # a row, which looks like names
    assert "If that line is a row, delete this file" in discreet("schema init rows.csv").out
