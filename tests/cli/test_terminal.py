"""Output of commands to terminals of several widths: no line is wider than the terminal, nor than
120 columns; and to a pipe, nothing but plain lines.
"""

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from argparse import Namespace

import pytest

from tux.cli import run as command
from tux.cli import show
from tux.cli.main import main
from tux.cli.widths import width
from tux.runs import session

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
SIZES = (80, 120, 200)
SMALL = {
    "mf": "--rank 2 --epochs 2",
    "lda": "--topics 4 --epochs 2",
    "blockpg": "--l1 5 --epochs 3",
    "deepwalk": "--dimensions 4 --num-walks 2 --walk-length 6",
}
"""Runs of each app on data of this size, with words long enough to be in the way."""

DATA = {
    "mf": "user,item,rating\n"
    + "".join(f"user-{i % 7},item-{i % 11},{i % 5 + 1}\n" for i in range(70)),
    "lda": "".join(
        " ".join(f"averyveryverylongword{(i * j) % 31}" for j in range(1, 12)) + "\n"
        for i in range(12)
    ),
    "blockpg": "".join(
        f"{i % 2} {' '.join(f'{j}:{1 + (i * j) % 3}' for j in range(1 + i % 2, 40, 2))}\n"
        for i in range(30)
    ),
    "deepwalk": "".join(f"{i} {(i * 3 + 1) % 20}\n{i} {(i + 1) % 20}\n" for i in range(20)),
}
MORE = {
    "mf": "--test DATA",
    "lda": "--form text",
    "blockpg": "--test DATA",
    "deepwalk": "--labels LABELS",
}


class Screen(io.StringIO):
    """A terminal that remembers what was written to it."""

    encoding = "utf-8"

    def isatty(self):
        return True

    def lines(self):
        """Return each text that was on one line of the screen at some time."""
        return [
            line for line in re.split(r"[\r\n]", CONTROL.sub("", self.getvalue())) if line.strip()
        ]


def too_wide(lines, columns):
    """Return the lines that take too many columns; not those with a path that nobody could cut."""
    most = min(columns, 120)
    return [
        line for line in lines if width(line) > most and max(map(width, line.split())) < most // 2
    ]


@pytest.fixture
def screen(monkeypatch):
    """Return a function that gives a new terminal of a width."""
    monkeypatch.setenv("TERM", "xterm-256color")

    def make_screen(columns):
        new = Screen()
        monkeypatch.setenv("COLUMNS", str(columns))
        for name in ("stdout", "stderr"):
            monkeypatch.setattr(sys, name, new)
        return new

    return make_screen


class RecordingWatcher(show.PlainLines):
    """A watcher that keeps what it is told, to be told again."""

    def __init__(self, calls):
        super().__init__()
        self._calls = calls

    def phase(self, name):
        self._calls.append(("phase", name))

    def share(self, done):
        self._calls.append(("share", done))

    def say(self, text):
        self._calls.append(("say", text))

    def warn(self, text):
        self._calls.append(("warn", text))

    def epoch(self, record, most):
        self._calls.append(("epoch", record, most))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return by app the folder of a run, all that it told its watcher, and its result."""
    done = {}

    def run_app(app):
        if app in done:
            return done[app]
        folder = tmp_path_factory.mktemp(app)
        data = folder / f"data.{'svm' if app == 'blockpg' else 'txt'}"
        data.write_text(DATA[app])
        (folder / "labels.txt").write_text("".join(f"{i} {i % 2}\n" for i in range(20)))
        more = MORE[app].replace("DATA", str(data)).replace("LABELS", f"{folder}/labels.txt")
        calls, kept = [], []
        with pytest.MonkeyPatch.context() as patch:
            run = session.run

            def remember_run(*given):
                kept.append(run(*given))
                return kept[0]

            patch.setattr(session, "run", remember_run)
            patch.setattr(show, "watcher", lambda: RecordingWatcher(calls))
            out = str(folder / "out")
            words = f"run {app} {data} {SMALL[app]} {more} --no-jit --out {out}"
            assert main(words.split()) == 0
        done[app] = out, calls, kept[0]
        return done[app]

    return run_app


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("columns", SIZES)
@pytest.mark.parametrize("app", SMALL)
def test_a_run_fits(runs, screen, app, columns):
    """The live table, what stands below it, and the lines at the end."""
    out, calls, result = runs(app)
    terminal = screen(columns)
    with show.LiveTable() as watch:
        for name, *given in calls:
            getattr(watch, name)(*given)
            watch.share(0.5)
            watch._screen.refresh()
    command._tell(result, out, Namespace(json=False))
    assert not too_wide(terminal.lines(), columns)
    shown = terminal.getvalue()
    epochs = [given for name, *given in calls if name == "epoch"]
    assert epochs and all(f"{given[0]['epoch']}/" in shown for given in epochs)


COMMANDS = {
    "mf": ["info OUT", "predict OUT --nearest user-1", "export OUT --format arrays --out a.npz"],
    "lda": ["info OUT", "predict OUT DATA", "export OUT --format pyldavis --out b.npz"],
    "blockpg": ["info OUT", "predict OUT DATA"],
    "deepwalk": ["predict OUT --nearest 3"],
}


@pytest.mark.long(after=1)
@pytest.mark.slow(after=1)
@pytest.mark.parametrize("app", SMALL)
def test_other_commands_fit(runs, screen, app, tmp_path, monkeypatch):
    out, _, _ = runs(app)
    monkeypatch.chdir(tmp_path)
    data = next(path for path in (tmp_path / out).parent.iterdir() if path.name[:5] == "data.")
    for columns in SIZES:
        for words in COMMANDS[app]:
            terminal = screen(columns)
            argv = words.replace("DATA", str(data)).replace(".npz", f"{columns}.npz").split()
            assert main([out if word == "OUT" else word for word in argv]) == 0, terminal.getvalue()
            assert terminal.lines() and not too_wide(terminal.lines(), columns), words


HELP = ["--help", "run --help", "generate --help", "predict --help", "export --help"]
HELP += ["info --help", "partition --help", "run --resume --help", "doctor", "run mf --explain"]


@pytest.mark.parametrize("columns", SIZES)
def test_help_and_errors_fit(screen, here, columns):
    mistakes = ["run mf nothing.csv", "run blockpg --patience 2", "predict nothing --pairs x"]
    for words in [*HELP, *(f"run {app} --help" for app in SMALL), *mistakes]:
        terminal = screen(columns)
        main(words.split())
        assert terminal.lines() and not too_wide(terminal.lines(), columns), words


def test_partition_fits_and_its_numbers_are_whole(screen, ratings):
    for columns in SIZES:
        terminal = screen(columns)
        assert main(["partition", ratings, "--parts", "2", "--method", "bicut,random"]) == 0
        assert not too_wide(terminal.lines(), columns)
        assert "…" not in terminal.getvalue() and "busiest" in terminal.getvalue()


def test_a_line_of_results_is_cut_on_a_terminal_alone(runs, screen, capsys):
    out, _, _ = runs("lda")
    data = f"{out}/../data.txt"
    assert main(["predict", out, data, "--form", "text"]) == 0
    whole = capsys.readouterr().out
    terminal = screen(30)
    assert main(["predict", out, data, "--form", "text"]) == 0
    assert "…" not in whole and "…" in terminal.getvalue()
    assert "lines are cut after 30 columns" in " ".join(terminal.getvalue().split())


def test_a_pipe_gets_plain_lines(runs, capsys, tux, ratings):
    code, out, err = tux("run", "mf", ratings, "--epochs", "2", "--rank", "2", "--no-jit")
    assert code == 0 and not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out + err)
    assert max(map(len, (line for line in out.splitlines() if line[:5] == "epoch"))) <= 120


@pytest.mark.long
@pytest.mark.parametrize(
    "columns",
    [pytest.param(size, marks=[] if size == 120 else pytest.mark.long) for size in SIZES],
)
def test_a_real_terminal(ratings, columns):
    """A command whose three streams are a terminal of this width, and not a file that says so."""
    own, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    words = f"run blockpg --epochs 3 --no-jit --out {'long' * 5}".split()
    command = subprocess.Popen(
        [sys.executable, "-m", "tux", *words],
        env=environment | {"TERM": "xterm-256color"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    screen = Screen()
    with open(own, "rb", buffering=0) as reader, contextlib.suppress(OSError):  # at its end
        while piece := reader.read(1 << 16):
            screen.write(piece.decode(errors="replace"))
    assert command.wait() == 0 and "3/3" in screen.getvalue()
    assert not too_wide(screen.lines(), columns)
