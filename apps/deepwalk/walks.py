"""Walks: random walks from every vertex of a graph, for other programs to read.

A walk a row, of ids: a line of text with blanks between them, or a list in a Parquet file. Walks
are those of DeepWalk (Perozzi, Al-Rfou and Skiena, KDD 2014), or with p or q other than 1 those of
node2vec (Grover and Leskovec, KDD 2016).
"""

from __future__ import annotations

import numpy as np

from tux.apps.deepwalk.walk_lines import Lines, check_words
from tux.apps.deepwalk.walking import WalkInput, WalkProgram, step
from tux.arrays.arrow import CodedColumn, parquet_writer
from tux.arrays.ragged import Lists
from tux.base.disk import replacing
from tux.program.fields import total
from tux.program.params import param
from tux.program.report import Report
from tux.program.types import Context, Edge, Vertex
from tux.stages import Generate, GlobalSync, MiniBatch
from tux.stages.computed import metric

AT_ONCE = 1 << 20  # vertices on the walks of a block


def make(start, path, at, topology, p, rng, tau):
    """Take a step, and count it."""
    step(start, path, at, topology, p, rng)
    if at == 0:
        tau.begun += 1
    elif path[at] >= 0:
        tau.taken += 1


def report(tau):
    """Report how many walks and steps there were in an epoch."""
    tau.walks, tau.steps = tau.begun, tau.taken


class WalkFileInput(WalkInput):
    """A graph whose ids the file of walks can hold."""

    def specialise(self, program, facts):
        """Return the program itself. DataError for ids that a line of text cannot hold."""
        if program.format == "text":
            check_words(facts.ids["node"].values, do="Take --format parquet.")
        return program


class WalkReport(Report):
    """The walks as a file, and how many steps there are and how fast."""

    def summary(self, program, tables, records):
        """Return walks and steps of all epochs, and steps a second."""
        counts = {
            name: float(sum(record.get(name, 0) for record in records))
            for name in ("walks", "steps")
        }
        return counts | {"steps_per_second": counts["steps"] / max(records[-1]["seconds"], 1e-9)}

    def write(self, program, folder, lists, ids):
        """Write one walk a row."""
        paths = (piece["path"] for piece in lists)
        if program.format == "text":
            lines = Lines(ids)
            with replacing(folder / "walks.txt") as part, open(part, "wb") as file:
                for path in paths:
                    file.write(lines.of(path))
            return
        with parquet_writer(folder / "walks.parquet") as write:
            for path in paths:
                bounds, numbers = (
                    np.concatenate([[0], np.cumsum((path >= 0).sum(axis=1))]),
                    path[path >= 0],
                )
                write(
                    {
                        "walk": Lists(
                            bounds,
                            ids[numbers] if ids.dtype.kind in "iu" else CodedColumn(numbers, ids),
                        )
                    }
                )


class Walks(WalkProgram):
    """Random walks from every vertex."""

    format: str = param(
        "text",
        "walks.txt, a walk a line; or walks.parquet, a column of lists",
        choices=("text", "parquet"),
    )
    epochs = 1
    input = WalkFileInput()
    report = WalkReport()
    node = Vertex(remote=True)
    link = Edge("node", "node")
    tau = Context(begun=total(), taken=total(), walks=metric(), steps=metric())

    def stages(self):
        walks = Generate(make, None, "node", rounds=self.num_walks, path="walk_length")
        return [MiniBatch(walks, vertices=max(1, AT_ONCE // self.walk_length)), GlobalSync(report)]
