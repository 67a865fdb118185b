"""Figure 5 of Xi, Kantarcioglu and Inan (2011): two correlated classes in 20 columns."""

from __future__ import annotations

from discreet.reproduce.xi.correlated import figure

__all__ = ["EXPERIMENT"]

EXPERIMENT = figure(5, 20)
