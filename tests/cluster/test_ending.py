"""The user asks to end: all workers end with the same epoch, whatever each is doing."""

import pytest
from support.messages import message

from tux.cluster.checkpoint.worker_marks import WorkerMarks
from tux.cluster.job.ending import LauncherEnding
from tux.cluster.transport.control import At, End, Until


def test_the_job_ends_with_the_last_of_the_workers_epochs():
    ending = LauncherEnding(3)
    with pytest.raises(ValueError, match=message("nobody-has-asked-where-it")):
        ending.at(0, 4)
    ending.asked = True
    assert ending.at(0, 4) is None and ending.until is None
    assert ending.at(2, 5) is None
    with pytest.raises(ValueError, match=message("nobody-has-asked-where-it")):
        ending.at(2, 5)
    assert ending.at(1, 4) == 5 == ending.until


def test_a_worker_answers_at_once_and_passes_no_mark_before_it_knows_the_epoch():
    said, ended = [], [3]
    marks = WorkerMarks(0, None, 9, said.append, None, epoch=lambda: ended[0])
    assert (
        marks.keeps_state(5, None) is False and marks.ending_seconds() is None and not marks.keeps
    )
    assert not marks.take_control(Until(4))  # nobody waits for it
    assert marks.take_control(End()) and said == [At(4)]
    assert marks.keeps_state(6, None) is None
    assert marks.take_control(Until(5)) and marks.keeps_state(6, None) is False
    ended[0] = 4
    assert marks.keeps_state(7, 4) is False and marks.ending_seconds() is None
    ended[0] = 5
    assert marks.ending_seconds() == 0.0
