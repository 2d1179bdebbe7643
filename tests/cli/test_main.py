"""The command line: each mistake is told with what, where and what to do, and ends with its own
exit code.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tux import __version__
from tux.cli import main as cli_main
from tux.cli.main import main

pytestmark = pytest.mark.usefixtures("here")
RUN = ["--epochs", "2", "--no-jit", "--rank", "4"]
SOON = 300.0  # seconds after which a command counts as hung

DEGREES = '''
"""Count the edges of pages.

    degree(v) = number of edges into v
"""
from tux import Context, Edge, Program, Vertex, delta, metric, param, total, value
from tux.stages import Apply, Exchange, GlobalSync


def count(dst, tau):
    dst.seen += 1
    tau.edges += 1


def keep(v):
    v.degree = v.seen


def report(tau):
    tau.objective = tau.edges


class Degrees(Program):
    """Degrees of pages."""

    scale: float = param(1.0, "multiplies nothing", low=0, high=2)
    exact: bool = param(False, "means nothing")
    mode: str = param("slow", "means nothing either", choices=("slow", "fast"))
    page = Vertex(seen=delta("i4"), degree=value("i4"))
    link = Edge("page", "page")
    tau = Context(edges=total(), objective=metric())

    def stages(self):
        return [Exchange(count), Apply("page", keep), GlobalSync(report)]
'''


# ---- flags


def test_help_names_commands_and_apps(tux):
    code, out, err = tux("--help")
    assert code == 0 and not err
    assert all(
        word in out
        for word in (
            "run",
            "split",
            "generate",
            "predict",
            "info",
            "doctor",
            "Matrix factorization",
        )
    )
    assert tux()[0] == 2
    assert tux("--version") == (0, f"tux {__version__}\n", "")
    for command in (
        "run",
        "generate",
        "generate ratings",
        "generate graph",
        "split",
        "predict",
        "info",
        "check-trace",
        "stubs",
        "doctor",
        "run mf",
    ):
        assert tux(*command.split(), "--help")[0] == 0


def test_help_of_an_app_has_its_text_flags_ranges_and_defaults(tux, here):
    (here / "degrees.py").write_text(DEGREES)
    _, out, _ = tux("run", "degrees.py", "--help")
    flat = " ".join(out.split())
    assert "degree(v) = number of edges into v" in out
    assert "--scale X multiplies nothing [from 0 to 2, default 1]" in flat
    assert "--exact" in flat and "--no-exact" not in flat and "--mode slow|fast" in flat


@pytest.mark.parametrize(
    ("argv", "what", "do"),
    [
        ("rum mf", "unknown command rum", "did you mean run?"),
        ("run", "name the app first", "mf"),
        ("run mg", "unknown app 'mg'", "did you mean mf?"),
        ("run mf --ranq 3", "unknown flag --ranq", "did you mean --rank?"),
        ("run mf ratings.csv more", "unknown argument more", "--help"),
        ("run mf --rank 0", "rank = 0 is out of range", "rank must be at least 1"),
        ("run mf --rank x", "--rank: a whole number is needed, not 'x'", "--help"),
        ("run mf --slack infinite", "--slack: a whole number or inf is needed", "--help"),
        ("run mf --learning-rate nan", "--learning-rate: a number is needed, not 'nan'", "--help"),
        ("run mf --epochs -1", "--epochs: at least 0 is needed", "--help"),
        ("run mf --on-bad-row guess", "--on-bad-row: invalid choice: 'guess'", "--help"),
        ("run mf --workers 0", "--workers: at least 1 is needed", "--help"),
        ("run mf --threads 1025", "--threads: at most 1,024 is allowed, not 1025", "--help"),
        ("partition g --threads 0", "--threads: at least 1 is needed, not 0", "--help"),
        ("run mf --racing=yes", "--racing: it takes no value, but is given 'yes'", "--help"),
        ("run mf --explain --racing", "MF has no stage that may race", "leave it out"),
        (
            "run mf --nnodes 2 --node-rank 2 --rdzv localhost:1",
            "--node-rank 2 of --nnodes 2",
            "number the machines",
        ),
        ("run mf --nnodes 2 --rdzv localhost:1", "--nnodes 2 without --node-rank", "from 0 to 1"),
        ("run mf --nnodes 2 --node-rank 0 --rdzv 10.0.0.1:1", "needs a key", "--key-file"),
        ("run mf --test ratings.csv", "--test without DATA", "name the file"),
        ("run mf ratings.csv --columns a,b", "columns 'a,b'", "Give 3"),
        ("run none.py", "no such file: ", "built-in name"),
        ("generate", "name the kind of data", "ratings"),
        ("generate rating --out x.csv", "no data called rating", "did you mean ratings?"),
        ("generate ratings", "required: --out", "--help"),
        ("generate ratings --users 0 --out x.csv", "--users: at least 1 is needed", "--help"),
        ("generate ratings --out x.doc", "does not say which kind", "end its name"),
        ("generate graph --vertices 5 --edges 25 --out x.csv", "25 edges between 5", "from 1 to 2"),
        ("generate --out x.csv", "name the kind of data", "ratings"),
        ("generate ratings --out x.csv --test-share 0.5", "without --test FILE", "with --test"),
        (
            "generate ratings --out x.csv --test y.csv --test-share 2",
            "--test-share is 2",
            "below 1",
        ),
        ("generate graph --vertices 1 --out x.csv", "a graph of 1 vertex", "from 2 to"),
        ("generate ratings --out no/x.csv", "there is no folder no", "make the folder first"),
        ("generate corpus --out x.txt --vocab no/w", "there is no folder no", "make the folder"),
        ("predict out", "needs DATA or --pairs FILE", "--help"),
        ("predict --pairs x.csv", "required: DIR", "--help"),
        ("info", "required: DIR|GRAPH", "--help"),
        ("info ratings.csv ratings.csv", "unknown argument ratings.csv", "quote a pattern"),
        ("info ratings.csv --types a", "--types a are not two types", "user,item"),
    ],
)
def test_usage(tux, ratings, here, argv, what, do):
    code, _, err = tux(*argv.split())
    assert code == 2
    first, *rest = err.splitlines()
    assert first.startswith("error: ") and what in first
    assert do in " ".join(rest)
    assert os.listdir(here) == ["ratings.csv"]


# ---- running


def test_plain_lines(tux, ratings):
    code, out, err = tux("run", "mf", ratings, *RUN)
    lines = out.splitlines()
    assert code == 0 and not err
    parameters = "rank 4, learning_rate 0.1, reg 0.05, warm 4, batch_size 0, biases False"
    assert lines[0] == f"mf: {parameters}; seed 0"
    assert lines[1] == "data: ratings.csv: 7 users, 11 items, 70 ratings"
    assert [line.split()[1] for line in lines if line.startswith("epoch")] == ["1/2", "2/2"]
    assert "--out DIR keeps it" in lines[-1]


def test_flags_and_data_in_any_order(tux, ratings):
    outs = [
        tux("run", "mf", *order)[1]
        for order in ([ratings, *RUN], [*RUN, ratings], [*RUN, "--workers", "1", ratings])
    ]
    assert len({out.split("\n")[1] for out in outs}) == 1


@pytest.mark.slow
def test_without_data_it_says_so(tux, here):
    code, out, _ = tux("run", "mf", "--epochs", "1")
    assert code == 0
    assert "generated, as no DATA is named: 2,000 users, 1,000 items" in out
    assert "the truth behind these ratings has an RMSE of 0.5" in out


def test_generated_graph_for_a_program_without_edge_data(tux, here):
    (here / "degrees.py").write_text(DEGREES)
    code, out, _ = tux(
        "run", "degrees.py:Degrees", "--no-jit", "--epochs", "1", "--exact", "--mode", "fast"
    )
    assert code == 0
    assert "pages, 20,000 links" in out and "objective 20,000" in out
    assert tux("run", "degrees.py", "--mode", "quick")[0] == 2


def test_a_program_that_cannot_be_fed_needs_data(tux, here):
    (here / "degrees.py").write_text(
        DEGREES.replace('Edge("page", "page")', 'Edge("page", "page", a=value_("f4"))').replace(
            "param, total", "param, total, data as value_"
        )
    )
    code, _, err = tux("run", "degrees.py")
    assert code == 2
    assert err == "error: Degrees needs DATA\n  name a file of edges: page, page, a\n"


def test_interrupt(tux, here, ratings):
    (here / "degrees.py").write_text(
        DEGREES.replace(
            "    tau.objective = ",
            "    tau.rounds += 1\n    if tau.rounds > 1: raise KeyboardInterrupt\n    "
            "tau.objective = ",
        ).replace("objective=metric()", "objective=metric(), rounds=value('i4')")
    )
    code, _, err = tux("run", "degrees.py", ratings, "--columns", "1,2", "--no-jit", "--out", "out")
    assert code == 130
    assert err.splitlines()[-2:] == [
        "error: interrupted after 1 epoch",
        "  out/metrics.jsonl holds their records; no model was written",
    ]
    assert len((here / "out" / "metrics.jsonl").read_text().splitlines()) == 1
    assert not (here / "out" / "model").exists()
    assert "--types is about files of edges" in tux("info", "out", "--types", "a,b")[2]
    code, out, _ = tux("info", "out")
    assert code == 0 and "interrupted after 1 epoch, no model written" in out


@pytest.mark.parametrize(("times", "slow"), [(1, False), (3, False), (1, True)])
def test_an_interrupt_that_python_drops_still_ends_the_run(capsys, monkeypatch, times, slow):
    class Callback:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)
            time.sleep(0)  # where the interrupt is raised, and dropped

    def command(argv):
        for _ in range(times):
            Callback()
        time.sleep(SOON)
        return 0

    monkeypatch.setattr(cli_main, "_command", command)
    if slow:  # a busy machine: the thread that sends it again is long in coming
        start = threading.Thread.start
        monkeypatch.setattr("threading.Thread.start", lambda self: (start(self), time.sleep(0.3)))
    assert main([]) == 130
    assert capsys.readouterr().err == "error: interrupted\n"


# ---- the user's file


@pytest.mark.long(after=4)
@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("def keep(v):", "def keep(v:", 15, "SyntaxError"),
        ("def keep(v):", "nothing\ndef keep(v):", 15, "NameError: name 'nothing'"),
        ('delta("i4")', "delta(combine='mode')", 29, "cannot be combined by 'mode'"),
        ("return [Exchange(count)", "return [Exchange(missing)", 34, "NameError: name 'missing'"),
        ("    tau.objective = ", "    tau.objective = 1 / 0 + ", 20, "ZeroDivisionError"),
        ("def keep(v):", "def keep(v, w):", 15, "parameter 'w'"),
        ("    v.degree = ", "    v.degree = v.sean + ", 16, "sean"),
    ],
)
def test_errors_in_a_users_file(tux, here, old, new, line, what):
    assert old in DEGREES
    (here / "degrees.py").write_text(DEGREES.replace(old, new))
    for jit in ([], ["--no-jit"]):
        code, _, err = tux("run", "degrees.py", "--epochs", "1", *jit)
        assert code == 2
        assert what in err.splitlines()[0]
        assert f"  at {here}/degrees.py:{line}" in err.splitlines()


def test_which_program_of_a_file(tux, here):
    (here / "two.py").write_text(DEGREES + "\n\nclass Second(Degrees):\n    pass\n")
    code, _, err = tux("run", "two.py")
    assert code == 2 and "2 programs in two.py" in err and "two.py:Degrees or two.py:Second" in err
    code, _, err = tux("run", "two.py:Secund")
    assert code == 2 and "did you mean Second?" in err
    (here / "none.py").write_text("")
    assert "no program in none.py" in tux("run", "none.py")[2]
    (here / "flag.py").write_text(DEGREES.replace("scale: float", "seed: float"))
    assert "parameter seed has the name of a flag" in tux("run", "flag.py")[2]


def test_debug_shows_the_traceback(here, capsys):
    assert main(["run", "none.py", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


# ---- the other commands


def test_generate_and_info(tux, here):
    code, out, _ = tux(
        *(
            "generate ratings --users 50 --items 40 --ratings 600 --out a.csv.gz --test b.parquet "
            "--test-share 0.2"
        ).split()
    )
    assert code == 0 and "a.csv.gz: " in out and "the truth itself has an RMSE of 0." in out
    code, out, _ = tux("info", "a.csv.gz", "--types", "user,item")
    found = dict(line.split("  ", 1) for line in out.splitlines())
    assert found["users"].strip() == "50" and found["duplicates"].strip() == "0"
    assert "quantiles 0.5: " in out and " to 5, mean " in out
    assert (
        tux(*"generate graph --vertices 100 --edges 300 --out g.tsv".split())[1]
        == "g.tsv: 300 edges\n"
    )
    code, out, _ = tux("info", "g.tsv", "--types", "page,page")
    assert code == 0 and "degrees, in" in out and "300" in out
    (here / "g.gr").write_text("p sp 3 2\na 1 2 7\na 2 3 4\n")
    assert "nodes         3\n" in tux("info", "g.gr")[1]
    assert tux("generate", "graph", "--out", "g.tsv")[0] == 2
    assert tux("info", "none")[0] == 3


def test_doctor(tux):
    code, out, _ = tux("doctor")
    assert code == 0
    assert all(
        word in out
        for word in ("python", "numba", "cores", "memory", "vectors of", "writable", "all is well")
    )


@pytest.mark.slow
def test_as_programs(here):
    run = lambda *argv: subprocess.run(  # noqa: E731
        [sys.executable, "-m", "tux", *argv], capture_output=True, text=True, timeout=SOON
    )
    assert run("--version").stdout == f"tux {__version__}\n"
    assert run("run", "mf", "--rank", "0").returncode == 2
    heavy = (
        "import sys; from tux.cli.main import main; main(['--help']); print({'numba', 'pyarrow', "
        "'rich'} & set(sys.modules))"
    )
    assert subprocess.run(
        [sys.executable, "-c", heavy], capture_output=True, text=True, timeout=SOON
    ).stdout.endswith("set()\n")


def test_a_warning_of_numpy_names_the_line(tux, here):
    """In plain Python numbers that overflow are warned of where they are computed."""
    (here / "big.py").write_text(
        "import numpy as np\nfrom tux import Apply, Edge, Program, Vertex, value\n\n\n"
        "def grow(page):\n    page.x = np.float32(1e38) * np.float32(page.x + 9)\n\n\n"
        "class Big(Program):\n    page = Vertex(x=value('f4'))\n"
        "    link = Edge('page', 'page')\n\n"
        "    def stages(self):\n        return [Apply('page', grow)]\n"
    )
    (here / "links.txt").write_text("1 2\n2 3\n")
    code, _, err = tux("run", "big.py", "links.txt", "--epochs", "1", "--no-jit")
    assert "overflow encountered" in err and f"at {here / 'big.py'}:6" in err
