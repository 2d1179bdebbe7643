"""Workers as real processes: the answer is that of one worker, and whatever dies, the job ends
with a clear message and leaves nothing.
"""

import json
import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from kill_loop import Running

from tux.arrays.arrow import read_parquet
from tux.run.folder import read_metrics
from tux.synthetic.graph import graph
from tux.synthetic.ratings import ratings as drawn

PAGERANK = Path(__file__).parents[2] / "docs" / "pagerank.py"
HARD = 300.0  # seconds after which a command counts as hung
SOON = 60.0  # seconds after which a job whose member is lost counts as hung
ENDLESS = ["--epochs", 1_000_000, "--rank", 4, "--eval-every", 20]
TIMES = ("seconds", "edges_per_second")

FAULTY = '''
"""Degrees, with a fault where it is asked for."""
from tux import Context, Edge, Program, Vertex, delta, metric, param, total, value
from tux.stages import Apply, Exchange, GlobalSync


def count(dst, tau, p):
    dst.seen += 1
    tau.edges += 1 if p.fault != 1 else 1 / 0


def keep(v, p):
    v.degree = v.seen if p.fault != 2 else 1 / 0


def report(tau, p):
    tau.objective = tau.edges if p.fault != 3 else 1 / 0


class Degrees(Program):
    """Degrees of pages."""

    fault: int = param(0, "where it fails", low=0, high=4)
    page = Vertex(seen=delta("i4"), degree=value("i4"))
    link = Edge("page", "page")
    tau = Context(edges=total(), objective=metric())

    def stages(self):
        broken = 1 / 0 if self.fault == 4 else 0
        return [Exchange(count), Apply("page", keep), GlobalSync(report)]
'''


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with small ratings, whose ids are words, and a random graph."""
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
        out, err = each.told()
        assert code is not None, f"hung: {out} {err}"
        assert each.left() == []
        assert "Traceback" not in out + err
        return code, out, err

    return run


@pytest.fixture(scope="module")
def mf(files, tmp_path_factory):
    """Folders of runs of matrix factorization on the small ratings, each made once:
    ``mf("--workers", 2)``.
    """
    done = {}

    def run(*flags, again=0):
        if (flags, again) not in done:
            folder = tmp_path_factory.mktemp("mf")
            argv = [
                "run",
                "mf",
                files / "train.csv",
                "--test",
                files / "test.csv",
                "--rank",
                4,
                "--epochs",
                8,
                "--out",
                "out",
                *flags,
            ]
            with Running(folder, *argv) as running:
                assert running.wait(HARD) == 0, running.told()
                assert running.left() == [] and not unwarned(running.told()[1])
            done[flags, again] = folder / "out"
        return done[flags, again]

    return run


def columns(folder, name):
    """The columns of a part of a run's model."""
    return read_parquet(folder / "model" / f"{name}.parquet")


def written(folder):
    """The records of a run as they are written, whole numbers as such."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def untimed(record):
    """A record without what a clock has measured."""
    return {name: x for name, x in record.items() if name not in TIMES and not name.endswith("_s")}


def best(folder):
    return min(record["test_rmse"] for record in read_metrics(folder))


# ---- the answer


def test_quality_does_not_depend_on_the_number_of_workers(mf):
    one, *others = [
        best(mf(*flags))
        for flags in ((), ("--workers", 2), ("--workers", 3), ("--workers", 2, "--slack", 2))
    ]
    assert one < 0.9
    for other in others:
        assert abs(other - one) < 0.02 * one
    for folder in (mf("--workers", 2), mf("--workers", 3)):
        for name in ("user", "item"):
            mine, other = columns(folder, name), columns(mf(), name)
            assert mine.keys() == other.keys()
            assert sorted(mine["id"].tolist()) == sorted(other["id"].tolist())
            assert all(
                mine[f].shape == other[f].shape and mine[f].dtype == other[f].dtype for f in mine
            )


def test_the_same_command_gives_the_same_bytes(mf):
    first, second = mf("--workers", 2), mf("--workers", 2, again=1)
    names = sorted(path.name for path in (first / "model").iterdir())
    assert names == sorted(path.name for path in (second / "model").iterdir()) and len(names) == 3
    for name in names:
        assert (first / "model" / name).read_bytes() == (second / "model" / name).read_bytes(), name
    mine, other = ([untimed(record) for record in read_metrics(each)] for each in (first, second))
    assert mine == other and len(mine) == 8


def test_the_record_of_a_run(mf):
    first, second = (
        json.loads((mf("--workers", 2, again=n) / "run.json").read_text()) for n in (0, 1)
    )
    assert (
        first["options"]["workers"] == 2
        and first["options"]["slack"] == 0
        and first["options"]["partitioner"] == "bicut"
    )
    assert (
        first["results"]["epochs"] == 8
        and first["results"]["model_epoch"] == first["results"]["best"]["epoch"]
    )
    for each in (first, second):
        assert each.pop("setup_seconds") and each["results"].pop("seconds") > 0
        for record in (each["results"]["last"], each["results"]["best"]):
            for name in [name for name in record if name in TIMES or name.endswith("_s")]:
                del record[name]
    assert first == second
    alone = json.loads((mf() / "run.json").read_text())
    assert (
        alone["sizes"] == first["sizes"]
        and alone["data"] == first["data"]
        and alone["app"] == first["app"]
    )


def test_records_have_the_names_of_one_worker_and_whole_numbers(mf):
    for flags in (("--workers", 2), ("--workers", 2, "--slack", 2)):
        for number, (mine, other) in enumerate(
            zip(written(mf(*flags)), written(mf()), strict=True), 1
        ):
            assert other.keys() <= mine.keys() and mine["epoch"] == number
            assert all(
                isinstance(mine[name], int)
                for name in mine
                if name in ("epoch", "clock") or name.startswith("bytes")
            )
            assert (
                mine["bytes_sent"]
                == sum(mine[name] for name in mine if name.startswith("bytes_sent_"))
                > 0
            )
            assert mine["bytes_sent_item"] > mine["bytes_sent_tau"]
    assert [record["max_staleness"] for record in read_metrics(mf("--workers", 2))] == [0] * 8


def test_pagerank_of_any_number_of_workers(start, files):
    """Each partitioner, with two workers and three, against one."""
    options = [(1, "bicut"), (2, "bicut"), (2, "random"), (3, "bicut"), (3, "random")]
    flags = [PAGERANK, files / "links.txt", "--tolerance", 0, "--epochs", 40, "--out", "out"]
    found = {}
    for some in (options[:3], options[3:]):
        runs = {
            each: start(*flags, "--workers", each[0], "--partitioner", each[1]) for each in some
        }
        for each, run in runs.items():
            assert run.wait(HARD) == 0, run.told()
            page = columns(run.folder / "out", "page")
            assert page["id"].dtype == np.int64
            found[each] = dict(zip(page["id"].tolist(), page["rank"].tolist(), strict=True))
    one = found.pop((1, "bicut"))
    assert abs(sum(one.values()) - 1) < 1e-9
    for each, ranks in found.items():
        assert ranks.keys() == one.keys()
        assert max(abs(ranks[page] - one[page]) for page in one) < 1e-10, each


def test_all_workers_stop_when_the_program_has_converged(tux, files):
    code, out, _ = tux(
        PAGERANK, files / "links.txt", "--tolerance", 0.01, "--workers", 2, "--slack", 1
    )
    lines = [line for line in out.splitlines() if line.startswith("epoch ")]
    assert code == 0 and 2 < len(lines) < 50


def test_more_workers_than_edges_and_plain_python(start):
    """One rating: most workers have no edge, and no vertex of one type or the other."""
    run = start(
        "mf",
        "one.csv",
        "--workers",
        4,
        "--epochs",
        2,
        "--rank",
        2,
        "--no-jit",
        "--partitioner",
        "random",
        "--out",
        "out",
    )
    (run.folder / "one.csv").write_text("user,item,rating\nann,tea,5\n")
    assert run.wait(HARD) == 0, run.told()
    assert columns(run.folder / "out", "user")["id"].tolist() == ["ann"] and columns(
        run.folder / "out", "item"
    )["id"].tolist() == ["tea"]
    assert run.left() == []


def test_patience_keeps_the_best_model(start, files):
    flags = [
        "mf",
        files / "train.csv",
        "--test",
        files / "test.csv",
        "--rank",
        16,
        "--reg",
        0,
        "--step",
        0.2,
        "--workers",
        2,
    ]
    run = start(*flags, "--epochs", 60, "--patience", 2, "--out", "out")
    assert run.wait(HARD) == 0, run.told()
    records = [record["test_rmse"] for record in read_metrics(run.folder / "out")]
    results = json.loads((run.folder / "out" / "run.json").read_text())["results"]
    top = int(np.argmin(records)) + 1
    assert len(records) == top + 2 < 60
    assert results["best"]["epoch"] == results["model_epoch"] == top
    again = start(*flags, "--epochs", top, "--out", "out")
    assert again.wait(HARD) == 0, again.told()
    for name in ("user", "item"):
        mine, other = columns(run.folder / "out", name), columns(again.folder / "out", name)
        assert all(np.array_equal(mine[f], other[f]) for f in ("id", "f"))


def test_evaluation_of_every_third_epoch(mf):
    records = list(read_metrics(mf("--workers", 2, "--eval-every", 3)))
    assert [record["epoch"] for record in records if "test_rmse" in record] == [3, 6, 8]
    every = {record["epoch"]: record["test_rmse"] for record in read_metrics(mf("--workers", 2))}
    assert all(
        record["test_rmse"] == every[record["epoch"]] for record in records if "test_rmse" in record
    )


# ---- mistakes


@pytest.mark.parametrize(
    ("fault", "text"),
    [(1, "tau.edges += 1 if"), (2, "v.degree = "), (3, "tau.objective = "), (4, "broken = ")],
)
def test_a_fault_in_a_program_is_told_with_its_place(start, files, tmp_path, fault, text):
    """Of one process as of two: in a worker's main thread, where it serves masters, and before
    there is any.
    """
    program = tmp_path / "faulty.py"
    program.write_text(FAULTY)
    flags = [program, files / "links.txt", "--fault", fault, "--no-jit", "--epochs", 2]
    one, two = runs = [start(*flags, "--workers", workers) for workers in (1, 2)]
    assert [run.wait(HARD) for run in runs] == [2, 2], two.told()
    line = 1 + next(i for i, each in enumerate(FAULTY.splitlines()) if text in each)
    expected = f"error: ZeroDivisionError: division by zero\n  at {program}:{line}\n"
    told = [unwarned(run.told()[1]) for run in runs]
    assert told[0].startswith(expected) and told[0] == told[1]
    assert two.left() == []


def test_divergence_names_vertex_field_and_value(tux, files):
    code, _, err = tux("mf", files / "train.csv", "--step", 1e9, "--rank", 4, "--workers", 2)
    what, do = unwarned(err).splitlines()
    assert code == 3
    assert re.fullmatch(
        r"error: (user ann\d+|item thing \d+): f became (nan|inf|-inf) in epoch \d+", what
    )
    assert "--step" in do


# ---- what dies


def at_work(running):
    """Wait until a run has written some epochs."""
    path = running.folder / "out" / "metrics.jsonl"
    assert running.until(lambda: path.exists() and path.read_bytes().count(b"\n") >= 3, HARD), (
        running.told()
    )
    return running.workers()


def intact(running):
    """The epochs written so far are whole, and in order; no model pretends to be one."""
    text = (running.folder / "out" / "metrics.jsonl").read_text()
    assert text.endswith("\n")
    assert [json.loads(line)["epoch"] for line in text.splitlines()] == list(
        range(1, text.count("\n") + 1)
    )
    assert not (running.folder / "out" / "model").exists()


def unwarned(err):
    """Standard error without warnings: small machines have fewer cores than some runs here have
    workers.
    """
    return "".join(
        line for line in err.splitlines(keepends=True) if not line.startswith("warning: ")
    )


def over(running, code, seconds=SOON):
    """The run ends with an exit code, leaves nothing, and says one thing."""
    assert running.wait(seconds) == code, running.told()
    assert running.until(lambda: not running.left(), SOON), running.left()
    err = unwarned(running.told()[1])
    assert err.count("error: ") == (code > 0 or code == -signal.SIGSEGV) and "Traceback" not in err
    return err


def test_a_killed_worker_ends_the_job(start, files):
    running = start("mf", files / "train.csv", "--workers", 3, *ENDLESS, "--out", "out")
    workers = at_work(running)
    assert sorted(workers) == [0, 1, 2] and any((running.tmp).glob("tux-job-*"))
    assert all((path.stat().st_mode & 0o777) == 0o700 for path in running.tmp.glob("tux-job-*"))
    os.kill(workers[1], signal.SIGKILL)
    err = over(running, 4)
    assert err.startswith(
        f"error: worker 1 (process {workers[1]}) was killed by signal 9 (SIGKILL)\n"
    )
    intact(running)


def test_a_crash_of_a_worker_is_told_with_advice(start, files):
    running = start("mf", files / "train.csv", "--workers", 2, *ENDLESS, "--out", "out")
    workers = at_work(running)
    os.kill(workers[1], signal.SIGSEGV)
    err = over(running, 4)
    assert f"(process {workers[1]}) was killed by signal 11 (SIGSEGV)\n" in err and "--check" in err


def test_a_crash_of_the_only_process_ends_with_advice(start, files):
    running = start("mf", files / "train.csv", *ENDLESS, "--out", "out")
    at_work(running)
    running.process.send_signal(signal.SIGSEGV)
    err = over(running, -signal.SIGSEGV)
    assert err.endswith("try the same with --check\n")


@pytest.mark.parametrize(
    ("flag", "line", "what"), [("--first", 8, "dst.seen"), ("--second", 12, "v.seen")]
)
@pytest.mark.parametrize("plain", [False, True], ids=["jit", "no-jit"])
def test_an_index_out_of_bounds_on_several_workers(tux, files, flag, line, what, plain):
    """In a worker's main thread, and in the thread that serves its masters."""
    path = Path(__file__).with_name("outside.py")
    flags = ["--no-jit"] if plain else ["--check"]
    code, _, err = tux(
        path, files / "links.txt", flag, 4, "--workers", 2, "--partitioner", "random", *flags
    )
    said = (
        "index 4 is out of bounds"
        if plain
        else f"index 4 is out of bounds for `{what}`, which has 4 entries\n"
    )
    assert code == 2 and said in err and f"at {path}:{line}\n" in err


def test_a_stopped_worker_ends_the_job(start, files):
    """At work, where signs of life cease, and before it has given any."""
    flags = ["mf", files / "train.csv", "--workers", 2, *ENDLESS]
    working, starting = start(*flags, "--out", "out"), start(*flags)
    assert starting.until(lambda: starting.workers(), HARD)
    rank, pid = next(iter(starting.workers().items()))
    os.kill(pid, signal.SIGSTOP)
    os.kill(at_work(working)[0], signal.SIGSTOP)
    assert f"worker {rank} (process {pid}) has been stopped" in over(starting, 4)
    assert "worker 0 " in over(working, 4)
    intact(working)


def test_an_interrupt_ends_the_job(start, files):
    numbers = (signal.SIGTERM, signal.SIGINT)
    runs = [
        start("mf", files / "train.csv", "--workers", 2, *ENDLESS, "--out", "out") for _ in numbers
    ]
    for number, running in zip(numbers, runs, strict=True):
        at_work(running)
        os.killpg(running.process.pid, number)
        os.killpg(running.process.pid, number)  # impatient
        err = over(running, 130)
        assert err.startswith("error: interrupted after ") and "metrics.jsonl holds them" in err
        intact(running)


def test_workers_whose_launcher_is_killed_end_by_themselves(start, files):
    running = start("mf", files / "train.csv", "--workers", 3, *ENDLESS, "--out", "out")
    at_work(running)
    running.process.kill()
    assert over(running, -signal.SIGKILL) == ""
    intact(running)


def test_a_launcher_killed_while_it_prepares_leaves_nothing(start, files):
    """From the moment its folder is there, before a worker is, and while workers start."""
    for sign in (lambda r: any(r.tmp.glob("tux-job-*")), lambda r: r.workers()):
        running = start("mf", files / "train.csv", "--workers", 2, *ENDLESS)
        assert running.until(lambda: sign(running), HARD)  # noqa: B023
        running.process.kill()
        assert over(running, -signal.SIGKILL) == ""
