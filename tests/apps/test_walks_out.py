"""`tux run walks`: files of walks for other programs, the same from any number of workers."""

import gzip
import socket
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.messages import message

from tux.apps.deepwalk import walks as app
from tux.apps.deepwalk.walk_lines import Lines
from tux.apps.deepwalk.walks import Walks
from tux.base.errors import DataError, DiskError
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.run_folder.folder import read_run
from tux.runs.session import run

#  a - b - c - d    a - c, d hangs on c; f -> g, a loop at e, which is alone
EDGES = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "e"), ("f", "g")]
NAMES = "abcdefg"


@pytest.fixture
def graph(tmp_path):
    file = tmp_path / "graph.txt"
    file.write_text("".join(f"{a} {b}\n" for a, b in EDGES))
    return file


def write_random_edges(path, n=300, m=900):
    """Return a file of random edges between numbers."""
    pairs = np.random.default_rng(1).integers(0, n, (m, 2)) * 7
    path.write_text("".join(f"{a} {b}\n" for a, b in pairs))
    return path


def lines(folder):
    return [line.split(" ") for line in (folder / "walks.txt").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("directed", [False, True])
def test_walks_go_along_edges_from_every_vertex(graph, tmp_path, directed):
    result = run(
        Walks(num_walks=6, walk_length=5, directed=directed),
        graph,
        options=RunOptions(out=tmp_path / "out", epochs=2),
    )
    found = lines(tmp_path / "out")
    steps = {(a, b) for a, b in EDGES if a != b} | (
        set() if directed else {(b, a) for a, b in EDGES if a != b}
    )
    starts = [walk[0] for walk in found]
    assert len(found) == 2 * 6 * 7
    # by round, in a seeded order
    assert starts == starts[:7] * 12 and sorted(starts[:7]) == list(NAMES) != starts[:7]
    for walk in found:
        assert all(step in steps for step in zip(walk, walk[1:], strict=False))
        # ended where nothing leads on
        assert len(walk) == 5 or walk[-1] not in {a for a, _ in steps}
    assert ["e"] in found and len({tuple(walk) for walk in found if walk[0] == "a"}) > 1 - directed
    taken = sum(len(walk) - 1 for walk in found)
    assert result.results["walks"] == len(found) and result.results["steps"] == taken
    assert result.results["steps_per_second"] > 0
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [
        "B2SUMS",
        "metrics.jsonl",
        "model",
        "run.json",
        "timeline.jsonl",
        "walks.txt",
    ]


@pytest.mark.long
def test_any_number_of_workers_writes_the_same(tmp_path, monkeypatch):
    graph = write_random_edges(tmp_path / "edges.txt")
    monkeypatch.setattr(app, "AT_ONCE", 400)  # several blocks
    options = dict(num_walks=3, walk_length=9, q=0.5)
    run(Walks(**options), graph, options=RunOptions(out=tmp_path / "one"))
    expected = (tmp_path / "one" / "walks.txt").read_bytes()

    def plain(name, data=graph, form="text", **more):
        """Run walks in plain Python, which does what compiled code does."""
        how = RunOptions(out=tmp_path / name, jit=False, **more)
        run(Walks(**options, format=form), data, options=how)

    plain("plain")
    plain("two", workers=2, slack=2)
    plain("table", form="parquet", workers=3)
    assert (
        main(
            [
                "partition",
                str(graph),
                "--parts",
                "2",
                "--out",
                str(tmp_path / "parts"),
                "--one-type",
            ]
        )
        == 0
    )
    plain("stored", tmp_path / "parts")
    for name in ("plain", "two", "stored"):
        assert (tmp_path / name / "walks.txt").read_bytes() == expected
        assert not [each.name for each in (tmp_path / name).iterdir() if each.name.startswith(".")]
    table = pq.read_table(tmp_path / "table" / "walks.parquet")
    assert table.column_names == ["walk"] and "int" in str(
        table.schema.field("walk").type.value_type
    )
    assert (
        "".join(" ".join(map(str, walk)) + "\n" for walk in table["walk"].to_pylist()).encode()
        == expected
    )


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.long
def test_lists_of_other_machines_come_home(tmp_path):
    graph = write_random_edges(tmp_path / "edges.txt", 60, 150)
    command = [
        sys.executable,
        "-m",
        "tux",
        "run",
        "walks",
        str(graph),
        "--num-walks",
        "4",
        "--walk-length",
        "7",
        "--no-jit",
    ]
    meet = ["--insecure", "--nnodes", "2", "--rdzv", f"127.0.0.1:{free_port()}"]
    ends = [["--node-rank", "0", "--out", str(tmp_path / "two")], ["--node-rank", "1"]]
    running = [
        subprocess.Popen([*command, *meet, *end], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for end in ends
    ]
    said = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    run(
        Walks(num_walks=4, walk_length=7),
        graph,
        options=RunOptions(out=tmp_path / "one", jit=False),
    )
    assert (tmp_path / "one" / "walks.txt").read_bytes() == (
        tmp_path / "two" / "walks.txt"
    ).read_bytes()


def test_p_and_weights_are_heeded(tmp_path):
    graph = tmp_path / "ring.txt"
    graph.write_text("".join(f"{v} {(v + 1) % 8} {100 if v % 2 else 1}\n" for v in range(8)))

    def share(told, **parameters):
        run(
            Walks(num_walks=20, walk_length=20, **parameters),
            graph,
            options=RunOptions(out=tmp_path / str(parameters), jit=False),
        )
        return np.mean(
            [
                told(*map(int, each))
                for walk in lines(tmp_path / str(parameters))
                for each in zip(walk, walk[1:], walk[2:], strict=False)
            ]
        )

    assert share(lambda t, v, x: t == x, p=0.01) > 0.9 > 0.6 > share(lambda t, v, x: t == x) > 0.4
    assert share(lambda t, v, x: (v + 1) // 2 % 4 == (x + 1) // 2 % 4, weighted=True) > 0.9


def test_ids_with_blanks_need_a_table(tmp_path):
    graph = tmp_path / "edges.csv"
    graph.write_text('a b,c\nc,"d"\n')
    with pytest.raises(DataError, match="'a b' has a blank") as error:
        run(Walks(), graph, options=RunOptions(out=tmp_path / "out"))
    assert "parquet" in error.value.do and not (tmp_path / "out").exists()
    run(
        Walks(format="parquet", walk_length=4),
        graph,
        options=RunOptions(out=tmp_path / "out", jit=False),
    )
    walks = pq.read_table(tmp_path / "out" / "walks.parquet")["walk"].to_pylist()
    assert {walk[0] for walk in walks} == {"a b", "c", "d"} and all(
        len(walk) == 4 for walk in walks
    )


def test_nothing_half_written(graph, tmp_path, monkeypatch):
    def raise_disk_full(self, lists):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Lines, "of", raise_disk_full)
    with pytest.raises(DiskError, match=message("cannot-be-written", "No space left")):
        run(Walks(), graph, options=RunOptions(out=tmp_path / "out", jit=False))
    assert not [each for each in (tmp_path / "out").iterdir() if "walks" in each.name]
    assert read_run(tmp_path / "out").results is None


@pytest.mark.long
def test_without_a_folder_walks_are_only_counted(graph, capsys):
    for workers in ("1", "2"):
        assert (
            main(
                [
                    "run",
                    "walks",
                    str(graph),
                    "--num-walks",
                    "2",
                    "--walk-length",
                    "3",
                    "--workers",
                    workers,
                ]
            )
            == 0
        )
        said = capsys.readouterr().out
        assert "walks 14" in said and "steps_per_second" in said


def test_lines():
    ids = np.array(["a", "bøk", "c"], np.dtypes.StringDType())
    lists = np.array([[0, 1, 2], [1, -1, -1], [-1, -1, -1], [2, 2, -1]], np.int32)
    assert bytes(Lines(ids).of(lists)).decode() == "a bøk c\nbøk\n\nc c\n"
    assert bytes(Lines(np.array([10, -7])).of(lists[1:2] - 1)).decode() == "10\n"
    assert len(Lines(ids).of(lists[:0])) == 0


def test_gensim_reads_them(graph, tmp_path, home):
    word2vec = pytest.importorskip("gensim.models.word2vec")
    run(Walks(num_walks=3), graph, options=RunOptions(out=tmp_path / "out", jit=False))
    assert list(word2vec.LineSentence(str(tmp_path / "out" / "walks.txt"))) == lines(
        tmp_path / "out"
    )


@pytest.mark.long
def test_a_real_graph(tmp_path, real_data):
    graph = real_data / "graphs" / "wiki-Vote.txt.gz"
    run(
        Walks(num_walks=2, walk_length=20, directed=True),
        graph,
        options=RunOptions(out=tmp_path / "out", workers=2),
    )
    with gzip.open(graph, "rt") as file:
        edges = {tuple(line.split()) for line in file if not line.startswith("#")}
    found = lines(tmp_path / "out")
    assert len(found) == 2 * 7115 and all(
        step in edges for walk in found for step in zip(walk, walk[1:], strict=False)
    )
