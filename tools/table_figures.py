"""Write the tables of synthetic rows into the pages, from what ``benchmarks/bench_table.py`` measured.

    python tools/table_figures.py

The results are in ``benchmarks/table_results.json``. What stands between the marks of a page is written anew:
docs/benchmarks.md has everything, docs/comparison.md and README.md the means over the tables that played no part in any
choice. A mean has only tables that every method of its rows was run on. ``tests/test_table_figures.py`` compares the
pages with the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "table_results.json"
CHOOSING, FINAL = "adult", ("hospital", "structure", "insurance", "marriage")
NAMES = {
    "synthesizer": "`TableSynthesizer`",
    "mixture": "`TableMixture`, K = 20",
    "independent": "independent columns",
    "aim-2MB": "AIM, 2 MB (dpmm)",
    "aim": "AIM, 80 MB (dpmm)",
    "mst": "MST (dpmm)",
    "privbayes": "PrivBayes (dpmm)",
    "pacsynth": "PAC-Synth (SmartNoise)",
    "real": "real rows",
}
MEASURES = ("one-way", "two-way", "correlation", "Cramér's V", "boosting AUC", "boosting accuracy", "logistic AUC")
MORE = ("strong pair", "impossible")  # of the tables that have them
SHORT = ("two-way", "correlation", "Cramér's V", "boosting AUC", "logistic AUC")

Results = list[dict[str, Any]]


def read() -> Results:
    """Return every result of the file."""
    results: Results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return results


def select(results: Results, table: str, method: str, epsilon: float) -> Results:
    """Return the results of a method on a table, one a seed."""
    wanted = None if method == "real" else epsilon
    return [one for one in results if (one["table"], one["method"], one["epsilon"]) == (table, method, wanted)]


def value(results: Results, measure: str) -> float | None:
    """Return the mean of a measure over seeds; None where there is none."""
    values = [one["measures"][measure] for one in results if measure in one["measures"]]
    return fmean(values) if values else None


def number(shown: float | None) -> str:
    """Return a measure to three decimals, without the zero before the point."""
    return "" if shown is None else f"{shown:.3f}".replace("0.", ".", 1).replace("-.", "−.")


def seconds(results: Results) -> str:
    """Return the mean of the processor's seconds."""
    spent = [one["cpu_seconds"] for one in results if "cpu_seconds" in one]
    return f"{fmean(spent):.0f}" if spent else ""


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def epsilons(results: Results) -> list[float]:
    """Return every ε that something was measured at."""
    return sorted({one["epsilon"] for one in results if one["epsilon"] is not None})


def of_one_table(results: Results, table: str) -> str:
    """Return all methods and budgets of one table."""
    more = [name for name in MORE if any(name in one["measures"] for one in results if one["table"] == table)]
    rows = []
    for epsilon in epsilons(results):
        for method, name in NAMES.items():
            those = select(results, table, method, epsilon)
            if those and (method != "real" or epsilon == epsilons(results)[-1]):
                cells = [number(value(those, measure)) for measure in (*MEASURES, *more)]
                budget = ["", name] if method == "real" else [f"{epsilon:g}", name]
                rows.append([*budget, *cells, "" if method == "real" else str(len(those)), seconds(those)])
    return markdown(["ε", "method", *MEASURES, *more, "seeds", "CPU s"], rows)


def of_final_tables(results: Results, epsilon: float, methods: Sequence[str], measures: Sequence[str]) -> str:
    """Return the means over those final tables that every one of the methods was run on; "" where there is none."""
    tables = [table for table in FINAL if all(select(results, table, method, epsilon) for method in methods)]
    if not tables:
        return ""

    def mean(method: str, measure: str) -> float | None:
        each = [value(select(results, table, method, epsilon), measure) for table in tables]
        known = [one for one in each if one is not None]
        return fmean(known) if known else None

    rows = [[NAMES[method], *(number(mean(method, measure)) for measure in measures)] for method in methods]
    return f"ε = {epsilon:g}, mean of {', '.join(tables)}:\n\n" + markdown(["method", *measures], rows)


def present(results: Results, epsilon: float) -> list[str]:
    """Return the methods that were run on at least one final table."""
    return [method for method in NAMES if any(select(results, table, method, epsilon) for table in FINAL)]


def benchmarks(results: Results) -> str:
    """Return everything, for docs/benchmarks.md."""
    parts = []
    for epsilon in epsilons(results):
        everywhere = [
            method
            for method in present(results, epsilon)
            if all(select(results, table, method, epsilon) for table in FINAL)
        ]
        if everywhere:
            parts.append(of_final_tables(results, epsilon, everywhere, (*MEASURES, *MORE)))
    parts += [f"### {table}\n\n{of_one_table(results, table)}" for table in FINAL]
    if any(one["table"] == CHOOSING for one in results):
        parts.append(f"### {CHOOSING}, on which settings were chosen\n\n{of_one_table(results, CHOOSING)}")
    return "\n".join(parts)


def comparison(results: Results) -> str:
    """Return ours beside each rival, each on the tables that both were run on, for docs/comparison.md."""
    rivals = ("aim-2MB", "aim", "mst", "privbayes", "pacsynth", "mixture")
    each = [
        of_final_tables(results, epsilon, ["synthesizer", rival, "real"], (*SHORT, *MORE))
        for epsilon in epsilons(results)
        for rival in rivals
    ]
    return "\n".join(filter(None, each))


def front(results: Results) -> str:
    """Return ours beside AIM at ε = 1, for the README."""
    return of_final_tables(results, 1.0, ["synthesizer", "aim-2MB", "mixture", "real"], SHORT)


PAGES = {"docs/benchmarks.md": benchmarks, "docs/comparison.md": comparison, "README.md": front}
BEGIN, END = "<!-- written by tools/table_figures.py -->\n", "<!-- end of what it writes -->\n"


def rewritten(page: str, results: Results) -> str:
    """Return a page with its tables from the results."""
    before, rest = (ROOT / page).read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{PAGES[page](results)}\n{END}{after}"


def main() -> None:
    """Write the pages."""
    results = read()
    for page in PAGES:
        (ROOT / page).write_text(rewritten(page, results), encoding="utf-8")


if __name__ == "__main__":
    main()
