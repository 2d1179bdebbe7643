"""The body of ``tux watch``: serve a page that shows a run, until Ctrl-C."""

from __future__ import annotations

from pathlib import Path

from tux.base.errors import DataError
from tux.cli import show, streams
from tux.cli.flags import INPUT, Flags, number

POLL = 0.2  # seconds between two looks whether the command is to end


def command(argv: list[str]) -> int:
    """Do what ``tux watch`` with these arguments says."""
    args = _flags().parse(argv)
    folder = Path(args.run)
    from tux.run_folder.folder import is_run, read_run
    from tux.run_folder.run_lock import LOCK

    if not (is_run(folder) or (folder / LOCK).exists()):
        read_run(folder)  # tells what is wrong
        raise DataError(f"{folder} is no folder of a run")
    from tux.monitor.watch.server import PageServer

    opened = (
        PageServer.on_usual_port(folder, args.host)
        if args.port is None
        else PageServer(folder, args.host, args.port)
    )
    try:
        with opened as server:
            if server.access.token:
                streams.tell(
                    f"warning: whoever has this address and reaches {args.host} sees the run; "
                    "what is sent is not encrypted\n"
                )
            show.say(f"{server.url} shows {args.run}; Ctrl-C ends this")
            if args.open:
                import webbrowser

                webbrowser.open(server.url)
            server.serve_forever(POLL)
    except KeyboardInterrupt:  # may come as soon as the address is told
        pass
    return 0


def _flags() -> Flags:
    flags = Flags(
        "tux watch",
        "Show a run in a browser, while it goes on and afterwards. Nothing is written.",
        "RUN [--host ADDRESS] [--port N] [--open]",
    )
    flags.add("run", "folder of a run: the --out of tux run", INPUT, metavar="RUN")
    flags.add(
        "--host",
        "address to listen on; the page of any but this machine's own has a secret word in "
        "its address [default 127.0.0.1]",
        metavar="ADDRESS",
        default="127.0.0.1",
    )
    flags.add(
        "--port",
        "port to listen on; 0: any that is free [default 8170, or any if that is taken]",
        number(0, 65535),
    )
    flags.switch("--open", "open the page in a browser")
    return flags
