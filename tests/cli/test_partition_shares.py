"""``tux partition --workers``: the folder that one process writes, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.machines.loaded import files

from tux.arrays.arrow import STRING, write_parquet, write_text
from tux.base.errors import DataError
from tux.cli.main import main

RNG = np.random.default_rng(6)
ROWS = [(int(u), int(v), int(r)) for u, v, r in RNG.integers(0, 40, (600, 3))]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Return a folder of its own, with a folder of two files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ratings").mkdir()
    for name, rows in (("a.csv", ROWS[:350]), ("b.csv", ROWS[350:])):
        lines = [f"u{u},{v},{r}\n" for u, v, r in rows]
        (tmp_path / "ratings" / name).write_text("user,item,rating\n" + "".join(lines))
    return tmp_path


@pytest.fixture
def tux(capsys):
    """Run ``tux partition``; returns exit code, standard output and standard error."""

    def run(words):
        code = main(["partition", *words.split()])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


@pytest.mark.long
def test_the_folder_is_that_of_one_process(tux, here):
    code, out, err = tux("ratings shares --workers 3 --parts 2")
    assert code == 0, err
    assert "600 edges, 40 sources and 40 targets, 2 parts" in out
    assert "cut by aweto, for tux run APP shares" in out
    assert tux("ratings --parts 2 --method aweto --out one")[0] == 0
    assert files(here / "shares") == files(here / "one")


@pytest.mark.slow
def test_what_is_odd_in_the_rows_is_told_as_by_one_process(tux, here):
    rows = "".join(f"u{u},u{v}\n" for u, v, _ in ROWS)
    (here / "friends.csv").write_text(f"who,friend\n{rows}# an end\nu1,NA\n")
    code, _, told = tux("friends.csv shares --workers 2 --one-type --parts 2")
    assert code == 0 and "row 1, who, friend, is read as an edge" in told
    assert "1 line of comments" in told and "NA among vertices" in told
    assert tux("friends.csv one --one-type --parts 2 --method dbh")[::2] == (0, told)


@pytest.mark.parametrize(("flag", "threads"), [("", 2), (" --threads 3", 3)])
def test_each_process_has_its_threads(tux, monkeypatch, flag, threads):
    """Without the flag, the cores are shared among the processes."""
    jobs = []

    def load(out, job, watch):
        jobs.append(job)
        raise DataError("enough")

    monkeypatch.setattr("tux.cli.partition_tables.cores", lambda: 4)
    monkeypatch.setattr("tux.cli.partition_shares.load_in_shares", load)
    assert tux("ratings shares --workers 2" + flag)[0] != 0
    assert [job.threads for job in jobs] == [threads]


@pytest.mark.long
def test_parquet_in_shares(tux, here):
    columns = {
        name: np.array([row[at] for row in ROWS]) for at, name in enumerate(("a", "b", "weight"))
    }
    write_parquet(here / "edges.parquet", columns)
    code, out, err = tux("edges.parquet shares --workers 2 --one-type --seed 3")
    assert code == 0, err
    assert "cut by dbh" in out
    assert tux("edges.parquet one --parts 2 --method dbh --one-type --seed 3")[0] == 0
    assert files(here / "shares") == files(here / "one")


@pytest.mark.slow
@pytest.mark.long(after=1)
@pytest.mark.parametrize("parquet", [False, True])
def test_tables_of_vertices(tux, here, parquet):
    rows = [(f"u{at}", at % 7, at / 8, ("Rome", "Oslo", "7")[at % 3]) for at in range(45)]
    table = {
        name: np.array(column, STRING if isinstance(column[0], str) else None)
        for name, column in zip(("id", "age", "size", "town"), zip(*rows, strict=True), strict=True)
    }
    table |= {"x_0": np.arange(45.0), "x_1": np.ones(45), "large": 2**40 + np.arange(45)}
    write = write_parquet if parquet else write_text
    write(here / "users", table)
    write_text(here / "items.csv", {"item": np.arange(60), "weight": np.arange(60) / 2})
    tables = "--vertices source=users --vertices target=items.csv"
    code, out, err = tux(f"ratings shares --workers 3 --parts 2 {tables}")
    assert code == 0, err
    assert "5 sources of users without edges" in err
    code, out, err = tux(f"ratings --parts 2 --method aweto --out one {tables}")
    assert code == 0, err
    assert files(here / "shares") == files(here / "one")


@pytest.mark.long
def test_tables_that_are_read_whole(tux, here):
    (here / "users.csv").write_text("id,age\nu1,3\nu2,4\n")
    code, _, err = tux("ratings shares --workers 2 --vertices source=users.csv")
    assert code == 2 and "some vertex has no row" in err and "leave --workers out" in err
    code, _, err = tux("ratings shares --workers 2 --vertices shop=users.csv")
    assert code == 2 and "no vertex type 'shop'" in err


@pytest.mark.slow
@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("data", "flags", "told"),
    [
        ("train.svm", "", "labelled -1 or 1"),
        ("heavy.svm", "--multiclass", "labelled -1 or 0 or 1"),
        ("table.csv", "--label kind --numeric --weight w", "labelled by numbers"),
        ("bare.svm", "--labels y.txt", "labelled a or b"),
        ("x.npz", "--labels y.txt", "labelled a or b"),
    ],
)
def test_labelled_samples(tux, here, data, flags, told):
    rows = [(at % 3, at * 7 % 11 + 1, at % 5 + 12, at / 8) for at in range(90)]
    lines = [f"{(-1) ** (a + b)} {b}:{n} {c}:2\n" for a, b, c, n in rows]
    (here / "train.svm").write_text("".join(lines) + "-1\n")
    lines = [f"{a - 1}:{b} {b}:{n} {c}:2\n" for a, b, c, n in rows]
    (here / "heavy.svm").write_text("".join(lines))
    lines = [f"{a},{b},{n},x{c}\n" for a, b, c, n in rows]
    (here / "table.csv").write_text("kind,w,size,town\n" + "".join(lines))
    (here / "bare.svm").write_text("".join(f"{b}:{n} {c}:2\n" for a, b, c, n in rows))
    (here / "y.txt").write_text("a\nb\nb\n" * 30)
    sp.save_npz(here / "x.npz", sp.csr_array(np.array(rows)[:, :3]))
    code, out, err = tux(f"{data} shares --workers 2 --parts 3 {flags}")
    assert code == 0, err
    assert told in out
    assert tux(f"{data} one --parts 3 --method aweto {flags}")[0] == 0
    assert files(here / "shares") == files(here / "one")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["docword.txt", "corpus.ldac"])
def test_documents(tux, here, name):
    rows = [(at * 7 % 20 + 1, at * 5 % 11 + 1, at % 4 + 1) for at in range(90)]
    lines = ["20\n11\n90\n", *(f"{d} {w} {n}\n" for d, w, n in rows)]
    (here / "docword.txt").write_text("".join(lines))
    lines = [f"2 {w}:{n} {d + 20}:1\n" for d, w, n in rows]
    (here / "corpus.ldac").write_text("3 1:1 2:1 3:1\n1 1:1\n" + "".join(lines))
    code, out, err = tux(f"{name} shares --workers 2 --parts 3")
    assert code == 0, err
    assert "vertices of two types, as it is a" in out
    assert tux(f"{name} one --parts 3 --method aweto")[0] == 0
    assert files(here / "shares") == files(here / "one")


@pytest.mark.slow
def test_errors_in_labels_are_those_of_one_process(tux, here):
    (here / "train.svm").write_text("1 1:1\n1 2:1\n" * 40 + "2 1:1\n3 1:1\n")
    code, _, err = tux("train.svm there --workers 2")
    assert code == 3
    assert "3 kinds of labels instead of two" in err and "train.svm:82" in err


@pytest.mark.slow
def test_a_bad_row_is_told_with_its_file_and_line(tux, here):
    path = here / "ratings" / "b.csv"
    path.write_text(path.read_text() + "u1,2\n")
    code, _, err = tux("ratings shares --workers 2")
    assert code == 3
    assert "ratings/b.csv:252" in err
    assert "--on-bad-row" not in err
    assert [path.name for path in here.iterdir()] == ["ratings"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("ratings --workers 2", "without a folder"),
        ("ratings there --workers 2 --method ne", "ne needs to see all edges"),
        ("ratings there --workers 2 --method nee", "unknown method 'nee'"),
        ("ratings there --workers 2 --method dbh,random", "one method"),
        ("ratings there --workers 2 --method all", "one method"),
        ("ratings there --workers 2 --cap 1.1", "--cap needs all edges"),
        ("ratings there --workers 2 --out here", "two folders"),
        ("ratings there", "required: --parts"),
        ("none.csv there --workers 2", "no such file"),
        ("ratings ratings --workers 2", "exists"),
        ("- there --workers 2", "only once"),
        ("links.txt there --workers 2", "say --bipartite or --one-type"),
        ("graph.metis there --workers 2 --one-type", "metis file"),
        ("ratings there --workers 2 --label a --one-type", "two types of vertices"),
        ("ratings there --workers 2 --numeric --multiclass", "contradict"),
        ("ratings there --workers 2 --labels -", "- can be read only once"),
        ("ratings there --workers 2 --label stars", "no column 'stars'"),
        ("docword.txt there --workers 2 --numeric", "a docword file, which is read whole"),
        ("docword.txt there --workers 2 --columns 1,2", "leave --columns out"),
        ("docword.txt there --workers 2 --one-type", "not both of type vertex"),
    ],
)
def test_what_is_refused(tux, here, words, told):
    (here / "links.txt").write_text("1 2\n2 3\n")
    (here / "graph.metis").write_text("2 1\n2\n1\n")
    (here / "docword.txt").write_text("2\n2\n1\n1 2 1\n")
    code, _, err = tux(words)
    assert code in (2, 3)
    assert told in err
    assert not (here / "there").exists()
