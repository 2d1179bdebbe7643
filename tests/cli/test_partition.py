"""``tux partition``: what a new user sees, what it writes, and how mistakes are told."""

import gzip
import json

import numpy as np
import pytest
from support.oracles.slow_quality import holders

from tux.arrays.arrow import write_parquet
from tux.base import parallel
from tux.cli import show
from tux.cli.main import main
from tux.compare import partitioners as compare_cuts
from tux.figures import figures
from tux.graph.manifest import read_manifest
from tux.graph.store import load
from tux.partition import PARTITIONERS, bicut, random
from tux.partition.quality import Quality, quality

RNG = np.random.default_rng(4)
PAIRS = [
    (int(u), int(v))
    for u, v in zip(RNG.integers(0, 60, 400), np.minimum(RNG.zipf(1.5, 400), 60), strict=True)
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Enter a folder of the test's own, with two methods: all methods would only be slow."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compare_cuts, "PARTITIONERS", {"random": random, "bicut": bicut})
    (tmp_path / "links.txt").write_text("# a comment\n" + "".join(f"{u} {v}\n" for u, v in PAIRS))
    return tmp_path


@pytest.fixture
def tux(capsys):
    """Run ``tux partition``; returns exit code, standard output and standard error, which never
    hold a traceback.
    """

    def run(words, *more):
        code = main(["partition", *words.split(), *more])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


def rows(out):
    """Return the table's lines by method, in their order, without the mark."""
    lines = out.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.split()[:2] == ["method", "RF"])
    end = next(at for at, line in enumerate(lines) if line.startswith(("x:", "RF:")))
    return {line[2:].split()[0]: line for line in lines[begin + 1 : end]}


def test_what_may_not_win_stands_below_the_others(tux, monkeypatch):
    """All edges in one part cost nothing to synchronise, and are no cut."""
    heap = lambda src, dst, k, seed=0, **_: np.zeros(len(src), np.int16)  # noqa: E731
    monkeypatch.setattr(compare_cuts, "PARTITIONERS", {"heap": heap, "random": random})
    code, out, _ = tux("links.txt --parts 4 --one-type --method heap,random")
    assert code == 0 and list(rows(out)) == ["random", "heap"]
    assert "cannot win, as the largest part has more than 1.25 times the mean: heap." in out
    assert "winner: random: an epoch moves" in out and rows(out)["heap"].startswith("x")


def test_methods_as_good_as_the_winner_are_named(tux, monkeypatch):
    monkeypatch.setattr(compare_cuts, "PARTITIONERS", {"one": random, "other": random})
    _, out, _ = tux("links.txt --parts 4 --one-type --method one,other")
    assert "winner: one: an epoch moves" in out and ", as little as other. RF" in out


def test_all_methods_sorted_by_volume_with_a_winner(tux):
    code, out, err = tux("links.txt --parts 4 --one-type --cap 1.05")
    assert code == 0
    repeats = len(PAIRS) - len(set(PAIRS))
    assert err == (
        "warning: links.txt: 1 line of comments, which begin with # or %\n"
        f"warning: {repeats} rows of links.txt repeat a (source, target) pair\n"
    )
    src, dst = np.array(PAIRS).T
    expected = {
        name: quality(src, dst, method(src, dst, 4, cap=1.05), 4)
        for name, method in (("random", random), ("bicut", bicut))
    }
    order = sorted(expected, key=lambda name: expected[name].volume)
    assert list(rows(out)) == order
    for name, line in rows(out).items():
        assert (
            f" {expected[name].replication:.3f} " in line
            and f" {expected[name].edge_balance:.2f} " in line
        )
        assert line.startswith("*") == (name == order[0])
    assert f"winner: {order[0]}: an epoch moves" in out and "the least of all" in out
    assert f"{len(PAIRS)} edges" in out and "rows of 4 B" in out and "one type, as" not in out


def test_a_method_with_less_volume_but_a_skewed_part_does_not_win(tux, here):
    (here / "one.txt").write_text("0\n" * len(PAIRS))
    code, out, _ = tux("links.txt --parts 4 --method random --import one.txt --one-type")
    assert code == 0 and list(rows(out)) == ["random", "one.txt"]
    assert rows(out)["random"].startswith("*") and rows(out)["one.txt"].startswith("x")
    _, out, _ = tux("links.txt --parts 4 --import one.txt --one-type")
    assert list(rows(out)) == ["one.txt"] and "winner: one.txt" in out


def test_of_equal_volumes_the_one_with_less_for_its_busiest_worker_wins(tux, here):
    """Both cut vertices 0, 1 and 2 in two; in the first assignment part 0 is there each time, in
    the second each part twice.
    """
    (here / "e.txt").write_text("0 3\n0 4\n1 5\n1 6\n2 7\n2 8\n")
    (here / "star.txt").write_text("0\n1\n0\n2\n0\n1\n")
    (here / "ring.txt").write_text("0\n1\n1\n2\n2\n0\n")
    code, out, _ = tux("e.txt --parts 3 --import star.txt --import ring.txt --one-type --cap 2")
    assert code == 0 and rows(out)["ring.txt"].startswith("*")


def test_an_imported_assignment_is_judged_exactly(tux, here):
    parts = [(u + v) % 3 for u, v in PAIRS]
    with gzip.open(here / "other.gz", "wt") as out:
        out.write("# made elsewhere\n" + "".join(f"{p}\n" for p in parts))
    assert tux("links.txt --parts 3 --import other.gz --json q.json --one-type")[0] == 0
    (method,) = json.loads((here / "q.json").read_text())["methods"]
    where, _ = holders(PAIRS, parts, False)
    assert method["name"] == "other.gz" and method["quality"]["replication"] == sum(
        map(len, where.values())
    ) / len(where)
    assert method["quality"]["seconds"] is None


def test_json_holds_everything(tux, here):
    assert (
        tux("links.txt --parts 4 --json q.json --bipartite --row-bytes 8,68/64 --syncs 1,20")[0]
        == 0
    )
    stored = json.loads((here / "q.json").read_text())
    # bicut has too large a part
    assert (stored["parts"], stored["bipartite"], stored["winner"]) == (4, True, "random")
    for method in stored["methods"]:
        found = Quality.from_dict(method["quality"])
        assert [(t.name, t.row_bytes, t.syncs) for t in found.types] == [
            ("source", (8, 8), 1),
            ("target", (68, 64), 20),
        ]
        assert found.seconds >= 0 and found.peak_bytes >= 0


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_are_as_many_as_asked_and_change_nothing(tux, here, monkeypatch, threads):
    monkeypatch.setattr("tux.base.parallel._chosen", [])
    seen = []

    def note(*arguments, **options):
        seen.append(parallel.threads())
        return random(*arguments, **options)

    monkeypatch.setattr(compare_cuts, "PARTITIONERS", {"random": note})
    words = f"links.txt --parts 4 --method random --assignment a.txt --one-type --threads {threads}"
    assert tux(words)[0] == 0 and set(seen) == {threads}
    src, dst = np.array(PAIRS).T
    assert np.array_equal(np.loadtxt(here / "a.txt", int), random(src, dst, 4))


def test_the_assignment_written_is_the_winners_and_can_be_read_back(tux, here):
    assert tux("links.txt --parts 4 --method random --assignment a.txt.gz --one-type")[0] == 0
    with gzip.open(here / "a.txt.gz", "rt") as file:
        written = [int(line) for line in file]
    assert written == random(*np.array(PAIRS).T, 4).tolist()
    _, out, _ = tux("links.txt --parts 4 --method random --import a.txt.gz --one-type")
    same = [
        line.split("a.txt.gz" if "a.txt.gz" in line else "random")[1].split()[:6]
        for line in rows(out).values()
    ]
    assert same[0] == same[1]


def test_a_folder_in_parts(tux, here):
    (here / "r.csv").write_text(
        "user,item,rating\n" + "".join(f"u{u},{v},{u % 5}\n" for u, v in PAIRS)
    )
    code, out, _ = tux("r.csv --parts 3 --method bicut --out cut --seed 5")
    assert code == 0 and "cut by bicut, for tux run APP cut" in out
    manifest = read_manifest(here / "cut")
    assert (manifest.parts, manifest.ends, manifest.fields) == (3, ("source", "target"), ["value"])
    found = []
    for number in range(3):
        part = load(here / "cut", number)
        ids = [t.ids.values[t.order[t.rows]] for t in (part.types["source"], part.types["target"])]
        found += [
            (str(ids[0][s]), int(ids[1][d]), int(x))
            for s, d, x in zip(part.src, part.dst, part.fields["value"], strict=True)
        ]
    assert sorted(found) == sorted((f"u{u}", v, u % 5) for u, v in PAIRS)
    code, _, err = tux("r.csv --parts 3 --method bicut --out cut")
    assert code == 2 and "output folder cut exists" in err
    assert sorted(path.name for path in here.iterdir() if path.name.startswith(".")) == []


def test_undirected_edges_are_judged_once_and_written_both_ways(tux, here):
    (here / "g.graph").write_text("4 4\n2 3\n1 3 4\n1 2\n2\n")
    code, out, _ = tux("g.graph --parts 2 --method random --out cut --assignment a.txt")
    assert code == 0 and "4 edges, 4 vertices" in out and "METIS graphs are undirected" in out
    assert len((here / "a.txt").read_text().split()) == 4 and read_manifest(here / "cut").edges == 8


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", "user,thing\n1,1\n2,1\n", "two types, as it has a column 'user'"),
        ("a.txt", "a x\nb x\n", "two types, as no id occurs on both sides"),
        ("a.txt", "1 2\n2 3\n", "one type, as 1 id occurs on both sides"),
        (
            "a.dat",
            "".join(f"{i % 9 + 1}::{i % 5 + 1}::3.5\n" for i in range(45)),
            "two types, as edges have numbers, and sides count",
        ),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 1\n2 3\n",
            "two types, as it is a matrix of 2 x 3",
        ),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n",
            "one type, as it is a matrix of 3 x 3",
        ),
    ],
)
def test_one_type_or_two_is_found_and_told(tux, here, name, text, told):
    (here / name).write_text(text)
    code, out, _ = tux(f"{name} --parts 2")
    assert code == 0 and told in out and ("RF source" in out) == ("two types" in told)


def test_parquet(tux, here):
    src, dst = np.array(PAIRS).T
    write_parquet(here / "g.parquet", {"src": src, "dst": dst})
    _, out, _ = tux("g.parquet --parts 4 --method random --one-type")
    assert (
        rows(out)["random"].split()[:7]
        == rows(tux("links.txt --parts 4 --method random --one-type")[1])["random"].split()[:7]
    )


def test_a_method_that_refuses_is_told_and_the_others_go_on(tux, monkeypatch):
    def refuse_method(src, dst, k, seed=0, **how):
        raise ValueError(f"k={k} is not to its taste")

    monkeypatch.setitem(compare_cuts.PARTITIONERS, "picky", refuse_method)
    code, out, _ = tux("links.txt --parts 4")
    assert (
        code == 0
        and "picky could not be judged: k=4 is not to its taste" in out
        and len(rows(out)) == 3
    )
    code, out, err = tux("links.txt --parts 4 --method picky")
    assert code == 2 and "no method has given an assignment" in err


def test_plots(tux, here):
    assert tux("links.txt --parts 4 --plot p.png --one-type")[0] == 0
    assert (here / "p.png").read_bytes()[:4] == b"\x89PNG"
    assert tux("links.txt --parts 4 --plot p.svg --one-type")[0] == 0
    text = (here / "p.svg").read_text()
    assert text.lstrip().startswith("<?xml") and "lower bound" in text and "bicut" in text


def test_plots_without_matplotlib(tux, monkeypatch):
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    code, _, err = tux("links.txt --parts 4 --plot p.png")
    assert code == 2 and "matplotlib" in err and "pip install 'tux[plot]'" in err


def test_one_vertex_is_one(tux, here):
    (here / "one.txt").write_text("1 2\n")
    assert "one.txt: 1 edge, 1 source and 1 target, 2 parts" in tux("one.txt --parts 2")[1]


def test_help_names_the_formats_and_the_real_methods_are_all_known(tux, capsys):
    assert main(["partition", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("METIS", "Matrix Market", "Parquet", "--import"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare_cuts, "PARTITIONERS", PARTITIONERS)
        assert compare_cuts.parse_methods("all") == list(PARTITIONERS)


def test_long_work_says_how_much_is_done(capsys):
    with show.PlainLines(beat=0.01) as watch:
        watch.phase("hdrf (1 of 2)")
        watch.share(0.5)
        seen = ""
        while "50%" not in seen:
            seen += capsys.readouterr().out
    assert "... hdrf (1 of 2), 50%," in seen


def test_on_a_terminal_there_are_a_bar_and_a_table(monkeypatch, capsys):
    from rich.console import Console

    live = show.LiveTable()
    live.phase("hdrf (1 of 2)")
    console = Console(width=80)
    console.print(live._render())
    live.share(0.5)
    console.print(live._render())
    first, second = capsys.readouterr().out.splitlines()
    assert (
        "hdrf (1 of 2)" in first
        and "hdrf (1 of 2)" in second
        and second.startswith("━")
        and not first.startswith("━")
    )
    monkeypatch.setattr(show, "_rich", lambda stream: True)
    show.grid(["method", "RF"], [["ne", "1.5"], ["random", "12.0"]], ["*", ""])
    lines = capsys.readouterr().out.splitlines()
    cells = [line.split() for line in lines]
    assert cells == [["method", "RF"], ["*", "ne", "1.5"], ["random", "12.0"]]
    show.grid(["word", "weight"], [["a", "1"]])
    assert capsys.readouterr().out.split() == ["word", "weight", "a", "1"]


@pytest.mark.parametrize("header", ["user,item,rating", "a,b,w", "source,target,weight", ""])
def test_a_header_is_no_edge(tux, here, header):
    rows = [f"u{i % 7},i{i % 11},{i % 5}" for i in range(60)]
    (here / "r.csv").write_text("\n".join([*([header] if header else []), *rows]) + "\n")
    code, out, err = tux("r.csv --parts 2 --method random --out p")
    assert code == 0, err
    assert "r.csv: 60 edges" in out


def test_a_row_that_may_be_one_of_names_is_told(tux, here, capsys):
    (here / "friends.csv").write_text("who,friend\nann,bob\nbob,cid\ncid,ann\ndan,ann\n")
    code, out, err = tux("friends.csv --parts 2 --method random")
    assert code == 0 and "5 edges" in out
    assert "row 1, who, friend, is read as an edge" in err
    assert main(["info", "friends.csv"]) == 0
    assert "friends.csv: row 1, who, friend, is read as an edge" in capsys.readouterr().err
