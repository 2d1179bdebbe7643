"""The effects of UDFs on their rows: small ones as they are written, and those of the built-in
apps.
"""

import linecache
from itertools import count
from pathlib import Path
from textwrap import fill, indent
from types import CodeType, FunctionType

import numpy as np
import pytest

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.deepwalk.walks import Walks
from tux.apps.lda.lda import LDA
from tux.apps.lda.warplda import WarpLDA
from tux.apps.mf.mf import MF
from tux.program.program import STAGED, stages_of
from tux.program.stage import Cluster
from tux.stages.analysis.calling import calls_of
from tux.stages.analysis.effects import Shape, effects

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


def make_udf(body, parameters="u, v, edges, n"):
    """Return a function whose source can be read, as of a file, and the line of its body."""
    name = f"made_{next(NUMBERS)}.py"
    text = f"{HELPERS}def udf({parameters}):\n" + "".join(f"    {line}\n" for line in body)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return functions(text, name)["udf"], len(HELPERS.splitlines()) + 1


def functions(text, name):
    """Return the functions of a source, by their names."""
    space = {"np": np, "PART": slice(0, 2)}
    for code in compile(text, name, "exec").co_consts:
        if isinstance(code, CodeType):
            space[code.co_name] = FunctionType(code, space)
    return space


def kinds(*body):
    """Return the effects that are found of a body, by field, without places."""
    found = effects(make_udf(body)[0], SHAPES).found
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
        ("x = v.f; n and (x := u.f)[0]; x[0] = 1", {"u.f": "read write", "v.f": "write"}),
        ("n = (x := u.f).max() + x[1]; x.fill(0)", {"u.f": "read write"}),
        ("x = u.f; x[0] += (x := v.f)[1]", {"u.f": "add", "v.f": "read"}),
        ("x = u.f; x[0] = x[0] + (x := v.f)[1]", {"u.f": "read write", "v.f": "read write"}),
        ("u.f[v.a] = u.f[v.a] + look(v)", {"u.f": "read write", "v.a": "read", "v.f": "read"}),
        ("n = f'{n:{u.a}}'", {"u.a": "read"}),
        ("a, b = v.f.shape; u.f[a] = max(u.f)", {"u.f": "read write"}),
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
        # tuples and lists that hold fields
        ("x = (1,) + (u.f,); x[1][0] = 1", {"u.f"}),
        ("x = (1,); x += (u.f,); x[1][0] = 1", {"u.f"}),
        ("x = [i for i in u.g] * 2; x[0][0] = 1", {"u.g"}),
        ("x = [0]; x += u.g; x[1][0] = 1", {"u.g"}),
        ("for x in zip((((u.f,),),)): x[0][0][0][0] = 1", {"u.f"}),
        ("x = (u.f,)[slice(0, 1)]; x[0][0] = 1", {"u.f"}),
        ("x = max((u.f,)); x[0] = 1", {"u.f"}),
        ("x = np.array((u.f, 1), object); x[0][0] = 1", {"u.f"}),
        ("x = [look for i in range(2)]; x[0] = again; x[0](u, 1)", {"u.*"}),
        # an index that picks a part
        ("x = u.f[PART]; x[0] = 1", {"u.f"}),
        ("x = u.f[slice(0, 1)]; x[0] = 1", {"u.f"}),
        ("x = u.f[np.newaxis]; x[0, 0] = 1", {"u.f"}),
        ("k = None; x = u.f[k]; x[0, 0] = 1", {"u.f"}),
        ("x = u.f[v.f.shape[1:]]; x[0] = 1", {"u.f"}),
        ("x = u.f[v.f.fill(0)]; x[0, 0] = 1", {"u.f"}),
        # functions and methods that return what they are given
        ("x = np.float64(u.f); x[0] = 1", {"u.f"}),
        ("x = max(u.f, v.f); x[0] = 1", {"u.f", "v.f"}),
        ("x = min(u.g); x[0] = 1", {"u.g"}),
        ("x = u.f.astype(np.float64, copy=False); x[0] = 1", {"u.f"}),
        # views that numba lets a kernel write to even where the field is read-only
        ("u.f.flat[0] = 1", {"u.f"}),
        ("np.ascontiguousarray(u.f)[0] = 1", {"u.f"}),
        ("np.asfortranarray(u.f)[0] = 1", {"u.f"}),
        ("np.fill_diagonal(u.g, 1)", {"u.g"}),
        ("for i in np.nditer(u.f): i[()] = 1", {"u.f"}),
        ("np.dot(v.g, v.f, u.f)", {"u.f", "v.f", "v.g"}),
        # what is assigned to in passing
        ("n = [0 for u.a in range(2)]", {"u.*", "v.*", "edges.*", "edges.item.*"}),
        (
            "x = u.f; n = [(x := v.f) for i in v.f]",
            {"u.*", "v.*", "u.f", "edges.*", "edges.item.*"},
        ),
        ("f = u.__setattr__; f('a', 1)", {"u.*"}),
    ],
)
def test_what_is_not_followed_is_unknown(body, unknown):
    found = kinds(*body.split("\n"))
    assert {field for field, of in found.items() if "unknown" in of} == unknown


def built_in():
    """Return the UDFs of the built-in apps, each by its name and its row's: what is found."""
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
    udf, line = make_udf(["n = 1", "u.a += 1", "u.a += look(v)"])
    found = effects(udf, SHAPES)
    name = udf.__code__.co_filename
    assert found.of("u", "a") == {"add": f"{name}:{line + 2}"}
    assert found.of("v", "f") == {
        "read": f"{name}:{HELPERS.splitlines().index('def look(row):') + 3}"
    }


def test_without_its_source_anything_may_happen():
    udf = functions("def udf(u, p):\n    u.a += 1\n", "nowhere.py")["udf"]
    assert set(effects(udf, SHAPES).of("u", "b")) == {"unknown"}


@pytest.mark.parametrize("head", ["def bump(row):\n    row.a += 1", "def bump(row): row.a += 1"])
def test_a_decorated_function_is_followed(head):
    name = f"made_{next(NUMBERS)}.py"
    text = f"@mark\n{head}\n\n\ndef udf(u, v):\n    bump(u)\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"mark": lambda function: function}
    FunctionType(compile(text, name, "exec"), space)()
    assert set(effects(space["udf"], SHAPES).found) == {("u", "a")}


def test_a_function_that_a_udf_reads_may_be_changed_between_two_questions():
    udf = make_udf(["chosen(u)"], "u")[0]
    found = []
    for body in ("u.a += 1", "u.b = 1", "u.a += 1"):
        udf.__globals__["chosen"] = make_udf([body], "u")[0]
        effect = effects(udf, {"u": ROW})
        found.append([[*effect.of("u", name)] for name in "ab"])
    assert found == [[["add"], []], [[], ["write"]], [["add"], []]]


def test_shapes_make_a_difference():
    udf = make_udf(["u.a += 1"], "u")[0]
    assert "add" in effects(udf, {"u": ROW}).of("u", "a")
    assert not effects(udf, {}).of("u", "a")
