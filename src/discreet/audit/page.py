"""The page of the documentation: what was attacked and what came out, from the files that ``make audit`` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.reproduce.experiment import Table
from discreet.reproduce.page import as_markdown

__all__ = ["page"]

OPENING = """# Attacked

What attackers could not do, measured. `make audit` runs everything on this page at full length, in less than an hour on
two cores; a short version of each attack is in `make test`; [Audit](audit.md) says how the attacks work and how to run
them on a model of your own. Every number here was written by a run of `make audit`.
"""

NOT_COVERED = """## What is not covered

- **An attack proves no promise.** A lower bound below the claim says only that this attacker, with these data sets and
  so many runs, saw no more. The promise rests on the proofs beside the code; attacks look for mistakes in them and in
  the code. Where "noticed from" says 1.3, an error of less than 30 % in the noise would have passed this attack (the
  search for worst neighbours, which looks at exact sums, finds errors of a hundredth in every query).
- **Small δ.** No number of runs that fits into an hour sees an event of probability 1e-6. What such a δ allows is
  covered by proofs and by the exact curves of the noise.
- **Time.** How long a fit takes, and how much memory, may tell of the rows. Nothing here measures it.
- **Idealised releases.** What says `exact: False` is drawn with floats, and an attack on the last bits can tell two
  data sets apart; the release says so (`Release.caveat`), and it is not what any estimator draws by default.
- **The machine.** Whoever reads the memory of the process, its swap file or the disk with the rows needs no attack.
- **What the owner states.** Bounds, units and functions of one's own (`sensitivity=`, scores) are taken at their word.
- **Large data.** Neighbours are small data sets, on which one row tells most. That the sums of large ones stay within
  the charged float error is attacked apart (order of summation, above).
"""


def page(folder: str | Path) -> str:
    """Return the page, in Markdown, of those parts that the folder has."""
    place = Path(folder)
    sections = [OPENING]
    attacks = _read(place, "attacks")
    if attacks:
        sections += [_attacks(attacks), _one_run(attacks)]
    for name, section in SECTIONS.items():
        figures = _read(place, name)
        if figures:
            sections.append(section(figures))
    return "\n".join([*sections, NOT_COVERED])


def _read(folder: Path, name: str) -> dict[str, Any]:
    file = folder / f"{name}.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def _attacks(found: Mapping[str, Any]) -> str:
    rows = [
        [
            each["name"], f"{each['epsilon_claimed']:.3g}", f"{each['delta']:.0e}" if each["delta"] else "0",
            f"{each['epsilon']:.2f}", f"{each['epsilon_of_any']:.2f}",
            "—" if each["noticed"] is None else f"{each['noticed']:.2f}", f"{each['runs']:,}", each["pair"],
            each["score"],
        ]
        for each in found["attacks"]
    ]  # fmt: skip
    broken = [each["name"] for each in found["attacks"] if not each["holds"]]
    head = ["attacked", "ε claimed", "δ", "ε at least", "of any kind", "noticed from", "runs a side", "neighbours",
            "by"]  # fmt: skip
    verdict = f"**Broken: {', '.join(broken)}.**" if broken else "No promise was broken."
    return f"""## Claimed against attacked

{len(rows)} mechanisms, statistics and estimators, each run again and again on the two neighbouring data sets on which
it tells most. {verdict} All bounds hold together with 99.9 % confidence.

- **ε at least**: the lower bound on ε at this δ. For Gaussian noise it follows from a bound on μ.
- **Of any kind**: the bound for a mechanism of which nothing is known but (ε, δ), by Clopper and Pearson. It is small
  where noise is Gaussian, since there (ε, δ) is far from what an attacker can do.
- **Noticed from**: noise that is too small by this factor would have been noticed. A dash: no factor would.
- **By**: what the attacker went by ([Audit](audit.md)).

{as_markdown(Table(head, rows))}
"""


def _one_run(found: Mapping[str, Any]) -> str:
    rows = [
        [
            each["name"], f"{each['epsilon_claimed']:.3g}", f"{each['delta']:.0e}", f"{each['epsilon']:.2f}",
            f"{each['right']} of {each['guesses']}", f"{each['canaries']:,}",
        ]
        for each in found.get("one_run", [])
    ]  # fmt: skip
    if not rows:
        return ""
    head = ["mixture", "ε claimed", "δ", "ε at least", "guesses right", "canaries"]
    return f"""### In one run

Mixtures fitted once to rows of which each was put in or left out by a coin (Steinke, Nasr and Jagielski 2023). One fit
proves less than thousands; it is the audit for models that take too long to fit again. In the same 99.9 %.

{as_markdown(Table(head, rows))}
"""


SECTIONS: dict[str, Any] = {}
