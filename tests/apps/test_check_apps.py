"""Programs that are right run under --check without an error: the apps, and PageRank of the
docs, on small data.
"""

from pathlib import Path

import pytest

from tux.cli.main import main

PAGERANK = Path(__file__).parents[2] / "docs" / "pagerank.py"
DATA = {
    "ratings": ["--users", "30", "--items", "20", "--ratings", "200"],
    "corpus": ["--documents", "15", "--vocabulary", "30", "--topics", "3", "--tokens", "300"],
    "clicks": ["--samples", "40", "--features", "30", "--entries", "5"],
    "graph": ["--vertices", "20", "--edges", "40"],
}
ENDINGS = {"ratings": ".csv", "corpus": ".txt", "clicks": ".svm", "graph": ".tsv"}
APPS = {
    "mf": ("ratings", ["--rank", "4"]),
    "lda": ("corpus", ["--topics", "4"]),
    "warplda": ("corpus", ["--topics", "4"]),
    "blockpg": ("clicks", []),
    "deepwalk": ("graph", ["--dimensions", "4", "--walk-length", "5", "--num-walks", "2"]),
    "walks": ("graph", ["--walk-length", "5", "--p", "0.5"]),
    str(PAGERANK): ("graph", []),
}


def ends_well(app, tmp_path, capsys, *flags):
    kind, own = APPS[app]
    path = tmp_path / f"data{ENDINGS[kind]}"
    assert main(["generate", kind, *DATA[kind], "--out", str(path)]) == 0
    code = main(["run", app, str(path), "--check", "--epochs", "2", *own, *flags])
    assert code == 0, capsys.readouterr().err


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("app", APPS, ids=lambda app: Path(app).stem)
def test_as_python(app, tmp_path, capsys):
    ends_well(app, tmp_path, capsys, "--no-jit")


@pytest.mark.long
@pytest.mark.parametrize(
    "app",
    [
        pytest.param("mf", marks=pytest.mark.long),
        pytest.param("walks", marks=pytest.mark.long),
        str(PAGERANK),
    ],
    ids=lambda app: Path(app).stem,
)
def test_compiled(app, tmp_path, capsys):
    ends_well(app, tmp_path, capsys)
