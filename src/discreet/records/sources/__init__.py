"""Where rows are read from: arrays, frames, files, databases and Dask, each behind the same few methods."""
