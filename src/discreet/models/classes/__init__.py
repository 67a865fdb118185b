"""Gaussian classes and the Bayes rule."""
