"""Synthetic tables (``TableSynthesizer``): histograms of columns and of pairs, and a maximum-entropy model of both."""
