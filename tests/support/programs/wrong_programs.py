"""Programs with one mistake each, as a table: the mistake in words, what the message says, and what
is changed in a right program. Mistakes in functions are here, others in `wrong_declarations`.

The comment ``# here`` marks the line that the message names.
"""

from __future__ import annotations

from dataclasses import dataclass

BASE = """\
import math
import os
import random

import numpy as np

from tux import Context, Edge, Program, Vertex, argmax, data, delta, metric, mirror, param, shared
from tux import total, value, vertex_param
from tux.stages import Apply, Exchange, ForEach, Generate, GlobalSync, MiniBatch, Repeat


def give(src, dst):
    dst.got += src.x


def keep(page, tau, p):
    page.x = 1 + page.got * p.share
    tau.sum += page.x


def show(tau):
    tau.shown = tau.sum


class Sums(Program):
    share: float = param(0.25, "what a page gives to each link")
    turns: int = param(2, "repetitions", low=1)
    page = Vertex(got=delta("f8"), x=value("f8", init=1))
    link = Edge("page", "page")
    tau = Context(sum=total(), shown=metric())

    def stages(self):
        return [Exchange(give), Apply("page", keep), GlobalSync(show)]
"""
# parts of it that are replaced
GIVE = "dst.got += src.x"
DEF_GIVE = f"def give(src, dst):\n    {GIVE}\n"
KEEP = "page.x = 1 + page.got * p.share"
SUM = "tau.sum += page.x"
SHOW = "tau.shown = tau.sum"
DEF_SHOW = f"def show(tau):\n    {SHOW}\n"
CLASS = "class Sums(Program):"
TURNS = 'turns: int = param(2, "repetitions", low=1)'
PAGE = 'page = Vertex(got=delta("f8"), x=value("f8", init=1))'
LINK = 'link = Edge("page", "page")'
TAU = "tau = Context(sum=total(), shown=metric())"
STAGES = 'return [Exchange(give), Apply("page", keep), GlobalSync(show)]'
DEF_STAGES = f"    def stages(self):\n        {STAGES}\n"


@dataclass(frozen=True)
class WrongProgram:
    """A program that has a mistake. `says` is part of the message, `flags` are those of the
    command line.
    """

    mistake: str
    says: str
    text: str
    flags: str

    @property
    def line(self) -> int:
        """The number of the line that is marked; 0 if none is."""
        lines = self.text.splitlines()
        return next((n for n, line in enumerate(lines, 1) if line.endswith("# here")), 0)


def wrong(mistake: str, says: str, *changes: str, flags: str = "--no-jit") -> WrongProgram:
    """Return a mistake; `changes` of `BASE` are old text, new text, and so on. The mistake needs no
    compiler, unless `flags` say so.
    """
    text = BASE
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert text.count(old) == 1, (mistake, old)
        text = text.replace(old, new)
    return WrongProgram(mistake, says, text, flags)


def wrong_when_compiled(mistake: str, says: str, *changes: str) -> WrongProgram:
    """Return a mistake that only a compiled run shows."""
    return wrong(mistake, says, *changes, flags="")


def page(fields: str) -> str:
    """Return the vertex type with more fields."""
    return PAGE.replace("(", f"({fields}, ", 1)


REPLICAS = [
    wrong(
        "an id is compared with a text",
        "`give` compares with the text 'n3': fields and ids of vertices are numbers",
        *(GIVE, 'dst.got += 1 if src.id == "n3" else 0  # here'),
    ),
    wrong(
        "a delta is set instead of added to",
        "`give` sets page.got, a delta: the last call on each worker decides",
        *(GIVE, "dst.got = src.id  # here"),
    ),
    wrong(
        "Exchange reads the delta that it collects",
        "`give` reads page.got, a delta, in Exchange",
        *(GIVE, "dst.got += src.x / (1 + dst.got)  # here"),
    ),
    wrong(
        "Apply reads a total",
        "`keep` reads tau.sum, a total, in Apply",
        *(SUM, f"{SUM}\n    page.x /= tau.sum  # here"),
    ),
    wrong(
        "Exchange reads an argmax",
        "`give` reads tau.far, a total, in Exchange",
        *(DEF_GIVE, "def give(src, dst, tau):\n    dst.got += tau.far.value  # here\n"),
        *(TAU, TAU.replace("(", "(far=argmax(), ", 1)),
    ),
    wrong(
        "a function counts the edges of a vertex that may be cut",
        "`give` sees the edges of a page",
        *(DEF_GIVE, "def give(dst, edges):  # here\n    dst.got += len(edges)\n"),
    ),
    wrong(
        "a function that is called once for each replica counts vertices",
        "`give` changes tau.sum, a total: on several workers it is called once for each replica",
        *(DEF_GIVE, "def give(src, tau):\n    tau.sum += 1  # here\n"),
        *("Exchange(give)", 'ForEach("page", give)'),
    ),
    wrong(
        "no GlobalSync takes a total",
        "`keep` adds to tau.sum, a total, and no GlobalSync takes it",
        *(SUM, f"{SUM}  # here", ", GlobalSync(show)", ""),
    ),
    wrong(
        "no Apply takes a delta",
        "nothing takes the delta page.got",
        *(PAGE, f"{PAGE}  # here", ', Apply("page", keep)', ""),
        *(DEF_GIVE, "def give(src, dst, tau):\n    dst.got += src.x\n    tau.sum += src.x\n"),
    ),
    wrong(
        "random numbers of numpy",
        "`give` uses np.random.random: its numbers do not depend on the seed",
        *(GIVE, "dst.got += np.random.random()  # here"),
    ),
    wrong(
        "random numbers of Python, in a function that another one calls",
        "`luck` uses random.random",
        *(DEF_GIVE, f"def luck():\n    return random.random()  # here\n\n\n{DEF_GIVE}"),
        *(GIVE, "dst.got += luck()"),
    ),
]
"""Programs that are refused: a result would depend on the number of workers, or on no seed."""

WRITES = [
    wrong_when_compiled(
        "Exchange writes a value",
        "page.x is read-only here",
        *(GIVE, f"{GIVE}\n    dst.x = 3  # here"),
    ),
    wrong(
        "Exchange writes a value, in plain Python",
        "page.x is read-only here",
        *(GIVE, f"{GIVE}\n    dst.x = 3  # here"),
    ),
    wrong_when_compiled(
        "Exchange writes an entry of a value",
        "an entry of a field is set that is read-only here",
        *(GIVE, f"{GIVE}\n    dst.hist[0] = 3  # here", PAGE, page('hist=value("f8", 3)')),
    ),
    wrong_when_compiled(
        "a function writes a data field",
        "page.age is read-only here",
        *(SUM, f"{SUM}\n    page.age = 3  # here"),
        *(PAGE, page('age=data("f4", default=1)')),
    ),
    wrong_when_compiled(
        "Apply clears a delta",
        "page.got is read-only here",
        *(SUM, f"{SUM}\n    page.got = 0  # here"),
    ),
    wrong_when_compiled(
        "Exchange sets a metric",
        "tau.shown is read-only here",
        *(DEF_GIVE, "def give(src, dst, tau):\n    tau.shown = 3  # here\n    dst.got += 1\n"),
    ),
    wrong_when_compiled(
        "a function sets a parameter",
        "p.share is assigned, and parameters do not change",
        *(KEEP, "page.x = page.got"),
        *(SUM, f"{SUM}\n    p.share = 0.5  # here"),
    ),
    wrong_when_compiled(
        "a function sets the number of a vertex",
        "page.id is read-only here",
        *(GIVE, f"{GIVE}\n    dst.id = 0  # here"),
    ),
    wrong_when_compiled(
        "a vector is set to a number",
        "page.hist has several entries: assign to page.hist[k]",
        *(SUM, f"{SUM}\n    page.hist = 0.5  # here", PAGE, page('hist=value("f8", 3)')),
    ),
    wrong(
        "GlobalSync sets a field that is not declared",
        "tau has no field shwon (fields: ",
        *(SHOW, "tau.shwon = tau.sum  # here"),
    ),
    wrong("GlobalSync divides by zero", "ZeroDivisionError", SHOW, "tau.shown = 1 / 0  # here"),
]
"""Functions that write where they may not."""

COMPILED = [
    wrong_when_compiled(
        "a field is misspelt",
        "page has no field xx (fields: ",
        *(GIVE, "dst.got += src.xx  # here"),
    ),
    wrong_when_compiled(
        "a field that is written is misspelt",
        "page has no field gott (fields: ",
        *(GIVE, "dst.gott = src.x  # here"),
    ),
    wrong_when_compiled(
        "a parameter is misspelt",
        "p.sharr is no number that the program declares",
        *(KEEP, "page.x = page.got * p.sharr  # here"),
    ),
    wrong(
        "a text among the parameters, in plain Python",
        "p.name is no number that the program declares",
        *(KEEP, "page.x = len(p.name)  # here"),
        *(TURNS, 'name: str = param("a", "a text")'),
    ),
    wrong_when_compiled("an unknown name", "name 'x' is not defined", GIVE, "dst.got += x  # here"),
    wrong_when_compiled(
        "a function that numpy does not have",
        "module 'numpy' has no attribute 'average_of'",
        *(GIVE, "dst.got += np.average_of(src.x)  # here"),
    ),
    wrong_when_compiled(
        "a function that numba does not have",
        "unsupported NumPy function 'numpy.gradient'",
        *(GIVE, "dst.got += np.gradient(src.x)  # here"),
    ),
    wrong_when_compiled(
        "a library that numba does not have",
        "numba does not know posixpath.getsize",
        *(GIVE, 'dst.got += os.path.getsize("a")  # here'),
    ),
    wrong_when_compiled(
        "an index that is a float",
        "an index is a float, not a whole number",
        *(GIVE, "dst.got += src.hist[src.x / 2]  # here", PAGE, page('hist=value("f8", 3)')),
    ),
    wrong_when_compiled(
        "numbers and texts are added",
        "numba knows no operation or function add of (float64, ",
        *(GIVE, 'dst.got += src.x + "1"  # here'),
    ),
    wrong_when_compiled(
        "a text is formatted",
        "format spec in f-strings not supported",
        *(GIVE, 'dst.got += len(f"{src.x:.2f}")  # here'),
    ),
    wrong_when_compiled(
        "a list outside that grows",
        "Untyped global name 'SEEN'",
        *(DEF_GIVE, f"SEEN = []\n\n\n{DEF_GIVE}", GIVE, f"SEEN.append(src.x)  # here\n    {GIVE}"),
    ),
    wrong_when_compiled(
        "a dict outside",
        "Untyped global name 'WEIGHTS'",
        *(DEF_GIVE, f"WEIGHTS = {{1: 2.0}}\n\n\n{DEF_GIVE}", GIVE, "dst.got += WEIGHTS[1]  # here"),
    ),
    wrong_when_compiled(
        "a function calls itself",
        "power calls itself",
        *(DEF_GIVE, f"def power(x):  # here\n    return x * power(x)\n\n\n{DEF_GIVE}"),
        *(GIVE, "dst.got += power(src.x)"),
    ),
    wrong_when_compiled(
        "a file is opened",
        "construct is not supported",
        *(DEF_GIVE, 'def give(dst):  # here\n    with open("a") as f:\n        dst.got += 1\n'),
    ),
    wrong_when_compiled(
        "a name is None at first, and a row later",
        "a name in UDF give is None, and a field of it is read or changed",
        *(DEF_GIVE, f"def give(src, dst):  # here\n    best = None\n    {GIVE}\n"),
        *(GIVE, "if src.x > 2:\n        best = src\n    dst.got += best.x"),
    ),
]
"""Functions that the compiler refuses, or that raise an error when compiled."""

CHECKED = [
    wrong_when_compiled(
        "the number of a vertex is the index of a vector",
        " is out of bounds for `page.hist`, which has 3 entries",
        *(SUM, f"{SUM}\n    page.hist[page.id] = 1  # here", PAGE, page('hist=value("f8", 3)')),
    ),
    wrong_when_compiled(
        "a loop goes one too far",
        "index 3 is out of bounds for `page.hist`",
        *(SUM, f"{SUM}\n    for k in range(4):\n        page.hist[k] = 1  # here"),
        *(PAGE, page('hist=value("f8", 3)')),
    ),
    wrong_when_compiled(
        "an array is added to a shorter one",
        "`dst.hist[:]` is changed by an array of another shape",
        *(
            GIVE,
            f"{GIVE}\n    dst.hist[:] += np.ones(4)  # here",
            PAGE,
            page('hist=delta("f8", 3)'),
        ),
    ),
    wrong_when_compiled(
        "numpy writes into an array that is too short",
        "`dst.hist` is changed by an array of another shape",
        *(GIVE, f"{GIVE}\n    np.sqrt(np.ones(9), dst.hist)  # here"),
        *(PAGE, page('hist=delta("f8", 3)')),
    ),
    wrong_when_compiled(
        "an array of indices has one that is too large",
        "index 9 is out of bounds for `np.ones(3)`, which has 3 entries",
        *(GIVE, "dst.got += np.ones(3)[np.array([1, 9])].sum()  # here"),
    ),
    wrong_when_compiled(
        "a flat index is too large",
        "index 9 is out of bounds for `ones.flat`, which has 3 entries",
        *(GIVE, "ones = np.ones(3)\n    ones.flat[9] = 3  # here\n    dst.got += ones[0]"),
    ),
    wrong_when_compiled(
        "numbers that numpy does not put together",
        "UDF give has raised ValueError: unable to broadcast",
        *(DEF_GIVE, "def give(dst):  # here\n    dst.got += (np.ones(3) + np.ones(4)).sum()\n"),
    ),
    wrong_when_compiled(
        "0 is divided by 0",
        "NaN replaces a number in `page.x`",
        *(KEEP, "page.x = 0 * page.got / (0 * page.got)  # here"),
    ),
    wrong_when_compiled(
        "the root of a number below 0",
        "NaN replaces a number in `page.x`",
        *(KEEP, "page.x = math.sqrt(-1 - page.got)  # here"),
    ),
    wrong_when_compiled(
        "a number is divided by 0",
        "x became inf in epoch 1",
        *(KEEP, "page.x = 1 / (0 * page.got)"),
    ),
    wrong_when_compiled(
        "a field of whole numbers gets a float",
        "is stored in `page.near`, which holds whole numbers",
        *(SUM, f"{SUM}\n    page.near = page.x / 8  # here", PAGE, page('near=value("i4")')),
    ),
    wrong_when_compiled(
        "a number is too large for its field",
        "is stored in `page.near`, which holds -128 to 127",
        *(SUM, f"{SUM}\n    page.near = 100 + 9 * page.id  # here", PAGE, page('near=value("i1")')),
    ),
]
"""Mistakes that ``--check`` finds, in a compiled run."""

VERIFIED = [
    wrong(
        "a delta that is combined by max is set",
        "page.x depends on the number of workers: `give` sets page.got, a delta",
        *(PAGE, PAGE.replace('"f8"', '"f8", combine="max"', 1), GIVE, "dst.got = src.id  # here"),
    ),
    wrong(
        "a mirror field is written in one Exchange and read in another",
        "page.x depends on the number of workers: `give` reads page.seen, a mirror field",
        *(DEF_GIVE, f"def mark(dst):\n    dst.seen += 1\n\n\n{DEF_GIVE}"),
        *(GIVE, "dst.got += dst.seen  # here"),
        *(PAGE, page('seen=mirror("f8")'), "Exchange(give)", "Exchange(mark), Exchange(give)"),
    ),
    wrong(
        "a delta is set, in a program that changes another field in place",
        ": `give` sets page.got, a delta",
        *(GIVE, "dst.count += 1 - dst.count / 2\n    dst.got = src.id  # here"),
        *(PAGE, page('count=shared("f8")').replace('delta("f8"', 'delta("f8", combine="max"')),
    ),
    wrong(
        "a function multiplies by the number of workers",
        "page.x depends on the number of workers",
        *(KEEP, "page.x = page.got * p.workers", CLASS, f"{CLASS}  # here"),
    ),
]
"""Mistakes that ``--verify`` finds."""
