"""The nearest vertices by cosine: of a model, and on the command line. Those of a matrix are in
`test_recommend.py`.
"""

import numpy as np
import pytest

from tux.base.errors import UsageError
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.predict.neighbours import nearest_of
from tux.program.sources import find
from tux.runs.session import run

VECTORS = '''
"""Vertices whose vectors are given by what they are joined to."""
import numpy as np
from tux import Edge, Program, Vertex, shared
from tux.stages import Apply, Exchange


class Vectors(Program):
    user = Vertex(degree=shared("f4"))
    item = Vertex(q=shared("f4", 2), r=shared("f4", 3))
    link = Edge("user", "item")

    def stages(self):
        return [Exchange(add), Apply("item")]


def add(user, item):
    item.q[0] += 1
    item.r[2] += 1
'''


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Return users and items with vectors; some ids are a user's and an item's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ratings.csv").write_text(
        "user,item,rating\n"
        + "".join(f"{u},{i},{1 + (u * i) % 5}\n" for u in range(6) for i in range(4, 9))
    )
    run(
        find("mf").program(rank=3), "ratings.csv", options=RunOptions(out="mf", epochs=2, jit=False)
    )
    (tmp_path / "vectors.py").write_text(VECTORS)
    (tmp_path / "pairs.csv").write_text("user,item\nann,007\nbob,x y\nann,x y\n")
    run(
        find("vectors.py").program(),
        "pairs.csv",
        options=RunOptions(out="out", epochs=1, jit=False),
    )
    return tmp_path


def test_of_a_model(model):
    found = nearest_of("mf", "1", 3)  # users 0..5, items 4..8
    assert (
        list(found) == ["user", "cosine"]
        and len(found["user"]) == 3
        and 1 not in found["user"].tolist()
    )
    assert (np.diff(found["cosine"]) <= 0).all()
    assert (
        list(nearest_of("mf", "8")) == ["item", "cosine"]
        and len(nearest_of("mf", "8")["item"]) == 4
    )
    found = nearest_of("out", "007")
    assert found["item"].tolist() == ["x y"] and found["cosine"].tolist() == pytest.approx([1.0])
    assert nearest_of("out", "x y", field="item.r")["item"].tolist() == ["007"]


@pytest.mark.slow(after=3)
@pytest.mark.parametrize(
    ("folder", "vertex", "how", "words"),
    [
        ("mf", "99", {}, "no item or user is called '99'"),
        ("mf", "01", {}, "is called '01'"),
        ("mf", "x", {}, "is called 'x'"),
        ("mf", "5", {}, r"several types: item, user\n.*--field item.f or --field user.f"),
        ("mf", "5", {"field": "usr"}, r"no vectors 'usr'\n.*there are: .*user.f"),
        ("mf", "5", {"count": 0}, "--count 0"),
        ("out", "ann", {}, "no item is called 'ann'"),
        ("out", "007", {"field": "user.degree"}, "there are: item.q, item.r"),
    ],
)
def test_mistakes(model, folder, vertex, how, words):
    with pytest.raises(UsageError, match=words):
        nearest_of(folder, vertex, **how)


def test_a_field_tells_two_types_apart(model):
    for kind in ("user", "item"):
        found = nearest_of("mf", "5", field=f"{kind}.f")
        assert list(found) == [kind, "cosine"] and 5 not in found[kind].tolist()


def test_command(model, capsys):
    assert main("predict mf --nearest 8 --count 2".split()) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert (
        head == "item,cosine"
        and len(lines) == 2
        and all(-1 <= float(line.split(",")[1]) <= 1 for line in lines)
    )
    assert main("predict mf --nearest 5 --field user.f --out near.csv".split()) == 0
    assert capsys.readouterr().out == "near.csv: 5 users\n" and (
        model / "near.csv"
    ).read_text().startswith("user,cosine\n")
    assert main(["predict", "out", "--nearest", "x y"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("007,")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ("mf --nearest 8 --pairs ratings.csv", "one of them"),
        ("mf --nearest 8 ratings.csv", "one of them"),
        ("mf", "one of them"),
        ("mf --pairs ratings.csv --count 3", "--count without --nearest"),
        ("mf --pairs ratings.csv --field user.f", "--field without --nearest"),
        ("mf --nearest 8 --count 0", "one at least"),
        ("mf --nearest 5", "several types"),
    ],
)
def test_mistakes_on_the_command_line(model, capsys, argv, words):
    assert main(["predict", *argv.split()]) == 2 and words in capsys.readouterr().err
