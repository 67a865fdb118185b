"""Figure 2 of Xi, Kantarcioglu and Inan (2011): two correlated classes in 5 columns."""

from __future__ import annotations

from discreet.reproduce.xi.correlated import figure

__all__ = ["EXPERIMENT"]

EXPERIMENT = figure(2, 5)
