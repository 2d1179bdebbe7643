"""The answers of the server, as an ASGI application: paths, access and limits. No sockets.

    GET  /health                 which model answers
    GET  /top?id=7&n=10          the best items for a user
    GET  /similar?id=3&of=item   vertices like one
    POST /fold-in, /scores       a new vertex; scores of pairs

/top and /similar also take the same words as JSON by POST. An answer is one line of JSON; where a
request is not answered as it was meant, it is ``{"error": "..."}`` with a status of 400 or more.

A question that takes less than a millisecond is answered where it was read, as handing it to a
thread and back takes a tenth of that. Others are answered by threads, new vertices one at a time.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import msgspec

from tux.base.parallel import threads
from tux.base.text import one_line
from tux.monitor.watch.access import is_loopback, name_of
from tux.serve.answering import Answer, AnsweringModel
from tux.serve.current import CurrentModel, FixedModel
from tux.serve.questions import (
    FoldInQuestion,
    Question,
    RefusedRequest,
    ScoresQuestion,
    SimilarQuestion,
    TopQuestion,
    read_body,
    read_query,
)

MAX_BODY, DROPPED_BODY = 1 << 20, 1 << 23
"""Bytes of a body that are read, and those of a longer one that are received, so that its sender
sees the answer.
"""

MAX_REQUESTS = 64
"""Requests that are answered at a time; others are refused, and may be sent again."""

BODY_SECONDS = 15.0
"""Seconds in which a body must come: fewer than a connection has for a request, so that a slow
client is told so.
"""

QUICK_NUMBERS = 1 << 24
"""Numbers of a model's items that a question goes over in about a millisecond."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]


class AskedPath(NamedTuple):
    """The question that a path asks, the methods by which, and how a model answers it."""

    kind: type[Question]
    methods: tuple[str, ...]
    answer: Callable[[AnsweringModel, Any], Answer]


ROUTES = {
    "/top": AskedPath(TopQuestion, ("GET", "HEAD", "POST"), AnsweringModel.top),
    "/similar": AskedPath(SimilarQuestion, ("GET", "HEAD", "POST"), AnsweringModel.similar),
    "/fold-in": AskedPath(FoldInQuestion, ("POST",), AnsweringModel.fold_in),
    "/scores": AskedPath(ScoresQuestion, ("POST",), AnsweringModel.scores),
}
HEALTH = "/health"


class Guard(NamedTuple):
    """The condition for a request: a `token` in its header Authorization, or, where that is "", a
    name of the loopback interface as its host, and as its origin, if it tells one. So no page of
    another site that a browser shows can ask: neither under its own name (DNS rebinding) nor under
    that of this machine, by which it would get no answer but could have the server work.
    """

    token: str

    def check(self, headers: Headers) -> None:
        """Raise RefusedRequest if a request with these headers is not to be answered."""
        given = {name: value for name, value in reversed([*headers])}
        if self.token:
            scheme, _, told = given.get(b"authorization", b"").partition(b" ")
            same = hmac.compare_digest(told.strip(), self.token.encode())
            if not (same and scheme.lower() == b"bearer"):
                raise RefusedRequest(401, "a token is needed: Authorization: Bearer TOKEN")
        elif not is_loopback(name_of(given.get(b"host", b"").decode("latin-1"))):
            raise RefusedRequest(403, "ask under the name of this machine's own interface")
        elif _is_of_other_site(given):
            raise RefusedRequest(403, "pages of other sites may not ask")


def _is_of_other_site(given: Mapping[bytes, bytes]) -> bool:
    """Return whether a browser says that a page of another site makes a request."""
    *_, origin = given.get(b"origin", b"//localhost").partition(b"//")
    is_here = is_loopback(name_of(origin.decode("latin-1")))
    return given.get(b"sec-fetch-site", b"").lower() == b"cross-site" or not is_here


class ServerApp:
    """The application. `current` has the model of now; `tell` gets a line about a fault."""

    def __init__(
        self,
        current: CurrentModel | FixedModel,
        token: str = "",
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._current, self._guard, self._tell = current, Guard(token), tell
        self._busy = 0
        self._threads = ThreadPoolExecutor(threads(), "tux-serve")
        self._folding = ThreadPoolExecutor(1, "tux-serve-fold-in")

    def close(self) -> None:
        """Begin no more work."""
        for pool in (self._threads, self._folding):
            pool.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI has it."""
        if scope["type"] != "http":
            raise ValueError(f"no {scope['type']} here")
        extra: list[tuple[bytes, bytes]] = []
        try:
            status, answer = 200, await self._answer(scope, receive)
        except RefusedRequest as refusal:
            status, answer = refusal.status, {"error": refusal.text}
            extra = _headers_of_refusal(status, scope)
        except ConnectionResetError:
            return  # the client has gone
        except Exception as error:  # a fault of one answer ends no others
            self._tell(one_line(f"{scope['path']}: {type(error).__name__}: {error}"))
            status, answer = 500, {"error": "a fault of the server"}
        body = msgspec.json.encode(answer) + b"\n"
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
            *extra,
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive) -> Answer:
        """Answer a request, or raise RefusedRequest."""
        self._guard.check(scope["headers"])
        path, method = scope["path"], scope["method"]
        if path == HEALTH:
            _check_method(method, ("GET", "HEAD"))
            return self._health()
        route = ROUTES.get(path)
        if route is None:
            raise RefusedRequest(404, f"no such path; there are: {HEALTH}, {', '.join(ROUTES)}")
        _check_method(method, route.methods)
        if method == "POST":
            if scope["query_string"]:
                raise RefusedRequest(400, "a request by POST says all in its body")
            asked = read_body(await _read_all(scope["headers"], receive), route.kind)
        else:
            asked = read_query(scope["query_string"], route.kind)
        if self._busy >= MAX_REQUESTS:
            raise RefusedRequest(503, "busy: ask again")
        self._busy += 1  # not before the body is here, which a client may never send
        try:
            return await self._compute(route, asked)
        finally:
            self._busy -= 1

    async def _compute(self, route: AskedPath, asked: Question) -> Answer:
        """Compute an answer: at once, or by a thread if it takes longer."""
        model = self._current.model
        if model.is_quick(asked, QUICK_NUMBERS):
            return route.answer(model, asked)
        pool = self._folding if isinstance(asked, FoldInQuestion) else self._threads
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(pool, route.answer, model, asked)

    def _health(self) -> Answer:
        """Tell which model answers, and how many there have been."""
        model = self._current.model
        return {
            "status": "ok",
            "app": model.app,
            "vertices": model.sizes,
            "models": self._current.count,
        }


def _check_method(method: str, allowed: tuple[str, ...]) -> None:
    """Raise RefusedRequest for another method."""
    if method not in allowed:
        raise RefusedRequest(405, f"this path takes {', '.join(allowed)}")


def _headers_of_refusal(status: int, scope: MutableMapping[str, Any]) -> list[tuple[bytes, bytes]]:
    """Return the further headers of a refusal."""
    extra = [(b"connection", b"close")] if status in (408, 413) else []
    if status == 401:
        extra.append((b"www-authenticate", b"Bearer"))
    if status == 405:
        route = ROUTES.get(scope["path"])
        methods = route.methods if route else ("GET", "HEAD")
        extra.append((b"allow", ", ".join(methods).encode()))
    return extra + ([(b"retry-after", b"1")] if status == 503 else [])


async def _read_all(headers: Headers, receive: Receive) -> bytes:
    """Receive the body of a request. RefusedRequest if it is too long, or comes too slowly;
    ConnectionResetError if the client has gone.
    """
    told = next((value for name, value in headers if name == b"content-length"), b"0")
    parts: list[bytes] = []
    size, more = 0, True
    if told.isdigit() and int(told[:20]) > DROPPED_BODY:
        size, more = MAX_BODY + 1, False
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while more and size <= DROPPED_BODY:
                message = await receive()
                if message["type"] != "http.request":
                    raise ConnectionResetError
                piece, more = message.get("body", b""), message.get("more_body", False)
                size += len(piece)
                parts += [piece] if size <= MAX_BODY else []
    except TimeoutError:
        raise RefusedRequest(408, "the body comes too slowly") from None
    if size > MAX_BODY:
        raise RefusedRequest(413, f"a body has at most {MAX_BODY:,} bytes")
    return b"".join(parts)
