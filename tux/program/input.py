"""Inputs of programs: an input says which files a program takes, which data are made up where none
are named, and what is computed from the data before training.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tux.base.errors import UsageError
from tux.base.text import join_class_names
from tux.program.hooks import AnyProgram, check_hooks
from tux.program.types import Edge

if TYPE_CHECKING:
    from tux.arrays.edge_facts import EdgeFacts
    from tux.graph.topology import Topology


LOST_SHARE = 1e-5  # share of the range of labels that may be lost


@dataclass(frozen=True)
class Input:
    """Base class of all inputs. A program names one: ``input = Ratings()``.

    A program that needs more of its data derives a class and overrides a method:

        class WalkInput(Graph):
            def topology(self, program):
                return "undirected"

        class Mine(Program):
            input = WalkInput()

    Methods get the program, whose parameters are attributes. An input has no state of its own.
    """

    def __init_subclass__(cls) -> None:
        check_hooks(cls)

    def fault(self, program: type[AnyProgram]) -> str:
        """Return the reason for which the types that a program declares do not fit this input; ""
        if they do.
        """
        return ""

    @property
    def vertex_labels(self) -> bool:
        """True if ``--labels FILE`` names labels of vertices, by which the model is judged."""
        return False

    def topology(self, program: AnyProgram) -> str:
        """Return whether every worker may look at the whole graph: "directed", "undirected" (each
        edge both ways), or "" (not).

        Both ends are of one type; where the program has the data field `weight`, neighbours come
        with their weights.
        """
        return ""

    def extra_tables(self, program: AnyProgram, topology: Topology) -> dict[str, np.ndarray]:
        """Compute arrays of the program's own, by name, which UDFs read beside those of `topology`:
        once a machine.
        """
        return {}

    def hold_out(self, program: AnyProgram) -> float:
        """Return the share of the joined pairs of vertices, of one type, whose edges are held out
        to judge by, where no file of such edges is named: from 0 to below 1.

        Pairs are drawn at random; every vertex keeps an edge.
        """
        return 0.0

    def specialise(self, program: AnyProgram, facts: EdgeFacts) -> AnyProgram:
        """Return the program to run in place of this one on edges of which these `facts` are known:
        itself, unless overridden.

        It may be another program of the same edge type, or have other parameters: the run's record
        names it, workers run it and `tux predict` opens it.
        """
        return program

    def doubts(self, program: AnyProgram, facts: EdgeFacts) -> list[str]:
        """Return sentences that warn the user before training, by the `facts` about the edges: e.g.
        that the model cannot fit them.
        """
        return []


@dataclass(frozen=True)
class Graph(Input):
    """Edges, a row each: two ids and the edge's data fields. The input of a program that names
    none.

    `labels`: ``--labels FILE`` may name labels of vertices, which `Report.judge` gets. Without DATA
    a random graph is made up, if the edges join one type and have no data field.
    """

    labels: bool = False

    @property
    def vertex_labels(self) -> bool:
        """True if the program was declared with `labels`."""
        return self.labels


@dataclass(frozen=True)
class Ratings(Input):
    """Edges of two vertex types: users, items and ratings.

    Without DATA ratings of known truth are made up, a tenth held out, if the edges have at most one
    data field.
    """

    def fault(self, program: type[AnyProgram]) -> str:
        """Return the reason for which these are no ratings; "" if they are."""
        return "Ratings() join two vertex types" if _one_type(program.edge) else ""

    def counts_pairs(self, program: AnyProgram) -> bool:
        """Return whether a table of users and items alone, without ratings, is read too: each row
        counts once, so that the data fields of edges are 1.
        """
        return False


@dataclass(frozen=True)
class Bags(Input):
    """Documents as bags of words: edges of two types, the first the documents, with how often a
    word occurs in the edge type's `repeats`, or in a data field.

    Files are docword, lda-c, libsvm, plain text (``--form``, ``--vocab``, ``--stop``), or tables of
    document, word and count. Without DATA a corpus of known topics is made up.
    """

    def fault(self, program: type[AnyProgram]) -> str:
        """Return the reason for which these are no bags; "" if they are."""
        return "Bags() join two vertex types" if _one_type(program.edge) else ""


@dataclass(frozen=True)
class Samples(Input):
    """Labelled samples: edges lead from samples to their features. The first vertex type has the
    data field `label` (-1 or +1; the number itself if `numeric` says so, in "f8" with all digits,
    or that of the class from 0 on if `multiclass` does), and `weight` if it likes.

    Files are libsvm, tables with a column of labels, or scipy's `.npz`. `groups` names the
    program's parameter for a file of groups of features; `classes` names its two parameters for the
    labels of the negative and the positive class, and `every` the text parameter for those of all
    classes, where there may be more than two (`class_names`, `join_class_names`); `hashed` names
    that for the number of bits by which features are hashed, 0 for none. Without DATA samples of
    known truth are made up, a tenth held out.
    """

    groups: str = ""
    classes: tuple[str, str] | None = None
    every: str = ""
    hashed: str = ""

    def fault(self, program: type[AnyProgram]) -> str:
        """Return the reason for which these are no samples; "" if they are."""
        first = program.vertices[program.edge.ends[0]].fields
        if _one_type(program.edge) or "label" not in first or first["label"].kind != "data":
            return f'Samples() need a data field: {program.edge.ends[0]} = Vertex(label=data("f4"))'
        more = self.groups, self.hashed, self.every
        named = [name for name in (*more, *(self.classes or ())) if name]
        missing = [name for name in named if name not in program.params]
        return f"Samples() name the parameter {missing[0]}, which is missing" if missing else ""

    def numeric(self, program: AnyProgram) -> bool:
        """Return whether labels are numbers, which `label` holds as they are, and not two
        classes.
        """
        return False

    def least_label(self, program: AnyProgram) -> float:
        """Return the least label that there may be, where labels are numbers: others are bad rows.
        Default: any is good.
        """
        return -np.inf

    def multiclass(self, program: AnyProgram) -> bool:
        """Return whether there may be any number of classes, of which `label` holds the number from
        0.
        """
        return False

    def ranked(self, program: AnyProgram) -> bool:
        """Return whether samples belong to queries, whose numbers from 0 the data field `query`
        holds. Those of held-out samples follow those of training.
        """
        return False

    def doubts(self, program: AnyProgram, facts: EdgeFacts) -> list[str]:
        """Return a sentence where labels are numbers that lose digits in the field `label`."""
        kind = program.edge.ends[0]
        label = np.asarray(facts.vertex_fields.get(kind, {}).get("label", ()))
        with np.errstate(over="ignore"):
            held = label.astype(program.vertices[kind].fields["label"].dtype)
        if not self.numeric(program) or not len(label):
            return []
        each = np.abs(label - held)
        lost = float(each.max())
        if lost <= LOST_SHARE * np.ptp(label):
            return []
        such, do = label[each.argmax()], f'declare label=data("f8") in {type(program).__name__}'
        return [f"labels such as {such:.15g} lose up to {lost:g} in {held.dtype}; {do}"]

    def specialise(self, program: AnyProgram, facts: EdgeFacts) -> AnyProgram:
        """Return the program with the names of the classes as parameters, so that the model knows
        them.
        """
        if not facts.classes:
            return program
        if self.multiclass(program):
            named = {self.every: join_class_names(facts.classes)} if self.every else {}
        else:
            named = dict(zip(self.classes or (), facts.classes, strict=bool(self.classes)))
        return program.replace_parameters(**named)


@dataclass(frozen=True)
class Points(Input):
    """Vertices of one type, without edges: a table with a row for each. The program declares the
    type and no edge.

    A data field of one number is the column of its name. The vector, if the type has one, is the
    column of lists of its name, or the columns ``x_0``, ``x_1`` and so on, or else all columns of
    numbers that are left. The ids are the column `id`, or that of the type's name, or else the
    rows' numbers from 1.
    """

    def fault(self, program: type[AnyProgram]) -> str:
        """Return the reason for which these are no points; "" if they are."""
        if len(program.vertices) != 1:
            return "Points() are vertices of one type"
        (name,) = program.vertices
        if not any(field.kind == "data" for field in program.vertices[name].fields.values()):
            return f'Points() need a data field: {name} = Vertex(x=data("f4", "dims"))'
        return ""


def class_names(text: str) -> tuple[str, ...]:
    """Read the labels of classes from the text of a parameter: separated by commas; one with a
    comma in it stands in double quotes. Raise UsageError for quotes that do not end, or lines.
    """
    return listed_names(text, "classes")


def listed_names(text: str, parameter: str) -> tuple[str, ...]:
    """Read the names that the text of a `parameter` lists, as `class_names` reads those of classes,
    with its errors.
    """
    try:
        names = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise UsageError(
            f"{parameter} {text} cannot be read: {error}",
            do="separate names by commas, and put one with a comma in it in double quotes",
        ) from None
    return tuple(name.strip() for name in names)


def _one_type(edge: Edge) -> bool:
    return edge.ends[0] == edge.ends[1]
