"""The command of another machine, whose workers are started again with those of machine 0: without
processes.
"""

import signal
import subprocess
import sys

import pytest
from support.machines.members import job_in

from tux.base.errors import Interrupted, PeerLost, ProgramError, Refused, StartsAgain, TuxError
from tux.cluster.job import follower_launcher, local_processes
from tux.cluster.job.failures import failure_of, leave_failure
from tux.cluster.job.follower_launcher import FollowerLauncher
from tux.cluster.job.job import Job
from tux.cluster.job.local_workers import LocalWorkers
from tux.cluster.rendezvous.member import ending_error
from tux.cluster.transport.control import Bye, Welcome, as_failure


class EndedProcess:
    """A process that has ended."""

    def __init__(self, code):
        self.returncode, self.pid = code, 0

    def poll(self):
        return self.returncode

    def wait(self, timeout=None):
        return self.returncode

    def kill(self):
        pass


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Yield a machine with workers 1 and 2: in each incarnation they end as the next of ``ends``
    says, an error or an exit code. ``asked`` notes nonces and reasons, ``warned`` warnings.
    """
    folder = tmp_path / "job"
    folder.mkdir()

    def start(ends, restarts=1):
        ends, asked, warned = iter(ends), [], []

        class Machine(FollowerLauncher):
            def start(self):
                for rank, end in zip(self.ranks, next(ends), strict=True):
                    (folder / f"failed-{rank}.json").unlink(missing_ok=True)
                    if isinstance(end, Exception):
                        leave_failure(folder, rank, as_failure(end))
                        end = end.exit_code
                    self.processes[rank] = EndedProcess(end)

        def ask_again(job, lost):
            asked.append((job.nonce, lost))
            return Welcome(b"%d" % len(asked))

        monkeypatch.setattr(follower_launcher, "ask", lambda job, patience: Welcome(b"0"))
        monkeypatch.setattr(follower_launcher, "ask_again", ask_again)
        job = job_in(folder, nonce=b"", graph=str(tmp_path), restarts=restarts)
        return Machine(job, folder, [1, 2], warned.append), asked, warned

    yield start
    assert not folder.exists()


AGAIN = ending_error(Bye("worker 0 was killed", again=True))


def test_it_joins_each_incarnation_under_its_nonce(machine):
    follower, asked, warned = machine([(75, AGAIN), (-9, 0), (0, 0)])
    with follower:
        follower.wait()
        assert Job.read(follower.folder).nonce == b"2"
    assert [nonce for nonce, _ in asked] == [b"0", b"1"]
    assert "exit code 75" in asked[0][1] and "was killed by signal 9" in asked[1][1]
    assert [text.endswith("; this machine joins again") for text in warned] == [True, True]


def test_a_word_of_machine_0_is_a_reason_to_join_again(machine):
    follower, asked, _ = machine([(AGAIN, AGAIN), (0, 0)])
    with follower:
        follower.wait()
    assert asked == [(b"0", "machine 0 starts all workers again: worker 0 was killed")]


@pytest.mark.parametrize(
    "error",
    [
        ending_error(Bye("lost")),
        ending_error(Bye("after 2 epochs", interrupted=True)),
        ProgramError("1 / 0"),
    ],
)
def test_what_ends_the_job_for_good_ends_this_machine(machine, error):
    follower, asked, _ = machine([(error, 0)])
    with pytest.raises(TuxError) as caught, follower:
        follower.wait()
    assert caught.value.exit_code == error.exit_code and not asked
    assert caught.value.what == error.what


def test_without_restarts_a_lost_worker_ends_this_machine(machine):
    follower, asked, _ = machine([(-9, 0)], restarts=0)
    with pytest.raises(PeerLost, match="worker 1 on .* was killed by signal 9"), follower:
        follower.wait()
    assert not asked


def test_a_worker_that_is_stopped_for_long_is_lost(machine, monkeypatch):
    monkeypatch.setattr(local_processes, "SILENCE", 0.0)
    follower, asked, warned = machine([(0, 0), (0, 0)])
    with follower:
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        follower.processes[1] = sleeper
        sleeper.send_signal(signal.SIGSTOP)
        follower.wait()
    assert "has been stopped for" in asked[0][1] and len(warned) == 1
    assert sleeper.returncode == -signal.SIGKILL


def test_a_goodbye_says_whether_the_job_goes_on():
    assert isinstance(AGAIN, StartsAgain) and AGAIN.exit_code == 75
    assert isinstance(ending_error(Bye("over")), Refused)
    by_user = ending_error(Bye("interrupted after 2 epochs", interrupted=True))
    assert isinstance(by_user, Interrupted) and by_user.exit_code == 130
    assert by_user.what == "machine 0 ended the job: interrupted after 2 epochs"


def test_a_machine_that_the_user_ends_tells_machine_0(machine, monkeypatch):
    follower, _, _ = machine([(0, 0)])
    told = []
    monkeypatch.setattr(follower_launcher, "leave", lambda job, why: told.append((job.nonce, why)))
    with pytest.raises(KeyboardInterrupt), follower:
        raise KeyboardInterrupt
    ((nonce, why),) = told
    assert (
        nonce == b"0" and why.startswith("machine 0 (") and why.endswith("ended there by the user")
    )


def test_a_machine_that_has_not_joined_tells_nothing(machine, monkeypatch):
    follower, _, _ = machine([(0, 0)])

    def ask(job, patience):
        raise KeyboardInterrupt

    monkeypatch.setattr(follower_launcher, "ask", ask)
    monkeypatch.setattr(follower_launcher, "leave", lambda job, why: pytest.fail(why))
    with pytest.raises(KeyboardInterrupt), follower:
        pass


def test_reasons_of_an_older_incarnation_are_removed(tmp_path):
    leave_failure(tmp_path, 1, as_failure(AGAIN))
    leave_failure(tmp_path, 2, as_failure(AGAIN))
    workers = LocalWorkers(None, tmp_path, [])
    workers.ranks = [1]
    with pytest.raises(FileNotFoundError), pytest.MonkeyPatch.context() as patched:

        def no_process(*argv, **options):
            raise FileNotFoundError

        patched.setattr("tux.cluster.job.local_processes.subprocess.Popen", no_process)
        workers.start()
    workers.end(0.0)
    assert failure_of(tmp_path, 1) is None and failure_of(tmp_path, 2) is not None
