"""Synthetic tables (``TableSynthesizer``): histograms of columns and of pairs, and a maximum-entropy model of both.

Where to look: ``synthesis_method`` makes the releases, ``column_histograms`` reads the first of them;
``pairwise_model`` is the model, moved by sweeps over rows (``gibbs``), and ``pairwise_fit`` fits it; ``table_rows``
draws synthetic rows, ``person_rows`` persons with visits; ``table_quality`` says how good they are.
"""
