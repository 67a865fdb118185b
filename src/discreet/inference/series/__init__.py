"""Posteriors of private time series: totals, levels and variances, given noisy sums of the series."""
