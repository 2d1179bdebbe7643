"""Compiled code for other processors: the suite, where numba compiles for fewer instructions than
this processor has.

usage: python tests/cpus.py [ARGUMENTS OF PYTEST]

Runs the tests (all, or those that are named) once for each level and once for this processor as it
is. Each run compiles into a cache of its own, as tests/conftest.py makes one for each session.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

import llvmlite.binding

# and an instruction set that every processor of the level has
LEVELS = {"x86-64-v2": "sse4.2", "x86-64-v3": "avx2"}
NAMES = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
PARALLEL = ("--numprocesses", "auto", "--maxprocesses", "4", "--dist", "loadfile")


def runs(level):
    """Return whether this processor has the instructions of a level."""
    return platform.machine() in (
        "x86_64",
        "AMD64",
    ) and llvmlite.binding.get_host_cpu_features().get(LEVELS[level], False)


def environment(level):
    """The environment of a process that compiles for `level`, or for this processor ("native").

    NUMBA_CPU_NAME alone is not enough: numba adds the features of the processor it runs on, unless
    NUMBA_CPU_FEATURES says otherwise. Empty, it leaves those of the named one.
    """
    plain = {name: value for name, value in os.environ.items() if name not in NAMES}
    return plain if level == "native" else plain | dict(zip(NAMES, (level, ""), strict=True))


def main(argv):
    """Run the tests at each level. Return 1 if some fail. Levels that this processor does not run
    are left out with a message.
    """
    failed = []
    for level in (*LEVELS, "native"):
        if level != "native" and not runs(level):
            print(f"{level}: left out, as this processor does not run it", flush=True)
            continue
        print(f"{level}:", flush=True)
        command = [sys.executable, "-m", "pytest", *PARALLEL, *argv]
        if subprocess.run(
            command, env=environment(level), cwd=Path(__file__).parent.parent
        ).returncode:
            failed.append(level)
    print(f"failed: {', '.join(failed)}" if failed else "all levels passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
