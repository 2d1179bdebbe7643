"""Training on the DataFrames of a Spark application, and models as DataFrames::

from tux.backends.dataframes import train

factors = train(MF(rank=8), ratings, machines=2)   # ratings is a DataFrame
factors["user"].join(...)
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tux.arrays.arrow import parquet_table
from tux.backends.run import error_told, run
from tux.backends.spark import Spark
from tux.program.program import Program
from tux.runs.options import RunOptions


def train(
    program: Program,
    data: Any,
    test: Any = None,
    options: RunOptions | None = None,
    *,
    machines: int = 1,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Train `program` on the rows of a DataFrame, on so many machines of its Spark application.
    Returns a DataFrame for each vertex type: its ids, and what the program keeps of it.

    `options.out` is the run's folder, of this machine; None: a temporary one. With checkpoints it
    must be on a file system that all machines share, and the DataFrame must have the same rows each
    time that it is computed. `say` takes the lines of the run. Raises the error of the run.
    """
    options, session = options or RunOptions(), data.sparkSession
    told: list[str] = []

    def warn(line: str) -> None:
        told.append(line)
        say(line)

    with tempfile.TemporaryDirectory(prefix="tux-") as folder:
        options = replace(options, out=options.out or os.path.join(folder, "run"))
        where = Spark(session)
        if code := run(
            program, data, test, options, on=where, machines=machines, say=say, warn=warn
        ):
            raise error_told(told, code)
        paths = {
            name: Path(str(options.out), "model", f"{name}.parquet") for name in program.vertices
        }
        return {
            name: session.createDataFrame(parquet_table(path))
            for name, path in paths.items()
            if path.exists()
        }
