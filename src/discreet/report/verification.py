"""The section of a report for verification: releases, total cost, code that recomputes it, and citation."""

from __future__ import annotations

import json
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from discreet.arguments import ArgumentError
from discreet.door import Release
from discreet.door.release import describe_rows_of_releases
from discreet.guarantees import Loss, compose
from discreet.guarantees.guarantee import format_rounded_up
from discreet.plots import Facts
from discreet.plots.plot import format_number
from discreet.plots.statistic_names import question_name
from discreet.report.guarantee_text import headline, unit_of

MODEL_FILE = "model.json"  # used where the name of the model's file is unknown
MECHANISMS = {
    "additive": "clipped sum with noise",
    "selection": "selected by noisy scores",
    "sampled": "drawn as a whole",
    "approximate": "drawn approximately",
}
DRAWS = {True: "drawn exactly", False: "drawn in floating point"}


def installed_version() -> str:
    """Return the version of the library that writes the report."""
    try:
        return version("discreet")
    except PackageNotFoundError:  # run from its source
        return "unknown"


def releases_table(releases: tuple[Release, ...]) -> Facts:
    """Return a table of the releases, with one row for identical ones."""
    groups = Counter(
        (
            release.query,
            release.mechanism,
            _noise_text(release),
            _loss_text(release.loss),
            release.exact,
            release.provenance,
        )
        for release in releases
    )
    rows = [
        [question_name(query), str(count), MECHANISMS[mechanism], noise, loss, DRAWS[exact], provenance]
        for (query, mechanism, noise, loss, exact, provenance), count in groups.items()
    ]
    return Facts(["question", "times", "how it was answered", "noise", "loss", "arithmetic", "provenance"], rows)


def _noise_text(release: Release) -> str:
    if release.noise is None:
        return "no additive noise"
    return f"{type(release.noise).__name__}, scale {format_number(release.noise.scale, 4)}"


def _loss_text(loss: Loss) -> str:
    values = {name: value for name, value in loss.to_dict().items() if name not in ("kind", "neighbors")}
    shown = ", ".join(
        f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}" for name, value in values.items()
    )
    return f"{type(loss).__name__}({shown})"


def recompute_cost(model: Any, file: str | None) -> tuple[str, str]:
    """Return the total cost of the losses, computed now, and code that computes it from the model's file."""
    if not isinstance(file, str | None):
        raise ArgumentError("file", file, "the name of a file")
    place = json.dumps(Path(file or MODEL_FILE).name, ensure_ascii=False)  # the names of folders may be private
    delta = model.guarantee_.delta if model.guarantee_ is not None else 1e-6
    epsilon = compose(model.losses_).epsilon(delta)
    cost = f"ε = {format_rounded_up(epsilon)} at δ = {format_rounded_up(delta)}, {model.losses_[0].neighbors}"
    code = "\n".join(
        [
            "import json",
            "import discreet as dp",
            "",
            f'with open({place}, encoding="utf-8") as file:  # as model.to_json() wrote it',
            '    fitted = json.load(file)["fitted"]',
            'losses = [dp.guarantees.Loss.from_dict(loss) for loss in fitted["losses_"]]',
            f"print(dp.compose(losses).epsilon({delta!r}))   # {format_rounded_up(epsilon)}",
        ]
    )
    return cost, code


def citation(model: Any, year: int) -> str:
    """Return the citation of the model."""
    dataset = model.releases_[0].dataset or "unnamed data"
    rows = describe_rows_of_releases(model.releases_)
    fitted = "fitted" if rows is None else f"fitted to {rows},"
    return (
        f"{type(model).__name__} of {dataset}, {headline(model.guarantee_)} for each {unit_of(model)}, {fitted} with "
        f"discreet {installed_version()} ({year})."
    )
