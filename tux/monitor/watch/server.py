"""The HTTP server of the page: it listens, and gives each request to `tux.monitor.watch.answers`.

It is the standard library's. It has one page, for few people, and only reads: a framework would
bring many packages in place of a hundred lines.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tux.base.errors import UsageError
from tux.monitor.watch.access import Access
from tux.monitor.watch.answers import HEADERS, HttpAnswer, answer
from tux.monitor.watch.reading import Reader

PORT = 8170
"""The port of the page, if it is free and no other is asked for."""

MAX_REQUESTS = 32
"""Connections at a time, of a request each."""

CLIENT_SECONDS = 20.0
"""Seconds that a client may take to send its request and to take the answer."""


class PageServer(ThreadingHTTPServer):
    """A server of the page of one run's folder. As a context it is closed at the end."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, folder: Path, host: str, port: int) -> None:
        """Listen on `port` of `host`; 0: on any that is free. UsageError if it cannot."""
        self.access, self.reader = Access.of(host), Reader(folder)
        self._reading = threading.Lock()
        self._since: dict[socket.socket, float] = {}  # when connections were made
        if ":" in host:
            self.address_family = socket.AF_INET6
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(
                f"the page cannot be served on port {port} of {host}: {error}",
                do="choose another with --port N, or --host with an address of this machine",
            ) from error

    @staticmethod
    def on_usual_port(folder: Path, host: str) -> PageServer:
        """Make the server on the usual port; on any free port where another page has that."""
        try:
            return PageServer(folder, host, PORT)
        except UsageError:
            return PageServer(folder, host, 0)

    def server_bind(self) -> None:
        """Listen on the address. The base class would also look up the name of the host, which may
        take seconds.
        """
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    @property
    def url(self) -> str:
        """The address of the page."""
        host = str(self.server_address[0])
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self.server_port}{self.access.root}"

    def answer(self, target: str, host: str) -> HttpAnswer:
        """Answer a GET; one request reads at a time."""
        with self._reading:
            return answer(self.access, self.reader, target, host)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a request in a thread of its own. Where there are many, hang up on the
        oldest: it waits for its client, as an answer takes milliseconds.
        """
        for oldest in [*self._since][: max(len(self._since) + 1 - MAX_REQUESTS, 0)]:
            self._since.pop(oldest, None)
            _hang_up(oldest)
        self._since[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Hang up, between requests, on clients that take too long, such as one that sends a byte
        now and then.
        """
        late = time.monotonic() - CLIENT_SECONDS
        for request, since in [*self._since.items()]:
            if since < late:
                _hang_up(request)

    def shutdown_request(self, request: Any) -> None:
        """Forget a request that is answered, or is not to be answered, and close its connection."""
        self._since.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that has gone; show any other error as Python does."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _hang_up(request: socket.socket) -> None:
    """End a connection, whose thread then closes it."""
    with suppress(OSError):  # its thread has closed it already
        request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: PageServer

    def do_GET(self) -> None:  # noqa: N802
        """Answer with headers and body."""
        self._send(self.server.answer(self.path, self.headers.get("Host", "")))

    def do_HEAD(self) -> None:  # noqa: N802
        """Answer without the body."""
        self._send(self.server.answer(self.path, self.headers.get("Host", "")), body=False)

    def _refuse(self) -> None:
        self._send(HttpAnswer(405, "text/plain; charset=utf-8", b"the page is only read\n"))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _refuse  # noqa: N815

    def _send(self, found: HttpAnswer, *, body: bool = True) -> None:
        self.send_response(found.status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", found.kind)
        self.send_header("Content-Length", str(len(found.body)))
        if found.status == 405:
            self.send_header("Allow", "GET, HEAD")
        self.end_headers()
        if body:
            self.wfile.write(found.body)

    def version_string(self) -> str:
        """Return the name of the server in the answers."""
        return "tux"

    def log_message(self, format: str, *args: Any) -> None:
        """Log no requests."""
