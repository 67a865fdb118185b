"""Covariances, principal axes and factors."""
