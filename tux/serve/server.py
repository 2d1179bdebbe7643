"""The process of the server: it listens, and follows the model of a run's folder.

uvicorn speaks HTTP, by the parser of httptools. What it has no limits for is limited here: the size
of heads and messages, the time that a client may take, and the number of connections. No other file
imports uvicorn.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tux.base.errors import UsageError
from tux.base.signals import handle_ending
from tux.serve.app import DROPPED_BODY, ServerApp

MAX_HEAD, MAX_MESSAGE = 1 << 14, 2 * DROPPED_BODY
"""Bytes of the address and the headers of a request, and of all of it."""

MAX_CONNECTIONS = 256
"""Connections at a time. One more closes the one that has waited longest for a request."""

CLIENT_SECONDS, ANSWER_SECONDS, IDLE_SECONDS = 20.0, 60.0, 30
"""Seconds for a request to come, for its answer to be computed and sent, and between two requests
on a connection.
"""

END_SECONDS = 10
"""Seconds that requests under way have when the server is to end."""

POLL_SECONDS = 1.0
"""Seconds between two looks whether the folder has another model."""

SWITCH_SECONDS = 0.0005
"""Seconds after which Python takes the interpreter from a thread that others wait for. Its usual
five milliseconds are what a question would wait while a model is loaded.
"""


class LimitedProtocol(HttpToolsProtocol):
    """A connection, with limits of size and time."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head = self._message = 0  # bytes
        self._in_head = False
        self._deadline: TimerHandle | None = None
        self._waits_since: float | None = None  # for a request to come whole, by the loop's time

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._expect(CLIENT_SECONDS)
        if len(self.connections) > MAX_CONNECTIONS:
            self._make_room()
        self._waits_since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._expect(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends, unless it is too much, as of a header that does not end."""
        if self._deadline is None:
            self._expect(CLIENT_SECONDS)
        self._message += len(data)
        if self._message > MAX_MESSAGE:
            self.transport.close()
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._in_head and self._message > MAX_HEAD:
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Begin to count."""
        super().on_message_begin()
        self._head, self._in_head = 0, True

    def on_url(self, url: bytes) -> None:
        """Take the address, or a part of it."""
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        super().on_header(name, value)
        self._count(len(name) + len(value) + 4)

    def on_headers_complete(self) -> None:
        """Begin with the body."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Begin to wait for the answer."""
        super().on_message_complete()
        self._message = 0
        self._waits_since = None
        self._expect(ANSWER_SECONDS)

    def on_response_complete(self) -> None:
        """Wait for the next request, by the time that uvicorn gives it."""
        super().on_response_complete()
        over = self.cycle.response_complete
        self._expect(None if over else ANSWER_SECONDS)
        self._waits_since = self.loop.time() if over else None

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request of HTTP, or too much for one, and end."""
        if self._head > MAX_HEAD or self._in_head and self._message > MAX_HEAD:
            self._end("431 Request Header Fields Too Large", "the request is too large")
        else:
            self._end("400 Bad Request", "this is no request of HTTP")

    def _make_room(self) -> None:
        """Close the connection that has waited longest for a request, as clients that send nothing
        do; this one, if all others are being answered.
        """
        others: set[Any] = {*self.connections}
        waiting = [each for each in others if each._waits_since is not None]
        if waiting:
            oldest = min(waiting, key=lambda each: each._waits_since)
            oldest._waits_since = None
            oldest.transport.abort()
        else:
            self._end("503 Service Unavailable", "busy: too many connections")

    def _count(self, size: int) -> None:
        """Count what was taken of a head. ValueError, which the parser passes on, if it is much."""
        self._head += size
        if self._head > MAX_HEAD:
            raise ValueError("the head is too long")

    def _expect(self, seconds: float | None) -> None:
        """End the connection after so many seconds, unless this is called again."""
        if self._deadline is not None:
            self._deadline.cancel()
        end = self.transport.abort
        self._deadline = None if seconds is None else self.loop.call_later(seconds, end)

    def _end(self, status: str, text: str) -> None:
        """Answer with an error, and close the connection."""
        if self.transport.is_closing():
            return
        body = msgspec.json.encode({"error": text}) + b"\n"
        head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n"
        length = f"content-length: {len(body)}\r\n\r\n"
        self.transport.write(f"{head}{length}".encode() + body)
        self.transport.close()


def listen(host: str, port: int) -> socket.socket:
    """Listen on a port of an address; 0: on any port that is free. UsageError if it cannot."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Named, as only then asyncio sends each answer at once: without TCP_NODELAY the second of
        # two small packets waits up to 40 ms until the client has confirmed the first.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, port))
            listening.listen(MAX_CONNECTIONS)
        except BaseException:
            listening.close()
            raise
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"nothing can be served on port {port} of {host}: {error}",
            do="choose another with --port N, or --host with an address of this machine",
        ) from error
    return listening


def address_of(listening: socket.socket) -> str:
    """Return the address under which a socket is reached."""
    host, port, *_ = listening.getsockname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def make_server(app: ServerApp) -> uvicorn.Server:
    """Make the server of an application. Its `should_exit` ends it."""
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        interface="asgi3",
        http=LimitedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=END_SECONDS,
    )
    return uvicorn.Server(config)


def run_server(
    server: uvicorn.Server, refresh: Callable[[], bool], listening: socket.socket
) -> None:
    """Answer until Ctrl-C or SIGTERM, which raise KeyboardInterrupt when the requests that are
    under way have ended; a second one does not wait for them. Look for another model by `refresh`.

    The server has a thread of its own, as an event loop may run in this one, as in a notebook.
    """
    before, restore = sys.getswitchinterval(), handle_ending()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        with ThreadPoolExecutor(1, "tux-serve-loop") as thread:
            running = thread.submit(asyncio.run, _serve(server, refresh, listening))
            try:
                running.result()
            finally:
                server.should_exit = True
                try:
                    wait([running])
                finally:
                    server.force_exit = True
    finally:
        sys.setswitchinterval(before)
        restore()


async def _serve(
    server: uvicorn.Server, refresh: Callable[[], bool], listening: socket.socket
) -> None:
    """Run the server, and look for another model beside it."""
    looking = asyncio.create_task(_look(refresh))
    try:
        await server.serve(sockets=[listening])
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking


async def _look(refresh: Callable[[], bool]) -> None:
    """Look for another model every `POLL_SECONDS`, in a thread of its own."""
    pool, loop = ThreadPoolExecutor(1, "tux-serve-load"), asyncio.get_running_loop()
    try:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            await loop.run_in_executor(pool, refresh)
    finally:
        pool.shutdown(wait=False)
