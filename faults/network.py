"""Two machines as network namespaces that a virtual cable joins."""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import struct
import subprocess
import time
from collections import deque
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import Self

from faults.room import is_root

NAMES = Path("/run/netns")
OWN = f"tux-faults-{os.getpid()}-"
"""How the names of this process's namespaces begin."""


@cache
def no_namespaces() -> str:
    """Return why there are no network namespaces here; "" if there are."""
    if not is_root() or not shutil.which("ip"):
        return "network namespaces need root and iproute2"
    name = f"{OWN}try"
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if done.returncode:
        return f"no network namespaces here: {done.stderr.strip()}"
    ip("netns", "del", name)
    return ""


@cache
def no_resets() -> str:
    """Return why connections cannot be reset here; "" if they can."""
    if why := no_namespaces():
        return why
    if not shutil.which("ss"):
        return "resetting connections needs ss"
    done = subprocess.run(["ss", "-tK", "dport", "=", "1"], capture_output=True, text=True)
    return "the kernel resets no connections (ss -tK)" if done.stderr.strip() else ""


def ip(*words: str) -> None:
    """Run iproute2."""
    subprocess.run(["ip", *words], check=True)


class Cable:
    """Two machines, 10.78.0.1 and 10.78.0.2. As a context it removes them."""

    def __init__(self) -> None:
        self.spaces = (f"{OWN}a", f"{OWN}b")
        self.ends = (f"ta{os.getpid()}", f"tb{os.getpid()}")

    def __enter__(self) -> Self:
        try:
            for space in self.spaces:
                ip("netns", "add", space)
            self._join()
            for number, (space, end) in enumerate(zip(self.spaces, self.ends, strict=True), 1):
                ip("link", "set", end, "netns", space)
                ip("-n", space, "addr", "add", f"10.78.0.{number}/24", "dev", end)
                ip("-n", space, "link", "set", end, "up")
                ip("-n", space, "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _join(self) -> None:
        """Make the two ends of the link."""
        ip("link", "add", self.ends[0], "type", "veth", "peer", "name", self.ends[1])

    def __exit__(self, *_: object) -> None:
        for space in self.spaces:
            subprocess.run(["ip", "netns", "del", space], capture_output=True)

    def wrap(self, machine: int) -> list[str]:
        """Return the words in front of a command that run it on a machine."""
        return ["ip", "netns", "exec", self.spaces[machine]]

    def cut(self) -> None:
        """Cut the link."""
        ip("-n", self.spaces[0], "link", "set", self.ends[0], "down")

    def mend(self) -> None:
        """Mend the link."""
        ip("-n", self.spaces[0], "link", "set", self.ends[0], "up")

    def reset(self) -> None:
        """Reset all connections between the machines; what is under way in them is lost."""
        command = ["ss", "-tK", "dst", "10.78.0.2"]
        subprocess.run([*self.wrap(0), *command], check=True, capture_output=True)


class RelayedCable(Cable):
    """Two machines between which a thread of this process carries each packet: `delay` seconds
    late, or not at all while it is cut. So a link that is cut is silent, as a switch that fails.
    """

    delay = 0.0

    def __init__(self) -> None:
        super().__init__()
        self._ended, self._carries = Event(), True
        self._tunnels: list[int] = []

    def _join(self) -> None:
        for end in self.ends:
            self._tunnels.append(open_tunnel(end))
        self._thread = Thread(target=self._carry, daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        if self._tunnels:
            self._ended.set()
            self._thread.join()
        super().__exit__()
        for number in self._tunnels:
            os.close(number)
        self._tunnels.clear()

    def cut(self) -> None:
        """Cut the link: all packets are lost from now on."""
        self._carries = False

    def mend(self) -> None:
        """Mend the link: packets are carried again."""
        self._carries = True

    def _carry(self) -> None:
        """Carry packets until the machines are removed, in the order in which they came."""
        other = dict(zip(self._tunnels, reversed(self._tunnels), strict=True))
        waiting: deque[tuple[float, int, bytes]] = deque()
        while not self._ended.is_set():
            pause = min(0.05, max(0.0, waiting[0][0] - time.monotonic())) if waiting else 0.05
            for number in select.select(self._tunnels, [], [], pause)[0]:
                with suppress(OSError):  # it is not up yet
                    packet = os.read(number, 1 << 16)
                    waiting.append((time.monotonic() + self.delay, other[number], packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, number, packet = waiting.popleft()
                with suppress(OSError):
                    if self._carries:
                        os.write(number, packet)


TUNNELS = Path("/dev/net/tun")
SET_NAME, AS_PACKETS = 0x400454CA, 0x1001
"""The request that names a tunnel's interface, and the kind of one whose packets have no head."""


def open_tunnel(name: str) -> int:
    """Make a network interface whose packets this process reads and writes; return the number of
    its file. Raises OSError.
    """
    number = os.open(TUNNELS, os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.ioctl(number, SET_NAME, struct.pack("16sH22x", name.encode(), AS_PACKETS))
    except OSError:
        os.close(number)
        raise
    return number


@cache
def no_relay() -> str:
    """Return why no packets can be carried here; "" if they can."""
    if why := no_namespaces():
        return why
    try:
        os.close(open_tunnel(f"try{os.getpid()}"))
    except OSError as error:
        return f"no tunnels here: {error.strerror}"
    return ""
