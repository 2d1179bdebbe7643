"""Two machines as network namespaces that a virtual cable joins."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
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
            ip("link", "add", self.ends[0], "type", "veth", "peer", "name", self.ends[1])
            for number, (space, end) in enumerate(zip(self.spaces, self.ends, strict=True), 1):
                ip("link", "set", end, "netns", space)
                ip("-n", space, "addr", "add", f"10.78.0.{number}/24", "dev", end)
                ip("-n", space, "link", "set", end, "up")
                ip("-n", space, "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

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
