"""Random programs whose edges are made in a stage: lists of vertices, which `make` of a Generate
writes, and rows that come for `use` and go back.

No `use` reads a field that it changes, so the order of the lists never matters.
"""

from __future__ import annotations

import random

from support.prove.draw import draw_sync
from support.prove.draw_metrics import add_metrics
from support.prove.draw_types import DTYPES, PRIME, ProgramDraw, change, list_atoms
from support.prove.spec import (
    BarrierSpec,
    EdgeSpec,
    FieldSpec,
    GenerateSpec,
    MiniBatchSpec,
    ProgramSpec,
    VertexSpec,
)

PAGE = "page"
WALK = """\
def {name}(start, path, at, topology{p}):
    if at == 0:
        path[0] = start
    elif path[at - 1] >= 0:
        v = path[at - 1]
        first, last = topology.bounds[v], topology.bounds[v + 1]
        if first < last:
            path[at] = topology.ends[first + {step} % (last - first)]"""


def draw_list_program(seed: int) -> tuple[ProgramSpec, bool]:
    """Draw a program, and say whether it is steady. Its parameter `n` is to be the number of
    vertices.
    """
    draw = random.Random(f"lists {seed}")
    steady = draw.random() < 0.4
    of = ProgramDraw(draw, steady, rotates=False)
    fields = [FieldSpec("a", "shared", draw.choice(DTYPES), init=draw.randint(0, 5))]
    fields.append(FieldSpec("b", "shared", draw.choice(DTYPES), draw.choice((0, 2))))
    if of.chance(0.4):
        fields.append(FieldSpec("c", "shared", "i8", 3, init=draw.randint(0, 3)))
    of.vertices[PAGE] = VertexSpec(PAGE, tuple(fields), remote=True)
    if of.chance(0.7):
        of.context["all"] = FieldSpec("all", "value", "i8")
        of.context["sum"] = FieldSpec("sum", "total", "f8")
    topology = draw.choice(("", "", "directed", "undirected"))
    stages = []
    for _ in range(draw.choice((1, 1, 2))):
        stages += [BarrierSpec()] if of.chance(0.1) else []
        size = draw.choice(((), ("vertices", 1), ("vertices", 2), ("vertices", 3), ("blocks", 3)))
        stages.append(MiniBatchSpec((draw_lists(of, topology),), size))
        stages += [draw_sync(of)] if of.context and of.chance(0.4) else []
    stages += [draw_sync(of)] if of.context else []
    link = EdgeSpec("link", (PAGE, PAGE))
    parameters = {"a": draw.randint(1, 9), "n": 1}
    program = ProgramSpec(
        (of.vertices[PAGE],),
        (link,),
        tuple(of.context.values()),
        of.functions,
        (),
        tuple(stages),
        parameters,
        topology,
    )
    return add_metrics(program, of, f"lists {seed}"), steady


def draw_lists(of: ProgramDraw, topology: str) -> GenerateSpec:
    """Draw a Generate with one list or two."""
    names = ("path", "more")[: of.draw.choice((1, 1, 2))]
    lists = tuple((name, of.draw.randint(1, 4)) for name in names)
    if topology and of.chance(0.7):
        lists = lists[:1]
        make = draw_walk(of)
    else:
        make = draw_make(of, lists)
    return GenerateSpec(
        make, draw_use(of, [n for n, _ in lists]), PAGE, of.draw.randint(1, 3), lists
    )


def draw_walk(of: ProgramDraw) -> str:
    """Draw a `make` that walks along neighbours."""
    step = of.draw.choice(("(start + at)", "start", "(at * 3 + p.a)"))
    name = f"f{len(of.functions)}"
    of.functions[name] = WALK.format(name=name, step=step, p=", p" if "p." in step else "")
    return name


def draw_make(of: ProgramDraw, lists: tuple[tuple[str, int], ...]) -> str:
    """Draw a `make` that writes some of the places of each list."""
    atoms = ["start", "id", "round", "p.a", str(of.draw.randint(0, 9))]
    if len(lists) == 1 and of.chance(0.3):
        lines = [f"path[at] = {draw_number(of, atoms, 'at')}"]
        if of.chance(0.5):
            lines = [f"if (start + at) % {of.draw.randint(2, 4)}:", f"    {lines[0]}"]
    else:
        lines = []
        for name, _ in lists:
            count = of.draw.choice(
                (f"len({name})", f"(start + {of.draw.randint(0, 3)}) % (len({name}) + 1)")
            )
            lines.append(f"for i in range({count}):")
            lines.append(f"    {name}[i] = {draw_number(of, atoms, 'i')}")
    return name_function(of, ["start", *(n for n, _ in lists), "at", "id", "round", "p"], lines)


def draw_number(of: ProgramDraw, atoms: list[str], place: str) -> str:
    """Return an expression that is the number of a vertex."""
    one, other = of.draw.sample(atoms, 2)
    return f"({one} * {of.draw.randint(1, 5)} + {other} + {place} * {of.draw.randint(0, 5)}) % p.n"


def draw_use(of: ProgramDraw, names: list[str]) -> str:
    """Draw a `use` that changes fields of the rows of each list, and counts."""
    fields = of.vertices[PAGE].fields
    changed = of.some(fields, len(fields) - 1)
    written = {each.name for each in changed}
    lines = []
    for name in names:
        row = f"{name}[i].{PAGE}"
        atoms = ["i", f"len({name})", "p.a", *list_atoms(of, row, fields, ("shared",), written)]
        atoms += list_atoms(of, "tau", of.context.values(), ("value",))
        body = [change(of, row, each, atoms) for each in of.some(changed)]
        if "sum" in of.context and of.chance(0.5):
            body.append(f"tau.sum += {of.expression(atoms)} % {PRIME}")
        lines += [f"for i in range(len({name})):", *(f"    {line}" for line in body)]
    return name_function(of, [*names, "tau", "p"], lines)


def name_function(of: ProgramDraw, parameters: list[str], lines: list[str]) -> str:
    """Add a function of these statements with those of the parameters that they name."""
    name, text = f"f{len(of.functions)}", "\n".join(f"    {line}" for line in lines)
    words = {word for line in lines for word in _words(line)}
    used = [each for each in parameters if each in words]
    of.functions[name] = f"def {name}({', '.join(used)}):\n{text}"
    return name


def _words(line: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in line).split()
