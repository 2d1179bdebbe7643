"""The body of ``tux run``: train an app, and tell what it has found.

Heavy imports stand inside the functions: see `tux.cli.main`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tux.base.errors import ProgramError, TuxError, UsageError
from tux.base.text import flag_of
from tux.cli import show, streams
from tux.cli.flags import parameters
from tux.cli.show import listing
from tux.program.params import settable

if TYPE_CHECKING:
    from tux.cli.flags import Flags
    from tux.cluster.rendezvous.place import Place
    from tux.monitor.json_lines import JsonLines
    from tux.options.options import RunOptions
    from tux.options.watcher import Watcher
    from tux.program.program import Program
    from tux.program.sources import Source
    from tux.runs.session import Result

SHOWN = 20  # rows of a table


def command(argv: list[str]) -> int:
    """Do what ``tux run`` with these arguments says. Raises what `tux.runs.session.run` does."""
    from tux.program import sources

    if "--resume" in argv or any(word.startswith("--resume=") for word in argv):
        return _resume(argv)
    if not argv or argv[0].startswith("-"):
        if not argv or argv[0] not in ("-h", "--help"):
            raise UsageError(
                "tux run: name the app first",
                do=f"tux run APP [DATA] ...; apps: {', '.join(sources.builtin())}, or file.py",
            )
        show.say(_run_help(sources.builtin()))
        return 0
    source = sources.find(argv[0])
    try:
        return _train(source, argv)
    except ProgramError as error:
        error.where = error.where or sources.place(error, source.path)
        raise
    except (TuxError, KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:
        if explained := sources.error_in_program(error, source):
            raise explained from error
        raise


def _make_program(kind: type[Program], chosen: dict[str, Any]) -> Program:
    """Make the program with the parameters that were chosen. ProgramError if its own `__init__`
    does not take them, or does not set them.
    """
    from tux.program.naming import place

    try:
        program = kind(**chosen)
        program.parameters  # noqa: B018
    except (TypeError, AttributeError) as error:
        raise ProgramError(
            f"{kind.__name__} cannot be made: {error}",
            where=place(kind.__init__),
            do="leave __init__ out and declare parameters with param(...); or write "
            "__init__(self, **parameters), which calls super().__init__(**parameters)",
        ) from error
    return program


def _parameters(args: Any, source: Source) -> dict[str, Any]:
    """Return the parameters that the flags give; of a run that begins with the model of another,
    those that this one has had, too.
    """
    given = parameters(args, source.program, show.warn)
    if args.from_run is None:
        return given
    from tux.program.params import use_present_names
    from tux.run_folder.folder import read_run

    before = read_run(args.from_run)
    known = {
        n: x
        for n, x in use_present_names(source.program.params, before.parameters).items()
        if n in settable(source.program.params)
    }
    return known | given


def _train(source: Source, argv: list[str]) -> int:
    from tux.cli.run_flags import parse_run

    args = parse_run(source, argv)
    program = _make_program(source.program, _parameters(args, source))
    _check_no_run(args)
    if args.explain:
        return _explain(program, args)
    if args.machines or args.link:
        raise UsageError(
            "--machines and --link say for what an epoch is predicted",
            do="add --explain; a run on several machines has --nnodes",
        )
    if args.on:
        return _elsewhere(program, args, argv)
    from tux.base.crash import advise_on_crash
    from tux.runs.session import run

    if args.jit and not args.check:
        advise_on_crash()
    options = _options(args, program, _place(args), ["tux", "run", *argv])
    _free_memory_early(options.workers, options.place)
    if args.verify:
        from tux.cli.verify import print_verification

        return print_verification(program, args.data, args.test, options)
    with _watching(args) as watch:
        chosen = ", ".join(
            f"{name} {value}"
            for name in settable(program.params)
            if (value := program.parameters[name]) != ""
        )
        watch.say(f"{argv[0]}: {chosen or 'no parameters'}; seed {args.seed}")
        result = run(program, args.data, args.test, options, watch)
    _tell(result, args.out, args)
    return 0


def _check_no_run(args: Any) -> None:
    """Raise UsageError for flags of a run beside one that only tells about it."""
    for asked, flag in ((args.explain, "--explain"), (args.verify, "--verify")):
        if asked and args.from_run:
            raise UsageError(f"{flag} is about a run from the beginning", do="leave --from out")
        if asked and args.json:
            raise UsageError(
                f"--json tells how a run goes on, and {flag} makes none", do="leave --json out"
            )
    if args.verify and (args.explain or args.profile):
        raise UsageError(
            f"{'--explain' if args.explain else '--profile'} with --verify, which compares results "
            "and measures nothing",
            do="leave one of them out",
        )


def _explain(program: Program, args: Any) -> int:
    """Print the outline of the program; or what an epoch would cost on several machines."""
    from tux.cli.explain import print_outline
    from tux.options.options import RunOptions

    RunOptions(racing=args.racing).plan_for(program)
    if args.link and not args.machines:
        raise UsageError("--link without --machines", do="add --machines 1,2,4")
    if not args.machines:
        return print_outline(program, racing=args.racing)
    given = (args.on, args.nnodes, args.node_rank, args.rdzv, args.key_file, args.rejoin)
    if any(each is not None for each in given):
        raise UsageError(
            "--machines beside flags of a job of several machines: an epoch is rehearsed on this "
            "machine alone",
            do="leave --on, --nnodes and the like out; --insecure is for messages in plain text",
        )
    if args.workers not in (None, 1, "auto"):
        raise UsageError(
            f"--workers {args.workers} beside --machines, each of which has one worker",
            do="leave --workers out; --threads N is for each of them",
        )
    if not args.data:
        raise UsageError("--machines without data", do="name DATA: some epochs are rehearsed")
    from tux.cli.prediction import print_prediction

    return print_prediction(
        program,
        args.data,
        args.test,
        _options(args, program, None, []),
        args.machines,
        args.link or (10.0, 50.0),
        encrypted=not args.insecure,
    )


def _elsewhere(program: Program, args: Any, argv: list[str]) -> int:
    """Train on machines that a back-end places."""
    given = {"--node-rank": args.node_rank, "--rdzv": args.rdzv, "--key-file": args.key_file}
    given |= {"--insecure": args.insecure or None, "--rejoin": args.rejoin}
    if flags := [flag for flag, value in given.items() if value is not None]:
        raise UsageError(
            f"{' and '.join(flags)} with --on {args.on}, which says it to each machine",
            do="leave it out; --nnodes N is the number of machines",
        )
    if args.verify:
        raise UsageError("--verify runs on this machine", do=f"leave out --on {args.on}")
    from tux.backends.run import run

    def warn_line(line: str) -> None:
        show.phase(f"wait for machines of {args.on}")  # perhaps no longer
        streams.tell(f"{line}\n")

    show.phase(f"place machines by {args.on}")
    options = _options(args, program, None, ["tux", "run", *argv])
    return run(
        program,
        args.data,
        args.test,
        options,
        on=args.on,
        machines=args.nnodes or 1,
        # machine 0 tells itself what it does
        say=_json_lines().pass_on if args.json else show.say,
        warn=warn_line,
        json=args.json,
    )


@contextmanager
def _watching(args: Any) -> Iterator[Watcher]:
    """Yield the watcher that is told how the run goes on: it writes for people, or for another
    program.
    """
    if args.json:
        yield _json_lines()
        return
    with show.watcher() as watch:
        yield watch


def _json_lines() -> JsonLines:
    from tux.monitor.json_lines import JsonLines

    return JsonLines(show.line)


def _resume_flags() -> Flags:
    """Return the flags of a run that is resumed."""
    from tux.cli.flags import INPUT, Flags, number
    from tux.cli.run_flags import add_option, json_flags, several_machines
    from tux.options.options import OPTIONS, RESUMABLE

    flags = Flags(
        "tux run",
        "Go on with a run from its newest checkpoint; its run.json says how.",
        "--resume DIR [flags]",
        ("the run", "several machines", "other"),
    )
    add = partial(flags.add, section="the run")
    add("--resume", "the run's folder", INPUT, metavar="DIR", required=True)
    for name in RESUMABLE:
        more = number(1) if name == "epochs" else {}
        add_option(flags, name, OPTIONS[name].resumed, section="the run", default=None, **more)
    add("--app", "where the program is now, if its file has moved", INPUT, metavar="FILE.py")
    json_flags(flags)
    several_machines(
        flags, "machines, as many as at first; the others repeat the command of the first start"
    )
    return flags


def _resume(argv: list[str]) -> int:
    """Go on with a run that has stopped."""
    from tux.options.options import RESUMABLE

    flags = _resume_flags()
    if argv and not argv[0].startswith("-"):
        raise UsageError(
            f"tux run {argv[0]} --resume: a run that goes on is that of its folder",
            do="leave the app, its data and its parameters out: tux run --resume DIR",
        )
    try:
        args = flags.parse(["--help"] if {"-h", "--help"} & {*argv} else argv)
    except UsageError as error:
        error.do = (
            "a run that goes on takes all from its run.json, but for "
            f"{', '.join(map(flag_of, RESUMABLE))}, --app, and where several "
            "machines meet"
            if error.what.startswith("unknown")
            else "see tux run --resume --help"
        )
        raise
    from tux.run_folder.folder import read_run
    from tux.runs.session import resume

    place = _place(args)
    _free_memory_early(args.workers or read_run(args.resume).options.get("workers"), place)
    with _watching(args) as watch:
        result = resume(
            args.resume,
            place=place,
            app=args.app,
            watch=watch,
            **{name: getattr(args, name) for name in RESUMABLE},
        )
    _tell(result, args.resume, args)
    return 0


def _free_memory_early(workers: int | str | None, place: Place | None) -> None:
    """Give memory back to the system as soon as it is free, where this process leads workers, which
    need it. A process that computes itself is faster if it keeps it: it gives back that of pieces
    of columns alone.
    """
    from tux.base.allocation import free_memory_early, share_memory_with_arrow

    if place or workers not in (None, 1):
        free_memory_early()
    else:
        share_memory_with_arrow()


def _place(args: Any) -> Place | None:
    """Return this machine's place among several; None if there is only one."""
    from tux.cluster.rendezvous.place import find_place

    place = find_place(
        args.nnodes,
        args.node_rank,
        args.rdzv,
        args.key_file,
        insecure=args.insecure,
        rejoin=args.rejoin,
    )
    if place and place.said:
        streams.tell(
            f"machine {place.rank} of {place.machines} ({place.said}); --nnodes 1 trains alone\n"
        )
    if place and place.secret is None:
        show.warn(
            "the machines of this job talk in plain text; --key-file encrypts it and keeps "
            "strangers out"
        )
    return place


def _options(args: Any, program: Program, place: Place | None, command: list[str]) -> RunOptions:
    """Return the options of the run that the flags give."""
    from tux.cli.run_flags import chosen_options
    from tux.options.options import RunOptions

    chosen = chosen_options(args, RunOptions, [*program.vertices])
    if place and place.rank:
        chosen |= {"out": None, "log": None}  # machine 0 writes
    return RunOptions(**chosen, place=place, command=command)


def _tell(result: Result, out: str | None, args: Any) -> None:
    """Print the lines at a run's end: its tables, its results, and where it is; none on a machine
    other than the first.
    """
    if result.model is None:
        return
    if args.json:
        told = {"profile": [row._asdict() for row in result.profile.rows]} if result.profile else {}
        return _json_lines().end(result.results | told)
    from tux.cli.info import model_epoch, scores
    from tux.inputs.sizes import bad_rows_note

    for name, columns in result.tables.items():
        rows = [[_cell(cell) for cell in row] for row in zip(*columns.values(), strict=True)]
        show.grid(list(columns), rows[:SHOWN])
        if len(rows) > SHOWN:
            show.say(
                f"and {len(rows) - SHOWN} more {name}{f' in {out}/model/{name}.tsv' if out else ''}"
            )
    for name, value in scores(result.results).items():
        show.say(f"{name} {value}")
    if result.profile:
        from tux.cli.profile import print_profile

        print_profile(result.profile)
    if "best" in result.results:
        show.say(f"the model is that of {model_epoch(result.results)}")
    end = f"written to {out}" if out else "nothing was kept; --out DIR keeps it"
    return show.say(f"{end}; {missing}" if (missing := bad_rows_note(result.sizes)) else end)


def _cell(value: Any) -> str:
    """Write a value of a table; a number that does not exist is a stroke."""
    return "-" if isinstance(value, float) and value != value else str(value)


def _run_help(apps: dict[str, str]) -> str:
    head = (
        "Train an app on a file, or on small generated data; or go on with a run that has stopped."
        "\n\nusage: tux run APP [DATA] [flags]    tux run APP --help\n"
        "       tux run --resume DIR [flags]     tux run --resume --help"
    )
    more = {"file.py": "a program of your own; file.py:Class if the file has several"}
    return (
        f"{head}\n\napps:\n{listing(apps | more)}\n\ne.g. tux run mf ratings.csv "
        "--test held-out.csv --out run1"
    )
