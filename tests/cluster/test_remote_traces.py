"""Traces of workers on other machines, which come to machine 0 when the last clock has ended; and
the names of traces of each start of the workers.
"""

import os

import msgspec
import pytest
from support.machines.members import job_in
from support.messages import message

from tux.cluster.checkpoint import pieces
from tux.cluster.checkpoint.remote_files import RemoteFiles
from tux.cluster.checkpoint.worker_files import WorkerFiles
from tux.cluster.recovery.incarnations import renew_job
from tux.cluster.recovery.restarts import Start
from tux.cluster.transport.control import Bye, pack
from tux.messages.message import BadMessage, Kind, Message
from tux.messages.piece import Content


@pytest.fixture
def jobs(tmp_path):
    """Return the jobs of machine 0 and of machine 1, and what worker 1 has noted there."""
    (tmp_path / "trace").mkdir()
    here = job_in(tmp_path, trace_clocks=True, trace_folder=str(tmp_path / "trace"), attempt=3)
    (tmp_path / "elsewhere").mkdir()
    there = job_in(tmp_path, trace_clocks=True, graph=str(tmp_path / "elsewhere"))
    noted = os.urandom(2500)
    there.trace_file(1).write_bytes(noted)
    return here, there, noted


@pytest.mark.parametrize("size", [1000, 2500, 1 << 20])
def test_a_trace_comes_in_pieces(jobs, monkeypatch, size):
    monkeypatch.setattr(pieces, "PIECE", size)
    (here, there, noted), answers = jobs, []
    launcher = RemoteFiles(here, [0], None, answers.append)
    worker = WorkerFiles(there, 1, launcher.take)

    def receive():
        answer = answers.pop(0)
        assert answer.kind is Kind.TAKEN and not worker.handle(answer)
        return answer

    worker.send_trace(receive)
    assert here.trace_file(1).name == "3-1.clocks" and here.trace_file(1).read_bytes() == noted
    assert not answers


def test_a_machine_gets_the_id_of_the_run_from_machine_0(jobs):
    here, there, _ = jobs
    here = msgspec.structs.replace(here, run=os.urandom(16))
    assert there.run == b"" and there.join(here.welcome()).run == here.run


def test_words_of_the_launcher_may_come_between(jobs):
    _, there, _ = jobs
    taken = Message(Kind.TAKEN, 2, 1, sync_id=Content.TRACE)
    sent, come = [], iter([pack(Bye(), 2, 1), taken])
    WorkerFiles(there, 1, sent.append).send_trace(lambda: next(come))
    assert [each.kind for each in sent] == [Kind.PIECE]
    with pytest.raises(BadMessage, match=message("the-launcher-has-not-taken-2")):
        WorkerFiles(there, 1, sent.append).send_trace(lambda: Message(Kind.ANSWER, 0, 1))


def test_a_trace_that_nobody_asked_for_is_refused(jobs, tmp_path):
    _, there, _ = jobs
    launcher = RemoteFiles(job_in(tmp_path), [0], None, lambda message: None)
    with pytest.raises(BadMessage, match=message("no-trace-is-kept")):
        WorkerFiles(there, 1, launcher.take).send_trace(lambda: None)


def test_each_start_has_names_of_its_own(jobs, tmp_path):
    here, there, _ = jobs
    names = []
    for number in range(3):
        names.append(here.trace_file(0).name)
        here = renew_job(here, tmp_path, number, Start())
    assert names == ["3-0.clocks", "4-0.clocks", "5-0.clocks"]
    assert there.trace_file(0).name == "trace-0"
