"""The server on the loopback interface: what a client may send, and how it ends. Needs the extra
`serve`.
"""

import asyncio
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from support.serving import RANK, TOKEN, train, write_ratings

from tux.base.errors import UsageError

for _library in ("uvicorn", "httptools"):
    pytest.importorskip(_library, reason=f"{_library}, of the extra serve, is not installed")

from tux.serve import app, server  # noqa: E402

ASKED = b"GET /top?id=3&n=2 HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def serving(served):
    """Yield the port of a server of an application, in a thread, and the server."""
    made, listening = server.make_server(served), server.listen("127.0.0.1", 0)
    thread = threading.Thread(
        target=server.run_server, args=(made, served._current.refresh, listening)
    )
    thread.start()
    try:
        yield listening.getsockname()[1], made
    finally:
        made.should_exit = True
        thread.join()


@pytest.fixture
def port(als):
    """Return the port of a server of a model of ratings."""
    with serving(als.app) as (found, _):
        yield found


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def read_answers(client):
    """Return the statuses and the bodies of all answers until the server closes the connection."""
    received = b""
    while True:
        try:
            piece = client.recv(1 << 16)
        except ConnectionResetError:
            break
        if not piece:
            break
        received += piece
    answers = []
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        status = int(head.split()[1])
        if status == 100:
            continue
        length = next(
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length")
        )
        answers.append((status, json.loads(received[:length])))
        received = received[length:]
    return answers


def exchange(port, *pieces):
    """Send pieces, and return the answers; the last request says that the connection ends."""
    with connect(port) as client:
        for piece in pieces:
            try:
                client.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                break
        return read_answers(client)


CLOSED = ASKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")


def test_one_connection_answers_many_requests(port):
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    for _ in range(3):
        connection.request("GET", "/top?id=3&n=2")
        found = connection.getresponse()
        assert found.status == 200 and len(json.loads(found.read())["ids"]) == 2
        body = json.dumps({"pairs": [["film 1", 4]]})
        connection.request("POST", "/fold-in", body)
        assert connection.getresponse().read().startswith(b'{"unknown":0')
    connection.request("HEAD", "/health")
    assert connection.getresponse().read() == b""
    connection.close()


def test_requests_in_a_row_are_answered_in_order(port):
    answers = exchange(port, ASKED * 20 + CLOSED)
    assert len(answers) == 21 and {status for status, _ in answers} == {200}


def test_a_request_byte_by_byte(port):
    assert exchange(port, *(CLOSED[k : k + 1] for k in range(len(CLOSED))))[0][0] == 200


BAD = {
    "no HTTP": (b"\x16\x03\x01 hello\r\n\r\n", 400),
    "no method": (b"/ HTTP/1.1\r\n\r\n", 400),
    "two lengths": (
        b"POST /fold-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n",
        400,
    ),
    "a wrong piece": (
        b"POST /fold-in HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        400,
    ),
    "a negative length": (
        b"POST /fold-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: -3\r\n\r\n",
        400,
    ),
    "a long header": (ASKED[:-2] + b"X: " + b"x" * 20_000 + b"\r\n\r\n", 431),
    "many headers": (ASKED[:-2] + b"X: x\r\n" * 5000 + b"\r\n", 431),
    "a long address": (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n", 431),
    "bytes in the address": (b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    "another host": (b"GET /health HTTP/1.1\r\nHost: evil\r\nConnection: close\r\n\r\n", 403),
    "no host": (b"GET /health HTTP/1.0\r\n\r\n", 403),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_ends_in_an_error(port, case):
    sent, status = BAD[case]
    ((found, answer),) = exchange(port, sent)
    assert found == status and [*answer] == ["error"]


def test_a_header_that_does_not_end_is_cut_off(port):
    """Though its bytes come in small pieces, and the parser holds them all."""
    pieces = [ASKED[:-2] + b"X: "] + [b"x" * 1000] * 1000
    ((status, _),) = exchange(port, *pieces) or [(431, None)]  # or the connection is just closed
    assert status == 431


def test_a_body_that_is_too_long(port):
    head = b"POST /fold-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    assert exchange(port, head % (2 << 20), b" " * (2 << 20))[0][0] == 413
    assert exchange(port, head % (1 << 40))[0][0] == 413


def test_it_asks_for_a_body(port):
    head = (
        b"POST /fold-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 24\r\n"
        b"Expect: 100-continue\r\nConnection: close\r\n\r\n"
    )
    with connect(port) as client:
        client.sendall(head)
        assert client.recv(100).startswith(b"HTTP/1.1 100")
        client.sendall(b'{"pairs":[["film 1",4]]}')
        assert read_answers(client)[0][0] == 200


def test_an_upgrade_is_not_made(port):
    sent = CLOSED.replace(b"close", b"upgrade, close").replace(
        b"\r\n\r\n", b"\r\nUpgrade: h2c\r\n\r\n"
    )
    answers = exchange(port, sent)
    assert [status for status, _ in answers] == [200]


@pytest.mark.parametrize("before", [b"", ASKED, ASKED[:9]])
def test_a_client_that_dawdles_is_hung_up_on(als, monkeypatch, before):
    """Though each of its bytes comes soon after the one before."""
    monkeypatch.setattr(server, "CLIENT_SECONDS", 0.3)
    with serving(als.app) as (port, _), connect(port) as client:
        client.sendall(before)
        client.settimeout(0.01)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while True:
                client.sendall(b"\r" if before == ASKED else b"G")
                time.sleep(0.01)
    monkeypatch.undo()
    with serving(als.app) as (port, _):
        assert exchange(port, CLOSED)[0][0] == 200


def test_a_body_that_does_not_come_is_told(als, monkeypatch):
    """Before the connection is cut, though its pieces come."""
    assert app.BODY_SECONDS < server.CLIENT_SECONDS
    monkeypatch.setattr(app, "BODY_SECONDS", 0.2)
    head = b"POST /fold-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    with serving(als.app) as (port, _), connect(port) as client:
        client.sendall(head)
        client.settimeout(0.01)
        received = b""
        while not received:
            client.sendall(b" ")
            with suppress(TimeoutError):
                received = client.recv(1 << 16)
        assert received.startswith(b"HTTP/1.1 408") and b"connection: close" in received


def test_bodies_that_do_not_come_take_no_places(als, monkeypatch):
    monkeypatch.setattr(app, "MAX_REQUESTS", 1)
    head = b"POST /fold-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
    with serving(als.app) as (port, _), ExitStack() as clients:
        for _ in range(3):
            clients.enter_context(connect(port)).sendall(head)
        assert exchange(port, CLOSED)[0][0] == 200


def test_where_an_event_loop_runs_it_answers_too(als):
    """As in a notebook, whose loop waits until the server ends."""
    made, listening = server.make_server(als.app), server.listen("127.0.0.1", 0)

    async def serve():
        server.run_server(made, als.app._current.refresh, listening)

    port, thread = listening.getsockname()[1], threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert exchange(port, CLOSED)[0][0] == 200
    finally:
        made.should_exit = True
        thread.join()


def test_clients_that_send_nothing_keep_nobody_away(als, monkeypatch):
    """For one that comes, the one is closed that has waited longest."""
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 2)
    with serving(als.app) as (port, _), ExitStack() as clients:
        silent = [clients.enter_context(connect(port)) for _ in range(6)]
        silent[-1].sendall(ASKED[:9])
        for _ in range(4):
            assert exchange(port, CLOSED)[0][0] == 200
        assert read_answers(silent[0]) == []


def test_where_all_connections_are_being_answered_others_are_closed(als, monkeypatch):
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 1)
    monkeypatch.setattr(app, "QUICK_NUMBERS", -1)  # the loop answers nothing itself
    begun, go_on, route = threading.Event(), threading.Event(), app.ROUTES["/top"]

    def wait(model, asked):
        begun.set()
        assert go_on.wait(60)
        return route.answer(model, asked)

    monkeypatch.setitem(app.ROUTES, "/top", route._replace(answer=wait))
    with serving(als.app) as (port, _), connect(port) as first:
        first.sendall(CLOSED)
        assert begun.wait(60)
        assert exchange(port)[0][0] == 503
        go_on.set()
        assert read_answers(first)[0][0] == 200


def test_random_bytes_end_no_server(port):
    rng = random.Random(0)
    for _ in range(60):
        sent = bytearray(rng.choice([ASKED, CLOSED, CLOSED * 3, BAD["two lengths"][0]]))
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(sent))
            sent[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 4))
        with connect(port) as client:
            client.sendall(bytes(sent))
            client.shutdown(socket.SHUT_WR)
            client.settimeout(5)
            while client.recv(1 << 16):
                pass
    assert exchange(port, CLOSED)[0][0] == 200


def test_a_request_under_way_is_answered_at_the_end(als, monkeypatch):
    begun, go_on, route = threading.Event(), threading.Event(), app.ROUTES["/fold-in"]

    def wait(model, asked):
        begun.set()
        assert go_on.wait(60)
        return route.answer(model, asked)

    monkeypatch.setitem(app.ROUTES, "/fold-in", route._replace(answer=wait))
    with serving(als.app) as (port, made):
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", "/fold-in", json.dumps({"pairs": [["film 1", 4]]}))
        assert begun.wait(60)
        made.should_exit = True
        go_on.set()
        assert connection.getresponse().status == 200
        connection.close()


def test_a_port_that_is_taken(als):
    with server.listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # else asyncio leaves Nagle's algorithm on
        port = listening.getsockname()[1]
        assert server.address_of(listening) == f"http://127.0.0.1:{port}/"
        with pytest.raises(UsageError) as error:
            server.listen("127.0.0.1", port)
        assert "--port" in error.value.do
    with pytest.raises(UsageError):
        server.listen("no.such.host.invalid", 0)


# The command, as a process.


@contextmanager
def process_of(*flags, cwd):
    """Yield a process of the command, and the address at which it answers."""
    command = [sys.executable, "-m", "tux", "serve", *flags]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=cwd, text=True, **pipes) as process:
        try:
            yield process, process.stdout.readline().split()[0]
        finally:
            process.kill()


def ask(url, **headers):
    """Return the answer to a GET."""
    with urlopen(Request(url, headers=headers), timeout=60) as found:
        return json.loads(found.read())


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_until_a_signal(runs, number):
    with process_of("als", "--port", "0", cwd=runs) as (process, url):
        assert ask(f"{url}health")["app"] == "als"
        assert len(ask(f"{url}top?id=3&n=7")["ids"]) == 7
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and err == ""


@pytest.mark.slow
def test_elsewhere_a_token_is_needed(runs, tmp_path):
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    flags = ["als", "--port", "0", "--host", "0.0.0.0", "--token-file", str(tmp_path / "token")]
    with process_of(*flags, cwd=runs) as (process, url):
        url = url.replace("0.0.0.0", "127.0.0.1")
        with pytest.raises(HTTPError) as caught:
            ask(f"{url}health")
        assert caught.value.code == 401
        caught.value.close()
        assert ask(f"{url}health", Authorization=f"Bearer {TOKEN}")["status"] == "ok"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "not encrypted" in err and TOKEN not in err


@pytest.mark.slow
def test_a_process_finds_another_model(tmp_path):
    write_ratings(tmp_path / "ratings.csv")
    for name in ("run", "new"):
        train("als", tmp_path / "ratings.csv", tmp_path / name, rank=RANK)
    with process_of("run", "--port", "0", cwd=tmp_path) as (process, url):
        (tmp_path / "run").rename(tmp_path / "old")
        (tmp_path / "new").rename(tmp_path / "run")
        end = time.monotonic() + 120
        while ask(f"{url}health")["models"] < 2:
            assert time.monotonic() < end
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert "run has another model, which answers from now on" in err
