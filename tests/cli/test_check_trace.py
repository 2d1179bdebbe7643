"""``tux run APP DATA --trace-clocks``, and ``tux check-trace RUN``."""

import numpy as np
import pytest
from support.programs.tiny_ratings import RATINGS

from tux.clock.trace import HEAD, MAGIC, RECORD, ClockEvent, read_trace
from tux.run_folder.folder import read_run

RUN = ["run", "mf", "ratings.csv", "--epochs", "2", "--rank", "2", "--no-jit", "--out", "run1"]
TRACE = "run1/trace/1-0.clocks"


@pytest.fixture
def traced_run(tux, here):
    """Return the folder of a run with a trace."""
    (here / "ratings.csv").write_text(RATINGS)
    assert tux(*RUN, "--trace-clocks")[0] == 0
    return here / "run1"


def change_head(path, **changed):
    """Give the file of a trace another head."""
    content = path.read_bytes()
    _, rank, workers, slack, zero, run = HEAD.unpack(content[: HEAD.size])
    head = {"rank": rank, "workers": workers, "slack": slack, "zero": zero, "run": run} | changed
    path.write_bytes(HEAD.pack(MAGIC, *head.values()) + content[HEAD.size :])


def test_a_run_that_was_traced(tux, traced_run):
    assert read_run(traced_run).options["trace_clocks"] is True
    code, out, err = tux("check-trace", "run1")
    assert (code, err) == (0, "")
    told = dict(line.rsplit(None, 1) for line in out.splitlines()[:-1])
    records = read_trace(traced_run / "trace" / "1-0.clocks").records
    clocks = len(np.unique(records["clock"][records["event"] == ClockEvent.START]))
    assert told == {
        "starts of workers": "1",
        "workers": "1",
        "clocks": str(clocks),
        "events": str(len(records)),
        "largest staleness": "0",
    }
    assert out.splitlines()[-1] == "all clocks kept to the rules"


def test_a_run_goes_on_with_another_trace(tux, traced_run):
    assert tux(*RUN[:-1], "run2", "--trace-clocks", "--checkpoint-every", "1")[0] == 0
    assert tux("run", "--resume", "run2", "--epochs", "3")[0] == 0
    paths = sorted((traced_run.parent / "run2" / "trace").iterdir())
    assert [path.name for path in paths] == ["1-0.clocks", "2-0.clocks"]
    assert {read_trace(path).run.hex() for path in paths} == {read_run("run2").id}
    code, out, _ = tux("check-trace", "run2")
    assert code == 0 and "starts of workers  2" in out


def test_a_broken_rule_is_told_with_its_record(tux, traced_run):
    path = traced_run / "trace" / "1-0.clocks"
    content, at = path.read_bytes(), HEAD.size + 2 * RECORD.itemsize
    path.write_bytes(content[:at] + content[at + RECORD.itemsize :])
    code, _, err = tux("check-trace", "run1")
    assert code == 3
    assert "the clocks of worker 0 broke a rule at clock" in err and f"{TRACE}, record 2" in err
    path.write_bytes(b"something else, of some length")
    code, _, err = tux("check-trace", "run1")
    assert code == 3 and "not a trace of clocks" in err and TRACE in err


def test_a_trace_of_another_slack_is_told(tux, traced_run):
    path = traced_run / "trace" / "1-0.clocks"
    change_head(path, slack=7)
    code, _, err = tux("check-trace", "run1")
    assert code == 3 and "its clocks ran at slack 7, and the run has slack 0" in err


def test_the_slack_of_a_run_on_one_worker_is_0(tux, traced_run):
    assert tux(*RUN[:-1], "run3", "--slack", "3", "--trace-clocks")[0] == 0
    code, out, _ = tux("check-trace", "run3")
    assert code == 0 and out.splitlines()[-1] == "all clocks kept to the rules"


@pytest.mark.parametrize("name", ["1-1.clocks", "1-5.clocks"])
def test_a_trace_of_another_worker_is_told(tux, traced_run, name):
    path = traced_run / "trace" / "1-0.clocks"
    path.rename(path.with_name(name))
    code, _, err = tux("check-trace", "run1")
    assert code == 3 and f"worker 0 has the name of that of worker {name[2]}" in err


@pytest.mark.parametrize(("workers", "slack"), [(2, 0), (2, 3)])
def test_a_trace_of_other_workers_is_told(tux, traced_run, workers, slack):
    path = traced_run / "trace" / "1-0.clocks"
    other = path.with_name("1-1.clocks")
    other.write_bytes(path.read_bytes())
    change_head(other, rank=1, workers=workers, slack=slack)
    code, _, err = tux("check-trace", "run1")
    assert code == 3 and "run1/trace/1-1.clocks" in err
    assert f"a trace of a run of {workers} workers with slack {slack}, beside" in err
    assert "1-0.clocks of 1 worker with slack 0" in err


def test_a_trace_of_another_run_is_told(tux, traced_run):
    """Of the same command, twice: the files differ by the id of the run alone, or hardly."""
    assert tux(*RUN[:-1], "run2", "--trace-clocks")[0] == 0
    path, ids = traced_run / "trace" / "1-0.clocks", [read_run(f"run{n}").id for n in (1, 2)]
    path.write_bytes(traced_run.with_name("run2").joinpath("trace", path.name).read_bytes())
    code, _, err = tux("check-trace", "run1")
    assert code == 3 and TRACE in err and "fault of tux" not in err
    assert f"the trace of another run: its id is {ids[1]}, and that of this run {ids[0]}" in err
    assert "put back the file that this run has written" in err


def test_files_of_two_runs_are_told_without_a_record(tux, traced_run):
    path = traced_run / "trace" / "1-0.clocks"
    change_head(path, workers=2)
    other = path.with_name("1-1.clocks")
    other.write_bytes(path.read_bytes())
    change_head(other, rank=1, run=bytes(16))
    (traced_run / "run.json").unlink()
    code, _, err = tux("check-trace", "run1")
    assert code == 3 and "1-1.clocks" in err and f"its id is {'0' * 32}, and that of this" in err


@pytest.mark.parametrize("damage", ["cut", "emptied"])
def test_a_file_that_is_not_whole_is_named(tux, traced_run, damage):
    path = traced_run / "trace" / "1-0.clocks"
    path.write_bytes(path.read_bytes()[: -1 if damage == "cut" else 0])
    code, out, err = tux("check-trace", "run1")
    assert (code, err) == (0, "")
    assert out.splitlines()[-2:] == [
        "cut or missing: 1-0.clocks",
        "clocks kept to the rules, as far as there are records of them",
    ]


def test_a_run_without_a_trace_is_refused(tux, here):
    (here / "ratings.csv").write_text(RATINGS)
    assert tux(*RUN)[0] == 0 and not (here / "run1" / "trace").exists()
    code, _, err = tux("check-trace", "run1")
    assert code == 2 and "the run of run1 has no trace" in err and "--trace-clocks" in err
    code, _, err = tux("check-trace", "elsewhere")
    assert code == 3 and "elsewhere is no folder of a run" in err


def test_a_trace_needs_a_folder(tux, here):
    (here / "ratings.csv").write_text(RATINGS)
    code, _, err = tux(*RUN[:-2], "--trace-clocks")
    assert code == 2 and "traces of clocks are written below --out" in err and "--out DIR" in err


@pytest.mark.parametrize("words", [["check-trace", "--hlep"], ["info", "--verfy"]])
def test_a_misspelt_flag_is_told_before_an_argument_that_is_missing(tux, words):
    code, _, err = tux(*words)
    assert code == 2 and f"unknown flag {words[1]}" in err and "did you mean" in err


def test_help(tux):
    code, out, _ = tux("check-trace", "--help")
    assert code == 0 and "tux check-trace RUN" in out and "--trace-clocks" in out
    assert "--trace-clocks" in tux("run", "mf", "--help")[1]
