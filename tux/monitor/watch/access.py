"""Access to the page.

On the loopback interface, everyone on this machine may see it. A page of another site may have the
browser of a user ask there too, under the name of that site: so the name must be one of this
interface. On another interface, everyone may see it who has the token, which is the first part of
each path.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from typing import NamedTuple


class Access(NamedTuple):
    """The condition for a request: a `token` in its path, or, where that is "", a name of the
    loopback interface as its host.
    """

    token: str

    @staticmethod
    def of(host: str) -> Access:
        """Return the condition of a server that listens on `host`."""
        return Access("" if is_loopback(host) else secrets.token_urlsafe(24))

    @property
    def root(self) -> str:
        """The path of the page."""
        return f"/{self.token}/" if self.token else "/"

    def path(self, asked: str, host: str) -> str | None:
        """Return the path that is asked for below the root; None where that is not allowed. `host`:
        the header.
        """
        if not asked.startswith("/"):
            return None
        if not self.token:
            return asked[1:] if is_loopback(name_of(host)) else None
        first, slash, rest = asked[1:].partition("/")
        same = hmac.compare_digest(first.encode(), self.token.encode())
        return rest if same and slash else None


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on, or a name in a Host header, is one of the loopback
    interface. Of names, only "localhost" is; other names are not looked up.
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def name_of(host: str) -> str:
    """Return the name in a Host header, without the port: it may be another one, as a tunnel has
    one of its own.
    """
    name, colon, port = host.strip().lower().rpartition(":")
    if not colon or not port.isdigit():
        name = host.strip().lower()
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name
