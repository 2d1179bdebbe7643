"""Members over real sockets, and ``tux`` commands as processes with small data."""

import socket

import pytest
from support.machines.members import JOB, SMALL

from faults.running import Running
from tux.cluster.transport.socket_thread import SocketThread
from tux.messages.message import Kind
from tux.synthetic.graph import graph
from tux.synthetic.ratings import ratings as drawn

HARD = 300.0  # seconds after which a command counts as hung


@pytest.fixture
def join():
    """Start socket threads that close at the end: ``join(addresses, **options)``."""
    started = []

    def start(addresses, *, handle=None, partners=(), largest=SMALL, members=None, job=JOB):
        for number in range(len(addresses)) if members is None else members:
            each = (handle or {}).get(number, lambda message: message.kind is Kind.CONTROL)
            started.append(
                SocketThread(
                    number,
                    addresses,
                    job,
                    each,
                    partners=[n for n in partners if n != number],
                    largest=largest,
                )
            )
            started[-1].start()
        return started[-len(addresses if members is None else members) :]

    yield start
    for member in started:
        if member._thread.is_alive():
            member.close(0.5)


@pytest.fixture
def ipc(tmp_path):
    """Return a function that gives addresses in a folder of the test's own: ``ipc(n)``."""
    return lambda n: [f"ipc://{tmp_path}/{number}" for number in range(n)]


@pytest.fixture
def tcp():
    """Return a function that gives loopback addresses that are free."""

    def addresses(n):
        held = [socket.socket() for _ in range(n)]
        for each in held:
            each.bind(("127.0.0.1", 0))
        free = [f"tcp://127.0.0.1:{each.getsockname()[1]}" for each in held]
        for each in held:
            each.close()
        return free

    return addresses


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with small ratings, whose ids are words, and a random graph."""
    folder = tmp_path_factory.mktemp("files")
    for name, part in zip(
        ("train", "test"), drawn(300, 100, 8000, test_share=0.1).split(), strict=True
    ):
        rows = zip(
            part["user"].tolist(), part["item"].tolist(), part["rating"].tolist(), strict=True
        )
        (folder / f"{name}.csv").write_text(
            "user,item,rating\n" + "".join(f"ann{u},thing {i},{r}\n" for u, i, r in rows)
        )
    pairs = zip(*(end.tolist() for end in graph(300, 1500)), strict=True)
    (folder / "links.txt").write_text("".join(f"{a} {b}\n" for a, b in pairs))
    return folder


@pytest.fixture
def start(tmp_path):
    """Start a ``tux run`` in a folder of the test's own; at the end nothing of it may live."""
    running = []

    def begin(*argv):
        folder = tmp_path / str(len(running))
        folder.mkdir()
        running.append(Running(folder, "run", *argv))
        return running[-1]

    yield begin
    for each in running:
        each.__exit__()


@pytest.fixture
def tux(start):
    """Run to the end: (exit code, standard output, standard error), in which is no traceback;
    nothing is left.
    """

    def run(*argv):
        each = start(*argv)
        code = each.wait(HARD)
        out, err = each.output()
        assert code is not None, f"hung: {out} {err}"
        assert each.leftovers() == []
        assert "Traceback" not in out + err
        return code, out, err

    return run
