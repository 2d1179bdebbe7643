"""The parts of the Ray back-end that need no Ray: calls to an actor, and the tables of its rows."""

import socket
from types import SimpleNamespace

import pyarrow as pa
import pytest
from support.messages import message

from tux.apps.mf.mf import MF
from tux.backends import ray as module
from tux.backends.contract import MachineLost, serve_call
from tux.backends.local import LocalBackend
from tux.backends.ray import RayMachine
from tux.backends.ray_rows import DataSet, first_row, join_columns, matching_tables
from tux.backends.remote_run import remote_run
from tux.base.errors import DataError, DiskError, UsageError
from tux.options.options import RunOptions


class RayError(Exception):
    pass


class GetTimeoutError(RayError):
    pass


class Actor:
    """Its calls are answered at once; but to write rows takes it so many looks, None: for ever.
    Once it is `stopped`, nothing is.
    """

    def __init__(self, looks=0, error=None):
        self.looks, self.error, self.stopped, self.asked = looks, error, False, []
        self.serve = SimpleNamespace(remote=self._serve)
        self.take = SimpleNamespace(remote=self._take)

    def _serve(self, method, arguments):
        self.asked.append(method)
        return lambda: None if self.stopped else [False]

    def _take(self, name, tables, notes):
        self.asked.append(("take", name, tables, notes))
        return self._take_reply

    def _take_reply(self):
        if self.looks is None or self.looks > 0:
            return None
        if isinstance(self.error, RayError):
            raise self.error
        return serve_call(self._take_result)

    def _take_result(self):
        if self.error:
            raise self.error


class Looks:
    """A replacement of the module ray with those functions alone that tux calls."""

    exceptions = SimpleNamespace(RayError=RayError, GetTimeoutError=GetTimeoutError)

    def __init__(self, actor, stops=None):
        self.actor, self.stops, self.waits = actor, stops, 0

    def wait(self, replies, timeout):
        assert timeout is not None, "a wait without end"
        self.waits += 1
        self.actor.stopped = self.waits == self.stops
        if self.actor.looks:
            self.actor.looks -= 1
            return [], replies
        return (replies, []) if self.actor.looks == 0 else ([], replies)

    def get(self, reply, timeout):
        assert timeout is not None, "a wait without end"
        if (answer := reply()) is None:
            raise GetTimeoutError
        return answer


def takes(actor, **more):
    RayMachine(Looks(actor, **more), actor, "10.0.0.1").take(["a table"], "data.parquet", {})


def test_to_write_rows_may_take_long():
    actor = Actor(looks=5)
    takes(actor)
    assert actor.asked == [("take", "data.parquet", ["a table"], {}), *["sees"] * 5]


def test_an_actor_that_stops_while_it_writes_its_rows_is_lost():
    with pytest.raises(MachineLost, match=f"has not answered for {module.SILENCE:.0f} s"):
        takes(Actor(looks=None), stops=3)


def test_the_error_of_an_actor_that_writes_rows_is_raised():
    with pytest.raises(DiskError, match="the disk is full"):
        takes(Actor(error=DiskError("the disk is full")))
    with pytest.raises(MachineLost, match="its actor is gone: the node has ended"):
        takes(Actor(looks=1, error=RayError("report\nthe node has ended")))


class Connects(Looks):
    """It notes that it was asked to connect, and answers so."""

    def __init__(self, error=None):
        self.error, self.asked = error, 0

    def init(self, **options):
        self.asked += 1
        if self.error:
            raise self.error


def test_an_address_where_nobody_listens_is_told_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        there = Connects()
        module._connect(there, address)
        assert there.asked == 1
    gone = Connects()
    for given in (address, f"ray://{address}"):
        with pytest.raises(UsageError, match=f"no Ray cluster answers at {given}") as caught:
            module._connect(gone, given)
        assert "ray start --head" in caught.value.do and gone.asked == 0


@pytest.mark.parametrize(
    "error", [ConnectionError("failed to connect"), RayError("report\nfailed to connect")]
)
def test_a_cluster_that_refuses_is_an_error_of_usage(error):
    with pytest.raises(
        UsageError, match=message("ray-does-not-connect", "failed to connect")
    ) as caught:
        module._connect(Connects(error), "")
    assert "RAY_AUTH_MODE=token" in caught.value.do


def tables(*columns):
    return [pa.table({"id": [1], "x": pa.array(values, kind)}) for values, kind in columns]


@pytest.mark.parametrize("first", [0, 1])
def test_blocks_without_rows_are_left_out_and_missing_values_have_any_type(first):
    given = tables(([1.0], "f8"), ([None], "null"), ([2.0], "f8"))
    expected = [table.cast(given[0].schema) for table in given]
    empty = [pa.table({}), given[0].slice(0, 0)]
    columns = join_columns(map(first_row, [*empty, *given[first:], *given[:first]]))
    assert [*matching_tables([*empty, *given], columns)] == expected
    # also on a machine none of whose rows has a value of the column
    assert [*matching_tables([given[1]], columns)] == [expected[1]]


@pytest.mark.parametrize(
    "others",
    [
        tables(([1.0], "f8"), ([1.0], "f4")),
        [pa.table({"id": [1]}), pa.table({"id": [1], "x": [1]})],
        [pa.table({"id": [1]}), pa.table({"other": [1]})],
    ],
)
def test_blocks_of_other_columns_are_refused(others):
    """float64 would become float32 without a word."""
    with pytest.raises(DataError, match=message("a-block-of-the-data")) as raised:
        join_columns(map(first_row, others))
    for table in others:
        assert ", ".join(f"{each.name} {each.type}" for each in table.schema) in raised.value.what


def test_a_data_set_that_cannot_be_computed():
    def materialize():
        raise RayError("a long report\nValueError: no such column")

    with pytest.raises(DataError, match="cannot be computed: ValueError: no such column"):
        DataSet(SimpleNamespace(materialize=materialize))


def test_the_data_that_have_no_rows_are_named():
    class Engine(LocalBackend):
        def rows_of(self, data):
            empty = SimpleNamespace(count=lambda: 0)
            return data and DataSet(SimpleNamespace(materialize=lambda: empty))

    told = {("a", None): "the rows to train on", (None, "b"): "the held-out rows"}
    for (data, test), where in told.items():
        with pytest.raises(DataError, match=message("the-data-set-has-no")) as raised:
            remote_run(MF(), data, test, RunOptions(), 2, Engine())
        assert raised.value.where == where
