"""Several machines that load anew when a loader or a machine is lost: they write what they write
where nobody is lost.
"""

import signal
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from support.machines.line_machines import LineMachine, command, compare, job, lines, places
from support.machines.members import SOON, until

from tux.base.errors import (
    DataError,
    Interrupted,
    MustReadWhole,
    PeerLost,
    Refused,
    StartsAgain,
)
from tux.cluster.job import local_processes
from tux.cluster.rendezvous import joining
from tux.cluster.rendezvous.attendance import MachineLeft
from tux.cluster.rendezvous.meeting import Meeting
from tux.cluster.rendezvous.place import Place
from tux.cluster.transport.control import Bye, Failure, Join, ReadWhole, Welcome
from tux.cluster.transport.refusals import Refusals
from tux.parallel_load.process import loading_launcher
from tux.parallel_load.process.loader_member import early_end_error
from tux.parallel_load.process.loader_process import job_folder
from tux.parallel_load.process.loading_again import Losses
from tux.parallel_load.process.loading_launcher import LoadingLauncher


def order(path, word, number):
    """Let the loader do something, the next time that it reads the lines at `path`."""
    path.with_name(f"{path.name}.{word}-{number}").touch()


def start(tmp_path, port, path, n=2, restarts=1, machines=2):
    where = places(port, machines)
    return [
        LineMachine(tmp_path / str(each.rank), each, job(path, n), restarts=restarts)
        for each in where
    ]


# ---- without processes


def test_losses_are_counted_and_told():
    losses, error = Losses(1), PeerLost("loader 1 was killed")
    assert not losses.may_load_again(DataError("a bad line")) and not losses.may_load_again(
        KeyboardInterrupt()
    )
    assert not losses.may_load_again(MachineLeft("machine 1 was ended there by the user"))
    assert losses.may_load_again(error) and losses.why == ["loader 1 was killed"]
    assert str(losses) == "loader 1 was killed; the data are loaded anew (restart 1 of 1)"
    assert not losses.may_load_again(error)
    assert error.what == "loader 1 was killed; the 1 restart of --restarts is used up"
    assert not Losses(0).may_load_again(error) and error.what.endswith("is used up")


@pytest.mark.parametrize(
    ("control", "error", "words"),
    [
        (Bye("loader 1 was killed", again=True), StartsAgain, "loads the data anew: loader 1 was"),
        (Bye("loader 1 was killed"), Refused, "machine 0 ended the job: loader 1 was killed"),
        (Bye("Ctrl-C", interrupted=True), Interrupted, "machine 0 ended the job"),
        (ReadWhole(), MustReadWhole, "each reads the whole input"),
        (None, Refused, "machine 0 ended the job"),
    ],
)
def test_why_a_loader_ends(control, error, words):
    why = early_end_error(control)
    assert type(why) is error and words in why.what


@pytest.fixture
def launcher():
    """Return a launcher of a run's second meeting, for one that has only heads for questions."""
    heard = []
    return SimpleNamespace(
        job=SimpleNamespace(nonce=b"two"),
        socket_thread=SimpleNamespace(inbox=SimpleNamespace(put=heard.append)),
        heard=heard,
        _nonces=[b"one", b"two"],
        _over=None,
        _joiners=set(),
        _attendance=SimpleNamespace(is_complete=False),
    )


def test_what_a_machine_is_told_that_asks_to_load(launcher):
    def answer(**join):
        return LoadingLauncher._answer(launcher, Join("tcp://there", **join))

    assert answer() == answer(nonce=b"one", lost="an older one") == Welcome(b"two")
    launcher._attendance.is_complete = True
    assert isinstance(answer(), Bye) and not launcher.heard
    assert answer(nonce=b"two", lost="loader 1 was killed") is None
    (lost,) = launcher.heard
    assert type(lost) is PeerLost and lost.what == "loader 1 was killed"
    launcher._over = Failure(4, "it is over", "", "")
    assert launcher._joiners == {"tcp://there"}
    assert answer(nonce=b"two", lost="loader 1 was killed") == launcher._over
    assert not launcher._joiners


def test_a_machine_that_ends_before_it_has_joined_does_not_end_the_others():
    warned, answered = [], []
    meeting = Meeting.at(Place(2, 0, "127.0.0.1", 1, None), 2, {}, 1.0)
    sockets = SimpleNamespace(send_once=lambda address, frames: answered.append(address))
    own = SimpleNamespace(sockets=sockets, refused=0, last_refused="")
    launcher = SimpleNamespace(
        job=meeting,
        socket_thread=SimpleNamespace(reactor=own),
        _refusals=Refusals(warned.append),
        _asked_for_job=None,
    )
    join = Join("tcp://there", lost="machine 1 has ended: no such file", leaves=True)
    for _ in range(2):
        assert LoadingLauncher._answer_outsider(
            launcher, joining.encode_control(join, meeting.other_meeting)
        )
    launcher._refusals.warn(own)
    (text,) = warned
    assert text.startswith("machine 1 has ended: no such file; it is waited for")
    assert answered == ["tcp://there"] * 2 and launcher._asked_for_job is None


@pytest.mark.parametrize("nonce", [b"one", b"two", b"another run"])
def test_a_machine_that_leaves_ends_the_run_whichever_meeting_it_has_joined(launcher, nonce):
    join = Join("tcp://there", nonce, "its disk is full", leaves=True)
    assert LoadingLauncher._answer(launcher, join) is None
    assert [type(each) for each in launcher.heard] == [MachineLeft] * (nonce != b"another run")


class Losing(LoadingLauncher):
    """A launcher whose loader is lost at once. What it tells at its end is in ``told``."""

    def __init__(self, closes):
        self.told, self.socket_thread, self._over = [], self, None
        self.wait_until_closed = lambda seconds: closes
        self.naming_hosts = nullcontext

    def start(self):
        raise PeerLost("loader 1 was killed")

    def _close(self, control, patience=2.0):
        self.told.append(control)


@pytest.mark.parametrize(
    ("closes", "signalled", "again"),
    [(True, None, True), (False, None, True), (True, signal.SIGINT, False)],
)
def test_who_has_asked_to_end_gets_no_restart(monkeypatch, closes, signalled, again):
    """Nor does a launcher whose address does not become free."""
    monkeypatch.setattr(loading_launcher, "last_signal", lambda: signalled)
    launcher, losses = Losing(closes), Losses(1)
    if closes and again:
        assert not launcher.lead(losses)
    else:
        with pytest.raises(PeerLost, match="loader 1 was killed"):
            launcher.lead(losses)
    assert launcher.told == [Bye("loader 1 was killed", again=again)]
    assert losses.why == ["loader 1 was killed"] * again


# ---- with loaders


@pytest.mark.parametrize(
    "killed", [pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.long)]
)
def test_a_killed_loader_has_all_machines_load_anew(tmp_path, port, killed):
    path = lines(tmp_path)
    order(path, "die", killed)
    machines = start(tmp_path, port, path)
    compare(tmp_path, machines, 2, "dbh")
    (why,) = machines[0].losses.why
    assert f"loader {killed} on " in why and "was killed by signal 9 (SIGKILL)" in why
    assert machines[0].watch.lines == [f"{why}; the data are loaded anew (restart 1 of 1)"]
    (told,) = machines[1].watch.warnings
    by = "" if killed else "machine 0 loads the data anew: "
    assert told == f"{by}{why}; this machine joins again"
    assert not any(machine.loaders for machine in machines)


@pytest.mark.long
def test_more_loaders_and_machines_are_lost(tmp_path, port):
    path = lines(tmp_path)
    for number in (1, 2, 5):
        order(path, "die", number)
    machines = start(tmp_path, port, path, 6, restarts=3, machines=3)
    compare(tmp_path, machines, 6, "dbh")
    assert 1 <= len(machines[0].losses.why) <= 3
    assert not any(machine.loaders for machine in machines)


@pytest.mark.long
@pytest.mark.parametrize("line", [300, pytest.param(1700, marks=pytest.mark.long)])
def test_after_the_last_restart_all_machines_end(tmp_path, port, line):
    """The machine that has lost its loader is told so when it asks to join again."""
    machines = start(tmp_path, port, lines(tmp_path, {line: "die"}))
    first, second = (machine.result() for machine in machines)
    none_left = "was killed by signal 9 (SIGKILL); the 1 restart of --restarts is used up"
    assert isinstance(first, PeerLost) and none_left in first.what
    assert isinstance(second, PeerLost | Refused) and none_left in second.what
    assert len(machines[0].losses.why) == 1
    assert not any(machine.loaders for machine in machines)


@pytest.mark.long
@pytest.mark.parametrize("stopped", [pytest.param(0, marks=pytest.mark.long), 1])
def test_a_stopped_loader_has_all_machines_load_anew(tmp_path, port, stopped, monkeypatch):
    monkeypatch.setattr(local_processes, "SILENCE", 1.0)
    path = lines(tmp_path)
    order(path, "stop", stopped)
    machines = start(tmp_path, port, path)
    compare(tmp_path, machines, 2, "dbh")
    assert len(machines[0].losses.why) == 1
    assert not any(machine.loaders for machine in machines)


@pytest.mark.long
@pytest.mark.parametrize("killed", [pytest.param(0, marks=pytest.mark.long), 1])
def test_a_fault_of_the_input_is_met_again_and_ends_all(tmp_path, port, killed):
    path = lines(tmp_path, {1700: "no"})
    order(path, "die", killed)
    machines = start(tmp_path, port, path, restarts=3)
    first, second = (machine.result() for machine in machines)
    assert isinstance(first, DataError) and "edges:1701" in str(first)
    assert isinstance(second, DataError | Refused)
    assert len(machines[0].losses.why) == 1


# ---- with commands


@pytest.fixture
def begin(tmp_path, port):
    """Start the command of a machine: ``begin(1, path)``. Its folder is that of its number."""
    running = []

    def start_machine(rank, path, restarts=1):
        folder = tmp_path / str(rank)
        running.append(command(folder, rank, port, path, 2, restarts))
        return running[-1]

    yield start_machine
    for each in running:
        each.kill()
        each.wait()
        each.stdout.close()


def reads(tmp_path, rank):
    """Wait until the loader of this machine reads, when it was told to sleep then."""
    until((job_folder(tmp_path / str(rank)) / f"sleeps-{rank}").exists, "the loader to read")


def machine(tmp_path, port, rank, path, restarts=1):
    return LineMachine(tmp_path / str(rank), places(port)[rank], job(path, 2), restarts=restarts)


@pytest.mark.long
@pytest.mark.parametrize("killed", [pytest.param(0, marks=pytest.mark.long), 1])
def test_a_killed_command_that_is_started_again_loads_with_the_other(tmp_path, port, begin, killed):
    """As a scheduler does it, at once."""
    path = lines(tmp_path)
    order(path, "sleep", killed)
    other = machine(tmp_path, port, 1 - killed, path)
    lost = begin(killed, path)
    reads(tmp_path, killed)
    lost.send_signal(signal.SIGKILL)
    lost.communicate()
    until(lambda: not (tmp_path / str(killed)).exists(), "the loader to remove the folder")
    back = machine(tmp_path, port, killed, path)
    machines = [other, back] if killed else [back, other]
    compare(tmp_path, machines, 2, "dbh")
    assert len(other.losses.why) == killed  # a new machine 0 has lost nobody
    assert not any(each.loaders for each in machines)


@pytest.mark.long
@pytest.mark.parametrize("ended", [pytest.param(0, marks=pytest.mark.long), 1])
def test_ctrl_c_ends_all_machines_while_they_load(tmp_path, port, begin, ended):
    """Nobody loads anew."""
    path = lines(tmp_path)
    order(path, "sleep", ended)
    other = machine(tmp_path, port, 1 - ended, path, restarts=3)
    user = begin(ended, path, restarts=3)
    reads(tmp_path, ended)
    user.send_signal(signal.SIGINT)
    user.communicate(timeout=SOON)
    assert user.returncode == 130
    end = other.result()
    if ended:
        assert isinstance(end, PeerLost) and "was ended there by the user" in end.what
    else:
        assert isinstance(end, Interrupted)
    assert not other.losses.why and not other.watch.warnings and not other.loaders
