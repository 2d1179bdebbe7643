"""The flags of ``tux run APP``, in the order in which a user asks: which data, which parameters,
how long, how many workers.

Flags that every run has, but that mean nothing to an app, are not shown. They are read all the
same, so that using one is told as what it is.
"""

from __future__ import annotations

import argparse
from argparse import SUPPRESS
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tux.base.errors import UsageError
from tux.base.text import flag_of, plural_noun
from tux.cli.flags import INPUT, FlagKind, Flags, add_parameters, number, vertex_tables
from tux.cli.prediction import read_link, read_machines
from tux.options.options import OPTIONS, Reading
from tux.options.reading import columns_of_table, forms_of, reads
from tux.options.rules import SWITCH, options_by_name
from tux.program.input import Bags, Points, Samples
from tux.program.program import Program, uses_held_out

if TYPE_CHECKING:
    from tux.program.sources import Source

BACKENDS = ("local", "ray", "spark")

OF_DATA = [*options_by_name(Reading)]
OF_DATA.insert(OF_DATA.index("labels") + 1, "judge_repeats")
"""The options that say how data are read, and how labels judge, in the order of the help text."""


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
    for name in OPTIONS:
        if name not in OF_DATA:
            _run_option(flags, program, name)
    verify = (
        "train 2 epochs on a sample of DATA with 1, 2 and 3 workers and as plain Python, and tell "
        "which results differ"
    )
    flags.switch("--verify", verify, section="other")
    explain = "tell which fields each vertex function reads, adds to and writes, and train nothing"
    flags.switch("--explain", explain, section="other")
    machines = "with --explain: tell what an epoch costs on so many machines like this one"
    kind: FlagKind = {"type": read_machines, "metavar": "N,.."}
    flags.add("--machines", machines, kind, section="other")
    link = "their network in Gbit/s, and microseconds of delay [default 10,50]"
    kind = {"type": read_link, "metavar": "GBIT[,US]"}
    flags.add("--link", link, kind, section="other")
    json_flags(flags)
    several_machines(flags, "machines, each with --workers processes; the same command on each")
    flags.add(
        "--on",
        "have --nnodes machines of this engine found, and the command started on each; local: "
        "processes here [--threads is 1 by default]",
        metavar="|".join(BACKENDS),
        choices=BACKENDS,
        section="several machines",
    )
    add_parameters(flags, program, own)
    return flags


def parse_run(source: Source, argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments of ``tux run``, the app first. UsageError for wrong ones: where one names
    an edge type of an app that derives from this one, such as features, it names that app.
    """
    try:
        return run_flags(source, argv[0]).parse(argv[1:])
    except UsageError as error:
        name = error.what.removeprefix("unknown argument ")
        kin = [kind for kind in source.program.__subclasses__() if name in kind.edge_types]
        if not kin:
            raise
        app = kin[0].__module__.rpartition(".")[2]
        raise UsageError(
            f"{name} is no edge type of {source.program.__name__}", do=f"tux run {app} has it"
        ) from None


def _data(flags: Flags, program: type[Program]) -> None:
    """Declare the data as the arguments of the command."""
    add, edge = partial(flags.add, section="data"), program.edge
    samples, bags, points = (reads(kind)(program) for kind in (Samples, Bags, Points))
    columns = columns_of_table(program)
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
    several = len(program.edge_types) > 1
    without = "" if points or several else "; small generated data if left out"
    if several:
        what["edges"] = "for each edge type a file of its edges, packed or not: " + "; ".join(
            f"{name}=FILE ({columns_of_table(program, name)}{'; may be left out' * edge.optional})"
            for name, edge in program.edge_types.items()
        )
    add(
        "data",
        what.get(rows, text) + without,
        INPUT,
        metavar="DATA",
        nargs="*" if several else "?",
        default=None,
    )
    add(
        "--test",
        f"held-out {rows}, to judge the model by"
        if uses_held_out(program) and not points
        else SUPPRESS,
        INPUT,
    )


def data_flags(flags: Flags, program: type[Program]) -> None:
    """Declare the flags that say how data are read."""
    for name in OF_DATA:
        _run_option(flags, program, name)


def _run_option(flags: Flags, program: type[Program], name: str) -> None:
    """Declare the flag of an option of a run, if the command of the program has it."""
    option = OPTIONS[name]
    if not option.help or not option.exists(program):
        return
    text = option.help if isinstance(option.help, str) else option.help(program)
    forms = forms_of(program)
    how = {"choices": forms, "metavar": "|".join(forms)} if name == "form" else {}
    shown = text if option.shown(program) else SUPPRESS
    add_option(flags, name, shown, section=option.section, **how)


def add_option(flags: Flags, name: str, text: str, **other: Any) -> None:
    """Declare the flag of an option by `Flags.add`, with the help `text`, and `other` words than
    those of the option.
    """
    option = OPTIONS[name]
    how = {"dest": name, "default": option.default, **option.rule.argument}
    if option.rule is SWITCH:
        how["action"] = "store_false" if option.default else "store_true"
    flags.add(flag_of(name), text, how, **other)


def chosen_options(
    args: argparse.Namespace, kind: type[Reading], types: Sequence[str]
) -> dict[str, Any]:
    """Return the options of a kind for which the command has flags; `types`: the vertex types that
    may have tables.
    """
    chosen = {name: getattr(args, name) for name in options_by_name(kind) if hasattr(args, name)}
    return chosen | {"vertices": vertex_tables(args.vertices, types)}


def json_flags(flags: Flags) -> None:
    """Declare the flag by which the run writes its progress for another program."""
    text = "tell how the run goes on as lines of JSON, for other programs"
    flags.switch("--json", text, section="other")


def several_machines(flags: Flags, machines: str) -> None:
    """Declare the flags that place this command in a job of several machines; `machines` explains
    their number.
    """
    add = partial(flags.add, section="several machines")
    add("--nnodes", machines, number(1))
    add("--node-rank", "which of them this is, from 0", number(0), metavar="R")
    add("--rdzv", "where they meet: an address of machine 0", metavar="HOST:PORT")
    add("--key-file", "the job's key, the same on all machines [or $TUX_JOB_KEY]", INPUT)
    add(
        "--rejoin",
        "with --restarts: seconds for which this machine tries to join again [default 60]",
        number(1),
        metavar="S",
    )
    insecure = "no key: machines talk in plain text and trust anyone"
    flags.switch("--insecure", insecure, section="several machines")
