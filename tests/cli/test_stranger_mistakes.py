"""Mistakes that a first user of tux has made on the command line: each is told in its words."""

import pytest
from support.programs import typed_programs
from support.programs.typed_programs import shop_edges, shop_files

SAMPLES = """from tux import *


def add(sample, feature, entry):
    feature.sum += entry.value * sample.label


def keep(feature):
    feature.w = feature.sum


def told(sample, edges):
    total = 0.0
    for edge in edges:
        total += edge.value * edge.feature.w
    RETURN


class Sums(Program):
    INPUT
    sample = Vertex(label=data("f4"))
    feature = Vertex(w=value("f8"), sum=delta("f8"))
    entry = Edge("sample", "feature", value=data("f4"))

    def stages(self):
        return [Exchange(add), Apply("feature", keep)]

    def predict(self):
        return Score(told, over="sample")
"""
POINTS = """from tux import *


def move(point, p):
    point.y += 1 / p.width


class Shift(Program):
    input = Points()
    width: int = param(0)
    share: float = param(1.0)
    point = Vertex(x=data("f4", "width"), y=value("f8"))
    none = Edge("point", "point")

    def stages(self):
        return [Apply("point", move, gather=False)] * (8 // self.width)
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes the program, in the folder of the test, with one of svm."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_text("1 1:1 2:1\n-1 2:1 3:2\n")

    def program(returned="return total", given="input = Samples()"):
        text = SAMPLES.replace("RETURN", returned).replace("INPUT", given)
        (tmp_path / "sums.py").write_text(text)

    return program


@pytest.mark.parametrize("returned", ["total += 1", "return", "return None"])
def test_a_score_that_returns_nothing(write, command, returned):
    write(returned)
    code, told = command("run sums.py a.svm --no-jit --epochs 1")
    assert code == 2 and "Score(told, over=sample): `told` returns nothing" in told
    assert "sums.py:12" in told and "epoch 1" not in told


def test_labels_without_samples(write, command):
    write(given="")
    code, told = command("run sums.py a.svm --no-jit --epochs 1")
    assert code == 3 and "--vertices sample=FILE; or write input = Samples()" in told


def test_a_program_that_has_moved(write, command, tmp_path):
    write()
    assert command("run sums.py a.svm --no-jit --epochs 1 --checkpoint-every 1 --out run1")[0] == 0
    (tmp_path / "sums.py").rename(tmp_path / "other.py")
    for text, do in (
        ("predict run1 a.svm", "write where it is now as the name of app there"),
        ("run --resume run1 --epochs 2", "--app FILE.py"),
    ):
        code, told = command(text)
        assert code and "other.py" not in told and "sums.py, the program of the run" in told
        assert "run1/run.json" in told and do in told


def test_files_of_all_types_are_checked(tmp_path, command):
    named = shop_files(tmp_path, shop_edges())
    files = " ".join(f"{name}={file}" for name, file in named.items())
    code, told = command(f"check {files} {typed_programs.__file__}:SocialShop")
    assert code == 0 and all(f"{name}={file}:" in told for name, file in named.items())
    code, told = command(f"check {files}")
    assert code == 2 and "name the program behind them" in told
    code, told = command(f"check {files} taged=x.csv {typed_programs.__file__}:SocialShop")
    assert code == 2 and "data are given for taged" in told and "did you mean tagged?" in told
    assert "ids" not in told


def test_an_outline_of_lengths_that_data_give(tmp_path, command):
    (tmp_path / "shift.py").write_text(POINTS)
    code, told = command(f"run {tmp_path / 'shift.py'} --explain")
    assert code == 0 and "width is 1 here" in told and "Apply(point, move" in told


def test_profile_with_verify(write, command):
    write()
    code, told = command("run sums.py a.svm --verify --profile")
    assert code == 2 and "--profile with --verify" in told
