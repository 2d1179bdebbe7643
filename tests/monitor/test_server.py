"""The server on the loopback interface: what it answers, and to whom."""

import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection

import pytest
from support.machines.watched_run import write

from tux.base.errors import UsageError
from tux.monitor.watch import server
from tux.monitor.watch.access import Access
from tux.monitor.watch.server import PageServer


@contextmanager
def serving(folder, host="127.0.0.1"):
    with PageServer(folder, host, 0) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


@pytest.fixture
def ask(tmp_path):
    """Return ``ask(method, target, **headers)``, which gives status, headers and body."""
    with serving(write(tmp_path / "run1")) as made:

        def request(method, target, **headers):
            connection = HTTPConnection("127.0.0.1", made.server_port, timeout=30)
            connection.request(method, target, headers=headers)
            found = connection.getresponse()
            out = found.status, dict(found.headers), found.read()
            connection.close()
            return out

        yield request


def test_the_page(ask):
    status, headers, body = ask("GET", "/")
    assert status == 200 and b"<title>tux watch</title>" in body
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Server"] == "tux"
    assert headers["Cache-Control"] == "no-store"
    assert ask("HEAD", "/")[::2] == (200, b"")
    assert ask("GET", "/data")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_is_only_read(ask, method):
    status, headers, _ = ask(method, "/data")
    assert status == 405 and headers["Allow"] == "GET, HEAD"


def test_a_page_of_another_site_gets_nothing(ask):
    for target in ("/", "/data"):
        status, headers, body = ask("GET", target, Host="evil.example")
        assert status == 403 and b"run1" not in body
        assert "Access-Control-Allow-Origin" not in headers


def test_a_client_that_dawdles_is_hung_up_on(tmp_path, monkeypatch):
    """Though each of its bytes comes soon after the one before."""
    monkeypatch.setattr(server, "CLIENT_SECONDS", 0.2)
    with serving(write(tmp_path / "run1")) as made:
        with socket.create_connection(("127.0.0.1", made.server_port), timeout=30) as client:
            with pytest.raises(OSError, match="[Bb]roken pipe|reset"):
                while True:
                    client.sendall(b"G")
                    time.sleep(0.01)
        monkeypatch.setattr(server, "CLIENT_SECONDS", 20.0)
        connection = HTTPConnection("127.0.0.1", made.server_port, timeout=30)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()


def test_clients_that_send_nothing_keep_nobody_away(tmp_path, monkeypatch):
    """The oldest of them are hung up on for those that come."""
    monkeypatch.setattr(server, "MAX_REQUESTS", 3)
    with serving(write(tmp_path / "run1")) as made, ExitStack() as clients:
        where = ("127.0.0.1", made.server_port)
        silent = [
            clients.enter_context(socket.create_connection(where, timeout=30)) for _ in range(8)
        ]
        silent[-1].sendall(b"GET /data HTTP/1.1\r\n")
        for _ in range(5):
            connection = HTTPConnection(*where, timeout=30)
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
            connection.close()
        assert silent[0].recv(1) == b""


def test_the_address_of_the_page(tmp_path):
    folder = write(tmp_path / "run1")
    with PageServer(folder, "127.0.0.1", 0) as made:
        assert made.url == f"http://127.0.0.1:{made.server_port}/"
        with pytest.raises(UsageError) as error:
            PageServer(folder, "127.0.0.1", made.server_port)
        assert "--port" in error.value.do
        made.access = Access("word")
        assert made.url.endswith("/word/")


def test_the_usual_port_or_another(tmp_path, monkeypatch):
    with PageServer(tmp_path, "127.0.0.1", 0) as first:
        monkeypatch.setattr(server, "PORT", first.server_port)
        with PageServer.on_usual_port(tmp_path, "127.0.0.1") as second:
            assert second.server_port not in (0, first.server_port)
