"""Mixtures over tables with numbers and categories, for groups of people (``TableMixture``).

Where to look: ``table_method`` shares the budget and runs the steps, ``table_model`` is the mixture, ``column_maps``
goes from columns to numbers and back.
"""
