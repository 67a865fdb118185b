"""Models of one row: a prior, a density, and a way to draw."""
