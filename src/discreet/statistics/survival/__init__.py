"""Survival curves and comparisons of them, from one release of counts on a grid of times."""
