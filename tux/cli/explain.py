"""The outline that ``tux run APP --explain`` prints: the stages, what each of their functions does
to which fields, and how the threads of a worker share the work.
"""

from __future__ import annotations

import textwrap

from tux.cli import show
from tux.program.program import Program

_TITLES = {"setup": "once", "stages": "each epoch", "evaluate": "after an epoch"}


def _with_lengths(program: Program) -> tuple[Program, list[str]]:
    """Set the parameters that are 0 until data say how long a field of vertices is to 1: no data
    are read. Return also a line about each.
    """
    lengths = {
        str(each.shape[0]): f"{kind}.{name}"
        for kind, vertex in program.vertices.items()
        for name, each in vertex.fields.items()
        if each.kind == "data" and len(each.shape) == 1
    }
    unknown = {name: of for name, of in lengths.items() if program.parameters.get(name) == 0}
    told = [
        f"{name} is 1 here: the data, which are not read, say how long {of} is"
        for name, of in unknown.items()
    ]
    if not unknown:
        return program, told
    return program.replace_parameters(**dict.fromkeys(unknown, 1)), told


def print_outline(program: Program, *, racing: bool = False) -> int:
    """Print the outline of a program, with or without --racing; return the exit code."""
    from tux.stages.analysis.outline import outline

    program, told = _with_lengths(program)
    for text in told:
        show.say(text)
    for method, entries in outline(program, racing=racing).items():
        if entries:
            show.say(f"{_TITLES[method]}:")
        for entry in entries:
            indent = "  " * (entry.depth + 1)
            show.say(f"{indent}{entry.stage}")
            texts = []
            for udf, verbs in entry.udfs:
                does = "; ".join(f"{verb} {', '.join(fields)}" for verb, fields in verbs)
                texts.append(f"{udf}: {does or 'reads and changes no field'}")
            texts += [
                f"threads{f' of {udf}' if udf else ''}: {plan}" for udf, plan in entry.threads
            ]
            for text in texts:
                for line in textwrap.wrap(text, 96 - len(indent), subsequent_indent="    "):
                    show.say(f"{indent}  {line}")
    return 0
