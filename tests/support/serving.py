"""Small models to be served, and a client of an application that answers without sockets."""

import asyncio
import json
from types import SimpleNamespace

import numpy as np
import pytest

from tux.options.options import RunOptions
from tux.program.sources import find
from tux.runs.session import run as run_into
from tux.serve.answering import load_model
from tux.serve.app import ServerApp
from tux.serve.current import FixedModel

USERS, ITEMS, RANK = 12, 40, 4
TOKEN = "a-token-of-the-tests"


def write_ratings(path, seed=0):
    """Write ratings of all users, whose ids are numbers, of some items, whose ids are words."""
    rng = np.random.default_rng(seed)
    rows = {}
    for user in range(USERS):
        for item in [*range(user, ITEMS, USERS), *rng.choice(ITEMS, 9, replace=False)]:
            rows[f"{user},film {item}"] = rng.integers(1, 6)
    lines = ["user,item,rating", *(f"{pair},{rating}" for pair, rating in rows.items())]
    path.write_text("\n".join(lines) + "\n")


def train(app, data, out, **parameters):
    """Train a model into a folder."""
    options = RunOptions(out=str(out), epochs=2, jit=False)
    run_into(find(app).program(**parameters), str(data), options=options)


class Asking:
    """A client of an application that speaks ASGI. An answer has `status`, `headers` and `json`."""

    def __init__(self, app, host=b"127.0.0.1:8171"):
        self.app, self.host = app, host

    def __call__(self, target, body=None, method=None, headers=(), pieces=None, query=None):
        """Ask for a path with its query, by POST if there is a body: an object, or bytes."""
        path, _, own = target.partition("?")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        scope = {
            "type": "http",
            "method": method or ("GET" if body is None else "POST"),
            "path": path,
            "query_string": own.encode() if query is None else query,
            "headers": [(b"host", self.host), *headers],
        }
        pieces = [body or b""] if pieces is None else pieces
        return asyncio.run(self._run(scope, iter(pieces), len(pieces)))

    async def _run(self, scope, pieces, left):
        sent = []

        async def receive():
            nonlocal left
            left -= 1
            return {"type": "http.request", "body": next(pieces, b""), "more_body": left > 0}

        async def send(message):
            sent.append(message)

        await self.app(scope, receive, send)
        start, end = sent
        assert (start["type"], end["type"]) == ("http.response.start", "http.response.body")
        headers = dict(start["headers"])
        assert headers[b"content-type"] == b"application/json"
        assert int(headers[b"content-length"]) == len(end["body"])
        assert end["body"].endswith(b"\n") and end["body"].count(b"\n") == 1
        status, answer = start["status"], json.loads(end["body"])
        assert (status == 200) == ("error" not in answer)
        return SimpleNamespace(status=status, headers=headers, json=answer)


def client_of(folder, **more):
    """Return a client of the model of a folder, for which a fault of the server is a failure."""
    return Asking(ServerApp(FixedModel(load_model(folder, **more)), tell=pytest.fail))
