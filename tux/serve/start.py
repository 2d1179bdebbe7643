"""The beginning of the server: whether it may listen where it is asked to, and for whom."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tux.base.errors import UsageError
from tux.monitor.watch.access import is_loopback

if TYPE_CHECKING:
    from tux.serve.current import CurrentModel, FixedModel

LIBRARIES = ("uvicorn", "httptools")
"""The libraries of the extra `serve`."""

HOST, PORT = "127.0.0.1", 8171
"""The usual address and port."""

TOKEN_BYTES = 4096
"""Bytes that are read of a file with a token."""

_TOKEN = re.compile(r"[!-~]{16,}", re.ASCII)


def check_libraries() -> None:
    """Raise UsageError if a library is missing."""
    if missing := [name for name in LIBRARIES if find_spec(name) is None]:
        raise UsageError(
            f"the server needs the library {missing[0]}, which is not installed",
            do="pip install 'tux[serve]'",
        )


def read_token(path: str | os.PathLike[str] | None) -> str:
    """Read a token from a file; "" if no file is named. UsageError if it has none, or a short
    one.
    """
    if path is None:
        return ""
    try:
        with open(path, "rb") as file:
            token = file.read(TOKEN_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"no token can be read from {path}: {error}", do=NEW_TOKEN) from None
    if not _TOKEN.fullmatch(token):
        raise UsageError(
            f"{path} holds no token: 16 characters or more on one line, without blanks",
            do=NEW_TOKEN,
        )
    return token


NEW_TOKEN = "make one: head -c 24 /dev/urandom | base64 > FILE"
"""The advice where there is no token."""


def check_access(host: str, token: str) -> None:
    """Raise UsageError if everybody who reaches the address could ask."""
    if not token and not is_loopback(host):
        raise UsageError(
            f"{host} is reached from other machines, and nothing says who may ask there",
            do=f"add --token-file FILE; {NEW_TOKEN}",
        )


def serve(
    current: CurrentModel | FixedModel,
    host: str,
    port: int,
    token: str,
    say: Callable[[str], None],
    warn: Callable[[str], None],
) -> None:
    """Answer until Ctrl-C, at an address that `check_access` allows. `say` is told the address,
    `warn` what goes wrong. Raises UsageError if the port is taken.
    """
    from tux.serve.app import ServerApp
    from tux.serve.server import address_of, listen, make_server, run_server

    with listen(host, port) as listening:
        if not is_loopback(host):
            warn("what is sent is not encrypted, the token neither: put a proxy with TLS before it")
        told = current.model.describe()
        say(f"{address_of(listening)} answers by {told}; Ctrl-C ends this")
        app = ServerApp(current, token, warn)
        try:
            run_server(make_server(app), current.refresh, listening)
        finally:
            app.close()
