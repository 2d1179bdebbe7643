"""`precision = "f4"`: what has no type of its own takes the type of what it meets, compiled and as
plain Python, with checks and without.
"""

import numpy as np
import pytest
from support.programs.programs import drive, start

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    argmin,
    axpy,
    dot,
    dots,
    norm2,
    param,
    shared,
    total,
    value,
)
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import ForEach
from tux.stages.kernel.arithmetic import FUNCTIONS, Operation

EDGES = from_arrays([0, 1, 2], [0, 0, 1], ends=("user", "item"))
X = np.float32([0.1, 0.7, 1 / 3])


RATE = 0.1


def scale(x, by=0.1):
    return by * x


def single(user, p):
    """Each entry shows whether an expression was of 32 bits: its rounding error is kept."""
    x, n = user.x, 3
    user.out[0] = 0.1 * x[0]
    user.out[1] = x[0] / n
    user.out[2] = 1 / n
    user.out[3] = np.sqrt(n)
    user.out[4] = max(x[0], 0.1) + min(0.3, x[2])
    user.out[5] = p.rate * x[0]
    user.out[6] = x[0] if x[0] < 0.1 else -1.5
    user.out[7] = x[0] - n * x[1]
    total = 0.0
    for k in range(n):
        total += x[k] * (k + 1)
    user.out[8] = total
    user.out[9] = np.zeros(2)[0] + x[1] * x[2]
    user.out[10] = x[1] ** 0.5 + x[1] ** 2
    scaled = x[2]
    scaled += 0.1
    scaled *= n
    user.out[11] = scaled
    user.out[12] = scale(x[0]) + RATE * x[1] - np.pi
    user.out[13] = -RATE


def double(user, p):
    """An operand that meets a float64 becomes one."""
    wide = user.wide
    user.out[0] = 0.1 * wide[0]
    user.out[1] = wide[0] - 0.1
    user.out[2] = wide[0] / 3
    total = np.float64(0)
    for k in range(3):
        total += user.x[k] * wide[k]
    user.out[3] = total
    user.out[4] = max(wide[1], 0.3)
    user.out[5] = p.exact * wide[0]
    user.out[6] = float(1) / 3
    user.out[7] = RATE * wide[0] + np.pi
    user.out[8] = (1 / 3 - 2.0**-24) * wide[0]


def whole(user):
    """Whole numbers among themselves stay whole."""
    user.n[0] = 7 // 2 + user.n[1] * 2 - 1
    user.n[2] = max(user.n[1], 4) % 3


class Single(Program):
    precision = "f4"
    rate: float = param(0.1)
    exact: float = param(0.1, dtype="f8")
    user = Vertex(
        x=shared("f4", 3),
        wide=value("f8", 3),
        out=shared("f8", 14),
        n=shared("i8", 3),
    )
    item = Vertex()
    rating = Edge("user", "item")

    def stages(self):
        return []


class Plain(Single):
    precision = ""


def run(program, udf, **how):
    """Return the first user's fields after `udf`."""
    worker = start(program, EDGES, **how)
    arrays = worker.tables["user"].arrays
    arrays["x"][:], arrays["wide"][:], arrays["n"][:] = X, 0.1, (0, 5, 0)
    drive(worker, ForEach("user", udf))
    return {name: array[0] for name, array in arrays.items()}


HOW = [{}, {"jit": False}, {"check": True}, {"check": True, "jit": False}]
everywhere = pytest.mark.parametrize("how", HOW, ids=["jit", "plain", "checked", "checked plain"])


@everywhere
def test_literals_and_whole_numbers_meet_float32(how):
    x, f4 = X, np.float32
    expected = [
        f4(0.1) * x[0],
        x[0] / f4(3),
        f4(1) / f4(3),
        np.sqrt(f4(3)),
        x[0] + min(f4(0.3), x[2]),
        f4(0.1) * x[0],
        -1.5,
        x[0] - f4(3) * x[1],
        x[0] + x[1] * f4(2) + x[2] * f4(3),
        x[1] * x[2],
        np.sqrt(x[1]) + x[1] ** 2,
        (x[2] + f4(0.1)) * f4(3),
        f4(0.1) * x[0] + f4(0.1) * x[1] - f4(np.pi),
        -f4(0.1),
    ]
    found = run(Single(), single, **how)["out"]
    assert (found == found.astype("f4")).all()  # computed in 32 bits from end to end
    np.testing.assert_allclose(found, np.float64(expected), rtol=3e-7)
    wide = run(Plain(), single, **how)["out"]
    # numpy's own scalars are weak beside float32, numba's are not
    assert (wide != wide.astype("f4")).sum() >= (2 if "jit" in how else 8)


@everywhere
def test_what_meets_float64_is_float64(how):
    out = run(Single(), double, **how)["out"]
    total = sum(float(x) * 0.1 for x in X)
    made = (1 / 3 - 2.0**-24) * 0.1
    expected = [0.01, 0.0, 0.1 / 3, total, 0.3, 0.01, 1 / 3, 0.01 + np.pi, made]
    assert out[:9] == pytest.approx(expected, rel=1e-15)
    assert out[1] == 0.0 and out[4] == 0.3


@pytest.mark.parametrize("how", HOW[:3], ids=["jit", "plain", "checked"])
def test_numbers_of_the_context_are_added_up_in_double_precision(how):
    """In plain Python, too, where numpy takes a float of Python for a literal."""

    def add(user, tau):
        tau.sum += user.x[0]

    class Adding(Single):
        tau = Context(sum=total())

    worker = start(Adding(), EDGES, **how)
    worker.tables["user"].arrays["x"][:, 0] = 1.0, 2.0**-30, 2.0**-30
    drive(worker, ForEach("user", add))
    assert worker.tables["tau"].arrays["sum"][0] == 1.0 + 2.0**-29


@everywhere
def test_whole_numbers_stay_whole(how):
    assert run(Single(), whole, **how)["n"].tolist() == [12, 5, 2]


def draw(user, rng):
    user.out[0], user.out[1] = rng.uniform(), rng.normal()


def draw_wide(user, rng):
    user.out[0] = float(rng.uniform())


@everywhere
def test_random_numbers_are_float32_and_below_1(how):
    out = run(Single(), draw, **how)["out"]
    assert (out == out.astype("f4")).all() and 0 <= out[0] < 1
    assert out.tolist() == run(Single(), draw)["out"].tolist()
    assert FUNCTIONS["_tux_unit"](1 - 2.0**-53) == np.float32(1 - 2.0**-24)
    wide = run(Single(), draw_wide, **how)["out"][0]
    assert 0 <= wide < 1 and wide != np.float32(wide)


def vectors(user, p):
    x = user.x
    user.out[0] = dot(x, x)
    user.out[1] = dot(x, x, 2)
    user.out[2] = x @ x
    user.out[3] = norm2(x)
    y = np.ones(3)
    axpy(2.0, x, y)
    user.out[4] = y[1]
    user.out[5] = argmin(x)
    rows, out = np.ones((5, 3)), np.zeros(5)
    rows[4, 0] = 2.0
    dots(y, rows, out)
    user.out[6], user.out[7] = out[1], out[4]


@everywhere
@pytest.mark.parametrize("program", [Single, Plain])
def test_verbs_on_vectors(program, how):
    x = X.astype("f8")
    y = 1 + 2 * x
    expected = [x @ x, x[:2] @ x[:2], x @ x, np.sqrt(x @ x), y[1], 0, y.sum(), y.sum() + y[0]]
    found = run(program(), vectors, **how)["out"][:8]
    np.testing.assert_allclose(found, expected, rtol=5e-7)


@pytest.mark.parametrize("wrong", ["f8", "float32", 4])
def test_another_precision_is_refused(wrong):
    with pytest.raises(ProgramError, match="precision is"):
        type("Wrong", (Plain,), {"precision": wrong})


def test_a_function_without_its_text_is_refused():
    with pytest.raises(ProgramError, match="text of <lambda> cannot be read"):
        run(Single(), lambda user: None)


def test_the_table_of_kinds():
    add, quotient = Operation(max), Operation(FUNCTIONS["_tux_real"])
    assert add.targets(("f4", "i")) == ("", "f4") and add.targets(("i", "f8")) == ("", "")
    assert add.targets(("i", "i")) == quotient.targets(("i", "i")) == ("", "")
    assert Operation(max, weak=0).targets(("f8", "f4")) == ("f4", "")
    assert Operation(max, weak=1).targets(("f8", "f8")) == ("", "f8")
    assert Operation(max, weak=1).targets(("i", "f8")) == ("", "f4")
