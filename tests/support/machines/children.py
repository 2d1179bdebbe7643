"""Processes that this one has started."""

import os
import time
from pathlib import Path


def running(module):
    """Return the process ids of this process's children that run a module, by the number that
    follows two words behind its name: that of a worker or of a loader.
    """
    found = {}
    for each in Path("/proc").iterdir():
        try:
            line = _command_of_child(each)
        except (OSError, ValueError, IndexError):  # it is no process, or has just ended
            continue
        if module in line:
            found[int(line[line.index(module) + 2])] = int(each.name)
    return found


def _command_of_child(process):
    """Return the words of the command of a process of /proc; none if it is no child of this one."""
    while True:
        line = (process / "cmdline").read_bytes().decode().split("\0")
        state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
        if int(parent) != os.getpid():
            return []
        if line != [""] or state == "Z":
            return line
        time.sleep(0.001)  # Popen returns a moment before the kernel has set the command's words


def dead_process():
    """Return the number of a process that has ended."""
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    return child
