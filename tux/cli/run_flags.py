"""The flags of ``tux run APP``, in the order in which a user asks: which data, which parameters,
how long, how many workers.

Flags that every run has, but that mean nothing to an app, are not shown. They are read all the
same, so that using one is told as what it is.
"""

from __future__ import annotations

from argparse import SUPPRESS
from typing import TYPE_CHECKING

from tux.base.text import plural_noun
from tux.cli.flags import Flags, add_parameters, at_least, input_path, interval, output_path, whole
from tux.inputs.load import uses_held_out
from tux.inputs.samples import FORMS
from tux.options.options import LOGS, MOST_THREADS, RESTARTS
from tux.program.input import Bags, Points, Samples
from tux.program.program import Program
from tux.program.report import REPEATS
from tux.program.types import Vertex

if TYPE_CHECKING:
    from tux.program.sources import Source

BACKENDS = ("local", "ray", "spark")
BAGS = ("docword", "lda-c", "svm", "text")


def run_flags(source: Source, app: str) -> Flags:
    """Return all flags of one app. ProgramError if a parameter has the name of one."""
    program = source.program
    own = f"parameters of {program.__name__}"
    flags = Flags(
        f"tux run {app}",
        source.about,
        "[DATA] [flags]",
        ("data", own, "the run", "workers", "several machines", "other"),
    )
    _data(flags, program)
    data_flags(flags, program)
    _ranks(flags, program)
    _length_and_output(flags, program)
    _workers(flags)
    plain = "run vertex functions as plain Python: slow, but a debugger sees them"
    flags.section("other").add_argument("--no-jit", action="store_true", help=plain)
    check = "stop at an index out of bounds or NaN in a vertex function, and tell the line; slower"
    flags.section("other").add_argument("--check", action="store_true", help=check)
    verify = (
        "train 2 epochs on a sample of DATA with 1, 2 and 3 workers and as plain Python, and tell "
        "which results differ"
    )
    flags.section("other").add_argument("--verify", action="store_true", help=verify)
    explain = "tell which fields each vertex function reads, adds to and writes, and run nothing"
    flags.section("other").add_argument("--explain", action="store_true", help=explain)
    json_flags(flags)
    add_parameters(flags, program, own)
    return flags


def _data(flags: Flags, program: type[Program]) -> None:
    """Declare the data as the arguments of the command."""
    add, edge = flags.section("data").add_argument, program.edge
    samples, bags = isinstance(program.input, Samples), isinstance(program.input, Bags)
    columns = ",".join([*edge.roles, *edge.columns])
    points = isinstance(program.input, Points)
    rows = (
        "samples"
        if samples
        else "points"
        if points
        else plural_noun(edge.ends[0])
        if bags
        else "edges"
    )
    what = {
        "samples": (
            "labelled samples: libsvm text, a table, Parquet, or scipy's .npz; packed or not; one "
            "file or many (a folder, a quoted pattern, a URI); or folder of tux partition"
        ),
        "points": f"table with a row for each {edge.ends[0]}: text, Parquet, .npy or .npz",
        "edges": f"file of edges ({columns}), packed or not, or many (a folder, a quoted pattern, "
        "a URI), or folder of tux partition",
    }
    text = (
        f"{rows}: text, docword, lda-c, libsvm, or a table of {columns}; packed or not; one file "
        "or many (a folder, a quoted pattern, a URI); or folder of tux partition"
    )
    add(
        "data",
        metavar="DATA",
        type=input_path,
        nargs="?",
        help=what.get(rows, text) + "; small generated data if left out" * (not points),
    )
    add(
        "--test",
        metavar="FILE",
        type=input_path,
        help=f"held-out {rows}, to judge the model by"
        if uses_held_out(program) and not points
        else SUPPRESS,
    )


def data_flags(flags: Flags, program: type[Program]) -> None:
    """Declare the flags that say how data are read."""
    add, edge = flags.section("data").add_argument, program.edge
    samples, bags = isinstance(program.input, Samples), isinstance(program.input, Bags)
    columns = ",".join([*edge.roles, *edge.columns])
    points = isinstance(program.input, Points)
    if samples or bags:
        forms, line = (FORMS, "") if samples else (BAGS, f"; text: a {edge.ends[0]} a line")
        add(
            "--form",
            choices=forms,
            metavar="|".join(forms),
            help=f"form of DATA{line} [default: found by its name and first lines]",
        )
    _labels(flags, program)
    held = [name for name, vertex in program.vertices.items() if _has_data(vertex)]
    add(
        "--vertices",
        metavar="TYPE=FILE",
        action="append",
        help=f"table of vertices and their data: {', '.join(held)}; once for each type"
        if held and not points
        else SUPPRESS,
    )
    if bags:
        _vocabulary(flags, edge.ends[1])
    named = f"names, or numbers from 1, of the table's columns {columns} [default: found by name]"
    add("--columns", metavar="A,B,..", help=SUPPRESS if samples or points else named)
    bad = "what to do about rows that cannot be read [default stop]"
    add("--on-bad-row", choices=("stop", "skip"), default="stop", metavar="stop|skip", help=bad)


def _has_data(vertex: Vertex) -> bool:
    """Return whether a table may have data of the vertices of a type."""
    return any(field.kind == "data" for field in vertex.fields.values())


def _labels(flags: Flags, program: type[Program]) -> None:
    """Declare the flags that say where labels of samples or of vertices are."""
    add = flags.section("data").add_argument
    if isinstance(program.input, Samples):
        add(
            "--label",
            metavar="NAME",
            help="column of the labels, in a table [default: label, y, target or class]",
        )
        add(
            "--weight",
            metavar="NAME",
            help="column of the samples' weights, in a table [default: all weigh 1]",
        )
        add(
            "--labels",
            metavar="FILE",
            type=input_path,
            help="labels of DATA that has none: text, one a line, or .npy",
        )
    elif program.input.vertex_labels:
        add(
            "--labels",
            metavar="FILE",
            type=input_path,
            help="labels of vertices, to judge the model by: .cmty, lines of id and label, or .mat",
        )
        add(
            "--judge-repeats",
            metavar="N",
            type=at_least(1),
            help=f"means of F1 by labels are over N random splits [default {REPEATS}]",
        )


def _ranks(flags: Flags, program: type[Program]) -> None:
    """Declare the flags that judge the model by the best of its predictions."""
    first, second = program.edge.ends
    pairs = not isinstance(program.input, Samples | Bags | Points) and first != second
    flags.section("data").add_argument(
        "--judge-top",
        metavar="K",
        type=at_least(1),
        help=f"judge the finished model by the K best {plural_noun(second)} for each {first} of "
        "--test, too: recall@K, ndcg@K, map@K"
        if pairs and program.predict is not Program.predict
        else SUPPRESS,
    )


def _vocabulary(flags: Flags, column: str) -> None:
    """Declare the flag of the words behind the columns of bags; `column` is their vertex type."""
    add = flags.section("data").add_argument
    add(
        "--vocab",
        metavar="FILE",
        type=input_path,
        help=f"the {plural_noun(column)}, one a line, if DATA has their numbers",
    )
    add(
        "--stop",
        metavar="FILE",
        type=input_path,
        help=f"{plural_noun(column)} to leave out of a text",
    )


def _length_and_output(flags: Flags, program: type[Program]) -> None:
    """Declare the flags that say how long the run goes on, and what is kept."""
    add = flags.section("the run").add_argument
    add(
        "--out",
        metavar="DIR",
        type=output_path,
        help=(
            "write run.json, metrics.jsonl and model/ to this new folder [default: the model is "
            "not kept]"
        ),
    )
    add(
        "--epochs",
        metavar="N",
        type=at_least(0),
        help=f"passes over the data, at most; 0: the initial state [default {program.epochs}]",
    )
    judged = program.evaluate is not Program.evaluate
    every = "judge the model after every N-th epoch, and the last [default 1]"
    add(
        "--eval-every", metavar="N", type=at_least(1), default=1, help=every if judged else SUPPRESS
    )
    stop = (
        f"stop after N evaluations without a better {program.monitor}, and keep the best epoch; 0: "
        "never [default 0]"
    )
    add(
        "--patience",
        metavar="N",
        type=at_least(0),
        default=0,
        help=stop if program.monitor else SUPPRESS,
    )
    add(
        "--seed", metavar="N", type=whole, default=0, help="another seed is another run [default 0]"
    )
    add(
        "--log",
        choices=LOGS,
        metavar="|".join(LOGS),
        help="give the records of epochs, parameters and results to MLflow, where its own settings "
        "say, or to TensorBoard, in DIR/tensorboard",
    )
    _checkpoints(flags)


def _checkpoints(flags: Flags) -> None:
    """Declare the flags of checkpoints, by which the run outlives a fault."""
    add = flags.section("the run").add_argument
    add(
        "--checkpoint-every",
        metavar="N|Ns",
        type=interval,
        help="keep the run's state below --out every N epochs or N seconds, so that it can go on "
        "after a fault: tux run --resume DIR [default: never]",
    )
    add(
        "--keep",
        metavar="N",
        type=at_least(1),
        help="checkpoints that are kept [default 2]",
    )
    add(
        "--restarts",
        metavar="N",
        type=at_least(0),
        help="when a worker process is lost, start all again from the newest checkpoint, or from "
        "the beginning: N times, and as often again after each new checkpoint; when one "
        "that loads the data is lost, load them anew, N times too [default "
        f"{RESTARTS} with --checkpoint-every, else 0]",
    )


def _workers(flags: Flags) -> None:
    """Declare the flags of workers and threads."""
    add = flags.section("workers").add_argument
    add(
        "--workers",
        metavar="N",
        type=at_least(1),
        help="worker processes on this machine [default 1, or the parts of DATA]",
    )
    add(
        "--threads",
        metavar="N",
        type=at_least(1, MOST_THREADS),
        help="threads of each worker, for the same results in less time [default: the machine's "
        "cores, divided by its workers]",
    )
    add(
        "--racing",
        action="store_true",
        help="let threads race where the app allows it: faster, and no two runs are the same",
    )
    add(
        "--slack",
        metavar="N",
        type=at_least(0),
        default=0,
        help="mini-batches that workers may be apart; 0: in step [default 0]",
    )
    add(
        "--partitioner",
        metavar="NAME",
        help="how edges are dealt to workers: auto, or a method of tux partition [default bicut]",
    )
    add(
        "--timeout",
        metavar="S",
        type=at_least(1),
        default=600,
        help="seconds that a wait may take in which no worker works [default 600]",
    )
    several_machines(flags, "machines, each with --workers processes; the same command on each")
    flags.section("several machines").add_argument(
        "--on",
        choices=BACKENDS,
        metavar="|".join(BACKENDS),
        help="have --nnodes machines of this engine found, and the command started on each; local: "
        "processes here [--threads is 1 by default]",
    )


def json_flags(flags: Flags) -> None:
    """Declare the flag by which the run writes its progress for another program."""
    text = "tell how the run goes on as lines of JSON, for other programs"
    flags.section("other").add_argument("--json", action="store_true", help=text)


def several_machines(flags: Flags, machines: str) -> None:
    """Declare the flags that place this command in a job of several machines; `machines` explains
    their number.
    """
    add = flags.section("several machines").add_argument
    add("--nnodes", metavar="N", type=at_least(1), help=machines)
    add("--node-rank", metavar="R", type=at_least(0), help="which of them this is, from 0")
    add("--rdzv", metavar="HOST:PORT", help="where they meet: an address of machine 0")
    add(
        "--key-file",
        metavar="FILE",
        type=input_path,
        help="the job's key, the same on all machines [or $TUX_JOB_KEY]",
    )
    add(
        "--rejoin",
        metavar="S",
        type=at_least(1),
        help="with --restarts: seconds for which this machine tries to join again [default 60]",
    )
    add(
        "--insecure",
        action="store_true",
        help="no key: machines talk in plain text and trust anyone",
    )
