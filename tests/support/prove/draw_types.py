"""The types of a random program: vertices, edges, fields and the context; and the expressions of
its functions, in whole numbers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from support.prove.spec import ApplySpec, EdgeSpec, FieldSpec, VertexSpec

TYPES = ("user", "item", "tag")
EDGES = ("rated", "tagged", "linked")
DTYPES = ("i8", "i8", "f8", "i4", "f4")
STATE = ("value", "shared", "master")
PRIME = 97


@dataclass
class ProgramDraw:
    """A program that is being drawn."""

    draw: random.Random
    steady: bool
    rotates: bool  # mini-batches have other blocks on several workers, so visits may not count
    vertices: dict[str, VertexSpec] = field(default_factory=dict)
    edges: dict[str, EdgeSpec] = field(default_factory=dict)
    context: dict[str, FieldSpec] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    applied: dict[str, ApplySpec] = field(default_factory=dict)  # by type, of steady ones

    def chance(self, probability: float) -> bool:
        """Return True so often."""
        return self.draw.random() < probability

    def some(self, items, most=3):
        """Return one to `most` of the items, in any order."""
        items = [*items]
        return self.draw.sample(items, min(len(items), self.draw.randint(1, most)))

    def add_function(self, parameters, lines) -> str:
        """Add a function with these statements, and return its name."""
        name = f"f{len(self.functions)}"
        body = [f"    {line}" for line in lines or ["pass"]]
        used = [each for each in parameters if any(f"{each}." in line for line in body)]
        used = used or [next(iter(parameters))]
        self.functions[name] = "\n".join([f"def {name}({', '.join(used)}):", *body])
        return name

    def expression(self, atoms, depth=2) -> str:
        """Return the text of an expression of whole numbers, 0 or more where atoms are."""
        if depth == 0 or self.chance(0.3):
            return self.draw.choice([*atoms, str(self.draw.randint(0, 5))])
        one, other = self.expression(atoms, depth - 1), self.expression(atoms, depth - 1)
        form = self.draw.choice(
            (
                "({0} + {1})",
                "({0} + {1})",
                "({0} * {1} % 89)",
                "({0} + 7 * {1}) % 31",
                "({0} if {0} > {1} else {1} % 11)",
                "min({0}, {1})",
                "max({0}, {1} % 23)",
                "abs({0} - {1})",
            )
        )
        return form.format(one, other)


def draw_fields(of: ProgramDraw, name: str) -> VertexSpec:
    """Draw the fields of a vertex type: some of each kind."""
    fields = [FieldSpec("x", "value", of.draw.choice(DTYPES), init=of.draw.randint(0, 5))]
    if of.chance(0.4):
        fields.append(FieldSpec("y", "value", of.draw.choice(DTYPES), 2))
    if of.chance(0.6):
        length, init = of.draw.choice((0, 0, 2)), of.draw.randint(0, 3)
        fields.append(FieldSpec("s", "shared", of.draw.choice(DTYPES), length, init=init))
    if of.chance(0.25):
        combine = of.draw.choice(("mean", "replica_mean"))
        fields.append(FieldSpec("mean", "shared", "f8", combine=combine))
    for number in range(of.draw.choice((0, 1, 1, 2))):
        combine = of.draw.choice(("sum", "sum", "sum", "min", "max", "gcd"))
        dtype = of.draw.choice(DTYPES)
        length = 0 if combine == "gcd" else of.draw.choice((0, 0, 2))
        fields.append(FieldSpec(f"d{number}", "delta", dtype, length, combine))
    if of.chance(0.3):
        fields.append(FieldSpec("m", "master", "i8", init=of.draw.randint(0, 3)))
    if of.chance(0.4):
        fields.append(FieldSpec("r", "mirror", "i8"))
    if of.chance(0.5):
        fields.append(FieldSpec("c", "data", of.draw.choice(("i4", "f4"))))
    return VertexSpec(name, tuple(fields))


def draw_types(of: ProgramDraw) -> None:
    """Draw vertex types, edge types between them, and the context."""
    names = TYPES[: of.draw.randint(1, 3)]
    for number in range(of.draw.randint(max(1, len(names) - 1), 3)):
        if number < len(names) - 1:  # so that each type has an edge type
            ends = (names[number], names[number + 1])
        elif number == 0:
            ends = (names[0], names[0])
        else:
            ends = (of.draw.choice(names), of.draw.choice(names))
        fields = [FieldSpec("w", "data", "i4")] if of.chance(0.6) and not number else []
        fields += [FieldSpec("k", "mirror", "i8")] if of.chance(0.4) else []
        of.edges[EDGES[number]] = EdgeSpec(EDGES[number], ends, tuple(fields))
    for name in names:
        of.vertices[name] = draw_fields(of, name)
    alone = [name for name in names if all(set(e.ends) != {name} for e in of.edges.values())]
    if alone and of.chance(0.4):
        name = of.draw.choice(alone)
        of.vertices[name] = of.vertices[name]._replace(whole=True)
    if of.chance(0.7):
        of.context["all"] = FieldSpec("all", "value", "i8")
        of.context["sum"] = FieldSpec("sum", "total", "f8")
        if of.chance(0.5):
            of.context["top"] = FieldSpec("top", "value", "i8")
            of.context["most"] = FieldSpec("most", "total", "f8", combine="max")


def list_atoms(of: ProgramDraw, row: str, fields, kinds, without=()) -> list[str]:
    """List what a function may read of a row."""
    kinds = tuple(kind for kind in kinds if not of.steady or kind == "data")
    out = [f"{row}.id"] if row not in ("tau", "p", *EDGES) and row != "v" else []
    for each in fields:
        if each.kind in kinds and each.name not in without and each.combine in ("sum", "max"):
            entries = range(each.length) if each.length else [None]
            out += [f"{row}.{each.name}" + ("" if k is None else f"[{k}]") for k in entries]
    return out


def change(of: ProgramDraw, row: str, each: FieldSpec, atoms) -> str:
    """Return a statement that changes a field as an Exchange may."""
    at = f"{row}.{each.name}" + (f"[{of.draw.randrange(each.length)}]" if each.length else "")
    e = of.expression(atoms)
    match each.combine:
        case "min" | "max":
            return f"{at} = {each.combine}({at}, {e} % {PRIME})"
        case "gcd":
            return f"{at} = gcd({at}, {e} % {PRIME})"
    return f"{at} += {e} % 13"
