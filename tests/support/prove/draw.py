"""Random programs: types, fields, functions in integer arithmetic, and stages.

Two kinds are drawn. A `steady` program's functions read only what never changes in a run, and its
masters only add up, so its results are the same at any slack, in any order and on any workers. A
free one reads whatever its stages may, and its results at slack 0 are a matter of the cut.

No function of an Exchange reads a field that the Exchange changes, so the order of edges never
matters. Numbers stay small: what is stored is taken modulo a prime.
"""

from __future__ import annotations

import random

from support.prove.draw_metrics import add_metrics
from support.prove.draw_types import (
    EDGES,
    PRIME,
    STATE,
    ProgramDraw,
    change,
    draw_types,
    list_atoms,
)
from support.prove.spec import (
    ApplySpec,
    BarrierSpec,
    ExchangeSpec,
    FieldSpec,
    ForEachSpec,
    GlobalSyncSpec,
    MiniBatchSpec,
    ProgramSpec,
    RepeatSpec,
    VectorSpec,
)

GCD = "def gcd(a, b):\n    while b > 0:\n        a, b = b, a % b\n    return a"


def draw_exchange(of: ProgramDraw, *, enumerated: str = "", edge: str = "") -> ExchangeSpec:
    """Draw an Exchange over an edge type: called for each edge, or for each vertex with its edges.
    `enumerated`: the role that a MiniBatch goes through.
    """
    spec = of.edges[edge or of.draw.choice([*of.edges])]
    named = edge or spec.name != EDGES[0]
    roles = spec.ends if spec.ends[0] != spec.ends[1] else ("src", "dst")
    over = enumerated or of.draw.choice(("", *roles))
    rows = dict(zip(roles, spec.ends, strict=True))
    if over and of.chance(0.3):
        return draw_vertex_exchange(of, spec, rows, over, named=named, enumerated=enumerated)
    changes, written = [], {name: set() for name in of.vertices}
    choices = [
        (row, each)
        for row, kind in rows.items()
        for each in of.vertices[kind].fields
        if each.kind in ("shared", "delta", "mirror")
    ]
    choices += [("tau", each) for each in of.context.values() if each.kind == "total"]
    chosen = of.some(choices) if choices else []
    for row, each in chosen:
        if row != "tau":
            written[rows[row]].add(each.name)
    kinds = ("value", "shared", "data", "mirror")
    atoms = [
        atom
        for row, kind in rows.items()
        for atom in list_atoms(of, row, of.vertices[kind].fields, kinds, written[kind])
    ]
    atoms += list_atoms(of, spec.name, spec.fields, ("data", "mirror"))
    atoms += ["p.a", *list_atoms(of, "tau", of.context.values(), ("value",))]
    changes = [change(of, row, each, atoms) for row, each in chosen]
    if any(each.name == "k" for each in spec.fields) and of.chance(0.5):
        changes.append(f"{spec.name}.k = ({spec.name}.k + {of.expression(atoms)}) % {PRIME}")
    name = of.add_function([*rows, spec.name, "tau", "p"], changes)
    return ExchangeSpec(name, over if of.chance(0.7) else enumerated, spec.name if named else "")


def draw_vertex_exchange(of, spec, rows, over, *, named, enumerated) -> ExchangeSpec:
    """Draw an Exchange that is called for each vertex of an end with its edges: what it does with
    each edge adds up, so it may be called for a share of the edges.
    """
    other = next(row for row in rows if row != over)
    mine, theirs = of.vertices[rows[over]].fields, of.vertices[rows[other]].fields
    choices = [(over, each) for each in mine if each.kind in ("shared", "delta")]
    choices += [(other, each) for each in theirs if each.kind in ("shared", "delta")]
    chosen = of.some(choices, 2) if choices else []
    written = {name: set() for name in of.vertices}
    for row, each in chosen:
        written[rows[row]].add(each.name)
    kinds = ("value", "data")
    atoms = ["p.a", *list_atoms(of, over, mine, kinds, written[rows[over]])]
    atoms += list_atoms(of, f"e.{other}", theirs, kinds, written[rows[other]])
    atoms += [
        a.replace(f"{spec.name}.", "e.") for a in list_atoms(of, spec.name, spec.fields, ["data"])
    ]
    lines = []
    for row, each in chosen:
        at = row if row == over else f"e.{other}"
        lines.append("    " + change(of, at, each, atoms))
    whole = of.vertices[rows[over]].whole
    body = ["for e in edges:", *(lines or ["    pass"])]
    name = f"f{len(of.functions)}"
    parameters = [over, "edges", *(["p"] if any("p." in line for line in lines) else [])]
    text = [f"def {name}({', '.join(parameters)}):", *(f"    {line}" for line in body)]
    of.functions[name] = "\n".join(text)
    return ExchangeSpec(name, over, spec.name if named else "", additive=not whole)


def take_delta(of: ProgramDraw, each: FieldSpec) -> str:
    """Return what an Apply reads of a delta, a number of 0 or more."""
    at = f"v.{each.name}" + (f"[{of.draw.randrange(each.length)}]" if each.length else "")
    return {"min": f"min({at}, {PRIME})", "max": f"max({at}, 0)"}.get(each.combine, at)


def keep(of: ProgramDraw, each: FieldSpec, e: str) -> str:
    """Return a statement by which an Apply stores an expression in a field."""
    at = f"v.{each.name}" + (f"[{of.draw.randrange(each.length)}]" if each.length else "")
    return f"{at} += {e}" if of.steady else f"{at} = ({at} * 3 + {e}) % {PRIME}"


def draw_apply(of: ProgramDraw, name: str) -> ApplySpec:
    """Draw an Apply of a type; with deltas it has a function that keeps each of them. In a steady
    program all of a type are the same, as which of them takes a delta is a matter of the slack.
    """
    if name in of.applied:
        return of.applied[name]
    fields = of.vertices[name].fields
    deltas = [each for each in fields if each.kind == "delta"]
    sums = [each for each in deltas if each.combine == "sum"]
    if not deltas and (of.steady or of.chance(0.5)):
        return ApplySpec(name)
    state = [each for each in fields if each.kind in STATE and each.combine == "sum"]
    if of.steady:  # what is added to must be changed by nothing else than additions
        values = [each for each in state if each.kind != "shared"]
        lines = [keep(of, of.draw.choice(values), take_delta(of, each)) for each in sums]
    else:
        atoms = list_atoms(of, "v", fields, (*STATE, "data"))
        atoms += list_atoms(of, "tau", of.context.values(), ("value",))
        targets = of.some(state, 2)
        lines = [keep(of, of.draw.choice(targets), take_delta(of, each)) for each in deltas]
        lines += [keep(of, each, of.expression(["v.id", *atoms])) for each in targets]
    if "sum" in of.context and not of.rotates and of.chance(0.5):
        what = (
            "1"
            if of.steady
            else of.draw.choice([f"v.{state[0].name}" if not state[0].length else "1", "v.id"])
        )
        lines.append(f"tau.sum += {what}")
    function = of.add_function(["v", "tau"], lines) if lines or deltas else ""
    drawn = ApplySpec(name, function, all=not of.rotates and of.chance(0.15))
    if of.steady:
        of.applied[name] = drawn
    return drawn


def draw_sync(of: ProgramDraw) -> GlobalSyncSpec:
    """Draw a GlobalSync that keeps all totals, often with an aggregate over a type."""
    lines = []
    if "sum" in of.context:
        lines.append(
            "tau.all += int(tau.sum)"
            if of.steady
            else f"tau.all = (tau.all * 3 + int(tau.sum)) % {PRIME}"
        )
    if "most" in of.context:
        lines.append("tau.top = max(tau.top, int(max(tau.most, 0)))")
    function = of.add_function(["tau"], lines)
    if "sum" not in of.context or of.steady or of.chance(0.5):
        return GlobalSyncSpec(function)
    name = of.draw.choice([*of.vertices])
    atoms = [*list_atoms(of, "v", of.vertices[name].fields, ("value", "data")), "v.id"]
    collected = [f"tau.sum += {of.expression(atoms)} % {PRIME}"]
    if any(each.name == "m" for each in of.vertices[name].fields) and of.chance(0.5):
        collected.append(f"v.m = (v.m * 5 + 1 + {of.draw.choice(atoms)}) % {PRIME}")
    return GlobalSyncSpec(function, of.add_function(["v", "tau"], collected), name)


def draw_batch(of: ProgramDraw) -> MiniBatchSpec:
    """Draw a MiniBatch with one or two segments over an end of an edge type."""
    spec = of.edges[of.draw.choice([*of.edges])]
    roles = spec.ends if spec.ends[0] != spec.ends[1] else ("src", "dst")
    over = of.draw.choice(roles)
    stages = []
    edge = "" if spec.name == EDGES[0] else spec.name
    for _ in range(of.draw.choice((1, 1, 2))):
        for _ in range(of.draw.choice((1, 1, 2))):
            drawn = draw_exchange(of, enumerated=over, edge=spec.name)
            stages.append(drawn._replace(edge=edge, over=over if drawn.over else ""))
        stages += [draw_apply(of, name) for name in dict.fromkeys(spec.ends) if of.chance(0.8)]
    if of.context and of.chance(0.4):
        stages.append(draw_sync(of))
    size = of.draw.choice(
        ((), ("vertices", 1), ("vertices", 2), ("vertices", 3), ("edges", 5), ("blocks", 3))
    )
    orders = ("rotated", "pipelined") if of.rotates else ("shuffled", "shuffled", "fixed")
    return MiniBatchSpec(tuple(stages), size, over, of.draw.choice(orders))


def draw_vector(of: ProgramDraw) -> VectorSpec | None:
    """Draw an operator on two fields of a type, or none where they do not fit."""
    name = of.draw.choice([*of.vertices])
    wide = [
        each.name
        for each in of.vertices[name].fields
        if each.kind in ("value", "master")
        and each.dtype in ("i8", "f8")
        and not each.length
        and each.combine == "sum"
    ]
    if of.chance(0.3) and wide:
        return VectorSpec("Fill", f'"{name}", "{of.draw.choice(wide)}", {of.draw.randint(0, 9)}')
    if len(wide) < 2:
        return None
    one, other = of.draw.sample(wide, 2)
    operator = of.draw.choice(("Copy", "Add", "Sub", "Axpy"))
    by = ", by=2" if operator == "Axpy" else ""
    return VectorSpec(operator, f'"{name}", "{one}", "{other}"{by}')


def draw_for_each(of: ProgramDraw) -> ForEachSpec:
    """Draw a ForEach that changes fields of each replica, or of masters once."""
    name = of.draw.choice([*of.vertices])
    fields, once = of.vertices[name].fields, of.chance(0.5)
    kinds = ("mirror", "delta", "shared") if once else ("mirror",)
    choices = [each for each in fields if each.kind in kinds and each.combine == "sum"]
    chosen = of.some(choices, 2) if choices else []
    written = {each.name for each in chosen}
    atoms = ["p.a", *list_atoms(of, name, fields, ("value", "data"), written)]
    lines = [change(of, name, each, atoms) for each in chosen]
    return ForEachSpec(name, of.add_function([name, "p"], lines), once)


def draw_stage(of: ProgramDraw, depth: int = 0):
    """Draw some stages that belong together."""
    kind = of.draw.random()
    if kind < 0.4:
        return [draw_batch(of)]
    if kind < 0.75:
        stages = [draw_exchange(of) for _ in range(of.draw.choice((1, 1, 2)))]
        return stages + [draw_apply(of, name) for name in of.vertices if of.chance(0.7)]
    if kind < 0.82 and of.context:
        return [draw_sync(of)]
    if kind < 0.88:
        return [draw_for_each(of)]
    if kind < 0.93 and not of.steady:
        return [each for each in [draw_vector(of)] if each]
    if kind < 0.98 and not depth:
        inside = [*draw_stage(of, 1), *draw_stage(of, 1)]
        return [RepeatSpec(tuple(inside), times=of.draw.randint(1, 3))]
    return [BarrierSpec()]


def close_changes(of: ProgramDraw, stages: list) -> list:
    """Add what must come last: an Apply of each type, and a GlobalSync where totals are.

    What the blocks of a mini-batch gather behind their last Apply, later blocks see or not, as the
    slack has it, so a steady program closes all types.
    """
    closing = [draw_apply(of, name) for name in of.vertices if of.chance(0.97) or of.steady]
    return [*stages, *closing, *([draw_sync(of)] if of.context else [])]


def draw_program(seed: int) -> tuple[ProgramSpec, bool]:
    """Draw a program, and say whether it is steady."""
    draw = random.Random(seed)
    steady = draw.random() < 0.4
    of = ProgramDraw(draw, steady, steady and draw.random() < 0.3)
    draw_types(of)
    if any(each.combine == "gcd" for v in of.vertices.values() for each in v.fields):
        of.functions["gcd"] = GCD
    setup = []
    if of.chance(0.2):
        setup = close_changes(of, [draw_exchange(of)])
    stages = []
    for _ in range(draw.randint(1, 3)):
        stages += draw_stage(of)
    stages = close_changes(of, stages)
    if of.chance(0.15) and of.context and not of.steady:
        of.context["turn"] = FieldSpec("turn", "value", "i8")
        end = of.add_function(["tau"], ["tau.turn += 1"])
        until = of.add_function(["tau"], [f"return tau.turn % {draw.randint(1, 3)} == 0"])
        stages = [RepeatSpec((*stages, GlobalSyncSpec(end)), until=until)]
    program = ProgramSpec(
        tuple(of.vertices.values()),
        tuple(of.edges.values()),
        tuple(of.context.values()),
        of.functions,
        tuple(setup),
        tuple(stages),
        {"a": draw.randint(1, 9)},
    )
    return add_metrics(program, of, str(seed)), of.steady
