"""Functions that a user brings, and noise that fits the rows at hand."""
