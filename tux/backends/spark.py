"""Spark places the machines: each is a task of one barrier stage, which starts all of them at once
or none.

The rows of a DataFrame reach the tasks as Arrow batches, and each task writes them to a file of its
machine. Spark does not start a barrier stage again that has lost a task; the driver of tux does.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from tux.backends.calls import Calls, DriverLine
from tux.backends.contract import Backend, EngineRows, Machine, MachineLost, MachineNeeds
from tux.backends.machine_command import MachineCommand
from tux.backends.remote_run import TEST, TRAIN
from tux.backends.spark_reports import ENDED, LOST_EXECUTOR, cause_of_failure
from tux.backends.spark_rows import DataFrame, check_alike, place_rows, spool
from tux.base.errors import DataError, DeadlinePassed, UsageError
from tux.base.text import plural
from tux.inputs.machine_share import MachineShare

PAUSE = 1.0
"""Seconds between two looks at what Spark has."""

NO_JAVA = "JAVA_GATEWAY_EXITED"
"""What pyspark reports where the process of Spark has ended before it could be used."""

STAGE_END_SECONDS = 30.0
"""Seconds in which a stage ends that is to end."""


class Spark(Backend):
    """Machines are tasks of a barrier stage of `session`; None: the active one, or a new one that
    is stopped at the end.
    """

    def __init__(self, session: Any = None) -> None:
        self._given = session
        self._session: Any = None
        self._owns = False
        self._calls: Calls | None = None
        self._stage: threading.Thread | None = None
        self._group = ""

    def rows_of(self, data: Any) -> EngineRows | None:
        """Return the rows of a DataFrame. They come with the stage."""
        if not type(data).__module__.startswith("pyspark.sql"):
            return None
        _refuse_connect(data)
        return DataFrame(data)

    def start(self, wanted: MachineNeeds) -> Sequence[Machine]:
        """See `Backend`."""
        limit = time.monotonic() + wanted.deadline
        check_alike([each.whole for each in _frames(wanted)])
        if self._session is None:
            given = next((each.whole.sparkSession for each in _frames(wanted)), None)
            self._session, self._owns = _session(self._given or given)
        while True:
            self._await_slots(wanted, limit)
            self._submit(wanted)
            try:
                return self._await_machines(wanted)
            except MachineLost as error:
                # Spark may still count an executor that is gone; the next stage gets others
                if LOST_EXECUTOR not in error.what or time.monotonic() > limit:
                    raise
                wanted.say(f"{error.what}; the stage is started again")
                self._end_stage()

    def replace(self, rank: int) -> None:
        """Return None: a barrier stage is started as a whole."""

    def close(self) -> None:
        """See `Backend`."""
        with _unless_gone():
            self._end_stage()
        session, self._session = self._session, None
        if session is not None and self._owns:
            with _unless_gone():
                session.stop()

    def _end_stage(self) -> None:
        calls, stage = self._calls, self._stage
        self._calls = self._stage = None
        if calls is not None:
            try:
                calls.leave()
                if stage is not None:
                    stage.join(STAGE_END_SECONDS / 3)  # those that are well leave by themselves
                    if stage.is_alive():
                        self._session.sparkContext.cancelJobGroup(self._group)
                        stage.join(STAGE_END_SECONDS)
            finally:
                calls.close()

    def _await_slots(self, wanted: MachineNeeds, limit: float) -> None:
        """Wait until Spark has as many slots as there are machines, be they free or not. Spark
        itself would look every 15 s, for ten minutes.
        """
        told = False
        while (slots := self._slots(wanted)) < wanted.machines:
            what = (
                f"Spark has {plural(slots, 'slot')} of {plural(wanted.cores, 'core')}, and "
                f"{wanted.machines} are needed"
            )
            if time.monotonic() > limit:
                raise DeadlinePassed(
                    f"{what}, one for each machine",
                    where=f"the wait for Spark's executors, {wanted.deadline:.0f} s",
                    do="give the application more executors or cores, or ask for fewer machines",
                )
            if not told:
                wanted.say(f"{what}; waits for executors")
                told = True
            time.sleep(PAUSE)

    def _slots(self, wanted: MachineNeeds) -> int:
        """Return how many tasks of so many cores can run at a time."""
        context = self._session.sparkContext._jsc.sc()
        profile = context.resourceProfileManager().defaultResourceProfile()
        each = int(context.getConf().getInt("spark.task.cpus", 1))
        slots = int(context.maxNumConcurrentTasks(profile))
        return slots if wanted.cores <= each else slots * each // wanted.cores

    def _submit(self, wanted: MachineNeeds) -> None:
        """Have the stage run, by a thread."""
        from pyspark.errors import AnalysisException

        conf = self._session.sparkContext.getConf()
        host, own = conf.get("spark.driver.host"), conf.get("spark.driver.bindAddress", "")
        rows = _frames(wanted)
        first = rows[0].first if rows else []
        frames = [each.whole for each in rows]
        try:
            frame = place_rows(self._session, wanted.machines, frames, first)
        except AnalysisException as error:
            raise DataError(
                f"the DataFrame cannot be dealt out: {cause_of_failure(str(error))}",
                do="see that no two of its columns have the same name",
            ) from None
        self._calls, self._group = Calls(host, own), f"tux-{uuid4().hex}"
        task = _task(self._calls.address, self._calls.secret, wanted.machines if first else 0)
        stage = frame.mapInArrow(task, "rank int", barrier=True, profile=self._profile(wanted))
        arguments = (self._session.sparkContext, self._group, stage, self._calls)
        self._stage = threading.Thread(target=_run, args=arguments, daemon=True)
        self._stage.start()

    def _profile(self, wanted: MachineNeeds) -> Any:
        """Return the needs of a task, if they are more than Spark gives to any task; else None."""
        from pyspark.resource import ResourceProfileBuilder, TaskResourceRequests

        if wanted.cores <= int(self._session.sparkContext.getConf().get("spark.task.cpus", "1")):
            return None
        needs = TaskResourceRequests().cpus(wanted.cores)
        return ResourceProfileBuilder().require(needs).build

    def _await_machines(self, wanted: MachineNeeds) -> Sequence[Machine]:
        """Wait until all machines have their rows, and return them. DeadlinePassed if none gets any
        further.
        """
        calls = self._calls
        assert calls is not None
        while True:
            there = [calls.machines[rank] for rank in sorted(calls.machines)]
            if calls.lost is not None:
                if calls.lost.what == ENDED and not there:
                    break  # Spark leaves out the stage of a DataFrame that it knows to be empty
                raise calls.lost
            if sum(each.ready for each in there) == wanted.machines:
                break
            if time.monotonic() - calls.moved > wanted.deadline:
                raise DeadlinePassed(
                    f"{len(there)} of {wanted.machines} machines are there; Spark has "
                    f"{plural(self._slots(wanted), 'slot')}, which other jobs may use",
                    where=f"the wait for the tasks of a barrier stage, {wanted.deadline:.0f} s",
                    do="end other jobs of the application, or wait longer: --timeout SECONDS",
                )
            time.sleep(0.05)
        if frames := _frames(wanted):
            frames[0].check([each.rows for each in there])
        return [SparkMachine(calls, rank, each.host) for rank, each in enumerate(there)]


def _frames(wanted: MachineNeeds) -> list[DataFrame]:
    """Return the DataFrames of a run: that to train on, then the one that is held out. UsageError
    for one without the other.
    """
    if wanted.rows and TRAIN not in wanted.rows:
        raise UsageError("held-out rows are a DataFrame, and DATA is none", do="give both so")
    return [each for each in wanted.rows.values() if isinstance(each, DataFrame)]


class SparkMachine(Machine):
    """The driver's end of one task."""

    def __init__(self, calls: Calls, rank: int, address: str) -> None:
        self._calls, self._rank, self.address = calls, rank, address

    def ask(self, method: str, *arguments: Any) -> Any:
        """See `Machine`."""
        return self._calls.ask(self._rank, method, *arguments)

    def take(self, data: Any, name: str, notes: Mapping[str, str]) -> None:
        """Do nothing: the task has written the rows already. DataError if there were none."""
        if name not in [each for each, _ in self.ask("files", ".")]:
            which = "held-out DataFrame" if name == TEST else "DataFrame"
            raise DataError(f"the {which} has no rows", do="look at its filters")

    def kill(self) -> None:
        """Do nothing: Spark ends the whole stage, and the driver closes it, as none is replaced."""


def _run(context: Any, group: str, stage: Any, calls: Calls) -> None:
    """Run the stage; when it ends, all its machines are gone."""
    try:
        context.setJobGroup(group, "tux run", interruptOnCancel=True)
        stage.collect()
        calls.lose(ENDED)
    except Exception as error:
        calls.lose(f"{ENDED}: {cause_of_failure(str(error))}")


def _task(driver: str, secret: bytes, dealt: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function that each task runs, on the Arrow batches of its rows. `dealt`: the
    number of machines that have a share of the rows each; 0: each has all rows.
    """

    def machine(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import BarrierTaskContext

        rank, command = BarrierTaskContext.get().partitionId(), MachineCommand()
        notes = MachineShare(rank, dealt).notes if dealt else {}
        try:
            with DriverLine(command, driver, secret, rank) as line:
                spool(batches, command.folder, line.report_rows, notes)
                line.serve()
        finally:
            command.close()
        yield from ()

    return machine


def _session(given: Any) -> tuple[Any, bool]:
    """Return the session that was given, the active one, or a new one; and whether it is new.
    UsageError if it starts no stages here.
    """
    try:
        from pyspark.sql import SparkSession

        session = given or SparkSession.getActiveSession()
        if is_new := session is None:
            quiet = SparkSession.builder.config("spark.ui.showConsoleProgress", "false")
            session = quiet.appName("tux").getOrCreate()
            session.sparkContext.setLogLevel("ERROR")
    except ImportError:
        raise UsageError("pyspark is not installed", do="pip install 'tux[spark]'") from None
    except Exception as error:
        told = str(error)
        raise UsageError(
            f"no Spark session: {cause_of_failure(told)}",
            do="install Java 17 or newer, and put java on the PATH or its folder into JAVA_HOME"
            if NO_JAVA in told and not _has_java()
            else "start tux with spark-submit, or name spark.master in spark-defaults.conf",
        ) from None
    _refuse_connect(session)
    return session, is_new


@contextmanager
def _unless_gone() -> Iterator[None]:
    """Do the body as far as the process of Spark is still there. A signal to all processes of a
    command, as SIGTERM often is, ends that one too, and with it all that is to be ended here.
    """
    try:
        yield
    except OSError:
        return
    except Exception as error:
        if not type(error).__module__.startswith("py4j"):
            raise


def _has_java() -> bool:
    """Return whether there is a program that Spark would take for Java."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(os.path.join(home, "bin", "java") if home else "java") is not None


def _refuse_connect(one: Any) -> None:
    """Refuse a session, or a DataFrame, of Spark Connect. UsageError."""
    if "connect" in type(one).__module__.split("."):
        raise UsageError(
            "a session of Spark Connect starts no barrier stage",
            do="use the session of a Spark application: SparkSession.builder.master(...)",
        )
