"""``write_report``: puts the sections of a report into a template, with all text escaped, and writes the file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from discreet.arguments import ArgumentError
from discreet.door.release import describe_rows_of_releases
from discreet.estimators.fitted_columns import numeric_columns
from discreet.estimators.plots import available_plots, plot_model
from discreet.plots import Facts, Plot, SampleOverDensity
from discreet.plots.intervals import NO_NOISE
from discreet.report.figures import Figure, draw_figure
from discreet.report.guarantee_text import (
    cautions,
    declared,
    explain_guarantee,
    headline,
    refuse_simulated,
    relation,
    unit_of,
)
from discreet.report.not_private import compare_without_privacy
from discreet.report.spending_plot import plot_spending
from discreet.report.verification import citation, installed_version, recompute_cost, releases_table

LEVEL = 0.9  # level of posterior intervals
MOST_POSTERIORS = 6  # plots of a posterior in one report
HELD = "Lines hold 50, 80 and 95 % of the rows."
ROWS_ALONE = (
    "The rows alone: they keep to the declared bounds, and to whole numbers where these are declared, so no density of "
    "Gaussians is theirs. A larger point is several identical rows."
)
MODEL_WORDS = {
    "components": "Each ellipse is a component; the inner one is a standard deviation wide, the outer one two.",
    "classes": "Each ellipse is a class; the inner one is a standard deviation wide, the outer one two.",
    "pairs": "The same along every pair of columns. Curves on the diagonal are densities of single columns.",
    "weights": "Thin lines are two standard deviations of the noise in one measurement of the counts.",
    "centres": "Each point is the centre of a cluster.",
    "axes": "Each column is an axis: the weight of each column of the data in it.",
    "loadings": "Each column is a factor: its correlations with the columns of the data.",
    "scree": "",
    "coefficients": "Columns have different units, so each coefficient is multiplied by the width of its bounds.",
    "categories": "Each column is a component.",
    "associations": "Cramér's V of the columns' bins, of two numbers the rank correlation where that is larger: from 0 "
    "(independent) to 1. What is below the noise comes out as nearly independent.",
    "errors": "Expected from the noise alone: how far the table of two columns is from that of the real rows.",
}


@dataclass(frozen=True)
class Report:
    """A report, as the text of one HTML file.

    Attributes
    ----------
    html : str
    kind : str
        The class of the model.
    """

    html: str = field(repr=False)
    kind: str

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the file and return its path. An existing file is replaced only with ``overwrite``."""
        place = Path(path)
        _refuse_existing(place, overwrite)
        with place.open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(self.html)
        return place


@dataclass(frozen=True)
class ReportFigure:
    """A figure and a sentence about it."""

    figure: Figure
    words: str = ""


def write_report(
    model: Any,
    path: str | PathLike[str] | None = None,
    *,
    ledger: Any = None,
    name: str | None = None,
    columns: Sequence[str | int] | None = None,
    posterior: Any = None,
    private_rows: Any = None,
    file: str | None = None,
    overwrite: bool = False,
) -> Report:
    """Return the report of a fitted estimator, and write it where there is a path.

    Parameters are those of ``model.report``.
    """
    check_is_fitted(model)
    refuse_simulated(model)
    if path is not None:
        _refuse_existing(Path(path), overwrite)
    environment = _environment()  # first, so that a missing library is reported before anything is drawn
    comparison = None if private_rows is None else _comparison(model, private_rows, columns)
    spent = None if ledger is None else draw_figure(plot_spending(ledger, name, model.releases_), "spending")
    facts = {
        **_about(model, file),
        "model_figures": _model_figures(model, columns),
        "diagnosis": model.diagnose().describe() if hasattr(model, "diagnose") else (),
        "noise": _noise(model),
        "sample": _sample(model, columns),
        "posterior": _posterior(model, posterior),
        "spending": spent,
        "comparison": comparison,
    }
    text = environment.get_template("report.html.j2").render(facts).strip()
    text = text.encode("utf-8", "replace").decode("utf-8")  # the name of a column may hold a lone surrogate
    report = Report(text, type(model).__name__)
    if path is not None:
        report.save(path, overwrite=overwrite)
    return report


def _refuse_existing(place: Path, overwrite: bool) -> None:
    if place.exists() and not overwrite:
        raise ArgumentError(
            "path", str(place), "a file that does not exist yet", write="another name, or overwrite=True"
        )


def _environment() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as missing:
        raise ImportError("reports need Jinja and matplotlib: pip install 'discreet[report]'") from missing
    return Environment(
        loader=PackageLoader("discreet.report"),
        autoescape=True,  # always, since a column may have the name <script>
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _about(model: Any, file: str | None) -> dict[str, Any]:
    now = datetime.now(UTC)
    guarantee = model.guarantee_
    cost, code = recompute_cost(model, file)
    return {
        "kind": type(model).__name__,
        "dataset": model.releases_[0].dataset,
        "unit": unit_of(model),
        "headline": headline(guarantee),
        "which_rows": describe_rows_of_releases(model.releases_),
        "in_words": None if guarantee is None else guarantee.in_words(unit_of(model)),
        "explained": explain_guarantee(model),
        "relation": relation(model),
        "declared": declared(model),
        "cautions": cautions(model),
        "parameters": _parameters(model),
        "releases": releases_table(model.releases_),
        "release_count": len(model.releases_),
        "cost": cost,
        "code": code,
        "citation": citation(model, now.year),
        "version": installed_version(),
        "date": now.strftime("%d %B %Y").lstrip("0"),
    }


def _parameters(model: Any) -> Facts:
    """Return the parameters that were set, except those that the report shows elsewhere."""
    hidden = {"bounds", "schema", "random_state", "verbose", "classes", "target_bounds"}
    if getattr(model, "method", None) not in ("paper", "dplloyd"):
        hidden |= {"composition", "mechanisms"}  # which only these methods use
    rows = [[name, str(value)] for name, value in model.get_params(deep=False).items() if name not in hidden]
    for row in rows:
        if row[1] == "auto" and hasattr(model, f"{row[0]}_"):
            row[1] = f"auto: {getattr(model, f'{row[0]}_'):.4g}"
    return Facts(["parameter", "value"], [row for row in rows if row[1] != "None"])


def _model_figures(model: Any, columns: Sequence[str | int] | None) -> list[ReportFigure]:
    result = []
    for what in available_plots(model):
        if what not in MODEL_WORDS:
            continue  # it has a section of its own
        if what == "pairs" and len(numeric_columns(model)) < 3:
            continue  # the plot before it shows the only pair
        chosen = columns if what in ("components", "classes", "centres") else None
        plot = plot_model(model, what, chosen)
        result.append(ReportFigure(draw_figure(plot, what), _words(what, plot)))
    return result


def _words(what: str, plot: Plot) -> str:
    """Return the caption of a plot."""
    words = MODEL_WORDS[what]
    if what == "coefficients":
        known = getattr(plot, "low", None) is not None
        lines = "lines are two standard deviations of the noise" if known else NO_NOISE
        words += f" {lines[0].upper()}{lines[1:]}."
    if getattr(plot, "cut", False):
        words += " They end at the declared bounds, as synthetic rows do."
    return words


def _noise(model: Any) -> Figure | None:
    if all(release.noise is None for release in model.releases_):
        return None
    return draw_figure(plot_model(model, "noise"), "noise")


def _sample(model: Any, columns: Sequence[str | int] | None) -> ReportFigure | None:
    if "sample" not in available_plots(model) or len(numeric_columns(model)) < 2:
        return None
    plot = plot_model(model, "sample", columns)
    return ReportFigure(draw_figure(plot, "sample"), HELD if isinstance(plot, SampleOverDensity) else ROWS_ALONE)


def _posterior(model: Any, given: Any) -> list[ReportFigure]:
    if given is None or given is False:
        return []
    if given is True:
        from discreet.inference.infer import infer

        given = infer(model)
    room = sys.modules.get("discreet.inference.posterior")  # a posterior exists only if this was imported
    if room is None or not isinstance(given, room.PosteriorDraws):
        raise ArgumentError("posterior", given, "a Posterior of discreet.infer, or True to infer it now")
    plots: list[Plot] = []
    for name in given.names:
        with suppress(ValueError):  # too many numbers to draw
            plots.append(given.as_plot(name, LEVEL))
    complaints = "; ".join(given.diagnostics.complaints)
    words = "Thin lines hold 90 % of the posterior, thick ones 50 %; points are means. "
    words += f"{given.diagnostics.draws} draws by {given.diagnostics.path}."
    words += f" Caution: {complaints}." if complaints else ""
    return [ReportFigure(draw_figure(plot, f"posterior-{k}"), words) for k, plot in enumerate(plots[:MOST_POSTERIORS])]


def _comparison(model: Any, rows: Any, columns: Sequence[str | int] | None) -> dict[str, Any]:
    result = compare_without_privacy(model, rows, columns)
    figures = [draw_figure(plot, f"without-{k}") for k, plot in enumerate(result.plots)]
    return {"facts": result.facts, "figures": figures}
