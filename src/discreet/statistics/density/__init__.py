"""Densities of one column."""
