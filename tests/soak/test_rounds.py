"""Rounds of real processes, and the table of what was seen."""

import subprocess
import sys
from collections import Counter

import pytest

from faults.network import RelayedCable, no_relay
from faults.room import ScenarioTimeout, WrongOutcome
from soak.cases import SoakCase
from soak.course import LostRun
from soak.draws import SoakPlan, Strike
from soak.rounds import RightRuns, RoundOutcome, note_errors, play_round
from soak.table import count_bad, tabulate
from tux.synthetic.ratings import ratings, write_ratings


def write_few(folder):
    """Write ratings so few that plain Python trains on them in no time."""
    write_ratings(ratings(20, 10, 120), path := folder / "ratings.csv")
    return [path]


CASE = SoakCase("few", "mf", write_few, {"--rank": 2, "--epochs": 12, "--no-jit": ""})
FLAGS = {**CASE.flags, "--workers": 2, "--slack": 0, "--threads": 1, "--checkpoint-every": "1"}
FLAGS["--trace-clocks"] = ""


class WrongRuns(RightRuns):
    """Runs whose right result is another one, by a byte of the model."""

    def of(self, plan):
        """Return the runs of a plan's case, whose model is wrong."""
        runs = super().of(plan)
        right = runs.of(plan.right_flags)
        name = "model/user.parquet"
        model = {**right.model, name: right.model[name][:-1]}
        wrong = right._replace(model=model)
        known = {"argv": runs.argv, "flags": runs.flags, "folder": runs.folder}
        return type("", (), {"of": lambda *_: wrong, **known})()


@pytest.mark.slow
def test_a_real_round(tmp_path, monkeypatch):
    monkeypatch.setattr("soak.phases.EPOCHS_AWAY", 3)
    strikes = (Strike("worker killed", "training"), Strike("checkpoint damaged", "training"))
    (tmp_path / "right").mkdir()
    seen = play_round(
        SoakPlan(CASE, FLAGS, strikes), "0-0", RightRuns(tmp_path / "right"), tmp_path
    )
    assert seen.faults == {}
    # the checkpoint is damaged before or after the command has ended with its worker
    assert seen.counts["worker killed"] == 1 and seen.counts["resumed"] in (1, 2)
    assert not (tmp_path / "0-0").exists()


@pytest.mark.long
def test_a_run_that_is_made_wrong_is_found(tmp_path):
    (tmp_path / "right").mkdir()
    seen = play_round(SoakPlan(CASE, FLAGS, ()), "0-0", WrongRuns(tmp_path / "right"), tmp_path)
    assert seen.faults == {"wrong": ["model/user.parquet differs"]}
    assert (tmp_path / "0-0" / "out" / "run.json").exists()


def test_the_table_counts_what_was_seen():
    right = RoundOutcome(Counter({"worker killed": 2, "in training": 2, "resumed": 1}))
    wrong = RoundOutcome(Counter({"stopped": 1, "in results": 1}), ["a", "b"], left=["left: x"])
    seen = [right, wrong, RoundOutcome(skipped="no root")]
    assert count_bad(seen) == {"wrong": 1, "left": 1}
    rows = dict(line.rsplit(maxsplit=1) for line in tabulate(seen, 1800.0).splitlines())
    rows = {name.strip(): value for name, value in rows.items()}
    assert rows["runs"] == "2" and rows["runs skipped: no root"] == "1" and rows["hours"] == "0.50"
    assert rows["faults"] == "3" and rows["worker killed"] == "2" and rows["stopped"] == "1"
    assert rows["in phase training"] == "2" and rows["resumed"] == "1" and rows["refused"] == "0"
    assert [rows[kind] for kind in ("wrong", "lost", "hung", "left")] == ["1", "0", "0", "1"]


SAY = "import socket, sys; s = socket.create_server(('10.78.0.2', 7001)); print('up', flush=True)"
SERVER = f"{SAY}; c, _ = s.accept(); [c.sendall(c.recv(9)) for _ in range(3)]"
CLIENT = """
import socket, sys
link = socket.create_connection(("10.78.0.2", 7001))
for line in sys.stdin:
    link.sendall(line.encode())
    print(link.recv(9).decode(), end="", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(bool(no_relay()), reason=no_relay())
def test_a_relay_carries_packets_late_and_loses_them_while_it_is_cut():
    with RelayedCable() as cable:
        python = [sys.executable, "-c"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
        with subprocess.Popen([*cable.wrap(1), *python, SERVER], **pipes) as server:
            assert server.stdout.readline() == "up\n"
            with subprocess.Popen([*cable.wrap(0), *python, CLIENT], **pipes) as client:
                for number, prepare in enumerate([lambda: None, cable.cut, cable.mend]):
                    cable.delay = 0.01 * number
                    prepare()
                    client.stdin.write(f"{number}\n")
                    if number == 1:
                        cable.mend()
                    assert client.stdout.readline() == f"{number}\n"
                client.stdin.close()
            server.stdin.close()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ScenarioTimeout("a"), "hung"),
        (LostRun("a"), "lost"),
        (WrongOutcome("a"), "wrong"),
        (KeyError("a"), "wrong"),
    ],
)
def test_what_ends_a_round_is_noted_by_its_kind(error, kind):
    def end():
        raise error

    seen = RoundOutcome()
    note_errors(seen, end)
    assert [*seen.faults] == [kind] and "a" in seen.faults[kind][0]


def test_a_strike_is_counted_by_kind_and_phase():
    assert Counter(Strike("stopped", "results").names) == {"stopped": 1, "in results": 1}
