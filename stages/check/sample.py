"""A first look at a kernel: its first edges or vertices in plain Python with checks, on copies,
before the compiled loop.

An index out of bounds in compiled code is memory overwritten, so a kernel is tried before its first
use with arrays of new sizes or with new parameters. Its own source is run as Python with checked
UDFs (`tux.stages.check.rewrite`) until `STEPS` indices and turns of loops have passed. Everything
it writes goes into copies that are thrown away: a run's results do not change by a bit.

Python's numbers are not those of compiled code: integers do not overflow, and a division by zero is
an error. So what is found is only a suspicion: the kernel's first call then runs compiled with
checks, and that call tells the error. Other errors of the look are ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tux.base.cache import cache_folder
from tux.base.forks import Fork
from tux.stages.check import checks
from tux.stages.check.explain import udf_error
from tux.stages.kernel.compile import InjectedGlobal, Kernel, plain

STEPS = 300
"""Indices and turns of loops in a look: 2 to 15 ms, about 1% of what a kernel takes to compile."""


class LookEnd(BaseException):
    """The end of a look; no UDF catches it."""


class CopyOnRead:
    """An array (n, *shape) whose entries are copied when they are read, so that what is written
    to them does not reach it.
    """

    def __init__(self, array: np.ndarray) -> None:
        self._array, self.ndim, self.shape = array, array.ndim, array.shape
        self._copies: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, at: Any) -> Any:
        key = (at.start, at.stop) if isinstance(at, slice) else at
        if key not in self._copies:
            if isinstance(at, slice) and at.stop - at.start > STEPS:
                raise LookEnd
            found = self._array[at]
            self._copies[key] = found.copy() if isinstance(found, np.ndarray) else found
        return self._copies[key]

    def __setitem__(self, at: Any, value: Any) -> None:
        if isinstance(at, slice):  # the deltas of a block, when it is over
            raise LookEnd
        self._copies[at] = self._array.dtype.type(value)


class Look:
    """The count of steps that a look has made, and the functions that checked UDFs call in it."""

    def __init__(self) -> None:
        self.steps = 0

    def tick(self) -> None:
        """Count one step; raise LookEnd behind the last."""
        self.steps += 1
        if self.steps > STEPS:
            raise LookEnd

    def index(self, x: Any, i: Any, axis: int, site: int) -> Any:
        """Count a step, and check as `tux.stages.check.checks.index`."""
        self.tick()
        return checks.index(x, i, axis, site)

    def check_entry(self, x: Any, i: int, site: int) -> Any:
        """Count a step, and check as the function of this name in `tux.stages.check.checks`."""
        self.tick()
        return checks.check_entry(x, i, site)

    def load(self, x: Any, i: Any, site: int) -> Any:
        """Count a step, and check as `tux.stages.check.checks.load`."""
        self.tick()
        return checks.load(x, i, site)

    @property
    def functions(self) -> dict[str, Any]:
        """The functions that rewritten UDFs call, by name. Stored numbers are not tested: Python
        rounds others.
        """
        own = {
            "_tux_index": self.index,
            "_tux_held": self.check_entry,
            "_tux_load": self.load,
            "_tux_tick": self.tick,
        }
        return own | {"_tux_fits": lambda old, new, site: None, "_tux_alike": checks.alike}


def look_at_call(
    source: str, injected: dict[str, InjectedGlobal], arguments: Sequence[Any]
) -> tuple[bool, int]:
    """Return whether an index of the first steps of a kernel is out of bounds; and the number of
    steps.
    """
    look = Look()
    try:
        with np.errstate(all="ignore"):
            plain(source, injected, look.functions, look.tick)(*map(_copy_writable, arguments))
    except LookEnd:
        return False, look.steps
    except checks.OutOfBounds:
        return True, look.steps
    except Exception:
        return False, max(look.steps, 1)
    return False, look.steps


def _copy_writable(argument: Any) -> Any:
    """Return an argument of a kernel with its arrays replaced by copies where a UDF could write to
    them.
    """
    if isinstance(argument, tuple):
        return tuple(map(_copy_writable, argument))
    if isinstance(argument, np.ndarray) and argument.flags.writeable:
        return CopyOnRead(argument)
    return argument


class SampledKernel:
    """A kernel whose first call that has anything to do is looked at; `checked` makes the kernel
    that runs instead when the call is suspicious, and at each call when one of the `indices` is.

    What has been looked at is not again: the same kernel with the same parameters and sizes of
    arrays. Threads that share a call look at it first, and then `run` it.
    """

    def __init__(
        self,
        kernel: Kernel | Fork,
        checked: Callable[[], Kernel],
        source: str,
        injected: dict[str, InjectedGlobal],
        indices: Callable[[], bool],
    ) -> None:
        self._built: Any = kernel
        self.checked = checked
        self._source, self._injected = source, injected
        self._indices = indices
        self._udfs = [each.spec[0] for each in injected.values() if each.kind == "udf"]
        self.pending = 3  # calls without edges or vertices that are looked at in vain

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel, or the checked one if the call is suspicious."""
        self.choose(arguments)(*arguments)

    def choose(self, arguments: Sequence[Any]) -> Kernel:
        """Return the kernel that runs in a call: the checked one if the call is suspicious."""
        return self.checked() if self.is_wrong(arguments) else self.run

    def run(self, *arguments: Any) -> None:
        """Run the kernel, whose call has been looked at."""
        try:
            self._built(*arguments)
        except MemoryError:
            raise
        except Exception as error:
            raise udf_error(error, self._udfs) from error

    def is_wrong(self, arguments: Sequence[Any]) -> bool:
        """Look at a call, unless such a one has been looked at; return whether it is suspicious."""
        if self._indices():
            return True
        if not self.pending:
            return False
        if isinstance(self._built, Fork):
            self._built = self._built.result()
        mark = _mark(self._built.__module__, arguments)
        wrong, steps = (
            (False, 1) if mark.exists() else look_at_call(self._source, self._injected, arguments)
        )
        self.pending = 0 if steps else self.pending - 1
        if steps and not wrong:
            with suppress(OSError):
                mark.touch()
        return wrong


def _mark(name: str, arguments: Sequence[Any]) -> Path:
    """Return the file that says that kernel `name` has been looked at with such arguments."""
    told = repr([_sizes_of(each) for each in arguments if isinstance(each, tuple | np.ndarray)])
    return (
        cache_folder()
        / f"{name}_{hashlib.blake2b(told.encode(), digest_size=8).hexdigest()}.looked"
    )


def _sizes_of(argument: Any) -> Any:
    """Return the part of an argument that an index may depend on: the sizes of arrays, and
    parameters, which come in a tuple.
    """
    if isinstance(argument, tuple):
        return [_sizes_of(each) for each in argument]
    return argument.shape if isinstance(argument, np.ndarray) else argument
