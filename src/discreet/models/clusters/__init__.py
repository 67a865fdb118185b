"""Private k-means.

Where to look: ``private_kmeans`` is the method of ``KMeans``; ``lloyd_search`` finds clusters for mixtures as well.
"""
