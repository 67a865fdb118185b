"""Private k-means."""
