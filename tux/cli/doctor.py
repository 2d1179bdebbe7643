"""The findings of `tux doctor` on a machine: versions, processor, memory, the cache folder, and
whether a kernel compiles and runs.
"""

from __future__ import annotations

import os
import platform
import tempfile
import time
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from tux.base.cache import cache_folder
from tux.base.disk_speed import disk_speed
from tux.base.memory_speed import copy_speed
from tux.base.parallel import cores

PACKAGES = ("tux", "numpy", "numba", "llvmlite", "pyarrow", "msgspec", "networkx", "rich")

KERNEL = '''"""A sum, to see that kernels compile and run."""


def kernel(values, out):
    for i in range(len(values)):
        out[0] += values[i]
'''


def examine() -> tuple[dict[str, str], bool]:
    """Examine this machine; return findings by name, and whether all is well."""
    packages = {name: _version(name) for name in PACKAGES}
    folder = cache_folder()
    kept = [entry.stat().st_size for entry in folder.rglob("*") if entry.is_file()]
    kernel, good = _kernel()
    findings = {
        "python": f"{platform.python_version()} ({platform.machine()}, {platform.system()})",
        **packages,
        "processor": _processor(),
        "cores": str(cores()),
        "memory": _memory(),
        "memory speed": f"{copy_speed(cores()) / 1e9:.1f} GB/s, by copying with all cores",
        "disk": _disk(),
        "cache folder": (
            f"{folder}, {len(kept):,} files, {sum(kept) / 1e6:.1f} MB, "
            f"{'' if os.access(folder, os.W_OK) else 'not '}writable"
        ),
        "kernel": kernel,
    }
    return findings, good and "missing" not in packages.values()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _processor() -> str:
    """Return the compiler's name for the processor, and the width of its vectors."""
    try:
        from llvmlite import binding  # type: ignore[import-untyped]
    except ImportError:
        return "unknown"
    features = binding.get_host_cpu_features()
    width = next(
        (
            bits
            for feature, bits in (("avx512f", 512), ("avx2", 256), ("avx", 256))
            if features.get(feature)
        ),
        128,
    )
    return f"{binding.get_host_cpu_name()}, vectors of {width} bits"


def _memory() -> str:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return "unknown"
    return f"{pages * size / 2**30:.1f} GiB"


def _disk() -> str:
    """Measure the disk of temporary files."""
    folder = tempfile.gettempdir()
    try:
        written, read = disk_speed(folder)
    except OSError as error:
        return f"{folder}: {error.strerror}"
    return f"{folder}: {written / 1e6:,.0f} MB/s written, {read / 1e6:,.0f} MB/s read"


def _kernel() -> tuple[str, bool]:
    """Compile and run a kernel in the way that stages do."""
    try:
        import numpy as np

        values, out = np.arange(1000.0), np.zeros(1)
        start = time.perf_counter()
        kernel = import_module("tux.stages.kernel.compile").build(
            KERNEL, {}, (values, out), jit=True
        )
        seconds = time.perf_counter() - start
        kernel(values, out)
    except Exception as error:
        return f"fails: {type(error).__name__}: {error}", False
    right = out[0] == values.sum()
    return f"{'compiled or loaded' if right else 'wrong result'} in {seconds:.2f} s", bool(right)
