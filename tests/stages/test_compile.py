"""Kernels: what their names depend on, that a second process compiles nothing, and how a UDF's
mistakes are told.
"""

import importlib.util
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from support.programs.programs import NodeDegrees, both, column, complete, drive, points_at, start

import tux.stages.kernel.compile as kernels
from tux import Context, Edge, Program, Vertex, data, param, shared, total
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import Exchange

EDGES = from_arrays(["a", "a", "b"], [1, 2, 2], ends=("user", "item"), w=np.float32([1, 2, 3]))


class KernelName(Exception):
    """Carries the name of a kernel that would now be written."""


def name_of(monkeypatch, program, stage, edges=EDGES, **options):
    """Return the module name of the kernel of `stage`; nothing is compiled."""

    def raise_name(name, source, scope):
        raise KernelName(name)

    monkeypatch.setattr(kernels, "_module", raise_name)
    with pytest.raises(KernelName) as named:
        start(program, edges, **options).prepare([stage])
    return str(named.value)


def declare_program(field, step=None, width=2):
    """Return a program with this user field and this type of step."""
    members = {
        "user": Vertex(n=field, w=shared("width")),
        "item": Vertex(),
        "link": Edge("user", "item", w=data()),
        "tau": Context(sum=total()),
    }
    members |= {"step": step or param(0.5), "width": param(width)}
    return type("Declared", (Program,), members)


def update(user, tau, p):
    user.n += 1
    tau.sum += p.step


def test_kernels_differ_by_types_and_stage_but_not_by_values(monkeypatch):
    def name(*declaration, stage=None, **options):
        program = declare_program(*declaration)(**options.pop("parameters", {}))
        return name_of(monkeypatch, program, stage or Exchange(update), **options)

    first = name(shared("i8"))
    others = [
        name(shared("i4")),
        name(shared("f4")),
        name(shared("i8"), param(1)),
        name(shared("i8"), param(0.5, dtype="f4")),
        name(shared("i8"), param(True)),
        name(shared("i8"), stage=Exchange(update, over="item")),
        name(shared("i8"), stage=Exchange(update, enter=lambda user: None)),
        name(shared("i8"), jit=False),
    ]
    assert len({first, *others}) == 9
    same = [
        name(shared("i8"), parameters={"step": 0.25, "width": 5}),
        name(shared("i8", init=3)),
        name(shared("i8"), seed=1),
        name(
            shared("i8"),
            edges=from_arrays([1, 2], [3, 4], ends=("user", "item"), w=np.float32([1, 1])),
        ),
    ]
    assert set(same) == {first}


COUNTING = """
import numpy as np
import tux.stages.kernel.thread_loop as thread_loop
from support.programs.programs import NodeDegrees, column, complete
from tux.arrays.networks import from_arrays

built, build = [], thread_loop.build

def counted(*args, **options):
    built.append(build(*args, **options))
    return built[-1]

thread_loop.build = counted
worker = complete(NodeDegrees(), from_arrays([1, 1, 2], [2, 3, 3], ends=("node", "node")), 1)
kinds = ("cache_hits", "cache_misses")
hits, misses = (sum(sum(getattr(k.stats, of).values()) for k in built) for of in kinds)
print(len(built), hits, misses, *column(worker, "node", "indegree"))
"""


def counts(folder):
    path = os.pathsep.join(
        [os.path.dirname(os.path.dirname(__file__)), os.environ.get("PYTHONPATH", "")]
    )
    environment = {**os.environ, "TUX_CACHE_DIR": str(folder), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", COUNTING],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path):
    assert counts(tmp_path) == [2, 0, 2, 0, 1, 2]
    assert counts(tmp_path) == [2, 2, 0, 0, 1, 2]


def test_kernels_lie_in_the_cache_folder_with_their_stage(tmp_path, monkeypatch):
    monkeypatch.setenv("TUX_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "_LOADED", {})  # another test may have compiled it
    complete(NodeDegrees(), from_arrays([1, 1, 2], [2, 3, 3], ends=("node", "node")), 1)
    sources = [path.read_text() for path in tmp_path.glob("tux_kernel_*.py")]
    assert any(source.startswith('"""Exchange(count_both)"""') for source in sources)
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.long(after=1)
@pytest.mark.slow(after=1)
@pytest.mark.parametrize("kind", ["py", "nbi", "nbc"])
def test_a_damaged_kernel_is_compiled_anew(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("TUX_CACHE_DIR", str(tmp_path))
    graph = from_arrays([1, 1, 2], [2, 3, 3], ends=("node", "node"))
    for damage in (False, True, False):
        monkeypatch.setattr(kernels, "_LOADED", {})
        if damage:
            for path in tmp_path.rglob(f"*.{kind}"):
                path.write_bytes(path.read_bytes()[:-3])
            with pytest.warns(UserWarning, match=f"tux_kernel_.*{kind} is damaged: "):
                worker = complete(NodeDegrees(), graph, 1)
        else:
            worker = complete(NodeDegrees(), graph, 1)
        np.testing.assert_array_equal(column(worker, "node", "indegree"), [0, 1, 2])


class SmallForUdfs(Program):
    """For UDFs of all sorts."""

    user = Vertex(n=shared("i8"), x=shared("f8"))
    item = Vertex(n=shared("i8"))
    link = Edge("user", "item", w=data("f4"))
    tau = Context(sum=total(), n=total("i8"))


OFFSETS = np.array([10.0, 20.0])
PAIR = (2, 3.5)


def bump(user, by):
    user.x += by


def smooth(x, sharp=2.0):
    return 1 / (1 + math.exp(-sharp * x))


def clip(x, low=0.0, high=2.5):
    return min(max(x, low), high)


def squash(x):
    return np.sqrt(abs(clip(x))) + np.log1p(x) + math.floor(x) + np.float32(0.5)


def everything(user, link, tau):
    bump(user, squash(link.w) + OFFSETS[1] + PAIR[1])
    user.n += PAIR[0] if np.isnan(user.x) or link.w > 1.5 else int(round(link.w))
    tau.sum += max(np.cos(0.0), 0.5) + smooth(0.0, sharp=1.0)


@both
def test_helpers_constants_and_functions_of_math(jit):
    worker = drive(start(SmallForUdfs(), EDGES, jit=jit), Exchange(everything))
    each = [squash(w) + 23.5 for w in (1.0, 2.0, 3.0)]
    np.testing.assert_allclose(column(worker, "user", "x"), [each[0] + each[1], each[2]], rtol=1e-6)
    assert column(worker, "user", "n").tolist() == [3, 2] and worker.tau.sum == pytest.approx(4.5)


def keyword_default(tau):
    tau.sum += smooth(0.0)


@both
def test_a_helper_may_have_a_default_that_is_named(jit):
    assert drive(start(SmallForUdfs(), EDGES, jit=jit), Exchange(keyword_default)).tau.sum == 1.5


def closing_over(x):
    def inner():
        return x

    def udf(tau):
        tau.sum += inner()

    return udf


@both
def test_closures(jit):
    assert drive(start(SmallForUdfs(), EDGES, jit=jit), Exchange(closing_over(3))).tau.sum == 9


def divides(user, tau):
    tau.sum += 1.0 / user.n


def not_a_number(tau):
    tau.n += np.isnan(np.inf - np.inf) + math.isinf(np.inf)


@pytest.mark.slow
def test_division_by_zero_is_infinite_and_nan_keeps_its_meaning():
    assert drive(start(SmallForUdfs(), EDGES), Exchange(divides)).tau.sum == np.inf
    assert drive(start(SmallForUdfs(), EDGES), Exchange(not_a_number)).tau.n == 6


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def recurses(user):
    user.n += factorial(3)


def adds_text(user):
    user.n += 1
    user.n = user.n + "x"


def unknown_global(user):
    user.n += no_such_name  # noqa: F821


def unknown_function(user):
    user.n += np.no_such_function(3)


def bad_helper(x):
    return x + "a"


def calls_bad_helper(user):
    user.n += bad_helper(1)


def read_a_file(user):
    with open("x") as file:
        user.n += len(file.read())


def misspelt(user, edges):
    user.n += edges[0].ww


def misspelt_target(user, edges):
    edges[0].ww = user.n


def of_the_other_end(user, edges):
    user.n += edges[0].n


MISTAKES = [
    (misspelt, misspelt, r"an edge of `edges` has no field ww \(fields: w read-only\)"),
    (misspelt_target, misspelt_target, "an edge of `edges` has no field ww"),
    (of_the_other_end, of_the_other_end, "fields of the other end are edge.item.FIELD"),
    (adds_text, adds_text, "int64.*x"),
    (unknown_global, unknown_global, "no_such_name"),
    (unknown_function, unknown_function, "no_such_function"),
    (calls_bad_helper, bad_helper, "int.*a"),
    (recurses, factorial, "factorial"),
    (read_a_file, read_a_file, "."),
]


@pytest.mark.parametrize(
    ("udf", "place", "reason"), MISTAKES, ids=[udf.__name__ for udf, *_ in MISTAKES]
)
def test_a_typing_error_is_told_with_file_line_and_reason(udf, place, reason):
    with pytest.raises(ProgramError, match=reason) as error:
        start(SmallForUdfs(), EDGES).prepare([Exchange(udf)])
    assert (
        udf.__name__ in error.value.what
        and len(error.value.what.splitlines()) <= 2
        and len(error.value.what) < 300
    )
    file, _, line = error.value.where.rpartition(":")
    first = place.__code__.co_firstlineno
    assert file.endswith("test_compile.py") and first <= int(line) <= first + 3, str(error.value)
    assert place is not udf or points_at(error.value, udf)


def test_a_module_function_is_to_be_imported_by_name(define_udf):
    helpers = importlib.util.module_from_spec(importlib.util.spec_from_loader("helpers", None))
    helpers.twice = define_udf("def udf(x):\n    return 2 * x\n")
    udf = define_udf("def udf(tau, link):\n    tau.sum += helpers.twice(link.w)\n", helpers=helpers)
    with pytest.raises(ProgramError, match="from MODULE import FUNCTION"):
        start(SmallForUdfs(), EDGES).prepare([Exchange(udf)])
