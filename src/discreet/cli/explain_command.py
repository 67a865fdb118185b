"""``discreet explain``: the meaning of a guarantee for a person whose record is in the data."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.command import command
from discreet.cli.options import Relation
from discreet.cli.printing import CommandOutput, OutputTable
from discreet.guarantees import Guarantee, Neighbors

IN_THE_TABLE = "A suspicion can grow"  # the beginning of the sentence that the table replaces


@command(
    "discreet explain --epsilon 1 --delta 1e-6 --rows 30000 --record patient",
    "discreet explain --model model.json",
)
def explain(
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="The guarantee; or:")] = None,
    delta: Annotated[float, typer.Option("--delta")] = 0.0,
    neighbors: Relation = Neighbors.REPLACE_ONE,
    model: Annotated[
        Path | None, typer.Option("--model", help="A fitted model, whose losses say more than one ε.")
    ] = None,
    rows: Annotated[int | None, typer.Option("--rows", help="The number of records.")] = None,
    record: Annotated[
        str | None,
        typer.Option("--record", help="What a record is, for example patient; by default that of the model."),
    ] = None,
    prior: Annotated[
        list[float] | None, typer.Option("--prior", help="The attacker's prior probability. Repeatable.")
    ] = None,
) -> CommandOutput:
    """Explain ε and δ, in words and as probabilities of guessing about one record."""
    from discreet.planning import PlanningWarning
    from discreet.planning import explain as explained
    from discreet.planning.explanation import PRIORS

    if (epsilon is None) == (model is None):
        raise typer.BadParameter(
            "expected one of them; write --epsilon 1 --delta 1e-6", param_hint="--epsilon, --model"
        )
    guarantee, unit = (Guarantee(epsilon or 0.0, delta, neighbors), "record") if model is None else _losses(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanningWarning)  # the explanation has the caution
        result = explained(guarantee, rows, unit=record or unit, prior=prior or PRIORS)
    table = [(before, result.posteriors[before], right) for before, right in result.accuracies.items()]
    data = {
        "guarantee": result.guarantee,
        "grade": result.grade,
        "accuracy": result.accuracy,
        "posteriors": result.posteriors,
        "accuracies": result.accuracies,
        "true_positive_rates": result.true_positive_rates,
        "beyond": result.beyond,
        "failure": result.failure,
        "expected_failures": result.expected_failures,
        "caution": result.caution,
    }
    lines = [line for line in str(result).splitlines() if not line.startswith(IN_THE_TABLE)]
    unless = [f"At most after: but for an event of probability {result.beyond:.3g}."] if result.beyond else []
    grid = OutputTable(("suspicion before", "at most after", "right guesses, at most"), table)
    return CommandOutput(data, ["\n".join(lines), grid, *unless])


def _losses(model: Path) -> tuple[Any, str]:
    """Return the losses of a fitted model, and the unit that it protects."""
    from discreet.estimators.loading import load_model

    fitted: Any = load_model(model)
    if fitted.guarantee_ is None:
        raise ValueError(f"{model.name!r}: expected a model with a guarantee; a seed made the one of this file void")
    return fitted.losses_, fitted.unit_.removeprefix("each ")
