"""Where rows are read from: arrays, frames, files, databases and Dask, each behind the same few methods.

``engines`` chooses, by its name, what reads a file or a table of a database.
"""
