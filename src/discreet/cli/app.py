"""The application ``discreet``: all of its commands, each of which is imported when it is called."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version as installed
from typing import Annotated

import typer

from discreet.cli.single_options import CommandTyper

HELP = """Learning from sensitive continuous data under differential privacy.

\b
A first session:
  discreet schema init people.csv --out people.toml
  (fill in what is public about each column)
  discreet fit table people.csv --schema people.toml --epsilon 1 --ledger people.ledger --limit 2:1e-6
  discreet sample model.json --rows 1000 --out synthetic.csv
  discreet budget show people.ledger

\b
Exit codes:
  0  success
  1  refused or failed; the message says what to write instead
  2  a mistake in the command
  3  the budget does not admit it; nothing was released
"""


# Each command with the first line of its help. It is in the module ``NAME_command``, as a function of that name, or as
# ``commands`` where it has commands of its own.
COMMANDS = {
    "fit": "Fit a model under differential privacy, and write it to a file of public numbers.",
    "sample": "Draw synthetic rows from a fitted model.",
    "query": "Ask a statistical database.",
    "infer": "Show the posterior of a fitted model's parameters, with noise and sampling accounted for.",
    "report": "Write a report that opens in any browser and needs no network.",
    "plan": "Find the smallest ε whose predicted error meets a target.",
    "explain": "Explain ε and δ, in words and as probabilities of guessing about one record.",
    "compose": "Show the total cost of mechanisms, by the methods of the literature and by the tightest one known.",
    "audit": "Try to refute a guarantee: fit a model to made-up neighbouring data sets, and count how well they are "
    "told apart.",
    "schema": "Write a schema to fill in, or check one.",
    "budget": "Show, set and check what may be spent.",
}


def application(*, fancy: bool, only: str | None = None) -> typer.Typer:
    """Return the command line.

    Parameters
    ----------
    fancy : bool
        Whether help and errors are shown with colours and boxes, for a terminal.
    only : str, optional
        The one command that is called. The others are then not imported, and have the first line of their help alone.
    """
    app = CommandTyper(
        name="discreet",
        help=HELP,
        no_args_is_help=True,
        rich_markup_mode="rich" if fancy else None,
        pretty_exceptions_enable=False,  # it would show the variables of every frame, including rows
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(_discreet)
    for name, line in COMMANDS.items():
        if only not in (None, name):
            app.command(name, help=line)(_do_nothing)
            continue
        module = import_module(f"discreet.cli.{name}_command")
        if hasattr(module, "commands"):
            app.add_typer(module.commands(), name=name)
        else:
            app.command(name)(getattr(module, name))
    return app


def _do_nothing() -> None:
    pass


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"discreet {installed('discreet')}")
        raise typer.Exit


def _discreet(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Parse the options before a command."""
