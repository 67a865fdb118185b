"""Where commands are registered, and what all of them refuse: an option of one value that is given twice.

Click would take the last value and say nothing of the first. Here it is refused before anything is opened or spent.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand


class OnceCommand(TyperCommand):
    """A command whose options of one value can be given once. A flag without a value says the same twice."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse a command line; raise where an option of one value is given twice."""
        if not ctx.resilient_parsing:  # of a shell that completes a line
            order: list[Any] = self.make_parser(ctx).parse_args(args=list(args))[2]  # what was given, in order
            for given, times in Counter(order).items():
                single = given.param_type_name == "option" and not (given.multiple or given.is_flag or given.count)
                if single and times > 1:
                    raise typer.BadParameter(
                        f"expected it once, and it is given {times} times; write one value", param_hint=given.opts[0]
                    )
        return super().parse_args(ctx, args)


class CommandTyper(typer.Typer):
    """Where commands are registered, each as a ``OnceCommand``."""

    def command(self, name: str | None = None, **settings: Any) -> Any:
        """Return a decorator that registers a command."""
        return super().command(name, **{"cls": OnceCommand} | settings)
