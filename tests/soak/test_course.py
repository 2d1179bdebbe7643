"""A run goes on after something has happened to it; some of its ends are not accepted."""

import signal
from collections import Counter
from random import Random

import pytest

from faults.room import WrongOutcome
from soak.course import INTERRUPTS, Course, LostRun
from soak.harm import WAYS, Harm, damage_file, find_files

TRACE = "trace/1-0.clocks"


class StandInCommand:
    """A command that has ended with a code, and has told something."""

    def __init__(self, code, err=""):
        self.process = type("", (), {"poll": lambda self: code, "returncode": code})()
        self._err = err

    def output(self):
        return "", self._err


def ended_course(code, err="", *, harm=None, may_end=(), moves=False):
    """Return the course of a run whose command has ended, and which starts no other one."""
    course = Course.__new__(Course)
    course.room = type("", (), {"draw": Random(0), "last_output": lambda self: ""})()
    course.counts, course.harm, course.may_end = Counter(), harm, {*may_end}
    course.is_over, course._moves, course.command = False, moves, StandInCommand(code, err)
    course.resume = course.await_nothing_left = lambda: None
    return course


def damage_anew(path):
    """Damage a file, so that it has changed."""
    path.write_bytes(bytes(range(1, 100)))
    return Harm(path, Random(1))


def test_a_run_is_over_with_code_0_or_when_it_is_told_to_be():
    course = ended_course(0)
    assert not course.goes_on() and course.is_over
    course = ended_course(2, "error: the run of out is over: it has trained 3 epochs\n  go on\n")
    assert not course.goes_on()


def test_an_exit_code_without_a_cause_is_wrong():
    assert ended_course(4, "error: a worker is lost\n", may_end=[4]).goes_on()
    assert ended_course(-signal.SIGKILL, may_end=[-signal.SIGKILL]).goes_on()
    for code in (1, 4, 130, -signal.SIGSEGV):
        with pytest.raises(WrongOutcome):
            ended_course(code, "error: it failed\n").goes_on()


def test_a_refusal_that_names_the_damage_is_counted_and_the_damage_undone(tmp_path):
    harm = damage_anew(tmp_path / "metrics.jsonl")
    course = ended_course(3, "error: metrics.jsonl is damaged\n", harm=harm)
    assert course.goes_on()
    assert course.counts["refused"] == 1
    assert harm.path.read_bytes() == bytes(range(1, 100))


@pytest.mark.parametrize("err", ["error: something else\n", ""])
def test_a_refusal_that_does_not_name_the_damage_is_a_lost_run(tmp_path, err):
    with pytest.raises(LostRun, match=r"metrics\.jsonl"):
        ended_course(3, err, harm=damage_anew(tmp_path / "metrics.jsonl")).goes_on()
    with pytest.raises(LostRun, match="without damage"):
        ended_course(3, "error: metrics.jsonl is damaged\n").goes_on()


@pytest.mark.parametrize("name", ["metrics.jsonl", "checkpoints/000001/manifest.json"])
def test_a_run_that_has_lost_its_record_is_lost(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("{}")
    course = ended_course(4, "error: a worker is lost\n", may_end=[4])
    course.folder = tmp_path
    with pytest.raises(LostRun, match=r"without run\.json"):
        Course.resume(course)
    assert (tmp_path / name).exists()


def test_other_workers_may_be_refused():
    said = "error: fields differ\n  resume on as many workers as before: 2 in all\n"
    assert ended_course(7, said, moves=True).goes_on()
    with pytest.raises(LostRun):
        ended_course(7, said).goes_on()


def test_a_long_message_and_a_traceback_are_wrong():
    with pytest.raises(WrongOutcome, match="many lines"):
        ended_course(4, "error: a\n  b\n  c\n  d\n", may_end=[4]).goes_on()
    with pytest.raises(WrongOutcome, match="traceback"):
        ended_course(4, "Traceback (most recent call last)\nerror: a\n", may_end=[4]).goes_on()


def test_damage_changes_a_file_and_is_undone(tmp_path):
    seen = set()
    for seed in range(60):
        path = tmp_path / "file"
        path.write_bytes(bytes(range(1, 100)))
        harm = Harm(path, Random(seed))
        seen.add(harm.way)
        assert not harm.is_none
        assert not path.exists() or path.read_bytes() != bytes(range(1, 100))
        harm.undo()
        assert path.read_bytes() == bytes(range(1, 100))
    assert seen == {*WAYS}


def test_damage_to_a_file_that_the_run_has_written_since_stays(tmp_path):
    harm = damage_anew(tmp_path / "file")
    harm.path.write_bytes(b"new")
    harm.undo()
    assert harm.path.read_bytes() == b"new"


def test_files_are_found_by_what_they_are(tmp_path):
    for name in (
        "run.json",
        "timeline.jsonl",
        "model/user.parquet",
        "checkpoints/000001/0.shard",
        TRACE,
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    names = [path.name for path in find_files(tmp_path, of_checkpoints=False)]
    assert names == ["user.parquet", "run.json"]  # no run reads a timeline or a trace
    [file] = find_files(tmp_path, of_checkpoints=True)
    harm = damage_file([file], Random(0))
    assert harm is None or harm.way == "missing"
    assert damage_file([], Random(0)) is None


def test_ctrl_c_while_python_itself_starts_is_no_traceback_of_tux():
    said = "Fatal Python error: init_import_site: Failed\nTraceback (most recent call last)\n"
    assert ended_course(1, said, may_end=INTERRUPTS).goes_on()
    with pytest.raises(WrongOutcome, match="traceback"):
        ended_course(1, said).goes_on()
