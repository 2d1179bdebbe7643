"""The answer to one request: the page, its files, and the news of the run. No sockets.

There are four paths below the root, all only read:

    (nothing)     the page
    static/NAME   one of the files of the page
    data          the news of the run: ?state=DIGEST&records=CURSOR&entries=CURSOR
    spans         spans of threads of some samples: ?places=N,N,..
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import msgspec

from tux.monitor.watch.access import Access
from tux.monitor.watch.reading import SHOWN, Reader

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
JSON = "application/json"

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""The headers of each answer: the page loads nothing from elsewhere and runs no script but its own,
and no other page may have it.
"""

PLACE = 18
"""Digits of a place in a file, at most."""


class HttpAnswer(NamedTuple):
    """The status, the content type and the body of an answer."""

    status: int
    kind: str
    body: bytes


@cache
def page_files() -> Mapping[str, HttpAnswer]:
    """Read the files of the page by their paths. Nothing else is served."""
    found = {}
    for file in sorted(
        (files("tux.monitor.watch") / "static").iterdir(), key=lambda each: each.name
    ):
        kind = KINDS.get(f".{file.name.rpartition('.')[2]}")
        if kind:
            found[f"static/{file.name}"] = HttpAnswer(200, kind, file.read_bytes())
    return {"": found.pop("static/index.html"), **found}


def answer(access: Access, reader: Reader, target: str, host: str) -> HttpAnswer:
    """Answer a GET of `target`, with this Host header."""
    try:
        asked = urlsplit(target)
    except ValueError:
        return _refusal(400, "this is no path")
    path = access.path(asked.path, host)
    if path is None:
        return _refusal(403, "see the address that tux watch has printed")
    if path in page_files():
        return page_files()[path]
    make: Callable[[Reader, Mapping[str, str]], Any] | None = {"data": _data, "spans": _spans}.get(
        path
    )
    if make is None:
        return _refusal(404, "there is no such page")
    try:
        given = {
            name: values[-1] for name, values in parse_qs(asked.query, max_num_fields=8).items()
        }
    except ValueError:
        return _refusal(400, "too much is asked for")
    return HttpAnswer(200, JSON, msgspec.json.encode(make(reader, given)))


def _data(reader: Reader, given: Mapping[str, str]) -> Any:
    return reader.news(*(given.get(name, "") for name in ("state", "records", "entries")))


def _spans(reader: Reader, given: Mapping[str, str]) -> Any:
    words = given.get("places", "").split(",")[:SHOWN]
    places = [
        int(word) for word in words if word.isascii() and word.isdigit() and len(word) < PLACE
    ]
    return {"spans": reader.spans(places)}


def _refusal(status: int, why: str) -> HttpAnswer:
    return HttpAnswer(status, KINDS[".txt"], f"{why}\n".encode())
