"""Where rows are read from: arrays, frames, files, databases and Dask, each behind the same few methods.

Where to look: a file or a database is an ``Engine`` (``stored``; with SQL ``databases``), chosen by its name in
``engines`` (``parquet_files`` streams a path, ``duckdb_tables`` sums a table); rows in memory are a ``LocalSource``
(``source``: ``arrays``, ``frames``); rows on several machines a ``PartitionedSource`` (``partitions``:
``dask_collections``, ``spark_frames``). ``whole_sums`` adds up blocks exactly.
"""
