"""Sums and products of rows, in the unit ball of the declared space, by class, and by component of a mixture."""
