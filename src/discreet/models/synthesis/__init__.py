"""Synthetic tables (``TableSynthesizer``): histograms of columns and of pairs of columns, and a maximum-entropy model of both."""
