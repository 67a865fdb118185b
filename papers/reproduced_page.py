"""Write the page docs/reproduced.md from the files of experiments."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from papers.experiment import Outcome, Table

__all__ = ["as_markdown", "page", "section"]

PAPERS = {
    "dp-em": "DP-EM: Park, Foulds, Chaudhuri and Welling (2017)",
    "williams": "Probabilistic inference: Williams and McSherry (2010)",
    "xi": "Mixture models and Bayes error: Xi, Kantarcioglu and Inan (2011)",
    "survey": "Signal processing and machine learning: Sarwate and Chaudhuri (2013)",
}
VERDICTS = {True: "It holds.", False: "It does not hold.", None: "The runs do not decide it."}

OPENING = """# The papers, reproduced

Every table and figure of the papers that can be run, with noise that keeps the guarantee, and what this library gives
beside it. Numbers and pictures on this page were written by the runs that it names. In a checkout,
`python -m papers --list` has the entries, `python -m papers NAME` runs one, `make papers` runs all of them, and
`python -m papers --out docs/reproduced --page docs/reproduced.md` writes this page from what was measured.
"""


def page(folder: str | Path, names: Iterable[str], pictures: str = "reproduced") -> str:
    """Return the page, in Markdown, of all experiments in the folder.

    Parameters
    ----------
    folder : path
        With the files of ``run``.
    names : iterable of str
        The experiments, in the order of the page.
    pictures : str
        The path from the page to the folder.
    """
    sections, paper = [OPENING], None
    for name in names:
        file = Path(folder) / f"{name}.json"
        if not file.exists():
            continue
        if name.split("/")[0] != paper:
            paper = name.split("/")[0]
            sections.append(f"## {PAPERS[paper]}\n")
        sections.append(section(Outcome.from_file(file), pictures))
    return "\n".join(sections)


def section(outcome: Outcome, pictures: str) -> str:
    """Return the section of one experiment."""
    verdict = outcome.verdict
    how = f"`python -m papers {outcome.name}{' --quick' if outcome.quick else ''}`"
    return f"""### {outcome.title}

**The paper.** {outcome.claim}

**With honest noise.** {VERDICTS[verdict.holds]} {verdict.honest}

**Ours.** {verdict.ours}

{as_markdown(outcome.table)}

![{outcome.title}: what was measured, as in the table above]({pictures}/{outcome.name}.png)

{how}: {_duration(outcome.seconds)} of a processor, discreet {outcome.discreet}.
"""


def as_markdown(table: Table) -> str:
    """Return a table in Markdown."""
    lines = [[_cell(one) for one in row] for row in (table.head, ["---"] * len(table.head), *table.rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: float | int | str | None) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    return str(value).replace("|", "\\|")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
