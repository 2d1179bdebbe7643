"""The source text of a drawn program, as a user would write it in a file."""

from __future__ import annotations

from typing import NamedTuple

from support.prove.spec import (
    ApplySpec,
    BarrierSpec,
    EdgeSpec,
    ExchangeSpec,
    FieldSpec,
    ForEachSpec,
    GenerateSpec,
    GlobalSyncSpec,
    MiniBatchSpec,
    ProgramSpec,
    RepeatSpec,
    VectorSpec,
    VertexSpec,
)

COMBINES = ("sum", "min", "max", "mean", "replica_mean")


def write_field(field: FieldSpec) -> str:
    """Return the declaration of a field, `name=kind(...)`."""
    if field.kind in ("metric", "reduction"):
        return f"{field.name}={field.kind}()"
    parts = [repr(field.dtype)]
    if field.length:
        parts.append(str(field.length))
    if field.combine != "sum":
        combine = repr(field.combine) if field.combine in COMBINES else field.combine
        parts.append(f"combine={combine}")
    if field.init or field.combine not in COMBINES:
        parts.append(f"init={field.init}")
    return f"{field.name}={field.kind}({', '.join(parts)})"


def write_call(name: str, *arguments: str, **options: object) -> str:
    """Return a call, without options that are "", False, 0 or empty."""
    named = [f"{key}={value}" for key, value in options.items() if value]
    return f"{name}({', '.join([*filter(None, arguments), *named])})"


def quote(text: str) -> str:
    """Return a text in quotes; "" stays empty."""
    return f'"{text}"' if text else ""


def write_stage(stage: NamedTuple) -> str:
    """Return a stage as it stands in a program."""
    match stage:
        case ExchangeSpec(f, over, edge, enter, leave, additive, active):
            return write_call(
                "Exchange",
                f,
                over=quote(over),
                edge=quote(edge),
                enter=enter,
                leave=leave,
                additive=additive,
                active=quote(active),
            )
        case ForEachSpec(vertex, f, once):
            return write_call("ForEach", quote(vertex), f, once=once)
        case ApplySpec(vertex, f, gather, every, each):
            options = {"gather": "" if gather else "False", "all": every, "each": quote(each)}
            return write_call("Apply", quote(vertex), f, **options)
        case GlobalSyncSpec(f, aggregate, over):
            return write_call("GlobalSync", f, aggregate=aggregate, over=quote(over))
        case BarrierSpec():
            return "Barrier()"
        case VectorSpec(operator, arguments):
            return f"{operator}({arguments})"
        case GenerateSpec(make, use, over, rounds, lists):
            return write_call("Generate", make, use, quote(over), rounds=rounds, **dict(lists))
        case MiniBatchSpec(stages, size, over, order):
            options = {"over": quote(over)} | dict([size] if size else [])
            options["order"] = "" if order == "shuffled" else quote(order)
            return write_call("MiniBatch", *map(write_stage, stages), **options)
        case RepeatSpec(stages, times, until):
            return write_call("Repeat", *map(write_stage, stages), times=times, until=until)
    raise TypeError(f"{stage} is no stage")


def write_program(program: ProgramSpec) -> str:
    """Return the text of a file with the functions and a class `Drawn`."""
    lines = ["from tux import *", ""]
    for text in program.functions.values():
        lines += ["", text.rstrip(), ""]
    if program.topology:
        lines += ["", "class Neighbours(Graph):", "    def topology(self, program):"]
        lines += [f'        return "{program.topology}"', ""]
    lines += ["", "class Drawn(Program):", "    epochs = 1"]
    lines += ["    input = Neighbours()"] if program.topology else []
    lines += [f"    {name}: int = param({value})" for name, value in program.parameters.items()]
    lines += [f"    {write_vertex(each)}" for each in program.vertices]
    lines += [f"    {write_edge(each)}" for each in program.edges]
    if program.context:
        lines.append(f"    tau = Context({', '.join(map(write_field, program.context))})")
    for method, stages in (("setup", program.setup), ("stages", program.stages)):
        if stages or method == "stages":
            listed = [f"            {write_stage(stage)}," for stage in stages]
            lines += ["", f"    def {method}(self):", "        return [", *listed, "        ]"]
    return "\n".join(lines) + "\n"


def write_vertex(vertex: VertexSpec) -> str:
    """Return the declaration of a vertex type."""
    how = [f"{name}=True" for name in ("whole", "remote") if getattr(vertex, name)]
    return f"{vertex.name} = Vertex({', '.join([*how, *map(write_field, vertex.fields)])})"


def write_edge(edge: EdgeSpec) -> str:
    """Return the declaration of an edge type."""
    whole = [f"whole={quote(edge.whole)}"] if edge.whole else []
    parts = [*map(quote, edge.ends), *whole, *map(write_field, edge.fields)]
    return f"{edge.name} = Edge({', '.join(parts)})"
