"""The body of ``tux serve``: answer questions by a trained model over HTTP, until Ctrl-C."""

from __future__ import annotations

from functools import partial

from tux.cli import show, streams
from tux.cli.flags import INPUT, Flags, number
from tux.serve.start import HOST, PORT, check_access, check_libraries, read_token, serve


def command(argv: list[str]) -> int:
    """Do what ``tux serve`` with these arguments says. Raises the errors of `load_model`, and
    UsageError for an address at which it may not listen, or cannot.
    """
    args = _flags().parse(argv)
    check_libraries()
    token = read_token(args.token_file)
    check_access(args.host, token)
    from tux.serve.answering import load_model
    from tux.serve.current import CurrentModel

    with show.show_progress(f"load the model of {args.run}"):
        exclude = args.exclude and (args.exclude if len(args.exclude) > 1 else args.exclude[0])
        load = partial(load_model, exclude=exclude, warn=show.warn)
        current = CurrentModel(args.run, load, _tell)
    try:
        serve(current, args.host, args.port, token, show.say, show.warn)
    except KeyboardInterrupt:  # as Ctrl-C and SIGTERM end it
        pass
    return 0


def _tell(text: str) -> None:
    """Write one line to standard error."""
    streams.tell(f"{text}\n")


def _flags() -> Flags:
    flags = Flags(
        "tux serve",
        "Answer questions by the model that tux run --out RUN has written: the best items for a "
        "user, similar ones, new users. JSON over HTTP.",
        "RUN [--port N] [--host ADDRESS --token-file FILE] [--exclude FILE]",
    )
    flags.add(
        "run", "folder of a run; a new model in it takes the old one's place", INPUT, metavar="RUN"
    )
    flags.add(
        "--port",
        f"port to listen on; 0: any that is free [default {PORT}]",
        number(0, 65535),
        default=PORT,
    )
    flags.add(
        "--host",
        f"address to listen on; any but this machine's own needs a token [default {HOST}]",
        metavar="ADDRESS",
        default=HOST,
    )
    flags.add(
        "--token-file",
        "file with the token that each request must bear: Authorization: Bearer TOKEN",
        INPUT,
    )
    flags.add(
        "--exclude",
        "file of pairs that are not recommended again, such as the ratings of training; may be "
        "repeated",
        INPUT,
        action="append",
    )
    return flags
