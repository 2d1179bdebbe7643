"""The rules for who may see the page."""

import pytest

from tux.monitor.watch.access import Access, is_loopback, name_of


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_only_the_loopback_interface_needs_no_token(host, loopback):
    assert is_loopback(host) is loopback
    access = Access.of(host)
    assert bool(access.token) is not loopback
    assert access.root == ("/" if loopback else f"/{access.token}/")


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("127.0.0.1:8170", "127.0.0.1"),
        ("LOCALHOST", "localhost"),
        ("[::1]:80", "::1"),
        ("[::1]", "::1"),
        ("evil.example:8170", "evil.example"),
        ("127.0.0.1:8170.evil.example", "127.0.0.1:8170.evil.example"),
        ("", ""),
    ],
)
def test_names_of_hosts(header, name):
    assert name_of(header) == name


def test_on_the_loopback_interface_the_name_must_be_its_own():
    access = Access("")
    for good in ("127.0.0.1:1", "localhost:9999", "[::1]:2", "127.0.0.2:8170"):
        assert access.path("/data", good) == "data"
    for bad in ("evil.example:8170", "", "127.0.0.1.evil.example", "localhost:1@evil.example"):
        assert access.path("/data", bad) is None
    assert access.path("data", "localhost") is None


def test_elsewhere_the_path_begins_with_the_token():
    access = Access.of("0.0.0.0")
    token = access.token
    assert len(token) >= 32 and token != Access.of("0.0.0.0").token
    assert access.path(f"/{token}/", "any") == ""
    assert access.path(f"/{token}/data", "any") == "data"
    for bad in ("/", "/data", f"/{token}", f"/{token[:-1]}/", f"/{token}x/", f"//{token}/", "/ü/"):
        assert access.path(bad, "any") is None
