"""Members of a job over real sockets: small messages, and waiting for what has to happen."""

import time

import numpy as np

from tux.cluster.job.job import Job
from tux.messages.message import Kind, Message

JOB = 0x1234_5678_9ABC_DEF0
SOON = 60.0  # seconds in which everything here has long happened
SMALL = 1 << 16


def until(true, what):
    """Wait until something has happened; it is an error if it never does."""
    limit = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < limit, f"{what} never happened"
        time.sleep(0.01)


def up(dest, value=0, source=0):
    return Message(Kind.CONTRIBUTION, source, dest, arrays=[np.full(3, value, np.int64)])


def value_of(message):
    return int(message.arrays[0].flat[0])


def assert_delivers(one, other, value=7):
    """Assert that a message still goes from one member to another."""
    one.send(up(other.number, value, one.number))
    assert value_of(other.receive(SOON, "a message")) == value


def job_in(folder, **changed):
    """Return a job of two workers, whose sockets are in a folder."""
    fields = dict(
        nonce=b"1",
        graph="",
        app="mf",
        parameters={},
        traits={},
        workers=2,
        launcher=f"ipc://{folder}/launcher",
        listen=f"ipc://{folder}/{{}}",
        secret=None,
        seed=0,
        slack=0,
        jit=False,
        check=False,
        epochs=1,
        eval_every=1,
        patience=0,
        keep_best=False,
        deadline=5,
    )
    return Job(**fields | changed)
