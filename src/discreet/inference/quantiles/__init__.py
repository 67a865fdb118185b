"""Posteriors of a population's quantiles, given draws of the exponential mechanism near those of its rows."""
