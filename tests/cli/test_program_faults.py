"""Faults of a user's program: each is told as that, with file and line where there is one,
whichever command meets it.
"""

import numpy as np
import pytest

from tux.base.errors import TuxError
from tux.cli import main
from tux.program import fields
from tux.rows import table

PROGRAM = """
from tux import Edge, Program, Ratings, Report, Vertex, delta, value
from tux.stages import Apply, Exchange, Score


def count(dst):
    dst.seen += 1


def keep(v):
    v.degree = v.seen


def degree(dst):
    return dst.degree


class Whole(Report):
    def exports(self):
        return {"all": lambda program, model: {"x": model.ids["page"]}}


class Degrees(Program):
    report = Whole()
    page = Vertex(seen=delta("i4"), degree=value("i4"))
    link = Edge("page", "page")

    def stages(self):
        return [Exchange(count), Apply("page", keep)]

    def predict(self):
        return Score(degree)

"""
TABLES = "    def exports(self):\n"
STAGES = """    def stages(self):
        return [Exchange(count), Apply("page", keep)]
"""


@pytest.fixture
def tux(tmp_path, monkeypatch, capsys):
    """Run a command on a program of which some text is replaced: (exit code, standard error).
    ``PROGRAM`` names its file.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text("1,2\n")

    def run(command, old="", new="", name="degrees.py"):
        assert old in PROGRAM
        (tmp_path / name).write_text(PROGRAM.replace(old, new) if old else PROGRAM)
        code = main.main(command.replace("PROGRAM", name).split())
        err = capsys.readouterr().err
        assert "Traceback" not in err and "fault of tux" not in err
        return code, err

    return run


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (
            STAGES,
            '    stages = [Exchange(count), Apply("page", keep)]\n',
            "Degrees.stages is a list, not a method",
        ),
        (STAGES, "    epochs = 'many'\n", "Degrees.epochs is 'many'"),
        (
            "report = Whole()",
            "report = Whole",
            "Degrees.report is the class Whole",
        ),
        ("report = Whole()", "input = 'ratings'", "Degrees.input is an object of type str"),
        (
            STAGES,
            f"{STAGES}\n    def specialise(self, edges): ...\n",
            "Degrees.specialise() is never called: it is a method of Input",
        ),
        (
            "report = Whole()",
            "input = Ratings()",
            "Degrees: Ratings() join two vertex types",
        ),
        (
            '[Exchange(count), Apply("page", keep)]',
            "None",
            "Degrees.stages() must return a list of stages, not None",
        ),
        (
            '[Exchange(count), Apply("page", keep)]',
            "Exchange(count)",
            "must return a list of stages, not an object of type Exchange",
        ),
        (
            '[Exchange(count), Apply("page", keep)]',
            "[Exchange(count), None]",
            "must return a list of stages, not one with None in it",
        ),
        (
            '[Exchange(count), Apply("page", keep)]',
            "[Apply]",
            "must return a list of stages, not one with the class Apply in it",
        ),
    ],
)
def test_declarations_that_are_no_such_thing_are_told_with_their_place(tux, old, new, what):
    code, err = tux("run PROGRAM --epochs 1 --no-jit", old, new)
    assert code == 2 and what in err and "degrees.py:" in err


@pytest.mark.parametrize(
    "returned", ["{'x': 3}", "{'x': {'a': [1], 'b': [1, 2]}}", "{'x': {'a': 1}}", "[1]"]
)
def test_tables_that_are_none(tux, returned):
    code, err = tux(
        "run PROGRAM --epochs 1 --no-jit",
        TABLES,
        f"    def tables(self, program, model):\n        return {returned}\n\n{TABLES}",
    )
    assert code == 2 and "Whole.tables() must return tables by name" in err


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        ("predict out --pairs pairs.csv", "return Score(degree)", "return 1 / 0"),
        ("export out --format all --out all.npz", '{"x": model.ids["page"]}', '{"x": 1 / 0}'),
    ],
)
def test_an_error_in_another_command_names_the_line_too(tux, command, old, new):
    name = f"{command.split()[0]}ed.py"
    assert tux("run PROGRAM --epochs 1 --no-jit --out out", name=name)[0] == 0
    code, err = tux(command, old, new, name=name)
    line = 1 + next(i for i, text in enumerate(PROGRAM.splitlines()) if old in text)
    assert (
        code == 2
        and "error: ZeroDivisionError: division by zero\n" in err
        and f"{name}:{line}\n" in err
    )


def test_more_memory_than_there_is(tux):
    code, err = tux("run mf --rank 100000000000")
    assert (
        code == 1
        and "error: out of memory: user.f needs " in err
        and " rows of 100,000,000,000 numbers of float32" in err
    )


@pytest.mark.parametrize("length", [10**14, 10**30])
def test_a_table_that_is_too_large_names_the_field(length):
    declared = {"x": fields.value("f8", length)}
    with pytest.raises(
        TuxError,
        match=rf"out of memory: page\.x needs .* GiB, for 3 rows of {length:,} numbers of float64",
    ):
        table.Table.allocate("page", declared, 3, np.zeros(3, np.int64))
