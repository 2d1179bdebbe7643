"""The program of the README, run as the README says, against networkx."""

import networkx as nx
import numpy as np
import pytest

from tux.arrays.arrow import read_parquet
from tux.arrays.networks import to_networkx
from tux.cli.main import main
from tux.io.read import read_edges
from tux.run.folder import read_metrics

PROGRAM = "docs/pagerank.py"


def ranks(folder):
    page = read_parquet(folder / "model" / "page.parquet")
    return dict(zip(page["id"].tolist(), page["rank"].tolist(), strict=True))


def agrees(found, graph):
    expected = nx.pagerank(graph, tol=1e-14, max_iter=1000)
    assert found.keys() == expected.keys()
    assert max(abs(found[v] - expected[v]) for v in expected) < 1e-8


@pytest.mark.parametrize("how", [[], ["--no-jit"]])
def test_pagerank_of_a_drawn_graph(tmp_path, how):
    r"""
    a --> b --> c      d hangs on c, and links to nothing
    ^----------/ \---> d
    """
    links = tmp_path / "links.txt"
    links.write_text("a b\nb c\nc a\nc d\n")
    assert main(["run", PROGRAM, str(links), "--out", str(tmp_path / "out"), *how]) == 0
    agrees(ranks(tmp_path / "out"), nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]))
    changes = [record["change"] for record in read_metrics(tmp_path / "out")]
    assert changes[-1] < 1e-10 <= changes[-2] and len(changes) < 200


def test_pagerank_of_a_real_graph(tmp_path, real_data):
    links = real_data / "graphs" / "wiki-Vote.txt.gz"
    assert main(["run", PROGRAM, str(links), "--out", str(tmp_path / "out")]) == 0
    agrees(ranks(tmp_path / "out"), to_networkx(read_edges(links, ("page", "page"), {})))


@pytest.mark.slow
def test_mf_on_movielens(tmp_path, real_data):
    """Quality is a fact of the data and the seed; speed is shown by bench/."""
    data = real_data / "ratings" / "ml-1m"
    flags = [
        "--rank",
        "64",
        "--reg",
        "0.05",
        "--epochs",
        "12",
        "--workers",
        "1",
        "--out",
        str(tmp_path / "out"),
    ]
    assert (
        main(
            [
                "run",
                "mf",
                str(data / "ml-1m.train.dat.gz"),
                "--test",
                str(data / "ml-1m.probe.dat.gz"),
                *flags,
            ]
        )
        == 0
    )
    errors = np.array([record["test_rmse"] for record in read_metrics(tmp_path / "out")])
    assert errors.min() <= 0.8455 and np.argmax(errors <= 0.85) < 7
