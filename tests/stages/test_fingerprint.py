"""The source on which the fingerprint of a kernel depends, and other changes, which leave it."""

import importlib.util
import math
import subprocess
import sys
import types

import cpus
import numpy as np
import pytest

from tux.stages.kernel.fingerprint import fingerprint

BASE = """
    STEP = 0.5

    def helper(x):
        return x + 1

    def udf(user, tau):
        user.n += helper(2)
        tau.sum += STEP
"""
SAME = {
    "comments": (("    STEP", "    # A comment.\n    STEP"), ("user.n +=", "user.n  +=")),
    "blank lines": (
        ("def udf", "\n\n\n    def udf"),
        ("tau.sum += STEP", "\n\n        tau.sum += STEP  # why"),
    ),
    "an unread global": (("STEP = 0.5", "STEP = 0.5\n    OTHER = 3"),),
}
OTHER = {
    "the code": (("helper(2)", "helper(3)"),),
    "an operator": (("user.n +=", "user.n -="),),
    "a field's name": (("user.n +=", "user.m +="),),
    "the order of parameters": (("user, tau", "tau, user"),),
    "a helper's code": (("x + 1", "x * 1"),),
    "a global's value": (("STEP = 0.5", "STEP = 0.25"),),
    "a global's type": (("STEP = 0.5", "STEP = 1"),),
    "a helper's default": (("helper(x)", "helper(x, y=1)"),),
}


def edit_base(edits):
    source = BASE
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize("edits", SAME.values(), ids=SAME)
def test_fingerprint_does_not_depend_on(define_udf, edits):
    assert fingerprint([], [define_udf(edit_base(edits))]) == fingerprint([], [define_udf(BASE)])


@pytest.mark.parametrize("edits", OTHER.values(), ids=OTHER)
def test_fingerprint_depends_on(define_udf, edits):
    assert fingerprint([], [define_udf(edit_base(edits))]) != fingerprint([], [define_udf(BASE)])


def closing_over(x):
    def inner():
        return x

    def udf(tau):
        tau.sum += inner()

    return udf


def test_fingerprint_depends_on_closures():
    prints = {
        fingerprint([], [closing_over(x)])
        for x in (1, 2, 1.0, True, (1, 2), np.arange(3), np.arange(3.0), np.arange(4), "a", None)
    }
    assert len(prints) == 10 and fingerprint([], [closing_over(2)]) in prints


def reads_global(tau):
    tau.sum += GLOBAL  # noqa: F821


def test_fingerprint_depends_on_every_kind_of_value(monkeypatch):
    long = np.zeros(5000)
    long_too = long.copy()
    long_too[2500] = 1
    values = [
        1,
        1.0,
        (1, 2),
        (1, (2, 3)),
        long,
        long_too,
        (1, long),
        (1, long_too),
        np.float32(1),
        np.float64(1),
        math,
        abs,
    ]
    prints = []
    for thing in values:
        monkeypatch.setitem(globals(), "GLOBAL", thing)
        prints.append(fingerprint([], [reads_global]))
    assert [prints.count(found) for found in prints] == [1] * len(values)


def test_fingerprint_depends_on_what_a_udf_reads_of_a_module(define_udf, tmp_path):
    source = "def udf(tau):\n    tau.sum += settings.STEP\n"
    (one, other) = (
        importlib.util.module_from_spec(importlib.util.spec_from_loader("settings", None))
        for _ in range(2)
    )
    one.STEP, other.STEP = 0.5, 0.25
    assert fingerprint([], [define_udf(source, settings=one)]) != fingerprint(
        [], [define_udf(source, settings=other)]
    )
    inside = "def udf(tau):\n    tau.sum += package.settings.STEP\n"
    packages = [types.ModuleType("package") for _ in range(2)]
    packages[0].settings, packages[1].settings = one, other
    udfs = [define_udf(inside, package=each) for each in packages]
    assert fingerprint([], udfs[:1]) != fingerprint([], udfs[1:])


@pytest.mark.long
def test_fingerprint_depends_on_the_processor_that_numba_compiles_for():
    """Its name and its features, which numba takes from two variables."""
    command = [
        sys.executable,
        "-c",
        "from tux.stages.kernel.fingerprint import fingerprint; print(fingerprint([], []))",
    ]
    native = cpus.environment("native")
    chosen = (
        native,
        native | {"NUMBA_CPU_NAME": "x86-64-v2"},
        cpus.environment("x86-64-v2"),
        cpus.environment("x86-64-v3"),
    )
    prints = [
        subprocess.run(command, env=each, capture_output=True, text=True, check=True).stdout
        for each in chosen
    ]
    assert len(set(prints)) == len(chosen)


def test_fingerprint_of_recursion_ends(define_udf):
    assert fingerprint([], [define_udf("def udf(x):\n    return udf(x - 1) if x else 0\n")])
