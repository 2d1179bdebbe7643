"""The probe as a program of real processes: each worker reads its rows as in the simulation, and
leaves its reads in a folder.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from support.programs.probe import Simulation
from support.programs.probe_log import Log, SlotReading
from support.programs.probe_programs import OF_TAU, OF_VERTICES, TwoTypesProbe
from support.programs.probe_scenario import ProbeScenario
from support.programs.programs import Calling

from tux import param
from tux.arrays.networks import from_arrays
from tux.graph.cut import cut
from tux.partition import PARTITIONERS
from tux.program.stage import Stage

WORKERS, PASSES, EPOCHS = 4, 2, 3
LEAVES, HUBS, BLOCKS = 12, 3, 4
HELD_UP = 120.0  # seconds after which worker 0 counts as hung


def edges():
    """Return edges from every leaf to every hub, so that each block, a range of leaves, touches all
    hubs.
    """
    return from_arrays(*np.divmod(np.arange(LEAVES * HUBS), HUBS), ends=("leaf", "hub"))


def scenario(slack, partitioner="random", seed=0):
    """Return the scenario of all workers: two segments and a GlobalSync in each of few blocks, and
    a clock outside.
    """
    data = edges()
    parts = PARTITIONERS[partitioner](data.src, data.dst, WORKERS, seed, bipartite=True)
    return ProbeScenario(
        seed,
        WORKERS,
        slack,
        one_type=False,
        over="leaf",
        size={"vertices": LEAVES // BLOCKS},
        segments=2,
        late=False,
        plain=True,
        sync=True,
        order="shuffled",
        repeat="",
        epochs=EPOCHS,
        pairs=np.stack([data.src, data.dst]),
        parts=parts,
    )


class LeaveLook(Stage):
    """A stage at the end of a pass, when all is answered: a last look, and all that was seen so
    far to a file.
    """

    def __init__(self, log, batch, folder):
        self.log, self.batch, self.folder = log, batch, folder

    def prepare(self, worker, batch=None):
        return Calling(worker, self.leave)

    def leave(self, worker, block):
        """Write the file."""
        log, rank = self.log, worker.rank
        log.note_end(worker)
        out = {
            "blocks": log.blocks[rank],
            "cuts": self.batch.cuts,
            "runs": worker.tau.runs,
            "mixtures": worker.tau.mixtures,
        }
        for (_, name, kind), reads in log.reads.items():
            for what in SlotReading._fields:
                out[f"{name}.{kind.count}.{what}"] = np.stack(
                    [getattr(read, what) for read in reads]
                )
        for name, table in worker.server.tables.items():
            out |= {
                f"{name}.masters.{f}": table.arrays[f] for kind in OF_VERTICES for f in kind[:2]
            }
        np.savez(Path(self.folder) / f"{rank}.npz", **out)


class StaleProbe(TwoTypesProbe):
    """The probe of the simulation, with reads that are as stale as the slack allows.

    The last worker stays in clock 0 until worker 0 has started clock `slack`, which needs nothing
    of the last worker's clocks. So what worker 0 reads there lacks all of them.
    """

    folder: str = param(".", "where each worker leaves what it saw")
    allowed: int = param(0, "the run's slack")
    partitioner: str = param("random", "the run's partitioner")

    def stages(self):
        chosen = scenario(self.allowed, self.partitioner)
        self.log = Log(self.allowed)
        batch, *others = chosen.stages(self, self.log, self.busy)
        self.batch = batch
        return [batch, *others] * chosen.epochs

    def busy(self, worker):
        ahead = Path(self.folder) / "ahead"
        if worker.rank == 0 and self.log.calls[0, "start"] == self.allowed + 1:
            ahead.touch()
        if worker.rank == WORKERS - 1 and sum(self.log.calls.values()) == 1:
            limit = time.monotonic() + HELD_UP
            while not ahead.exists():
                assert time.monotonic() < limit, (
                    f"worker 0 did not start clock {self.allowed} in {HELD_UP:.0f} s"
                )
                time.sleep(0.001)

    def evaluate(self):
        return [LeaveLook(self.log, self.batch, self.folder)]


class RealSimulation(Simulation):
    """The scenario with what its real workers have left in `folder`, to be checked as in the
    simulation.
    """

    def __init__(self, chosen, folder):
        self.scenario, self.data, self.log = chosen, edges(), Log(chosen.slack)
        self.parts = cut(self.data, None, chosen.parts, chosen.workers, chosen.seed)
        self.workers = []
        for rank in range(chosen.workers):
            with np.load(Path(folder) / f"{rank}.npz") as saw:
                self._take(rank, {name: saw[name] for name in saw.files})

    def _take(self, rank, saw):
        self.log.blocks[rank] = saw["blocks"].tolist()
        self.cuts, self.role = saw["cuts"], "leaf"
        names = ("leaf", "hub", "tau")
        for name in names:
            for kind in OF_TAU if name == "tau" else OF_VERTICES:
                columns = [saw[f"{name}.{kind.count}.{what}"] for what in SlotReading._fields]
                self.log.reads[rank, name, kind] = [
                    SlotReading(*each) for each in zip(*columns, strict=True)
                ]
        masters = {
            name: {f: saw[f"{name}.masters.{f}"] for kind in OF_VERTICES for f in kind[:2]}
            for name in names[:2]
        }
        tables = {name: SimpleNamespace(arrays=arrays) for name, arrays in masters.items()}
        self.workers.append(
            SimpleNamespace(
                rank=rank,
                tables=names,
                tau=SimpleNamespace(runs=saw["runs"].item(), mixtures=saw["mixtures"].item()),
                server=SimpleNamespace(tables=tables),
            )
        )
