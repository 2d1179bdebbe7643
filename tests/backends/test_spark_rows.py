"""The parts of the Spark back-end that need no Spark: rows to files, reasons out of long reports,
the rows of a run.
"""

from itertools import pairwise
from types import SimpleNamespace

import pyarrow as pa
import pytest
from support.messages import message

from tux.arrays.arrow import read_parquet
from tux.backends import spark, spark_reports, spark_rows
from tux.backends.contract import MachineNeeds
from tux.backends.spark import Spark, SparkMachine
from tux.base.errors import DataError, UsageError
from tux.inputs.machine_share import MachineShare, share_of

REPORT = """An error occurred while calling o87.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Could not recover from a \
failed barrier ResultStage. Most recent failure reason: Stage failed because barrier task \
ResultTask(4, 1) finished unsuccessfully.
{cause}
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:3122)
"""


def batch(users, held_out):
    count = len(users)
    columns = {"user": users, spark_rows.ROW: [*range(count)], spark_rows.PLACE: [7] * count}
    return pa.RecordBatch.from_pydict(columns | {spark_rows.HELD_OUT: held_out})


def spool_batches(folder, batches, notes=None):
    rows = []
    spark_rows.spool(iter(batches), folder, rows.append, notes or {})
    found = {path.name: read_parquet(path) for path in sorted(folder.iterdir())}
    assert all([*table] == ["user"] for table in found.values()), "none of tux's own columns"
    return sum(rows), {name: table["user"].tolist() for name, table in found.items()}


def test_rows_of_both_data_frames_go_to_their_files(tmp_path):
    batches = [batch([3, 1], [0, 0]), batch([4, 1, 5], [0, 1, 1]), batch([9], [1])]
    files = {"data.parquet": [3, 1, 4], "test.parquet": [1, 5, 9]}
    assert spool_batches(tmp_path, batches) == (3, files)


def test_only_the_rows_to_train_on_are_a_share(tmp_path):
    spool_batches(
        tmp_path, [batch([3, 1], [0, 0]), batch([4, 5], [0, 1])], MachineShare(2, 5).notes
    )
    assert share_of(tmp_path / "data.parquet") == MachineShare(2, 5)
    assert share_of(tmp_path / "test.parquet") is None


@pytest.mark.parametrize(
    ("counts", "machines", "first"),
    [
        ({0: 10}, 2, [(0, 5)]),
        ({0: 3, 1: 3}, 2, [(1, 0)]),
        ({4: 2, 1: 7, 0: 0}, 3, [(1, 3), (1, 6)]),
        ({0: 1, 2: 1, 3: 1}, 3, [(2, 0), (3, 0)]),
        ({0: 9}, 1, []),
    ],
)
def test_the_first_row_of_each_machine(counts, machines, first):
    assert spark_rows.cuts(counts, machines) == [(part << 33) + row for part, row in first]


def test_every_cut_gives_shares_of_as_many_rows():
    counts = {0: 5, 1: 0, 2: 1, 3: 11, 7: 2}
    rows = [(part << 33) + row for part, many in counts.items() for row in range(many)]
    for machines in range(1, len(rows) + 1):
        first = [0, *spark_rows.cuts(counts, machines), 1 << 62]
        shares = [sum(low <= row < high for row in rows) for low, high in pairwise(first)]
        assert sum(shares) == len(rows) and max(shares) - min(shares) <= 1


def test_rows_that_are_others_than_were_counted():
    rows = spark_rows.DataFrame(None)
    rows.check([3, 4])  # all have all
    rows._counts, rows.first = {0: 7}, [3]
    rows.check([3, 4])
    with pytest.raises(DataError, match=message("the-dataframe-had-rows-when", "7", "6")):
        rows.check([3, 3])
    for others, first in (([0, 7], "machine 0 has got 0"), ([4, 3], "machine 0 has got 4")):
        with pytest.raises(DataError, match=f"other partitions.*{first} of them, and should have"):
            rows.check(others)
    with pytest.raises(DataError, match=message("the-dataframe-has-no-rows")):
        rows.check([0, 0])


def test_rows_of_one_data_frame(tmp_path):
    assert spool_batches(tmp_path, [batch([3], [0]), batch([2], [0])]) == (
        2,
        {"data.parquet": [3, 2]},
    )


@pytest.mark.parametrize(
    "batches", [[], [batch([], [])], [pa.RecordBatch.from_pydict({"id": [1]})]]
)
def test_no_rows_give_no_file(tmp_path, batches):
    assert spool_batches(tmp_path, batches) == (0, {})


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (
            "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: x",
            "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: x",
        ),
        (
            "Traceback (most recent call last):\nModuleNotFoundError: No module named 'tux'",
            "ModuleNotFoundError: No module named 'tux'",
        ),
    ],
)
def test_the_reason_of_a_failed_stage(cause, reason):
    assert spark_reports.cause_of_failure(REPORT.format(cause=cause)) == reason


def test_the_reason_why_there_is_no_session():
    """Py4J puts a colon before it."""
    cause = "java.lang.IllegalArgumentException: requirement failed: a setting is too large"
    where = "\tat scala.Predef$.require(Predef.scala:337)"
    report = f"An error occurred while calling None.JavaSparkContext.\n: {cause}\n{where}\n"
    assert spark_reports.cause_of_failure(report) == cause


def test_a_machine_without_java_is_told_to_install_it(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert not spark._has_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", "/nowhere")
    assert not spark._has_java()


class Gone:
    """A session whose process has ended."""

    def __init__(self, error):
        self.error = error

    def stop(self):
        raise self.error


def test_a_process_of_spark_that_is_gone_is_no_error_at_the_end():
    backend = Spark()
    backend._session, backend._owns = Gone(ConnectionRefusedError("refused")), True
    backend.close()
    backend._session = Gone(type("Py4JNetworkError", (Exception,), {"__module__": "py4j.x"})())
    backend.close()
    backend._session = Gone(ValueError("a mistake"))
    with pytest.raises(ValueError, match="a mistake"):
        backend.close()


def test_a_report_without_words_has_a_reason():
    assert spark_reports.cause_of_failure("") == "no reason given"


def needs_of_frames(**frames):
    """Return the `MachineNeeds` of a run with these DataFrames."""
    kind = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})
    rows = {f"{name}.parquet": Spark().rows_of(kind()) for name in frames}
    return MachineNeeds(2, 1, 1.0, rows=rows)


def test_a_back_end_keeps_no_data_frames():
    """If a run fails before it starts, its data frames must not reach the next run."""
    backend = Spark(object())
    before = dict(vars(backend))
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})()
    assert backend.rows_of(frame).whole is frame
    assert backend.rows_of("a.csv") is None and backend.rows_of(None) is None
    assert vars(backend) == before


def test_held_out_rows_alone():
    with pytest.raises(UsageError, match=message("held-out-rows-are-a")):
        Spark(object()).start(needs_of_frames(test=0))


def test_held_out_rows_of_other_columns():
    """By Spark's rules, ids that are numbers in one of them would become text in both."""
    train, other = [("user", "int"), ("item", "int")], [("item", "int"), ("user", "string")]
    of = lambda dtypes: SimpleNamespace(dtypes=dtypes)  # noqa: E731
    spark_rows.check_alike([of(train), of(train[::-1])])
    spark_rows.check_alike([of(train)])
    told = "the columns item int, user string, and the one to train on has user int, item int"
    with pytest.raises(DataError, match=told):
        spark_rows.check_alike([of(train), of(other)])


def test_held_out_rows_that_are_none():
    calls = SimpleNamespace(ask=lambda rank, method, *arguments: [["data.parquet", 7]])
    machine = SparkMachine(calls, 0, "10.0.0.1")
    machine.take(None, "data.parquet", {})
    with pytest.raises(DataError, match=message("the-has-no-rows", "held-out DataFrame")):
        machine.take(None, "test.parquet", {})


def test_spark_connect_is_refused_before_its_rows_are_counted():
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    with pytest.raises(UsageError, match="Spark Connect"):
        Spark().rows_of(frame)
