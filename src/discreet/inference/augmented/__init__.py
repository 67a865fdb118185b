"""Exact posteriors for few rows: the unseen rows are sampled too."""
