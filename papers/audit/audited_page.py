"""Write the page docs/audited.md from the files that ``make audit`` wrote."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from papers.experiment import Table
from papers.reproduced_page import as_markdown

__all__ = ["page", "read_attacks"]

Lines = dict[str, dict[str, Any]]  # records of tests, by name

OPENING = """# Attacked

Attacks on this library, and their results. `make audit` runs everything on this page at full length; a short version of
each attack is in `make test`; [Audit](audit.md) says how the attacks work and how to run them on a model of your own.
Every number here was written by such runs.
"""

NOT_COVERED = """## What is not covered

- **An attack proves no guarantee.** A lower bound below the claim says only that this attacker learned no more, with
  these data sets and so many runs. The guarantee rests on the proofs beside the code; attacks look for mistakes in the
  proofs and in the code. Where "noticed from" says 1.3, an error of less than 30 % in the noise would have passed this
  attack (the search for worst neighbours, which compares exact sums, finds errors of a hundredth in every query).
- **Small δ.** No number of runs that fits into an hour observes an event of probability 1e-6. Such a δ is covered by
  proofs and by the exact privacy curves of the noise.
- **Side channels.** The time and the memory of a fit may depend on the rows. They are not measured here.
- **Idealised releases.** A release with `exact: False` is drawn with floats, and an attack on rounding may learn more
  than the stated distribution allows. The release says so (`Release.caveat`), and no estimator draws it by default.
- **The machine.** An attacker who can read the memory of the process, its swap file or the disk with the rows needs
  no release.
- **Statements of the owner.** Bounds, units and functions of one's own (`sensitivity=`, scores) are trusted.
- **Large data.** Neighbours are small data sets, on which one row has the largest effect. The order of summation is
  attacked separately, to check that the sums of large data sets stay within the charged float error.
"""


def page(folder: str | Path) -> str:
    """Return the page, in Markdown, of all parts in the folder."""
    place = Path(folder)
    sections = [OPENING]
    found = read_attacks(place)
    if found["attacks"]:
        sections += [_attacks(found), _one_run(found)]
    for name, section in SECTIONS.items():
        lines = _read_lines(place / f"{name}.jsonl")
        if lines:
            sections.append(section(lines))
    if len(sections) == 1:
        raise ValueError(
            f"{place}: expected a folder with what python -m papers audit --out, or make audit, has written"
        )
    return "\n".join([*filter(None, sections), NOT_COVERED])


def read_attacks(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the results of attacks in a folder; raise an error if its file is something else."""
    file = folder / "attacks.json"
    if not file.exists():
        return {"attacks": [], "one_run": []}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return {name: [dict(each) for each in found[name]] for name in ("attacks", "one_run")}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{file}: expected what python -m papers audit --out wrote; remove it, or name another folder"
        ) from error


def _read_lines(file: Path) -> Lines:
    """Return the records of tests, sorted by name."""
    if not file.exists():
        return {}
    found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {line.pop("what"): line for line in sorted(found, key=lambda line: str(line["what"]))}


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
    doubt = sum(1.0 - each["confidence"] for each in (*found["attacks"], *found["one_run"]))
    head = ["attacked", "ε claimed", "δ", "ε at least", "of any kind", "noticed from", "runs a side", "neighbours",
            "by"]  # fmt: skip
    verdict = f"**Refuted: {', '.join(broken)}.**" if broken else "No guarantee was refuted."
    return f"""## Claimed against attacked

{len(rows)} mechanisms, statistics and estimators, each run many times on the two neighbouring data sets on which its
outputs differ most. {verdict} All bounds on this page hold together with {100.0 * (1.0 - doubt):.2f} % confidence.

- **ε at least**: the lower bound on ε at this δ. For Gaussian noise it follows from a bound on μ.
- **Of any kind**: the bound for an arbitrary (ε, δ) mechanism, by Clopper and Pearson. It is small where noise is
  Gaussian, since there (ε, δ) is far from the exact trade-off curve.
- **Noticed from**: noise that is too small by this factor would have been detected. A dash: none would.
- **By**: the score that the attacker used ([Audit](audit.md)).

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

Mixtures fitted once to rows, each of which was included or left out by a coin (Steinke, Nasr and Jagielski 2023). One
fit proves less than thousands; it is the audit for models that take too long to fit again.

{as_markdown(Table(head, rows))}
"""


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    return as_markdown(Table(head, rows))


def _share(value: float) -> str:
    return f"{100.0 * value:.1f} %"


def _broken(lines: Lines) -> str:
    rows = [
        [each["subject"], each["fault"], f"{each['caught']} of {each['repeats']}", f"{each['runs']:,}"]
        for each in lines.values()
    ]
    return f"""### Broken on purpose

The same attacks on the real code with one planted fault, at 99 % confidence: how often they detected it.

{_table(["attacked", "fault", "caught", "runs a side"], rows)}
"""


def _power(lines: Lines) -> str:
    told = "; ".join(
        f"{each['caught']} of {each['repeats']} times with {each['runs']:,} runs a side"
        for each in sorted(lines.values(), key=lambda each: int(each["runs"]))
    )
    return f"""At μ = 1, noise too small by √2 is caught at 95 % confidence {told}.
"""


def _noise(lines: Lines) -> str:
    rows = [
        [each["passage"], "yes" if each["exact"] else "no", _share(each["by_float_bits"]), _share(each["allowed"]),
         f"{each['guesses']:,}"]
        for name, each in lines.items() if name.startswith("noise-passage")
    ]  # fmt: skip
    guesses = [each["guesses"] for name, each in lines.items() if name.startswith("noise-passage")]
    chance = _share(1.0 / math.sqrt(min(guesses, default=1)))  # two standard deviations of a fair coin
    naive = [
        [name.removeprefix("noise-").replace("-", " "), _share(right), f"{each['guesses']:,}"]
        for name, each in lines.items()
        for right in [
            each.get("naive", each.get("by_float_bits" if "naive" in name else "-", each.get("by_precision")))
        ]
        if right is not None and not name.startswith("noise-passage")
    ]
    return f"""## The bits of released numbers

An attacker uses only the last bits of a released number, its precision and its spacing (Mironov 2012; Haney,
Desfontaines, Hartman, Shrestha and Hay 2022), and guesses from which of two neighbours it came, after learning on
separate runs. For an *exact* release the share of right guesses must be within its guarantee; an *idealised* release is
drawn with floats, and its caveat says that they may leak more than the stated distribution. By chance a share varies by
{chance} either way.

{_table(["mechanism", "exact", "right guesses", "allowed", "guesses"], rows)}

The same attacks on noise that is added to a float, as in most code:

{_table(["attack", "right guesses", "guesses"], naive)}
"""


def _laws(lines: Lines) -> str:
    rows = [
        [each["law"], f"{each['draws']:,}", f"{min(each['p_values'].values()):.2g}", len(each["p_values"])]
        for each in lines.values() if "law" in each
    ]  # fmt: skip
    defects = [each for name, each in lines.items() if name.startswith("laws-defects")]
    found = ""
    if defects:
        found = (
            f"\nPlanted defects, at {min(each['draws'] for each in defects):,} draws and more: a scale off by "
            f"{defects[0]['scale_off']:.2%}, a cut tail, a bit that is always 0, a sign off by "
            f"{max(each['sign_off'] for each in defects):.2%}, repeated draws. Largest p-value: "
            f"{max(value for each in defects for key, value in each['p_values'].items() if key != 'none'):.1g}.\n"
        )
    return f"""## Distributions of the noise

Chi-square over cells, pairs of draws, tails, signs, low bits and scale, each at a false-alarm rate of 1e-9.

{_table(["distribution", "draws", "smallest p", "tests"], rows)}
{found}"""


def _order(lines: Lines) -> str:
    rows = [
        [each["place"], *map(_share, each["worst_share_of_charge"].values())]
        for each in lines.values() if "place" in each
    ]  # fmt: skip
    queries = next(list(each["worst_share_of_charge"]) for each in lines.values() if "place" in each)
    registered = lines.get("order-registered", {}).get("worst_share_of_charge", {})
    largest = f" Over all {len(registered)} queries of the library: at most {_share(max(registered.values()))}." if (
        registered) else ""  # fmt: skip
    return f"""## The order of summation

A sum of floats depends on its order. Rows were permuted, split into other blocks, huge beside tiny, nearly constant and
cancelling, in a search for the worst case. The table has the largest share of the charged float error, by
backend.{largest}

{_table(["backend", *queries], rows)}
"""


def _streams(lines: Lines) -> str:
    workers = sum(int(each["streams"]) for each in lines.values())
    shared = sum(int(each["shared"]) for each in lines.values())
    kinds = ", ".join(name.removeprefix("streams-") for name in lines)
    return f"""## Random bits in other processes

{workers} streams of bits, after forks, in worker processes, in Dask workers and in threads ({kinds}): {shared} words
were in two of them.
"""


def _rows(lines: Lines) -> str:
    pairs = sum(int(each["pairs"]) for each in lines.values())
    rows = [[name.removeprefix("rows-"), each["pairs"], f"{each['largest']:.2f}"] for name, each in lines.items()]
    return f"""## A person's rows

{pairs:,} pairs of tables with unusual cells and names that differ in one person (added, removed or replaced), in random
order and random blocks, from every source. Each exact sum at the door was, to the last bit, that of the rows that a
second, slow implementation selects, so that one person changed it by their own rows and no others. The largest change
is a share of the charged sensitivity.

{_table(["source", "pairs", "largest change"], rows)}
"""


def _poison(lines: Lines) -> str:
    total = sum(int(each["combinations"]) for each in lines.values())
    return f"""## Poisoned rows

{total:,} pairs of fits and answers, clean and with rows of 1e308, NaN, infinities, text, gaps, duplicates and constant
columns, through curators, files and databases: nothing but the released numbers changed (schedules, attributes, shapes,
warnings, log lines, errors, entries of the ledger).
"""


def _leaks(lines: Lines) -> str:
    each = {name: sum(line[name] for line in lines.values()) for name in ("answers", "walked", "numbers")}
    secrets = max(line["secrets"] for line in lines.values())
    return f"""## Training values in what is public

{each["answers"]} fitted models and answers, their pickles, files, reports, pictures and tracebacks: {each["walked"]:,}
objects with {each["numbers"]:,} numbers were searched for {secrets:,} training values and exact statistics of
them. None was there.
"""


def _budget(lines: Lines) -> str:
    steps = sum(int(each["steps"]) for each in lines.values())
    errors: Counter[str] = Counter()
    for each in lines.values():
        errors.update(each["errors"])
    told = ", ".join(f"{count:,} {kind}" for kind, count in errors.most_common())
    return f"""## Budgets

{steps:,} random steps with ledgers, curators, copies, pickles, grid searches, threads and processes, with failures in
the middle of fits, full disks, read-only, broken and rolled-back files and clocks that went backwards. Releases never
exceeded the record, and the record never exceeded the limit. Errors that were raised, all of them documented: {told}.
"""


def _load(lines: Lines) -> str:
    rows = [
        ["PostgreSQL" if "postgresql" in name else "SQLite", *(each[key] for key in LOAD)]
        for name, each in lines.items()
    ]
    return f"""## Load

Eight processes at one ledger, each spend on the disk before its release. Nothing was lost and nothing doubled, and the
limit was used up to the last release.

{_table(["ledger", *LOAD], rows)}
"""


def _input(lines: Lines) -> str:
    calls = lines.get("input", {})
    shells, parsers = lines.get("input_cli", {}), lines.get("input_parsers", {})
    return f"""## Bad input

{calls.get("calls", 0):,} generated calls of the public interface, {shells.get("lines", 0):,} command lines, and
{parsers.get("executions", 0):,} executions of a fuzzer that sees which lines of a parser it has reached. Only
documented exceptions came, none took long, and nothing was spent on an error.
"""


LOAD = ("released", "refused", "a second", "p50 ms", "p99 ms")
SECTIONS: dict[str, Callable[[Lines], str]] = {
    "broken": _broken,
    "power": _power,
    "noise": _noise,
    "laws": _laws,
    "order": _order,
    "streams": _streams,
    "rows": _rows,
    "poison": _poison,
    "leaks": _leaks,
    "budget": _budget,
    "load": _load,
    "input": _input,
}
