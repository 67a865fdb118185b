"""Sums by steps of time, under a public operator."""
