"""The sink `mlflow`: a run of tux as a run of MLflow. No other file imports it.

MLflow's own settings decide where MLflow keeps it: MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME.
"""

from __future__ import annotations

import logging
import os
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag

from tux.base.disk import replacing
from tux.monitor.sinks.sink_values import is_number, outcomes, parameters
from tux.run_folder.folder import RunRecord

EXPERIMENT = "tux"
"""The experiment, if MLFLOW_EXPERIMENT_NAME does not name another."""

KEPT = "mlflow-run.txt"
"""The file of the run's folder that holds the number which MLflow has given the run."""

LONGEST = 500  # characters of a parameter that every version of MLflow takes
BATCH = 100  # parameters that MLflow takes at a time


class MlflowSink:
    """A sink that writes one run of MLflow, which goes on when the run of tux goes on."""

    def __init__(self, folder: Path | None) -> None:
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)  # each table of a new data base
        self._client, self._folder = MlflowClient(), folder
        self._run, self._last = "", 0

    def begin(self, run: RunRecord) -> None:
        """Create the run and log its parameters; or find the run that goes on, whose parameters
        MLflow does not let change.
        """
        kept = self._folder / KEPT if self._folder else None
        if kept and kept.exists():
            self._run = kept.read_text(encoding="utf-8").strip()
            self._client.update_run(self._run, status="RUNNING")
            return
        self._run = self._create_run(run)
        if kept:
            with replacing(kept) as part:
                part.write_text(f"{self._run}\n", encoding="utf-8")
        told = [Param(name, str(value)[:LONGEST]) for name, value in parameters(run).items()]
        for at in range(0, len(told), BATCH):
            self._client.log_batch(self._run, params=told[at : at + BATCH])

    def _create_run(self, run: RunRecord) -> str:
        """Create a run in the experiment, which is created if there is none, and return its
        number.
        """
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
        found = self._client.get_experiment_by_name(name)
        experiment = found.experiment_id if found else self._client.create_experiment(name)
        source = shlex.join(run.command) or "tux"
        tags = {"mlflow.source.name": source, "mlflow.source.type": "LOCAL"}
        title = self._folder.name if self._folder else run.app.name
        made = self._client.create_run(experiment, run_name=title, tags=tags)
        return str(made.info.run_id)

    def record(self, record: Mapping[str, float]) -> None:
        """Log an epoch's record; the epoch is the step of each metric."""
        self._last = int(record["epoch"])
        self._log(record)

    def end(self, results: Mapping[str, Any], state: str) -> None:
        """Log numbers as metrics of the last epoch, words as tags, and end the run."""
        found = outcomes(results)
        self._log({name: value for name, value in found.items() if is_number(value)})
        words = [RunTag(name, str(value)) for name, value in found.items() if not is_number(value)]
        if words:
            self._client.log_batch(self._run, tags=words)
        self._client.set_terminated(self._run, state)

    def _log(self, values: Mapping[str, float]) -> None:
        now = int(time.time() * 1000)
        metrics = [Metric(name, float(value), now, self._last) for name, value in values.items()]
        if metrics:
            self._client.log_batch(self._run, metrics=metrics)
