"""Small data for a program that is run without any: always the same, with a known truth."""

from __future__ import annotations

import numpy as np

from tux.arrays.edges import EdgeData
from tux.base.errors import UsageError
from tux.inputs.queries import refuse_unknown_queries
from tux.inputs.samples import classes_of, is_multiclass, is_numeric, least_label, samples_to_edges
from tux.program.input import Bags, Graph, Points, Ratings, Samples
from tux.program.program import Program

Generated = tuple[EdgeData, EdgeData | None, str]
"""Edges to train on, edges held out if any, and how good the truth itself is, in words."""


def generate_data(program: Program) -> Generated:
    """Make up data of the kind that the program's input is. UsageError where none can be made
    up.
    """
    fields = program.edge.columns
    match program.input:
        case Samples() if len(fields) <= 1:
            return _samples(program)
        case Bags() if len(fields) == 1:
            return _corpus(program)
        case Ratings() if len(fields) <= 1:
            return _ratings(program)
        case Graph() if program.edge.ends[0] == program.edge.ends[1] and not fields:
            from tux.synthetic.graph import graph

            return EdgeData.of(program.edge.ends, *graph(), {}), None, ""
    first, second = program.edge.ends
    if isinstance(program.input, Points):
        raise UsageError(
            f"{type(program).__name__} needs DATA", do=f"name a table with a row for each {first}"
        )
    raise UsageError(
        f"{type(program).__name__} needs DATA",
        do=f"name a file of edges: {first}, {second}, {', '.join(fields) or 'no number'}",
    )


def _samples(program: Program) -> Generated:
    """Make labelled samples, a tenth of them held out."""
    from tux.synthetic.clicks import clicks

    do = "name a file of samples with queries; held-out ones are to be whole queries, too"
    refuse_unknown_queries(program, "generated samples", do)
    drawn = clicks(test_share=0.1)
    classes_of(program, None)  # none may be named where labels are numbers
    numbers = drawn.numbers() if is_numeric(program) else None
    least = least_label(program)
    if numbers is not None and numbers.min() < least:
        raise UsageError(
            f"{type(program).__name__} needs DATA: labels that are made up may be below {least:g}",
            do=f"name a file of samples whose labels are numbers from {least:g}",
        )
    samples, others = drawn.split(program.edge.ends, program.edge.columns, numbers)
    if is_multiclass(program):
        samples = samples._replace(label=(samples.label > 0).astype("f4"))
        others = others and others._replace(label=(others.label > 0).astype("f4"))
    train = samples_to_edges(samples, program)
    how_good = (
        f"a logloss of {drawn.logloss():.4f}"
        if numbers is None
        else f"an RMSE of {np.sqrt(np.mean((numbers - drawn.margin)[drawn.test] ** 2)):.4f}"
    )
    truth = f"the truth behind these samples has {how_good} on those held out"
    return train, samples_to_edges(others, program, train) if others else None, truth


def _corpus(program: Program) -> Generated:
    """Make documents."""
    from tux.synthetic.corpus import corpus

    bags, (count,) = corpus(), program.edge.columns
    return EdgeData.of(program.edge.ends, bags.document, bags.word, {count: bags.count}), None, ""


def _ratings(program: Program) -> Generated:
    """Make ratings, a tenth of them held out."""
    from tux.synthetic.ratings import ratings

    drawn, ends, fields = ratings(test_share=0.1), program.edge.ends, program.edge.columns
    train, test = drawn.split()
    columns = [
        {name: part["rating"].astype(dtype) for name, dtype in fields.items()}
        for part in (train, test)
    ]
    known = EdgeData.of(ends, train["user"], train["item"], columns[0])
    held_out = EdgeData.of(ends, test["user"], test["item"], columns[1], against=known.ids)
    truth = (
        f"the truth behind these ratings has an RMSE of {drawn.floor:.4f}: noise that no model can "
        "predict"
    )
    return known, held_out, truth if fields else ""
