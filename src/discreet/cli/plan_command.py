"""``discreet plan``: the smallest ε for a target error, before any row is read."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.command import command
from discreet.cli.printing import CommandOutput, facts_table
from discreet.guarantees import Neighbors


@command(
    "discreet plan mean --rows 30000 --width 120 --target 0.1",
    "discreet plan mean --rows 30000 --width 120 --target 2 --max-rows 5 --groups 10",
)
def plan(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="mean, variance, covariance, median, quantile, interquartile_range, histogram, count, pca or "
            "gaussian-mixture.",
        ),
    ],
    rows: Annotated[int, typer.Option("--rows", help="The number of rows.")],
    target: Annotated[float, typer.Option("--target", help="The error to meet, as a root mean square.")],
    dimensions: Annotated[int | None, typer.Option("--dimensions", help="How many columns.")] = None,
    delta: Annotated[float | None, typer.Option("--delta")] = None,
    neighbors: Annotated[Neighbors | None, typer.Option("--neighbors", help="Replace-one by default.")] = None,
    width: Annotated[float | None, typer.Option("--width", help="Of the declared bounds; 1 by default.")] = None,
    sampling: Annotated[
        bool, typer.Option("--sampling", help="The error about the population, not about these rows.")
    ] = False,
    spread: Annotated[float | None, typer.Option("--spread", help="The standard deviation of a column.")] = None,
    q: Annotated[float | None, typer.Option("--q", help="Which quantile.")] = None,
    density: Annotated[float | None, typer.Option("--density", help="Of the rows at the quantile.")] = None,
    cells: Annotated[int, typer.Option("--cells", help="Of a histogram.")] = 10,
    components: Annotated[int | None, typer.Option("--components", help="Of PCA or a mixture.")] = None,
    gap: Annotated[
        float | None, typer.Option("--gap", help="PCA: between the last variance kept and the next.")
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option("--max-rows", help="Where a person may have several rows: how many of them count.")
    ] = None,
    groups: Annotated[int | None, typer.Option("--groups", help="With --by: how many groups there are.")] = None,
    group_share: Annotated[
        float | None, typer.Option("--group-share", help="The share of the smallest group; equal groups by default.")
    ] = None,
    weights: Annotated[
        float | None, typer.Option("--weights", help="With weights: the mean weight over the largest one.")
    ] = None,
    in_budget: Annotated[
        bool, typer.Option("--in-budget", help="One of several answers in a ledger: with a δ, Gaussian noise.")
    ] = False,
) -> CommandOutput:
    """Find the smallest ε whose predicted error meets a target. Nothing is spent, and no row is read."""
    from discreet.planning import plan as planned

    result = planned(
        what,
        rows,
        dimensions,
        target=target,
        delta=delta,
        neighbors=neighbors,
        width=width,
        sampling=sampling,
        spread=spread,
        q=q,
        density=density,
        cells=cells,
        n_components=components,
        gap=gap,
        max_rows=max_rows,
        groups=groups,
        group_share=group_share,
        weights=weights,
        in_budget=in_budget,
    )
    data = {
        "what": result.what,
        "guarantee": result.guarantee,
        "predicted": result.predicted,
        "target": result.target,
        "floor": result.floor,
        "measure": result.measure,
    }
    shown = {"ε": result.epsilon, "δ": result.guarantee.delta, "relation": str(result.guarantee.neighbors)}
    shown |= {"predicted error": result.predicted, "floor": result.floor or None}
    return CommandOutput(data, [facts_table(shown), str(result)])
