"""Sums and products of rows, in the unit ball of the declared space, and by class."""
