"""Compiled code for other processors: the environment in which numba compiles for fewer instructions than this one has."""

import os
import platform

import llvmlite.binding

LEVELS = {"x86-64-v2": "sse4.2", "x86-64-v3": "avx2"}  # and an instruction set that a processor of the level has


def runs(level):
    """Whether this processor has the level's instructions."""
    return platform.machine() in ("x86_64", "AMD64") and llvmlite.binding.get_host_cpu_features().get(LEVELS[level], False)


def environment(level):
    """The environment of a process that compiles for `level`.

    NUMBA_CPU_NAME alone is not enough: numba adds the features of the processor it runs on, unless
    NUMBA_CPU_FEATURES says otherwise. Empty, it leaves those of the named one.
    """
    return os.environ | {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
