"""Averages of models beside one update of the model a communication step, as in MLlib*: steps and
seconds until the mean loss with its penalty is at most .01 above the optimum.

usage: python -m bench.mllib_star [--sets NAME,..] [--loss logistic|hinge] [--scale X] [--steps N]
[--plot FILE] [--spark]

Zhang, Jiang, Cui and Zhang, "MLlib*: fast training of GLMs using Spark MLlib", ICDE 2019, section
V. Four workers, on generated clicks in the proportions of the paper's sets, --scale (default 1)
times as large: avazu and kdd12 (determined: more samples than features) and kddb (underdetermined),
without a penalty and with L2 = .1 of the mean loss.

    SendGradient   --solver sgd with one mini-batch an epoch, which has all samples: its gradient
                   has no noise, so smaller batches need no fewer steps. MLlib's own gradient
                   descent is this on a fraction of the samples
    averaging      --solver averaging (SendModel); `entries` is its other rule

Each has the best of a few step sizes, found by workers that are simulated in this process; seconds
are those of four processes, which take the same steps. An epoch is one communication step. A run
ends at the goal, or after --steps (default 1000); ratios to it are then bounds. The optimum is that
of L-BFGS, and with --loss hinge the least that adagrad finds. --plot shows the distance to it by
steps, with the [plot] extra. --spark adds MLlib's LogisticRegression or LinearSVC on local[2],
which are other methods (L-BFGS and OWL-QN): their iterations and the seconds of all of fit, once
Spark has warmed up, beside the training seconds of tux to the same objective.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench import mllib
from bench.arguments import names_among
from tux.apps.linear.linear import Linear
from tux.arrays.edges import EdgeData
from tux.cluster.simulated import SimulatedCluster
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.cut import cut
from tux.graph.local import LocalGraph
from tux.inputs.samples import samples_to_edges
from tux.options.options import RunOptions
from tux.partition import PARTITIONERS
from tux.program.sources import find
from tux.runs.session import run
from tux.synthetic.clicks import clicks

WORKERS, CUT = 4, "source"
SETS = {  # samples, features, entries a sample
    "avazu": (20_000, 500, 15),
    "kdd12": (30_000, 11_000, 11),
    "kddb": (10_000, 15_500, 29),
}
ABOVE = 0.01
PENALTIES = (0.0, 0.1)
STEPS: dict[str, list[dict[str, Any]]] = {
    "SendGradient": [
        {"solver": "sgd", "decay": 0.0, "learning_rate": step} for step in (1.0, 4.0, 16.0)
    ],
    "averaging": [
        {"solver": "averaging", "learning_rate": step, "decay": decay}
        for step, decay in ((1.0, 0.05), (1.0, 0.001), (0.3, 0.0), (0.3, 0.001), (3.0, 0.0))
    ],
}
PAPER = {("kdd12", 0.0): (80, 240), ("kdd12", 0.1): (7, 21)}
"""How many times fewer steps and less time the paper's figures show, of SVM on eight machines."""
Records = list[dict[str, Any]]


def write(text: str) -> None:
    """Write to the terminal."""
    sys.stdout.write(text)


class Problem(NamedTuple):
    """Samples, a loss and a penalty of the mean loss."""

    name: str
    loss: str
    l2: float
    edges: EdgeData

    @property
    def samples(self) -> int:
        """The number of samples."""
        return len(self.edges.ids["sample"])

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the program."""
        penalty = {"penalty": "l2", "l2": self.l2 * self.samples} if self.l2 else {}
        return {"loss": self.loss, "penalty": "none", **penalty}


class BestRuns(NamedTuple):
    """The best of some runs: communication steps to the goal, infinite if it was not reached, the
    records, and the parameters.
    """

    steps: float
    records: Records
    way: dict[str, Any]


def program_of(problem: Problem, goal: float, given: dict[str, Any]) -> Linear:
    """Return the program, as worker processes find it."""
    whole = {"batch_size": problem.samples} if given["solver"] == "sgd" else {}
    given = {**problem.parameters(), **whole, **given}
    made: Linear = find(f"{Path(__file__).parent / 'fitting.py'}:LinearToGoal").program(
        goal=goal, **given
    )
    return made


def train_to_goal(
    problem: Problem,
    steps: int,
    goal: float,
    workers: int,
    given: dict[str, Any],
    threads: int = 1,
) -> Records:
    """Train on worker processes until the goal, and return the records."""
    options = RunOptions(
        epochs=steps, workers=workers, partitioner=CUT, threads=threads, deadline=3600.0
    )
    return run(program_of(problem, goal, given), problem.edges, options=options).records


def simulate_to_goal(problem: Problem, steps: int, goal: float, given: dict[str, Any]) -> Records:
    """Train on simulated workers until the goal, and return the records."""
    program, edges = program_of(problem, goal, given), problem.edges
    homes = PARTITIONERS[CUT](edges.src, edges.dst, WORKERS, 0, bipartite=True)
    trainings = [
        Training(Worker(program, LocalGraph.of(program, part), rank=rank, workers=WORKERS))
        for rank, part in enumerate(cut(edges, None, homes, WORKERS, 0))
    ]
    records: list[Records] = [[] for _ in trainings]

    def record_steps(rank: int) -> Iterator[None]:
        for record in trainings[rank].steps(steps):
            if record is None:
                yield
            else:
                records[rank].append(record)

    cluster = SimulatedCluster([each.worker for each in trainings])
    cluster.finish({rank: record_steps(rank) for rank in range(WORKERS)})
    return records[0]


def records_near_optimum(problem: Problem, threads: int = 1) -> Records:
    """Return the records of a run on one worker that comes near the optimum."""
    if problem.loss == "logistic":
        return train_to_goal(problem, 1000, 0.0, 1, {"solver": "lbfgs", "tol": 1e-8}, threads)
    return train_to_goal(problem, 300, 0.0, 1, {"solver": "adagrad", "batch_size": 0.01}, threads)


def optimum(problem: Problem) -> float:
    """Return the least objective known beforehand."""
    return float(min(record["objective"] for record in records_near_optimum(problem)))


def best(problem: Problem, least: float, steps: int, ways: Sequence[dict[str, Any]]) -> BestRuns:
    """Return the run with the fewest steps to the goal; if none gets there, that which comes
    nearest.
    """
    goal = least + ABOVE * problem.samples
    every = []
    for way in ways:
        records = simulate_to_goal(problem, steps, goal, way)
        is_there = records[-1]["objective"] <= goal
        every.append(BestRuns(len(records) if is_there else math.inf, records, way))
        if is_there:
            steps = len(records)  # one that takes more is not the best
    return min(every, key=lambda found: (found.steps, found.records[-1]["objective"]))


def time_workers(problem: Problem, least: float, found: BestRuns) -> float:
    """Return the training seconds of the best run's steps on worker processes."""
    goal = least + ABOVE * problem.samples
    return float(
        train_to_goal(problem, len(found.records), goal, WORKERS, found.way)[-1]["seconds"]
    )


def steps_ratio(gradient: BestRuns, model: BestRuns) -> str:
    """Return how many times fewer steps averages of models take, or a bound of it."""
    if math.isinf(model.steps):
        return "-"
    is_bound = ">" if math.isinf(gradient.steps) else ""
    return f"{is_bound}{len(gradient.records) / model.steps:.1f}"


def compare_problem(problem: Problem, steps: int) -> tuple[float, dict[str, BestRuns]]:
    """Print a row; return the optimum, and the best runs of each way."""
    least = optimum(problem)
    found = {name: best(problem, least, steps, ways) for name, ways in STEPS.items()}
    by_entries = [way | {"average": "entries"} for way in STEPS["averaging"]]
    found["entries"] = best(problem, least, steps, by_entries)
    gradient, model = found["SendGradient"], found["averaging"]
    seconds = [time_workers(problem, least, each) for each in (gradient, model)]
    cells = [problem.name, f"{problem.l2:g}", f"{least / problem.samples:.4f}"]
    cells += [f"{each.steps:g}" for each in found.values()]
    cells += [f"{each:.2f}" for each in seconds]
    cells.append(steps_ratio(gradient, model))
    is_bound = ">" if math.isinf(gradient.steps) else ""
    cells.append("-" if math.isinf(model.steps) else f"{is_bound}{seconds[0] / seconds[1]:.1f}")
    cells += [str(x) for x in PAPER.get((problem.name, problem.l2), ("", ""))]
    write(" ".join(f"{cell:>12}" for cell in cells) + "\n")
    return least, found


HEAD = "set,L2,optimum,SendGradient,averaging,entries,s gradient,s averaging,fewer steps,less time"


def spark(problems: Sequence[Problem]) -> None:
    """Print what MLlib's own solvers take, if Spark is there, and tux to the same objective."""
    if why := mllib.missing():
        write(f"{why}\n")
        return
    solver = "L-BFGS" if problems[0].loss == "logistic" else "adagrad"
    write(
        f"\nMLlib on local[{mllib.CORES}], other methods than gradient descent, beside {solver} of "
        f"one worker\nwith {mllib.CORES} threads, to at most the same objective\n"
    )
    head = ("set", "L2", "iterations", "s of fit", "objective", "tux: epochs", "tux: s")
    write(" ".join(f"{cell:>12}" for cell in head) + "\n")
    with mllib.session() as peer:
        for problem in problems:
            labels = problem.edges.vertex_fields["sample"]["label"]
            frame = peer.to_frame(mllib.matrix(problem.edges), labels)
            theirs = peer.fit(frame, problem.loss, problem.l2)
            frame.unpersist()
            records = records_near_optimum(problem, mllib.CORES)
            at = next((r for r in records if r["objective"] <= theirs.objective * (1 + 1e-6)), None)
            ours = (f"{at['epoch']}", f"{at['seconds']:.2f}") if at else ("-", "-")
            mean = f"{theirs.objective / problem.samples:.4f}"
            cells = (f"{theirs.iterations}", f"{theirs.seconds:.2f}", mean, *ours)
            cells = (problem.name, f"{problem.l2:g}", *cells)
            write(" ".join(f"{cell:>12}" for cell in cells) + "\n")


def plot(path: Path, drawn: Sequence[tuple[Problem, float, dict[str, BestRuns]]]) -> None:
    """Plot curves of the distance to the optimum by communication steps, a panel for each
    problem.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = math.ceil(len(drawn) / len(PENALTIES))
    figure, panels = pyplot.subplots(rows, len(PENALTIES), figsize=(10, 2.8 * rows), squeeze=False)
    for panel, (problem, least, found) in zip(panels.flat, drawn, strict=False):
        for name, each in found.items():
            above = [(r["objective"] - least) / problem.samples for r in each.records]
            panel.plot(np.arange(1, len(above) + 1), np.maximum(above, 1e-5), ".-", label=name)
        panel.axhline(ABOVE, color="#888888", linestyle=":")
        panel.set_xscale("log")
        panel.set_yscale("log")
        gradient, model = found["SendGradient"], found["averaging"]
        title = f"{problem.name}, L2 {problem.l2:g}: "
        title += f"{steps_ratio(gradient, model)} times fewer"
        if paper := PAPER.get((problem.name, problem.l2)):
            title += f" (paper: {paper[0]})"
        panel.set_title(title, fontsize=10)
    panels[0, 0].legend()
    panels[0, 0].set_ylabel("above the optimum")
    panels[-1, 0].set_xlabel("communication steps")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def problems(names: Sequence[str], loss: str, scale: float) -> list[Problem]:
    """Return the sets, each without a penalty and with one."""
    out = []
    for name in names:
        samples, features, entries = SETS[name]
        size, width = max(20, round(scale * samples)), max(2 * entries, round(scale * features))
        made = clicks(size, width, entries, max(10, width // 5)).split()[0]
        edges = samples_to_edges(made, Linear())
        out += [Problem(name, loss, l2, edges) for l2 in PENALTIES]
    return out


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--sets", type=names_among(SETS), default=list(SETS))
    arguments.add_argument("--loss", choices=("logistic", "hinge"), default="logistic")
    arguments.add_argument("--scale", type=float, default=1.0)
    arguments.add_argument("--steps", type=int, default=1000)
    arguments.add_argument("--plot", type=Path)
    arguments.add_argument("--spark", action="store_true")
    given = arguments.parse_args(argv)
    chosen = problems(given.sets, given.loss, given.scale)
    write(
        f"{given.loss} loss, {WORKERS} workers: communication steps and seconds to {ABOVE:g} above "
        "the optimum; paper: SVM\n"
    )
    head = [*HEAD.split(","), "paper: steps", "paper: time"]
    write(" ".join(f"{cell:>12}" for cell in head) + "\n")
    drawn = [(problem, *compare_problem(problem, given.steps)) for problem in chosen]
    if given.plot:
        plot(given.plot, drawn)
    if given.spark:
        spark(chosen)


if __name__ == "__main__":
    main()
