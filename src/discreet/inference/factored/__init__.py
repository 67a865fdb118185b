"""Posteriors from draws of the factored exponential mechanism."""
