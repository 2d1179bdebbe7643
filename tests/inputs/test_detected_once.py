"""The format of a file is detected once, whatever a command does with the file."""

from collections import Counter

import pytest

from tux.cli.main import main
from tux.inputs.load import load
from tux.io.formats import detect
from tux.predict.rows import predict_rows
from tux.program.sources import find

RATINGS = "u1,i1,3\nu1,i2,4\nu2,i1,5\n"
LINKS = "1 2\n2 3\n3 1\n"
DOCWORD = "2\n3\n3\n1 1 2\n1 3 1\n2 2 1\n"
SAMPLES = "+1 1:1 2:1 3:1\n-1 2:1 4:1\n+1 1:1\n"


@pytest.fixture
def heads(monkeypatch):
    """Count by file how often its first bytes are read to detect its format."""
    counts: Counter[str] = Counter()
    head_of = detect.head_of

    def count_heads(path, size):
        counts[str(path)] += 1
        return head_of(path, size)

    monkeypatch.setattr(detect, "head_of", count_heads)
    return counts


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(text: str) -> str:
        (tmp_path / "data").write_text(text)
        return "data"

    return make


@pytest.mark.slow(after=4)
@pytest.mark.parametrize(
    ("app", "text"),
    [
        ("mf", RATINGS),
        ("deepwalk", LINKS),
        ("lda", DOCWORD),
        ("lda", "1 1 2\n1 3 1\n"),
        ("blockpg", SAMPLES),
        ("blockpg", "age,y\n3,1\n4,0\n"),
    ],
)
def test_a_run_looks_once(app, text, file, heads):
    load(find(app).program(), file(text))
    assert heads == {"data": 1}


@pytest.mark.slow
@pytest.mark.parametrize("text", [RATINGS, LINKS, DOCWORD, SAMPLES])
def test_partition_looks_once(text, file, heads):
    path = file(text)
    assert main(["partition", path, "--parts", "2", "--method", "random", "--out", "parts"]) == 0
    assert heads == {"data": 1}


@pytest.mark.slow
def test_predict_looks_once(file, heads):
    path = file(SAMPLES)
    assert main(["run", "blockpg", path, "--epochs", "1", "--no-jit", "--out", "model"]) == 0
    heads.clear()
    assert len(predict_rows("model", path)["sample"]) == 3
    assert heads == {"data": 1}
