"""A Spark session on two threads of this machine, started once; tests skip where there is no PySpark or no JVM."""

from __future__ import annotations

import os
import shutil
import sys
from functools import cache
from typing import Any

import pytest


def spark() -> Any:
    """Return the session, or skip with a reason."""
    pytest.importorskip("pyspark", reason="PySpark is not installed: make spark installs it")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no JVM: Spark needs Java 17 or later")
    return _session()


@cache
def _session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYTHONPATH"] = os.pathsep.join(
        path for path in sys.path if path
    )  # where workers find what tests define
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2, 4]")  # a task is tried four times
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "700")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session
