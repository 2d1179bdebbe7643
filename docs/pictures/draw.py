"""Draws the pictures of the documents, from runs of the programs that they show. Run it at the top
of the tree, after a change that they show: python docs/pictures/draw.py [NAME ...]

It needs matplotlib, scipy and pandas, and writes docs/pictures/NAME.svg, and novel.png.
"""

import sys
import tempfile
from pathlib import Path

import matplotlib
import networkx as nx
import numpy as np
from matplotlib import pyplot as plt
from scipy import sparse

import tux
from tux.cli.main import main
from tux.partition import PARTITIONERS, quality
from tux.program.sources import find
from tux.synthetic.clusters import clusters as generated_clusters

HERE = Path(__file__).parent
SMALL, WIDE = (2.6, 2.0), (5.4, 2.7)  # inches
CLUB = nx.karate_club_graph()
BOTH_WAYS, ONCE = CLUB.to_directed(), nx.DiGraph([*CLUB.edges])
SPARSE = nx.gnm_random_graph(34, 25, seed=4)
PLACES = nx.kamada_kawai_layout(CLUB, weight=None)
CATEGORIES, SEQUENCE = "tab10", "viridis"

GRAPHS = {  # name: parameters, graph, vertex type, field, colours
    "personal_pagerank": ({"source": 16}, BOTH_WAYS, "page", "rank", SEQUENCE),
    "katz": ({"alpha": 0.1}, BOTH_WAYS, "page", "score", SEQUENCE),
    "hits": ({}, BOTH_WAYS, "page", "authority", SEQUENCE),
    "components": ({}, SPARSE, "node", "component", CATEGORIES),
    "label_propagation": ({}, BOTH_WAYS, "node", "label", CATEGORIES),
    "core_numbers": ({}, ONCE, "node", "core", SEQUENCE),
    "triangles": ({}, ONCE, "node", "clustering", SEQUENCE),
    "colouring": ({}, BOTH_WAYS, "node", "colour", CATEGORIES),
    "independent_set": ({}, ONCE, "node", "state", CATEGORIES),
}


def program(file, **parameters):
    """Return a program of a file, ready to run."""
    return find(file).program(**parameters)


def values(run, kind, field):
    """Return a field by the vertices of the club, in their order."""
    rows = run.vertices[kind]
    found = dict(zip(rows.ids.tolist(), rows[field].tolist(), strict=True))
    return [found[vertex] for vertex in CLUB]


def draw_graph(numbers, colours, graph=CLUB):
    """Draw a graph, with vertices coloured by numbers."""
    figure, axes = plt.subplots(figsize=SMALL)
    places = nx.spring_layout(SPARSE, k=0.4, seed=2) if graph is SPARSE else PLACES
    if colours == CATEGORIES:
        numbers = np.unique(numbers, return_inverse=True)[1]
    nx.draw_networkx_edges(graph, places, ax=axes, edge_color="#bbbbbb", width=0.6)
    limits = {"vmin": 0, "vmax": 9} if colours == CATEGORIES else {}
    nx.draw_networkx_nodes(
        graph, places, ax=axes, node_color=numbers, cmap=colours, node_size=36, **limits
    )
    axes.axis("off")
    return figure


def graphs():
    """Draw the results of the graph programs of the gallery."""
    for name, (parameters, graph, kind, field, colours) in GRAPHS.items():
        run = tux.run(program(f"docs/examples/{name}.py", **parameters), graph, progress=False)
        drawn = SPARSE if graph is SPARSE else CLUB
        yield name, draw_graph(values(run, kind, field), colours, drawn)
    run = tux.run(program("docs/pagerank.py"), BOTH_WAYS, progress=False)
    yield "pagerank", draw_graph(values(run, "page", "rank"), SEQUENCE)
    lengths = np.random.default_rng(0).uniform(1, 3, CLUB.number_of_edges())
    src, dst = np.array(CLUB.edges).T
    roads = {
        "src": np.concatenate([src, dst]),
        "dst": np.concatenate([dst, src]),
        "length": np.concatenate([lengths, lengths]),
    }
    paths = program("docs/examples/shortest_paths.py", source=0)
    run = tux.run(paths, roads, progress=False)
    yield "shortest_paths", draw_graph(values(run, "place", "distance"), SEQUENCE)
    yield "news", draw_graph([*nx.single_source_shortest_path_length(CLUB, 0).values()], SEQUENCE)


def assignment():
    """Draw the benefits of seven persons and tasks, and who got what."""
    benefits = np.random.default_rng(3).integers(0, 30, (7, 7))
    person, task = (each.ravel() for each in np.indices(benefits.shape))
    data = {"person": person, "task": task, "benefit": benefits.ravel().astype("f8")}
    run = tux.run(program("docs/examples/assignment.py", increment=0.1), data, progress=False)
    figure, axes = plt.subplots(figsize=SMALL)
    axes.imshow(benefits, cmap="Greys", vmax=60)
    tasks = run.vertices["task"]
    axes.scatter(tasks.ids, tasks["owner"], s=60, facecolors="none", edgecolors="tab:red")
    axes.set(xticks=[], yticks=[], xlabel="tasks", ylabel="persons")
    yield "assignment", figure


def curves(history, names, label):
    """Draw metrics by epoch."""
    figure, axes = plt.subplots(figsize=WIDE)
    for name in names:
        numbers = np.asarray(history[name], float)
        there = ~np.isnan(numbers)
        axes.plot(np.asarray(history["epoch"])[there], numbers[there], label=name)
    axes.set(xlabel="epoch", ylabel=label)
    axes.legend(frameon=False)
    return figure


def recommendations(folder):
    """Draw the errors of the tutorial's run."""
    sizes = "--users 1000 --items 300 --ratings 40000".split()
    train, test = str(folder / "train.csv"), str(folder / "test.csv")
    assert main(["generate", "ratings", *sizes, "--out", train, "--test", test]) == 0
    run = tux.run(tux.MF(rank=8, reg=0.1), train, test, epochs=20, progress=False)
    yield "recommendations", curves(run.history, ["train_rmse", "test_rmse"], "RMSE")


def sweeps(folder):
    """Draw the objective of alternating least squares by epoch, for several solvers."""
    train, test = str(folder / "train.csv"), str(folder / "test.csv")
    sizes = "--users 2000 --items 500 --ratings 100000".split()
    assert main(["generate", "ratings", *sizes, "--out", train, "--test", test]) == 0
    figure, panels = plt.subplots(1, 2, figsize=(WIDE[0] * 1.15, WIDE[1]))
    for name, how in {"1 step": {"steps": 1}, "3 steps": {}, "exact": {"steps": 0}}.items():
        als = tux.ALS(rank=16, reg=0.1, center=True, **how)
        history = tux.run(als, train, test, epochs=12, progress=False).history
        for axes, metric in zip(panels, ("objective", "test_rmse"), strict=True):
            line = "k:" if name == "exact" else "-"
            axes.plot(history["epoch"], history[metric], line, label=name)
    for axes, label in zip(panels, ("objective", "RMSE of held-out ratings"), strict=True):
        axes.set(xlabel="epoch", ylabel=label, xticks=range(0, 13, 2))
    panels[0].legend(frameon=False)
    figure.tight_layout()
    yield "als", figure


def topics(folder):
    """Draw the likelihood of a corpus of paragraphs."""
    text = "\n\n".join(path.read_text("utf-8") for path in sorted(Path("docs").glob("*.md")))
    file = folder / "paragraphs.txt"
    file.write_text("\n".join(part.replace("\n", " ") for part in text.split("\n\n")), "utf-8")
    run = tux.run(tux.LDA(topics=8), str(file), form="text", epochs=60, progress=False)
    yield "topics", curves(run.history, ["loglik_per_token"], "log-likelihood a word")


def clicks(folder):
    """Log loss and features by penalty."""
    train, test = str(folder / "train.svm"), str(folder / "test.svm")
    sizes = "--samples 4000 --features 400".split()
    assert main(["generate", "clicks", *sizes, "--out", train, "--test", test]) == 0
    out = str(folder / "path")
    flags = f"--test {test} --l1 0.5 --path 8 --fit-intercept --out {out}".split()
    assert main(["run", "blockpg", train, *flags]) == 0
    table = np.genfromtxt(f"{out}/model/path.tsv", names=True, delimiter="\t")
    figure, axes = plt.subplots(figsize=WIDE)
    axes.semilogx(table["penalty_l1"], table["test_logloss"], "o-")
    axes.set(xlabel="penalty", ylabel="log loss on held-out samples")
    for row in table:
        place = row["penalty_l1"], row["test_logloss"]
        axes.annotate(f"{row['nonzeros']:.0f}", place, xytext=(0, 6), textcoords="offset points")
    yield "clicks", figure


def boosting():
    """Log loss by the number of trees, for trees of several depths: labels that depend on pairs of
    features.
    """
    rng = np.random.default_rng(0)
    x = np.where(rng.random((6000, 20)) < 0.5, rng.normal(size=(6000, 20)), 0)
    score = 3 * (x[:, 0] * x[:, 1] > 0) - 3 * (x[:, 2] * x[:, 3] * x[:, 4] > 0) + x[:, 5]
    y = np.where(score + rng.logistic(size=6000) > 0, 1, -1)
    x = sparse.csr_array(x)
    train, test = (x[:4000], y[:4000]), (x[4000:], y[4000:])
    figure, axes = plt.subplots(figsize=WIDE)
    for depth in (1, 2, 4, 8):
        run = tux.run(tux.GBDT(max_depth=depth, learning_rate=0.2), train, test, progress=False)
        axes.plot(run.history["epoch"], run.history["test_logloss"], label=f"depth {depth}")
    axes.set(xlabel="trees", ylabel="log loss on held-out samples")
    axes.legend(frameon=False)
    yield "boosting", figure


def cuts(folder):
    """Draw the replication of a vertex by partitioner."""
    file = str(folder / "ratings.csv")
    sizes = "--users 2000 --items 400 --ratings 60000".split()
    assert main(["generate", "ratings", *sizes, "--out", file]) == 0
    rows = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=(0, 1), dtype=int)
    users, items = (np.unique(column, return_inverse=True)[1] for column in rows.T)
    found = {}
    for name, cut in PARTITIONERS.items():
        parts = cut(users, items, 4, 0, bipartite=True)
        found[name] = quality(users, items, parts, 4, bipartite=True).replication
    order = sorted(found, key=found.get, reverse=True)
    figure, axes = plt.subplots(figsize=WIDE)
    axes.barh(order, [found[name] for name in order], height=0.7)
    axes.set(xlabel="workers that hold a vertex, on average, of four")
    axes.tick_params(axis="y", labelsize=7)
    yield "cuts", figure


def clusters():
    """Draw points in the colours of their clusters, and the centers."""
    made = generated_clusters(600, 2, 6, spread=1.2)
    run = tux.run(tux.PointKMeans(n_clusters=6), made.x, progress=False)
    center = run.context["center"][0].reshape(6, 2)
    figure, axes = plt.subplots(figsize=WIDE)
    axes.scatter(*made.x.T, c=run.vertices["sample"]["cluster"], cmap=CATEGORIES, s=4, vmax=9)
    axes.scatter(*center.T, marker="x", c="black", s=40)
    axes.set_aspect("equal")
    yield "clusters", figure


def novel(folder):
    """Write the picture of the vectors of a novel's characters, as tux itself draws them; the only
    PNG.
    """
    file, out = str(folder / "novel.txt"), str(folder / "novel")
    nx.write_edgelist(nx.les_miserables_graph(), file, data=False, delimiter="\t")
    sizes = "--hold 0.1 --dimensions 16 --num-walks 40 --epochs 4".split()
    assert main(["run", "deepwalk", file, *sizes, "--out", out]) == 0
    (HERE / "novel.png").unlink(missing_ok=True)
    assert main(["export", out, "--format", "picture", "--out", str(HERE / "novel.png")]) == 0


def pictures(folder):
    """Yield (name, figure) of all pictures."""
    yield from graphs()
    yield from assignment()
    yield from recommendations(folder)
    yield from sweeps(folder)
    yield from topics(folder)
    yield from clicks(folder)
    yield from boosting()
    yield from cuts(folder)
    yield from clusters()


if __name__ == "__main__":
    matplotlib.use("agg")
    plt.rcParams.update({"svg.hashsalt": "tux", "svg.fonttype": "none", "font.size": 8})
    with tempfile.TemporaryDirectory() as folder:
        for name, figure in pictures(Path(folder)):
            if name in sys.argv[1:] or not sys.argv[1:]:
                figure.savefig(HERE / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
            plt.close(figure)
        novel(Path(folder))
