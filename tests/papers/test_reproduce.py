"""How experiments are run: once a part, resumed, and shown from what was kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from squares import measure, measured

from papers.entries import ENTRIES, experiment
from papers.experiment import Experiment, Outcome, Table, Verdict
from papers.reproduced_page import as_markdown, page
from papers.running import read_saved_parts, run


def parts(quick):
    return [{"x": x, "seed": 0} for x in range(2 if quick else 5)]


def numbers(found):
    return {"x": [part["x"] for part, _ in found], "square": [result["square"] for _, result in found]}


def table(numbers):
    return Table(("x", "x²"), list(zip(numbers["x"], numbers["square"], strict=True)))


def draw(numbers):
    figure = Figure(figsize=(2, 2))
    figure.subplots().plot(numbers["x"], numbers["square"])
    return figure


def verdict(numbers):
    return Verdict(max(numbers["square"]) > 10, f"up to {max(numbers['square']):g}", "the same")


SQUARES = Experiment("survey/squares", "Squares", "They grow.", parts, measure, numbers, table, draw, verdict)


@pytest.fixture(autouse=True)
def nothing_measured():
    measured.clear()


def test_a_run_writes_what_it_measured(tmp_path):
    outcome = run(SQUARES, tmp_path, jobs=1, progress=False)
    assert measured == [0, 1, 2, 3, 4]
    assert (outcome.verdict.holds, outcome.quick) == (True, False)
    assert Outcome.from_file(tmp_path / "survey" / "squares.json").to_json() == outcome.to_json()
    assert (tmp_path / "survey" / "squares.png").read_bytes()[:4] == b"\x89PNG"


def test_what_was_measured_is_taken_up_again(tmp_path):
    assert run(SQUARES, tmp_path, quick=True, jobs=1, progress=False).verdict.holds is False
    run(SQUARES, tmp_path, jobs=1, progress=False)
    assert measured == [0, 1, 2, 3, 4]  # the first two once


def test_an_interruption_loses_only_the_part_under_way(tmp_path):
    def interrupted(x, seed):
        if x == 3:
            raise KeyboardInterrupt
        return measure(x, seed)

    with pytest.raises(KeyboardInterrupt):
        run(replace(SQUARES, measure=interrupted), tmp_path, jobs=1, progress=False)
    assert measured == [0, 1, 2]
    notes = tmp_path / "survey" / "squares.parts.jsonl"
    notes.write_text(notes.read_text() + '\n{"version": "cut o')
    for _ in range(2):
        run(SQUARES, tmp_path, jobs=1, progress=False)
        assert measured == [0, 1, 2, 3, 4]


def test_parts_of_other_code_are_not_taken_up(tmp_path):
    run(SQUARES, tmp_path, quick=True, jobs=1, progress=False)
    notes = tmp_path / "survey" / "squares.parts.jsonl"
    lines = [json.loads(line) for line in notes.read_text().splitlines() if line]
    notes.write_text("\n".join(json.dumps(line | {"version": "older"}) for line in lines) + "\n")
    assert read_saved_parts(notes, SQUARES.version) == {}
    assert len(read_saved_parts(notes, "older")) == 2


def test_processes_give_the_same(tmp_path):
    one = run(SQUARES, tmp_path / "one", jobs=1, progress=False)
    two = run(SQUARES, tmp_path / "two", jobs=2, progress=False)
    assert replace(two, seconds=0.0).to_json() == replace(one, seconds=0.0).to_json()


def test_the_page_has_what_the_files_have(tmp_path):
    run(SQUARES, tmp_path, jobs=1, progress=False)
    text = page(tmp_path, ["survey/other", "survey/squares"])
    assert "| 4 | 16 |" in text
    assert "It holds. up to 16" in text
    assert "(reproduced/survey/squares.png)" in text
    assert "other" not in text


def test_the_page_of_the_documentation_is_that_of_its_files():
    docs = Path(__file__).parents[2] / "docs"
    text = (docs / "reproduced.md").read_text(encoding="utf-8")
    assert text == page(docs / "reproduced", ENTRIES)
    assert all(f"`python -m papers {name}" in text for name in ENTRIES)


def test_tables_in_markdown():
    assert as_markdown(Table(("a", "c"), [("x|y", None), (-0.5, 3)])).splitlines()[2:] == [
        "| x\\|y |  |",
        "| −0.5 | 3 |",
    ]


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_is_one(name):
    result = experiment(name)
    assert result.name == name
    quick, full = ([json.dumps(part, sort_keys=True) for part in result.parts(which)] for which in (True, False))
    assert 0 < len(set(quick)) == len(quick) <= len(set(full)) == len(full)
    assert [json.loads(part) for part in full] == list(result.parts(False))


def test_unknown_names():
    with pytest.raises(ValueError, match="name='figure-9'"):
        experiment("figure-9")
