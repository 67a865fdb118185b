"""Contributions of models of one's own (those of the library's mixtures are in ``moments``)."""
