"""A few of the faults that `make faults` makes, on small data; and that a wrong end is seen."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from random import Random

import pytest

from faults import damage, messages, table, watched, written
from faults.ended import RunRemains, hidden_files
from faults.fault import Fault
from faults.registry import scenarios
from faults.room import PROGRAM, ReferenceRuns
from faults.scenario import Observation, Scenario, play
from tux.base.checksums import seal
from tux.clock.trace import ClockEvent, Trace

LIMIT = 120.0  # seconds after which one counts as hung
KNOWN = scenarios()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return small data, and what uninterrupted runs on them leave."""
    return ReferenceRuns.small(tmp_path_factory.mktemp("whole"), 400, jit=False)


def play_fault(name, whole, folder, number=0):
    return play(dataclasses.replace(KNOWN[name], limit=LIMIT), number, 0, whole, folder)


@pytest.mark.long
@pytest.mark.parametrize("fault", ["lost", "twice", "overtaken", "late"])
def test_messages(whole, tmp_path, fault):
    seen = [play_fault(f"message-{fault}", whole, tmp_path, number) for number in range(4)]
    assert not any(each.wrong for each in seen), seen


@pytest.mark.long
def test_a_worker_is_killed(whole, tmp_path):
    seen = play_fault("killed-mid-epoch", whole, tmp_path)
    assert not seen.wrong and 0 < seen.noticed < seen.recovered
    assert not any(tmp_path.iterdir())


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("launcher-killed-model", marks=pytest.mark.slow),
        pytest.param("launcher-killed-results", marks=pytest.mark.long),
        pytest.param("all-killed", marks=pytest.mark.slow),
        pytest.param("bit-flips", marks=pytest.mark.long),
        pytest.param("run-flips", marks=pytest.mark.long),
        pytest.param("part-flips", marks=pytest.mark.long),
        pytest.param("killed-again", marks=pytest.mark.long),
    ],
)
def test_others(whole, tmp_path, name):
    assert not play_fault(name, whole, tmp_path).wrong


def test_a_run_that_waits_for_ever_is_wrong(whole, tmp_path):
    waits = Scenario("waits", "", "", lambda room: room.until(lambda: False, "nothing"), limit=0.1)
    seen = play(waits, 0, 0, whole, tmp_path)
    assert seen.wrong == ("hung: waited in vain for nothing",)


def test_what_is_left_is_wrong(whole, tmp_path, monkeypatch):
    monkeypatch.setattr("faults.room.GONE", 0.1)

    def leaves(room):
        running = room.command("--version")
        room.expect(running, 0)
        (running.tmp / "socket").touch()
        return Observation()

    seen = play(Scenario("leaves", "", "", leaves, limit=LIMIT), 0, 0, whole, tmp_path)
    assert len(seen.wrong) == 1 and seen.wrong[0].endswith("/socket")


def test_a_broken_rule_is_wrong(whole, tmp_path):
    """A trace of a worker that runs what it has not begun; and an empty one, as kills leave it."""

    def breaks(room):
        trace = Trace(room.folder / "out" / "trace" / "1-0.clocks", 0, 2, 0)
        trace.note(ClockEvent.RAN, 3)
        trace.close()
        (room.folder / "out" / "trace" / "1-1.clocks").touch()
        return Observation()

    seen = play(Scenario("breaks", "", "", breaks, limit=LIMIT), 0, 0, whole, tmp_path)
    assert len(seen.wrong) == 1 and "worker 0 broke a rule at clock 3" in seen.wrong[0]


def test_differences_are_seen(tmp_path):
    whole = RunRemains({"model/a": b"1"}, [{"epoch": 1, "x": 2.0}], {"last": 1}, ["model"])
    assert whole.differences(whole) == []
    assert whole._replace(model={"model/a": b"2"}).differences(whole) == ["model/a differs"]
    twice = whole._replace(records=whole.records * 2)
    assert twice.differences(whole) == ["metrics.jsonl has the epochs [1, 1] instead of [1]"]
    other = whole._replace(records=[{"epoch": 1, "x": 2.5}], names=[])
    assert len(other.differences(whole)) == 2
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / ".x.part").touch()
    assert hidden_files(tmp_path) == [f"{tmp_path.name}: model/.x.part"]


@pytest.mark.slow
def test_a_moment_comes_once_and_to_whom_it_is_planned(tmp_path):
    """Of the program that is run; here in a process of its own."""
    plan = [{"name": "dies", "moment": "file", "path": "^open x$", "number": 2}]
    (tmp_path / "plan.json").write_text(json.dumps([plan[0] | {"who": "command", "do": "kill"}]))
    code = "import runpy, sys; runpy.run_path(sys.argv[1]); [open('x', 'w') for _ in range(3)]"
    argv = [sys.executable, "-c", code, PROGRAM]
    env = {**os.environ, "FAULTS_PLAN": str(tmp_path)}
    ends = [subprocess.run(argv, cwd=tmp_path, env=env).returncode for _ in range(2)]
    assert ends == [-signal.SIGKILL, 0]


def test_damage_is_put_back(tmp_path):
    last, before = tmp_path / "000002", tmp_path / "000001"
    for folder in (last, before):
        folder.mkdir()
        for name in "ab":
            (folder / name).write_bytes(os.urandom(5000))
    content = {path: path.read_bytes() for path in damage.files(last)}
    room = type("", (), {"draw": Random(1), "folder": tmp_path})
    for kind in (damage.flip_bits, damage.truncate_files, damage.exchange_files):
        seen = 0
        for _ in kind(last, before, room):
            now = {path: path.read_bytes() for path in content if path.exists()}
            assert now != content
            seen += 1
        assert seen >= 6
        assert {path: path.read_bytes() for path in damage.files(last)} == content


def test_flips_that_nobody_tells_are_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(written, "FLIPS", 20)
    for name in "ab":
        (tmp_path / name).write_bytes(os.urandom(50))
    content = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    seal(tmp_path, ["a"])
    room, told = type("", (), {"draw": Random(1)}), []
    seen = written.flip_each(room, tmp_path, ["a"], lambda name: "", told.append)
    assert not seen.wrong and seen.faults == 20 and told == ["a"] * written.COMMANDS
    seen = written.flip_each(room, tmp_path, ["b"], lambda name: "", told.append)
    assert "its checksum is the same" in seen.wrong[0]
    seen = written.flip_each(
        room, tmp_path, ["a"], lambda name: "it is read otherwise", told.append
    )
    assert seen.wrong[0].endswith("it is read otherwise")
    assert {name: (tmp_path / name).read_bytes() for name in content} == content


def test_a_fault_is_noticed_when_the_workers_that_were_there_have_ended():
    with subprocess.Popen(["sleep", "600"]) as one, subprocess.Popen(["sleep", "600"]) as other:
        try:
            command = type("", (), {"workers": lambda self: {0: one.pid, 1: other.pid}})()
            room = type("", (), {"commands": [command], "epochs": lambda self: 3})()
            fault = Fault(room)
            one.kill()
            one.wait()
            assert fault.seconds_to_end() is None and fault.epochs == 3
            assert Fault(room, stopped=[one.pid]).workers == {other.pid}
        finally:
            one.kill()
            other.kill()
    while fault.ended is None:
        time.sleep(0.01)
    assert (
        fault.seconds_to_end([one.pid]) > 0 and fault.seconds_to_end([one.pid, other.pid]) is None
    )


def test_clocks_that_fail_are_the_same_on_all_workers():
    entry = {"seed": 1, "workers": 2, "chance": 0.5}
    drawn = [watched.worker_to_kill(entry, epoch, 1) for epoch in range(100)]
    assert drawn == [watched.worker_to_kill(entry, epoch, 1) for epoch in range(100)]
    assert {*drawn} == {None, 0, 1}
    assert watched.worker_to_kill(entry | {"chance": 0}, 1, 1) is None


def test_the_table_has_what_was_seen():
    scenario = Scenario("a", "a fault", "goes on", messages.disturb_message)
    row = table.ScenarioRow(
        scenario, [Observation(1.0, 2.0), Observation(3.0, 5.0, ("wrong",)), Observation(2.0, 2.0)]
    )
    cells = ("a fault", "goes on", "2/3", "2.0 s, at most 3.0 s", "2.0 s, at most 5.0 s")
    assert row.cells() == cells and row.wrong == 1
    assert f"| {' | '.join(cells)} |\n" in table.markdown([row])
    several = Observation(notices=(1.0, 4.0), faults=2, note="x", measured={"late": 3.0})
    row = table.ScenarioRow(scenario, [several, Observation(0.5)])
    assert row.cells()[2:4] == ("2/2 (3 faults); x (1 times); late: 3", "1.0 s, at most 4.0 s")
    skipped = table.ScenarioRow(scenario, [], "no root")
    assert "skipped: no root" in table.text([row, skipped])


def test_the_table_names_engines_where_there_are_some():
    plain = table.ScenarioRow(
        Scenario("a", "a fault", "goes on", messages.disturb_message), [Observation()]
    )
    other = table.ScenarioRow(KNOWN["on-ray-actor-killed"], [], "no ray")
    heads, _, first, second = table.markdown([plain, other]).splitlines()
    assert heads.startswith("| on | fault |") and first.startswith("|  | a fault |")
    assert second.startswith("| ray | the actor of machine 1 killed | skipped: no ray |")
    assert "| on |" not in table.markdown([plain])
