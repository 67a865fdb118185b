"""``discreet audit``: attack the guarantee of fitted models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.command import command
from discreet.cli.error_messages import FAILED
from discreet.cli.printing import CommandOutput, OutputTable, note

HEAD = ("attacked", "claimed", "ε at least", "noticed from", "runs", "holds")


@command("discreet audit model.json --seconds 60")
def audit(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL", help="Files of fitted models. Their kinds are attacked, with their parameters."
        ),
    ],
    seconds: Annotated[
        float,
        typer.Option("--seconds", min=0.01, max=1e6, help="Of a processor, about, for each; at least 150 runs."),
    ] = 8.0,
) -> CommandOutput:
    """Try to refute a guarantee: fit a model to made-up neighbouring data sets, and count how well they are told apart.

    Each attack gives a lower bound on ε. A bound above the claim proves that the claim is wrong, and the command then
    exits with code 1. "Noticed from" is the factor by which the noise would have to be too small for the attack to
    detect it. No real row is read, and nothing is spent.
    """
    result = [_attack_model(path, seconds) for path in models]
    refuted = [each["name"] for each in result if not each["holds"]]
    return CommandOutput({"attacks": result, "refuted": refuted}, describe_attacks(result), FAILED if refuted else 0)


def _attack_model(path: Path, seconds: float) -> dict[str, Any]:
    """Attack the kind of model that a file holds, with its parameters."""
    from discreet.audit import attack
    from discreet.audit.attacking import estimate_runs
    from discreet.audit.targets import prepare_attack
    from discreet.estimators.loading import load_model

    model = load_model(path)
    ask, pairs, _ = prepare_attack(model, None, None)
    note(f"{path}: {type(model).__name__} with the same parameters, on made-up rows")
    result = attack(model, runs=estimate_runs(ask, pairs, seconds)).to_dict()
    return result | {"name": f"{path.name}: {result['name']}"}


def describe_attacks(result: Sequence[dict[str, Any]]) -> list[str | OutputTable]:
    """Return a table of attacks, and a summary."""
    rows = [
        [
            each["name"], f"{each['epsilon_claimed']:.3g}, δ={each['delta']:.3g}", f"{each['epsilon']:.3g}",
            "no factor" if each["noticed"] is None else f"{each['noticed']:.2f}", each["runs"],
            "yes" if each["holds"] else "REFUTED",
        ]
        for each in result
    ]  # fmt: skip
    refuted = [each["name"] for each in result if not each["holds"]]
    shown: list[str | OutputTable] = [
        OutputTable(HEAD, rows),
        f"{len(refuted)} of {len(rows)} guarantees were refuted: {', '.join(refuted)}." if refuted else
        f"None of {len(rows)} guarantees was refuted.",
    ]  # fmt: skip
    blind = sum(each["noticed"] is None for each in result)
    if blind:
        shown.append(f"Of {blind} the runs were too few to see anything at this ε. Write a larger --seconds.")
    return shown
