"""What UDFs do to their rows: small ones as they are written, and random ones, which never do what
was not found.
"""

import linecache
from itertools import count
from pathlib import Path
from textwrap import fill, indent
from types import CodeType, FunctionType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import Edge, Recorder, Row
from team import relaxed

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.deepwalk.walks import Walks
from tux.apps.lda.lda import LDA
from tux.apps.lda.warplda import WarpLDA
from tux.apps.mf.mf import MF
from tux.program.program import STAGED, stages_of
from tux.program.stage import Cluster
from tux.stages.calling import calls_of
from tux.stages.effects import Shape, effects

ROW = Shape({"a": 0, "b": 0, "f": 1, "g": 2})
SHAPES = {"u": ROW, "v": ROW, "edges": Shape({"x": 0}, {"item": ROW}, several=True)}
NUMBERS = count()

HELPERS = """
def pick(one, other, which):
    return one if which else other


def bump(array, k):
    array[k] += 1
    return array


def look(row):
    for k in range(2):
        if row.f[k] > 1:
            return row.a
    return 0


def again(row, n):
    if n > 0:
        row.b = n
        return again(row, n - 1)
    return row


"""


def made(body, parameters="u, v, edges, n"):
    """A function whose source can be read, as of a file."""
    name = f"made_{next(NUMBERS)}.py"
    text = f"{HELPERS}def udf({parameters}):\n" + "".join(f"    {line}\n" for line in body)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return functions(text, name)["udf"], len(HELPERS.splitlines()) + 1


def functions(text, name):
    """The functions of a source, by their names."""
    space = {"np": np}
    for code in compile(text, name, "exec").co_consts:
        if isinstance(code, CodeType):
            space[code.co_name] = FunctionType(code, space)
    return space


def kinds(*body):
    """What is found of a body, without places."""
    found = effects(made(body)[0], SHAPES).found
    return {f"{row}.{field}": " ".join(sorted(of)) for (row, field), of in found.items()}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("u.a += v.a", {"v.a": "read", "u.a": "add"}),
        ("u.a = n - u.a", {"u.a": "read write"}),
        ("u.a = u.a - n + v.b", {"u.a": "add", "v.b": "read"}),
        ("u.a = n + u.a", {"u.a": "add"}),
        ("u.a = v.b + (n + u.a - 1)", {"u.a": "add", "v.b": "read"}),
        ("u.a = n - (n + u.a)", {"u.a": "read write"}),
        ("u.f[:] = u.f + n", {"u.f": "add"}),
        ("u.f[:] = np.maximum(u.f[:], v.f)", {"u.f": "max", "v.f": "read"}),
        ("u.f[1:] = u.f + n", {"u.f": "read write"}),
        ("u.a = u.a + u.a", {"u.a": "add read"}),
        ("u.a *= 2", {"u.a": "read write"}),
        ("u.a, u.b = u.a + 1, u.b - n", {"u.a": "add", "u.b": "add"}),
        ("u.a, u.b = u.b, u.a", {"u.a": "read write", "u.b": "read write"}),
        ("n, u.f[n] = 1, u.f[n] + 1", {"u.f": "read write"}),
        ("u.a = min(u.a, v.a)", {"u.a": "min", "v.a": "read"}),
        ("u.f[n] = max(3, u.f[n])", {"u.f": "max"}),
        ("u.f[0] = max(3, u.f[1])", {"u.f": "read write"}),
        ("u.a = np.minimum(u.a, v.a)", {"u.a": "min", "v.a": "read"}),
        ("u.a = np.add(u.a, 1)", {"u.a": "read write"}),
        ("u.a = n if n < u.a else u.a", {"u.a": "min"}),
        ("u.a = u.a if n <= u.a else n", {"u.a": "max"}),
        ("u.a = u.a if n < u.b else n", {"u.a": "read write", "u.b": "read"}),
        ("u.a = n + 1 if n < u.a else u.a", {"u.a": "read write"}),
        ("if n < u.a: u.a = n", {"u.a": "min"}),
        ("if u.a <= n: u.a = n", {"u.a": "max"}),
        ("if n < u.a: u.a = n + 1", {"u.a": "read write"}),
        ("f = u.f; f[n] += 1", {"u.f": "add"}),
        ("f = u.g[n]; f[0] = 2", {"u.g": "write"}),
        ("f = u.f; f += 1", {"u.f": "add"}),
        ("x = u.a; x += 1", {"u.a": "read"}),
        ("n = u.f.sum() + np.exp(v.f[0])", {"u.f": "read", "v.f": "read"}),
        ("for e in edges: e.item.a += e.x", {"edges.x": "read", "edges.item.a": "add"}),
        ("edges[0].item.f[0] = len(edges)", {"edges.item.f": "write"}),
        ("for k, e in enumerate(edges): u.a += k * e.x", {"edges.x": "read", "u.a": "add"}),
        ("r = pick(u, v, n); r.a = 1", {"u.a": "write", "v.a": "write"}),
        ("r, f = (u, v.f); f[0] = r.b", {"u.b": "read", "v.f": "write"}),
        ("f = bump(u.f, 1); f[0] = 2", {"u.f": "add write"}),
        ("n = look(v)", {"v.f": "read", "v.a": "read"}),
        ("r = u\nfor k in range(3):\n  r.a += 1\n  r = v", {"u.a": "add", "v.a": "add"}),
        ("return u.a\nv.a = 1", {"u.a": "read"}),
        ("if n:\n  f = u.f\nelse:\n  f = v.f\nf[0] += 1", {"u.f": "add", "v.f": "add"}),
        ("f = u.f\nf[0] += 1\nf = v.f\nn = f[0]", {"u.f": "add", "v.f": "read"}),
        ("pass", {}),
    ],
)  # fmt: skip
def test_what_is_written_is_found(body, found):
    assert kinds(*body.split("\n")) == found


@pytest.mark.parametrize(
    ("body", "unknown"),
    [
        ("n = getattr(u, 'a')", {"u.*"}),
        ("rows = [u]; rows[0].a += 1", {"u.*"}),
        ("n = np.asarray(u.f)", {"u.f"}),
        ("again(v, 2)", {"v.*"}),
        ("edges.reverse()", {"edges.*", "edges.item.*"}),
        ("try:\n  u.a += 1\nfinally:\n  pass", {"u.*", "v.*", "edges.*", "edges.item.*"}),
        ("f = lambda: u\nf().a = 1", {"u.*", "v.*", "edges.*", "edges.item.*"}),
        ("if abs(n) < u.a: u.a = abs(n)", {"u.a"}),
        ("np.add(u.f, 1, v.f)", {"u.f", "v.f"}),
    ],
)
def test_what_is_not_followed_is_unknown(body, unknown):
    found = kinds(*body.split("\n"))
    assert {field for field, of in found.items() if "unknown" in of} == unknown


def built_in():
    """The UDFs of the built-in apps, each by its name and its row's: what is found."""
    apps = [MF(), LDA(optimise=1), LDA(optimise=1, asymmetric=True), WarpLDA(optimise=1)]
    apps += [WarpLDA(optimise=1, asymmetric=True), BlockPG(path=2), DeepWalk(), Walks()]
    out = {}
    for program in apps:
        for method in STAGED:
            stages = stages_of(program, method, Cluster(2, has_test=True))
            for call in (call for _, _, calls in calls_of(program, stages) for call in calls):
                lines = [
                    f"{row}.{field} {' '.join(kinds)}"
                    for (row, field), kinds in call.effects.found.items()
                ]
                out[f"{program.edge_name} {call.udf.__name__}"] = "; ".join(sorted(lines))
    return out


def test_the_built_in_apps():
    table = (Path(__file__).parent / "effects_of_apps.txt").read_text(encoding="utf-8")
    told = "".join(
        f"{name}\n{indent(fill(found, 92), '    ')}\n" for name, found in sorted(built_in().items())
    )
    assert told == table


def test_the_first_place_is_told():
    udf, line = made(["n = 1", "u.a += 1", "u.a += look(v)"])
    found = effects(udf, SHAPES)
    name = udf.__code__.co_filename
    assert found.of("u", "a") == {"add": f"{name}:{line + 2}"}
    assert found.of("v", "f") == {
        "read": f"{name}:{HELPERS.splitlines().index('def look(row):') + 3}"
    }


def test_without_its_source_anything_may_happen():
    udf = functions("def udf(u, p):\n    u.a += 1\n", "nowhere.py")["udf"]
    assert set(effects(udf, SHAPES).of("u", "b")) == {"unknown"}


ROWS = st.sampled_from(["u", "v", "r", "pick(r, u, n)", "edges[0].item", "pair[0]"])
ARRAYS = st.one_of(
    st.sampled_from(["x", "pair[1]", "bump(x, 1)"]),
    ROWS.map("{}.f".format),
    ROWS.map("{}.g[1]".format),
)
PLACES = st.one_of(
    ROWS.map("{}.a".format),
    ROWS.map("{}.b".format),
    ARRAYS.map("{}[n % 2]".format),
    ROWS.map("{}.g[0, n % 2]".format),
)
TERMS = st.one_of(
    st.sampled_from(["1", "n", "len(edges)", "look(r)", "int(x.sum())", "edges[1].x"]), PLACES
)
STATEMENTS = st.one_of(
    st.builds("{} += {}".format, PLACES, TERMS),
    st.builds("{0} = {0} - {1}".format, PLACES, TERMS),
    st.builds("{0} = min({0}, {1})".format, PLACES, TERMS),
    st.builds("{0} = max({1}, {0})".format, PLACES, TERMS),
    st.builds("{0} = np.minimum({0}, {1})".format, PLACES, TERMS),
    st.builds("if {1} < {0}: {0} = {1}".format, PLACES, TERMS),
    st.builds("{0} = {1} if {1} > {0} else {0}".format, PLACES, TERMS),
    st.builds("{0} = {0} if {0} < {1} else {1}".format, PLACES, TERMS),
    st.builds("{} = {}".format, PLACES, TERMS),
    st.builds("{0}, {1} = {0} + {2}, {1} - {3}".format, PLACES, PLACES, TERMS, TERMS),
    st.builds("n = abs({}) % 5".format, TERMS),
    st.builds("r = {}".format, ROWS),
    st.builds("x = {}".format, ARRAYS),
    st.builds("x += {}".format, TERMS),
    st.builds("pair = ({}, {})".format, ROWS, ARRAYS),
    st.builds("r, x = pair".format),
    st.builds("r = again({}, 2)".format, ROWS),
    st.builds("r = [{}][0]".format, ROWS),
    st.sampled_from(["continue", "break", "return n"]),
)


def blocks(inner):
    body = st.lists(inner, min_size=1, max_size=3).map(
        lambda each: [f"  {line}" for lines in each for line in lines]
    )
    return st.one_of(
        st.builds(lambda term, a, b: [f"if {term} > 1:", *a, "else:", *b], TERMS, body, body),
        body.map(lambda a: ["for k in range(2):", *a]),
        body.map(lambda a: ["for e in edges:", "  r = e.item", *a]),
        body.map(lambda a: ["for e in edges:", *a, "else:", "  n = 2"]),
        body.map(lambda a: ["try:", *a, "finally:", "  n = 3"]),
    )


BODIES = st.lists(
    st.recursive(STATEMENTS.map(lambda line: [line]), blocks, max_leaves=6), min_size=1, max_size=6
)
START = ["r, x, pair, k = u, v.f, (v, u.f), 0"]


def called(udf, record, values):
    """Call a UDF on rows that record, and start with `values` of row and field; the values left."""
    rows = {name: Row(record, name, values) for name in ("u", "v")}
    item = Row(record, "edges.item", values)
    edges = [Edge(record, x, item) for x in (2, 5)]
    udf(rows["u"], rows["v"], edges, 1)
    return {
        (row.name, field): np.array(value).tolist()
        for row in (*rows.values(), item)
        for field, value in row.values().items()
    }


@given(BODIES, st.integers(0, 3))
@relaxed
def test_nothing_happens_that_was_not_found(body, seed):
    lines = [*START, "for once in range(1):", *(f"  {line}" for lines in body for line in lines)]
    udf, _ = made(lines)
    found = effects(udf, SHAPES)
    record = Recorder()
    left = called(udf, record, SimpleNamespace(seed=seed, other={}))
    for row, field in record.read:
        assert found.of(row, field), (row, field)
    for row, field in record.written:
        assert found.of(row, field).keys() - {"read"}, (row, field)
    for row, field in left:
        check_alone(udf, found.of(row, field).keys(), (row, field), seed, left)


def check_alone(udf, of, at, seed, left):
    """A field that is not found to be read, only changed in one way, does not influence anything
    else, whatever it starts with.
    """
    if not of <= {"add"} and not of <= {"min"} and not of <= {"max"}:
        return
    shift = {"add": 7, "min": -4, "max": 4}.get(next(iter(of), "add"))
    again = called(udf, Recorder(), SimpleNamespace(seed=seed, other={at: shift}))
    assert {k: v for k, v in again.items() if k != at} == {k: v for k, v in left.items() if k != at}
    before = called(lambda *_: None, Recorder(), SimpleNamespace(seed=seed, other={}))[at]
    begun = np.array(before) + shift
    combine = {"min": np.minimum, "max": np.maximum}.get(next(iter(of), "add"))
    expected = np.array(left[at]) + shift if combine is None else None
    if combine is not None:
        assert (combine(begun, again[at]) == again[at]).all()
    else:
        assert np.array_equal(again[at], expected)
