"""``Edge("page", "page", whole="src")``: partitioners keep the edges of each vertex as `src`
together, and what does not is refused.
"""

import numpy as np
import pytest
from support.messages import message

from tux import Edge, Program, Vertex, value
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, UsageError
from tux.graph import store
from tux.graph.cut import cut
from tux.graph.cut_folder import without_edges
from tux.graph.partitioned import (
    PartitionedGraph,
    cut_end,
    end_keeping_partitioners,
    partition_inputs,
)
from tux.inputs.load import Inputs
from tux.options.options import RunOptions
from tux.partition import PARTITIONERS
from tux.runs.session import run
from tux.stages import Apply

RNG = np.random.default_rng(0)
LINKS = EdgeData.of(("page", "page"), *RNG.integers(0, 30, (2, 200)), {})


class BySource(Program):
    page = Vertex(x=value("f4"))
    link = Edge("page", "page", whole="src")
    epochs = 1

    def stages(self):
        return [Apply("page", lambda page: None)]


class ByTarget(BySource):
    link = Edge("page", "page", whole="dst")


@pytest.mark.parametrize("end", ["src", "dst"])
@pytest.mark.parametrize("name", sorted(PARTITIONERS))
def test_edges_of_an_end_stay_together_or_it_is_said(name, end):
    program = BySource() if end == "src" else ByTarget()
    if name in end_keeping_partitioners(end):
        parts = partition_inputs(program, Inputs(LINKS), name, 3, 0).parts
        assert cut_end(parts, "page", end) == ""
        assert cut_end(parts, "page", "dst" if end == "src" else "src") != ""
        assert parts[0].types["page"].cut and all(len(part.src) for part in parts)
        return
    with pytest.raises(UsageError, match=f"{name} cuts the edges of a page as {end}") as error:
        partition_inputs(program, Inputs(LINKS), name, 3, 0)
    assert "bicut, aweto" in error.value.do and "random" in error.value.do


def test_one_part_is_whole():
    assert len(PartitionedGraph.of(LINKS, None, "ne", 1, 0, whole_end="src").parts) == 1


@pytest.mark.parametrize(("method", "fits"), [("source", True), ("target", False)])
def test_a_partitioned_folder(tmp_path, method, fits):
    parts = cut(LINKS, None, PARTITIONERS[method](LINKS.src, LINKS.dst, 2, 0), 2, 0)
    store.save(tmp_path, parts, LINKS.ends, digest=LINKS.digest(), partitioner=method, seed=0)
    inputs = Inputs(without_edges(tmp_path, LINKS.ends, {}), folder=tmp_path)
    if fits:
        assert len(partition_inputs(BySource(), inputs, "", 2, 0).parts) == 2
        return
    with pytest.raises(
        DataError, match=message("its-edges-of-as-lie", "page", "1", "src")
    ) as error:
        partition_inputs(BySource(), inputs, "", 2, 0)
    assert error.value.where == str(tmp_path) and "--method source" in error.value.do


def test_the_recommended_partitioner_keeps_them(monkeypatch):
    asked = []

    def stop(context, *_):
        asked.append(context.plan.partitioner)
        raise UsageError("enough")

    monkeypatch.setattr("tux.runs.session.start_workers", stop)
    with pytest.raises(UsageError, match="enough"):
        run(BySource(), LINKS, options=RunOptions(workers=2, partitioner="auto"))
    assert asked == ["aweto"]
