"""``discreet infer``: the posterior of a fitted model's parameters. It costs nothing and reads no row."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.command import command
from discreet.cli.error_messages import replace_by_flags
from discreet.cli.options import ModelFile, Overwrite
from discreet.cli.output_files import new_file
from discreet.cli.printing import CommandOutput, OutputTable, is_interactive, note, to_json

FITTED = (
    "From the command line: discreet fit mixture (of numbers alone: --columns age,hours), classifier, factor-analysis, "
    "regression, logistic, or svc"
)
FLAGS = {"draws": "--draws", "warmup": "--warmup"}


@command("discreet infer gaussians.json --level 0.9 --draws 200 --chains 2 --out draws.json")
def infer(
    model: ModelFile,
    level: Annotated[float, typer.Option("--level", help="Of the credible intervals.")] = 0.9,
    draws: Annotated[int, typer.Option("--draws", help="Of each chain.")] = 1000,
    chains: Annotated[int, typer.Option("--chains")] = 4,
    warmup: Annotated[int, typer.Option("--warmup", help="Steps of each chain before its draws.")] = 500,
    out: Annotated[
        Path | None, typer.Option("--out", help="All draws: a file that ends with .json, or .nc for netCDF.")
    ] = None,
    overwrite: Overwrite = False,
) -> CommandOutput:
    """Show the posterior of a fitted model's parameters, with noise and sampling accounted for. It reads no row.

    The first posterior of a model takes ten to thirty seconds, most of it compilation.
    """
    from discreet.estimators.loading import load_model
    from discreet.inference.default_models import check_has_model
    from discreet.inference.infer import infer as inferred

    fitted = load_model(model)
    try:
        check_has_model(fitted)
    except ValueError as error:
        raise ValueError(f"{model.name}: {error}. {FITTED}") from None
    if out is not None and out.suffix.lower() not in (".json", ".nc"):
        raise typer.BadParameter(f"{out.name!r}: expected a name that ends with .json or .nc", param_hint="--out")
    if not is_interactive():
        note(f"inferring from {type(fitted).__name__}")
    with nullcontext() if out is None else new_file(out, overwrite=overwrite, protected=[model]) as place:
        posterior = inferred(fitted, chains=chains, draws=draws, warmup=warmup, progress=is_interactive())
        if out is not None and place is not None:
            _write_draws(posterior, place, out.suffix.lower())
    return _output(posterior, level, out)


def _output(posterior: Any, level: float, out: Path | None) -> CommandOutput:
    table = posterior.summary(level)
    head = ["quantity", *map(str, table.columns)]
    rows = [[str(label), *map(float, values)] for label, values in zip(table.index, table.to_numpy(), strict=True)]
    says = posterior.diagnostics
    return CommandOutput(
        {
            "summary": [dict(zip(head, row, strict=True)) for row in rows],
            "level": level,
            "likelihood": posterior.likelihood,
            "which_rows": posterior.which_rows,
            "diagnostics": {
                "sampler": says.sampler,
                "pareto_k": says.pareto_k,
                "r_hat": says.r_hat,
                "effective_draws": says.ess,
                "divergences": says.divergences,
                "draws": says.draws,
                "complaints": [replace_by_flags(complaint, FLAGS) for complaint in says.complaints],
            },
            "out": out,
        },
        [
            *([] if posterior.which_rows is None else [f"from {posterior.which_rows}"]),
            OutputTable(head, rows),
            f"{says.draws} draws by {says.path}, effective sample size at least {says.ess:.0f}, R-hat "
            f"{says.r_hat:.3f}, {says.divergences} divergences"
            + ("" if says.complaints else "; the chains agree"),  # complaints are shown as notes
            *([] if out is None else [f"draws written to {out}"]),
        ],
    )


def _write_draws(posterior: Any, place: Path, suffix: str) -> None:
    """Write all draws: by chain and draw, in the data's own units."""
    drawn = posterior.data["posterior"].dataset
    if suffix == ".nc":
        drawn.to_netcdf(place, engine="scipy")
    else:
        text = json.dumps({str(name): to_json(drawn[name].values) for name in drawn.data_vars}, allow_nan=False)
        place.write_text(text, encoding="utf-8")
