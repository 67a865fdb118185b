"""``discreet compose``: the total cost of several mechanisms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Annotated

import typer

from discreet.arguments import ArgumentError, format_value, integer
from discreet.cli.command import command
from discreet.cli.options import Relation
from discreet.cli.printing import CommandOutput, OutputTable
from discreet.guarantees import (
    ApproximateLoss,
    BoundedRangeLoss,
    ClassicalGaussianLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    Loss,
    Neighbors,
    PureLoss,
    ZcdpLoss,
)
from discreet.guarantees.guarantee import format_rounded_up
from discreet.guarantees.loss import MOST
from discreet.planning import compare

KINDS: dict[str, tuple[Callable[..., Loss], tuple[str, ...]]] = {
    "gaussian": (GaussianLoss, ("mu",)),
    "laplace": (LaplaceLoss, ("epsilon",)),
    "geometric": (GeometricLoss, ("epsilon",)),
    "pure": (PureLoss, ("epsilon",)),
    "bounded-range": (BoundedRangeLoss, ("epsilon",)),
    "zcdp": (ZcdpLoss, ("rho",)),
    "approximate": (ApproximateLoss, ("epsilon", "delta")),
    "classical-gaussian": (ClassicalGaussianLoss, ("epsilon", "delta")),
}
WRITTEN = re.compile(r"(?P<kind>[a-z-]+):(?P<fields>[^x]+)(?:x(?P<count>[1-9]\d*))?")
KNOWN = ", ".join(f"{kind}:{','.join(f'{field}=…' for field in fields)}" for kind, (_, fields) in KINDS.items())


@command("discreet compose gaussian:mu=0.05x20 laplace:epsilon=0.02x20 --delta 1e-6")
def compose(
    mechanisms: Annotated[
        list[str], typer.Argument(metavar="MECHANISM", help=f"{KNOWN}; x20 at the end for twenty of them.")
    ],
    delta: Annotated[list[float], typer.Option("--delta", help="At which δ. Repeatable.")],
    neighbors: Relation = Neighbors.REPLACE_ONE,
) -> CommandOutput:
    """Show the total cost of mechanisms, by the methods of the literature and by the tightest one known."""
    losses = Counter[Loss]()
    for text in mechanisms:
        loss, count = _loss(text, neighbors)
        losses[loss] += count
    result = compare(losses, delta)
    rows = [[method, *(format_rounded_up(value, 4) for value in values)] for method, values in result.epsilon.items()]
    return CommandOutput(
        {"neighbors": str(result.neighbors), "delta": result.delta, "epsilon": result.epsilon},
        [f"ε under {result.neighbors}", OutputTable(["δ", *(f"{one:.3g}" for one in result.delta)], rows)],
    )


def _loss(text: str, neighbors: Neighbors) -> tuple[Loss, int]:
    """Parse the loss of a mechanism, and how many times it is used."""
    match = WRITTEN.fullmatch(text)
    kind, names = KINDS.get(match["kind"] if match else "", (None, ()))
    try:
        if match is None or kind is None:
            raise ValueError("no such mechanism")
        fields = [pair.split("=") for pair in match["fields"].split(",")]
        numbers = {name: float(value) for name, value in fields}
        if tuple(name for name, _ in fields) != names:  # a repeated field is a mistake
            raise ValueError("other numbers")
        count = integer("count", int(match["count"] or 1), least=1, most=MOST)
        return kind(**numbers, neighbors=neighbors), count
    except ArgumentError as error:
        raise typer.BadParameter(f"{format_value(text)}: {error}", param_hint="MECHANISM") from None
    except ValueError:
        raise typer.BadParameter(
            f"{format_value(text)}: expected one of {KNOWN}, with x20 at the end for twenty", param_hint="MECHANISM"
        ) from None
