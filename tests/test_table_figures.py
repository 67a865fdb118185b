"""The figures of synthetic rows on the pages are those of the benchmark's file."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def script():
    spec = importlib.util.spec_from_file_location("table_figures", ROOT / "tools" / "table_figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["docs/benchmarks.md", "docs/comparison.md", "README.md"])
def test_a_page_has_what_the_file_says(page):
    figures = script()
    written = (ROOT / page).read_text(encoding="utf-8")
    assert written == figures.rewritten(page, figures.read()), "run python tools/table_figures.py"


def test_a_mean_has_only_tables_that_every_method_was_run_on():
    figures = script()
    made = [
        {"table": table, "method": method, "epsilon": 1.0, "seed": 0, "measures": {"two-way": value}}
        for table, method, value in (
            ("hospital", "synthesizer", 0.1),
            ("hospital", "mst", 0.3),
            ("marriage", "synthesizer", 0.9),
        )
    ]
    text = figures.of_final_tables(made, 1.0, ["synthesizer", "mst"], ["two-way"])
    assert "mean of hospital:" in text
    assert "| `TableSynthesizer` | .100 |" in text
    assert figures.of_final_tables(made, 1.0, ["synthesizer", "aim"], ["two-way"]) == ""
