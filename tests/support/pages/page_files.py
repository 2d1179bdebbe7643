"""Small files under the names that the pages of the documents use."""

import gzip
import shutil
from pathlib import Path

import numpy as np

from tux.cli.main import main

ROOT = Path(__file__).parents[3]

OUTSIDE = '''"""Its index goes beyond the end of a field."""

from tux import Edge, Program, Vertex, delta, param, value
from tux import Apply, Exchange


def count(item, p):
    item.hist[p.place] += 1


def keep(item):
    item.first = item.hist[0]


class Histogram(Program):
    place: int = param(12, "an index")
    item = Vertex(hist=delta("i4", 10), first=value("i4"))
    user, link = Vertex(), Edge("user", "item")

    def stages(self):
        return [Exchange(count), Apply("item", keep)]
'''

EARLY = '''"""It reads what is being gathered."""

from tux import Edge, Program, Vertex, delta, value
from tux import Apply, Exchange


def count(dst):
    dst.got += 1


def look(src, dst):
    dst.sum += src.got


def keep(page):
    page.x = page.sum


class Pages(Program):
    page = Vertex(got=delta("i4"), sum=delta("i4"), x=value("i4"))
    link = Edge("page", "page")

    def stages(self):
        return [Exchange(count), Exchange(look), Apply("page", keep)]
'''

POPULAR = """from tux import Context, Edge, Program, Vertex, delta, metric, mirror, total, value
from tux import Apply, Exchange, GlobalSync


def count(src):
    src.links += 1


def give(src, dst):
    dst.gain += src.x * src.links


def keep(page, tau):
    page.x = page.gain
    tau.sum += page.x


def show(tau):
    tau.shown = tau.sum


class Popular(Program):
    page = Vertex(x=value("f8", init=1), links=mirror("i4"), gain=delta("f8"))
    link = Edge("page", "page")
    tau = Context(sum=total(), shown=metric())

    def stages(self):
        return [Exchange(count), Exchange(give), Apply("page", keep), GlobalSync(show)]
"""


def generate(*words: str) -> None:
    """Run `tux generate`."""
    assert main(["generate", *words]) == 0


def _sizes(**sizes: int) -> list[str]:
    return [word for name, size in sizes.items() for word in (f"--{name}", str(size))]


NEW = ("Ann,446,5", "Ann,24,2", "Ann,98,5", "Bob,381,1", "Bob,10,2", "Bob,77777,5")
"""Ratings of users who are in no file of training."""


def ratings(folder: Path) -> None:
    """Write ratings in one file and in a folder of two, held-out ratings, and pairs to score."""
    sizes = _sizes(users=60, items=40, ratings=900)
    files = [str(folder / name) for name in ("ratings.csv", "held-out.csv")]
    generate("ratings", *sizes, "--out", files[0], "--test", files[1])
    shutil.copy(files[0], folder / "r.csv")
    (folder / "ratings").mkdir()
    for part in "ab":
        shutil.copy(files[0], folder / "ratings" / f"part-{part}.csv")
    rows = (folder / "ratings.csv").read_text(encoding="utf-8").splitlines()[1:3]
    pairs = [row.rpartition(",")[0] for row in rows]
    (folder / "users.csv").write_text("user\n1\n2\n", encoding="utf-8")
    (folder / "pairs.csv").write_text("\n".join(["user,item", *pairs, ""]), encoding="utf-8")
    (folder / "new.csv").write_text("\n".join(["user,item,rating", *NEW, ""]), encoding="utf-8")


def documents(folder: Path) -> None:
    """Write a corpus, also packed and under the name that docs/lda.md uses, and seed words."""
    sizes = _sizes(documents=40, vocabulary=120, topics=4, tokens=2_000)
    files = [str(folder / name) for name in ("docword.txt", "vocab.txt")]
    generate("corpus", *sizes, "--out", files[0], "--vocab", files[1])
    with gzip.open(folder / "docword.kos.txt.gz", "wb") as packed:
        packed.write(Path(files[0]).read_bytes())
    shutil.copy(files[1], folder / "vocab.kos.txt")
    words = Path(files[1]).read_text(encoding="utf-8").split()
    first = Path(files[0]).read_text(encoding="utf-8").splitlines()[3:6]
    seeds = {words[int(line.split()[1]) - 1] for line in first}
    (folder / "seeds.txt").write_text(f"one: {' '.join(seeds)}\n", encoding="utf-8")


def samples(folder: Path) -> None:
    """Write clicks to train on and to test, and groups of their features."""
    files = [str(folder / name) for name in ("train.svm", "test.svm")]
    generate(
        "clicks", *_sizes(samples=300, features=60), "--out", files[0], "--test", files[1]
    )  # fmt: skip
    shutil.copy(files[1], folder / "new.svm")
    groups = "".join(f"{feature}\tgroup{feature % 9}\n" for feature in range(1, 61))
    (folder / "groups.tsv").write_text(groups, encoding="utf-8")


def graphs(folder: Path) -> None:
    """Write a graph of 60 vertices in two groups, and labels of its vertices, plain and packed; and
    edges of vertices that came later.
    """
    rng = np.random.default_rng(0)
    sides = rng.integers(0, 2, 400) * 30
    links = np.sort(rng.integers(0, 30, (400, 2)) + sides[:, None], axis=1)
    links = np.unique(links[links[:, 0] != links[:, 1]], axis=0)
    text = "".join(f"{a} {b}\n" for a, b in [*links, (3, 40)])
    labels = "".join(f"{v} {v // 30}\n" for v in range(60))
    for names, content in (
        (("links.txt", "graph.txt"), text),
        (("labels.txt",), labels),
        (("new-links.txt",), "60 3\n5 60\n61 40\n"),
    ):
        for name in names:
            (folder / name).write_text(content, encoding="utf-8")
    packed = {"cora_edgelist.txt.gz": text, "cora_labels.txt.gz": labels}
    for name, content in {**packed, "soc-Epinions1.txt.gz": text}.items():
        with gzip.open(folder / name, "wt", encoding="utf-8") as file:
            file.write(content)


def points(folder: Path) -> None:
    """Write points around three centres."""
    rng = np.random.default_rng(1)
    rows = rng.normal(0, 1, (90, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 30, axis=0)
    np.savetxt(folder / "points.csv", rows, delimiter=",", header="x_0,x_1", comments="")


def write(folder: Path) -> None:
    """Write all of them, and a link to the documents, from whose folder's parent the pages run."""
    for make in (ratings, documents, samples, graphs, points):
        make(folder)
    for name, text in {"file": OUTSIDE, "pages": EARLY, "popular": POPULAR}.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    shutil.copy(folder / "links.txt", folder / "DATA")
    shutil.copy(ROOT / "docs" / "films.csv", folder)
    for name in ("docs", "deploy"):
        (folder / name).symlink_to(ROOT / name)
