"""No command is silent for long: with a clock that goes on only where something takes long, each
such place must have told what it is.
"""

import re
from importlib import import_module

import numpy as np
import pytest

from tux.cli import show
from tux.cli.main import main

BEAT, LONG = 5.0, 10.0


class HandClock:
    """A clock that tests move on; and the watchers that read it."""

    def __init__(self):
        self.now, self.watchers = 0.0, []

    def __call__(self):
        return self.now

    def passes(self):
        """Let a long time pass; the watchers look whether they should say something."""
        self.now += LONG
        for each in list(self.watchers):
            each.tick()


@pytest.fixture
def clock(monkeypatch):
    """Replace the clock by which `tux` tells the time of its work. The test moves it on by hand."""
    clock = HandClock()

    class Watching(show.PlainLines):
        def __init__(self, beat=BEAT, tell=show.say):
            super().__init__(beat, tell, clock)

        def __enter__(self):
            self._last = clock()
            show.phase("")
            clock.watchers.append(self)
            return self

        def __exit__(self, *_):
            clock.watchers.remove(self)

    monkeypatch.setattr(show, "PlainLines", Watching)
    monkeypatch.setattr(show, "BEAT", BEAT)
    return clock


@pytest.fixture
def make_slow(clock, monkeypatch):
    """Make functions slow: each call of one, by the name where it is used, takes long."""

    def make(*names):
        for name in names:
            module, _, function = name.rpartition(".")
            place = import_module(module)
            found = getattr(place, function)

            def late(*given, _found=found, **named):
                clock.passes()
                return _found(*given, **named)

            monkeypatch.setattr(place, function, late)

    return make


def phases_in_progress(text):
    """Return the names of the work that progress lines show."""
    return [each[1] for each in re.finditer(r"^\.\.\. ([^,\n]+), ", text, re.MULTILINE)]


RUN = ["run", "mf", "ratings.csv", "--rank", "2", "--epochs", "1", "--no-jit"]


def test_a_run(tux, ratings, make_slow):
    make_slow(
        "tux.inputs.edge_files.read_edges",
        "tux.runs.begin.Worker",
        "tux.runs.begin.TrainingHere",
        "tux.engine.stretch.has_converged",
        "tux.run_folder.model_files.parquet_writer",
        "tux.runs.finish.model_of",
    )
    code, out, err = tux(*RUN[:-3], "--epochs", "2", "--no-jit", "--test", ratings, "--out", "run")
    assert code == 0 and not phases_in_progress(err)
    begins = ["load", "load", "layout", "compile", "epoch 2"]
    assert phases_in_progress(out) == [*begins, "end of training", *["save"] * 3, "tables", "judge"]


@pytest.mark.parametrize(
    ("argv", "place", "what"),
    [
        (["predict", "run", "--pairs", "pairs.csv"], "tux.predict.predict.read_pairs", "predict"),
        (["predict", "run", "--nearest", "1"], "tux.predict.neighbours.similar", "predict"),
        (
            ["export", "run", "--format", "arrays", "--out", "a.npz"],
            "tux.predict.export.read_model",
            "make arrays of the model",
        ),
        (["info", "run"], "tux.cli.info.read_run", "look at run"),
        (["info", "ratings.csv"], "tux.cli.info.read_edges", "look at ratings.csv"),
        (["doctor"], "tux.cli.doctor._kernel", "compile a kernel"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else None,
)
def test_commands_tell_on_standard_error(tux, ratings, here, make_slow, argv, place, what):
    assert tux(*RUN, "--out", "run")[0] == 0
    (here / "pairs.csv").write_text("user,item\n1,1\n")
    make_slow(place)
    code, out, err = tux(*argv)
    assert code == 0 and set(phases_in_progress(err)) == {what} and not phases_in_progress(out)


@pytest.mark.parametrize("kind", ["ratings", "corpus", "clicks", "graph"])
def test_generate(tux, here, make_slow, kind):
    usual = f"tux.synthetic.{kind}.write_{kind}"
    writes = {"graph": "tux.predict.column_files.write_text"}.get(kind, usual)
    make_slow(f"tux.synthetic.{kind}.{kind}", writes)
    code, _, err = tux("generate", kind, "--out", "x.svm" if kind == "clicks" else "x.csv")
    assert (
        code == 0
        and len(phases_in_progress(err)) == 2
        and phases_in_progress(err)[1].startswith("write x")
    )


def test_partition(tux, ratings, make_slow):
    make_slow("tux.cli.partition.read_graph", "tux.cli.partition.write_folder")
    make_slow("tux.compare.partitioners.quality")
    code, out, err = tux(
        "partition", ratings, "--parts", "2", "--method", "bicut", "--out", "parts"
    )
    assert (
        code == 0
        and phases_in_progress(out)[0] == f"reading {ratings}"
        and "bicut (1 of 1)" in phases_in_progress(out)
    )
    assert phases_in_progress(err) == ["write parts"]


def test_a_run_that_goes_on_looks_for_its_checkpoint(tux, ratings, make_slow):
    assert tux(*RUN, "--out", "run", "--checkpoint-every", "1")[0] == 0
    make_slow("tux.runs.resume.find_newest_checkpoint")
    code, out, _ = tux("run", "--resume", "run", "--epochs", "2")
    assert code == 0 and phases_in_progress(out)[0] == "look for the newest checkpoint"


def test_what_takes_long_before_the_first_word(tux, ratings, make_slow):
    make_slow("tux.program.sources.find")
    code, _, err = tux(*RUN)
    assert code == 0 and phases_in_progress(err)[0] == "run"


def test_a_command_that_has_told_something_is_quiet(clock, capsys):
    """Such as one that serves a page from then on."""
    with show.show_progress("watch"):
        clock.passes()
        show.say("http://127.0.0.1:8000")
        clock.passes()
        show.phase("end")
        clock.passes()
    assert phases_in_progress(capsys.readouterr().err) == ["watch", "end"]


def test_columns_that_take_long_to_print(capsys):
    """The results stay clean."""
    with show.show_progress("predict"):
        show.table({"a": np.arange(2)})
    assert capsys.readouterr() == ("a\n0\n1\n", "")
    assert main(["--version"]) == 0
