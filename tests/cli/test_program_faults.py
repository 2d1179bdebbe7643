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
from tux import Edge, Program, Ratings, Report, Vertex, delta, param, value
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

    def run(command, old="", new="", name="degrees.py", printed=None):
        assert old in PROGRAM
        (tmp_path / name).write_text(PROGRAM.replace(old, new) if old else PROGRAM)
        code = main.main(command.replace("PROGRAM", name).split())
        out, err = capsys.readouterr()
        if printed is not None:
            printed.append(out)
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
    ("old", "new", "at", "what"),
    [
        (TABLES, "    def exports(self, p):\n", "def exports", "Whole.exports(self, p)"),
        (TABLES, "    def export(self):\n", "def export", "did you mean exports"),
        (STAGES, f"    context: int = param(3)\n\n{STAGES}", "context:", "context cannot name"),
        (STAGES, f"    monitor = 'loss'\n\n{STAGES}", "monitor", "monitors loss, which is no"),
        (STAGES, f"    epoch = 3\n\n{STAGES}", "epoch =", "did you mean epochs?"),
    ],
)
def test_hooks_and_names_are_told_with_their_line(tux, old, new, at, what):
    code, err = tux("run PROGRAM --epochs 1 --no-jit", old, new)
    lines = PROGRAM.replace(old, new).splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if text.strip().startswith(at))
    assert code == 2 and what in err and f"degrees.py:{line}\n" in err


def test_whole_numbers_and_texts_of_a_summary_are_shown(tux, capsys):
    numbers = "{'pages': 2_000, 'share': 0.5, 'kind': 'plain', 'all': True}"
    summary = f"    def summary(self, program, tables, records):\n        return {numbers}\n\n"
    printed = []
    for command in ("run PROGRAM --epochs 1 --no-jit --out out", "info out"):
        assert tux(command, TABLES, f"{summary}{TABLES}", printed=printed) == (0, "")
    assert "\npages 2,000\nshare 0.5000\nkind plain\nall True\n" in printed[0]
    assert "scores      pages 2,000, share 0.5000, kind plain, all True\n" in printed[1]
    assert "epochs 1\n" not in printed[0] and "model_epoch" not in "".join(printed)


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


@pytest.mark.parametrize(
    ("form", "returned", "what"),
    [
        ("word2vec", "{'id': model.ids['page']}", "needs the arrays id (n,) and vector (n, width)"),
        ("picture", "{'id': [1], 'vector': [1]}", "but has id (1,), vector (1,)"),
        ("all", "[1]", "the function of the format all returns an object of type list"),
        ("all", "{'x': [[1], [1, 2]]}", "x of all is no array"),
        ("all", "{'x': [None]}", "x of all holds object"),
    ],
)
def test_what_a_format_may_not_return(tux, form, returned, what):
    old = '{"all": lambda program, model: {"x": model.ids["page"]}}'
    new = f'{{"{form}": lambda program, model: {returned}}}'
    assert tux("run PROGRAM --epochs 1 --no-jit --out out", old, new)[0] == 0
    out = "all.png" if form == "picture" else "all.npz"
    code, err = tux(f"export out --format {form} --out {out}", old, new)
    line = 1 + next(i for i, text in enumerate(PROGRAM.splitlines()) if old in text)
    assert code == 2 and what in err and f"degrees.py:{line}\n" in err


def test_a_prediction_that_is_no_score(tux):
    assert tux("run PROGRAM --epochs 1 --no-jit --out out")[0] == 0
    code, err = tux("predict out --pairs pairs.csv", "return Score(degree)", "return degree")
    assert code == 2 and "Degrees.predict() must return a Score, not " in err


def test_more_memory_than_there_is(tux):
    code, err = tux("run mf --rank 100000000000")
    assert (
        code == 2
        and "(above all user.f, 100,000,000,000 numbers a row), and this machine, or" in err
        and "take more machines" in err
    )


@pytest.mark.parametrize("length", [10**14, 10**30])
def test_a_table_that_is_too_large_names_the_field(length):
    declared = {"x": fields.value("f8", length)}
    with pytest.raises(
        TuxError,
        match=rf"out of memory: page\.x needs .* GiB, for 3 rows of {length:,} numbers of float64",
    ):
        table.RowTable.allocate("page", declared, 3, np.zeros(3, np.int64))
