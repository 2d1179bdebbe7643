"""Shares of lines in compiled code: by addresses that are found in it, as its own table of lines
tells them.
"""

import ctypes
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from tux.base.errors import TuxError
from tux.base.instruction_samples import InstructionSamples, can_sample
from tux.stages.kernel.compile import OPTIONS
from tux.stages.kernel.line_shares import _address_of, line_shares
from tux.stages.kernel.line_table import line_options, read_line_table

needs_sampling = pytest.mark.skipif(not can_sample(), reason="Linux on x86-64 or ARM")


def sums(values, out):
    out[0] = values[0] * 3.0
    for k in range(2000):
        for i in range(len(values)):
            out[1] += np.sqrt(values[i] + k)
    out[2] = out[1] / 7.0


def compile_sums(**more):
    made = njit(**OPTIONS, **more)(sums)
    made.compile((*[made.typeof_pyval(np.ones(3))] * 2,))
    return made


def line_of(text):
    """Return the ``file:line`` in which a text of `sums` stands. Of a file in the folder of what is
    compiled the table has the name alone; of a kernel, this is the folder of the cache.
    """
    with open(__file__, encoding="utf-8") as file:
        number = next(at for at, line in enumerate(file, 1) if text in line)
    return f"{Path(__file__).name}:{number}"


@pytest.fixture(scope="module")
def loop():
    return compile_sums()


@pytest.fixture(scope="module")
def table():
    made = compile_sums(**line_options())
    result = made.overloads[made.signatures[0]]
    return read_line_table(result.library._get_compiled_object(), result.fndesc.llvm_func_name)


@needs_sampling
def test_a_table_has_the_lines_of_the_function(table):
    lines = {f"{file}:{line}" for file, line in table.places if line}
    assert {line_of("out[0] = values"), line_of("out[1] += np"), line_of("out[2] = out")} <= lines
    assert table.starts == sorted(table.starts) and table.starts[0] == 0
    assert table.place(len(table.code)) is None and table.place(-1) is None
    assert read_line_table(b"no object file", "sums") is None


def skip_other_code(loop, table):
    """Skip a test where the compiler makes other code with a table of lines."""
    start = _address_of(loop)
    if not table.is_same_code(lambda at, size: ctypes.string_at(start + at, size)):
        pytest.skip("with a table of lines this compiler makes other code")


@needs_sampling
def test_code_is_compared_with_what_is_loaded(loop, table):
    skip_other_code(loop, table)
    assert not table.is_same_code(lambda at, size: bytes(size))


@needs_sampling
def test_the_line_with_most_samples_comes_first(loop, table):
    skip_other_code(loop, table)
    start, in_loop, before = _address_of(loop), line_of("out[1] += np"), line_of("out[0] = values")
    weights, found = {in_loop: 3, before: 1}, {}
    for at in table.starts:
        file, line = table.place(at) or ("", 0)
        found[start + at] = weights.pop(f"{file}:{line}", 0)
    lines, _ = line_shares(loop, lambda: compile_sums(**line_options()), found)
    assert [line.place for line in lines[:2]] == [in_loop, before]


@needs_sampling
def test_samples_of_calls_are_shared_among_lines(loop, table):
    skip_other_code(loop, table)
    sampler, found, values, out = InstructionSamples(), {}, np.ones(500), np.zeros(3)
    try:
        while sum(found.values()) < 50:
            sampler.start()
            loop(values, out)
            for address, count in sampler.stop().items():
                found[address] = found.get(address, 0) + count
    finally:
        sampler.close()
    lines, how = line_shares(loop, lambda: compile_sums(**line_options()), found)
    assert sum(line.share for line in lines) == pytest.approx(1)
    assert "samples of the compiled code" in how


@needs_sampling
def test_addresses_outside_of_the_kernel_are_told_together(loop, table):
    skip_other_code(loop, table)
    start = _address_of(loop)
    lines, _ = line_shares(
        loop, lambda: compile_sums(**line_options()), {start: 1, 1: 2, start - 9: 1}
    )
    assert lines[0].place.startswith("outside of the kernel") and lines[0].share == 0.75


def test_without_samples_or_with_other_code_nothing_is_told(loop):
    assert line_shares(loop, compile_sums, {})[0] == []
    lines, how = line_shares(loop, compile_sums, {1: 1})  # without a table
    assert lines == [] and "its code is another" in how


def test_a_kernel_that_cannot_be_compiled_again_has_no_lines(loop):
    def fails():
        raise TuxError("no room")

    assert line_shares(loop, fails, {1: 1})[0] == []


@needs_sampling
def test_other_threads_are_not_sampled_and_the_signal_is_given_back():
    before, sampler, found = signal.getsignal(signal.SIGALRM), InstructionSamples(), []

    def work():
        sampler.start()
        found.append(sampler.stop())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    sampler.close()
    assert found == [{}] and signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
