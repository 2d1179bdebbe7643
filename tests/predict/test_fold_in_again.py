"""Models that are asked for new vertices several times: later answers are those of the first."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tux
from tux.program.sources import find

APPS = {
    "als, implicit": tux.ALS(rank=5, implicit=True, alpha=3.0),
    "mf, biases": tux.MF(rank=5, biases=True),
    "bpr": tux.BPR(rank=5),
}


def draw_ratings(seed, users, items, count):
    """Draw a table of ratings, each pair once."""
    rng = np.random.default_rng(seed)
    user, item = np.divmod(rng.choice(users * items, count, replace=False), items)
    return {"user": user, "item": item, "value": rng.integers(1, 6, count).astype(float)}


OLD, NEW = draw_ratings(1, 30, 20, 300), draw_ratings(2, 5, 23, 40)


@pytest.fixture(scope="module", params=APPS)
def model(request):
    """Return a run of one of `APPS`."""
    data = dict(list(OLD.items())[:2]) if request.param == "bpr" else OLD
    return tux.run(APPS[request.param], data, epochs=2, jit=False, progress=False)


def test_later_calls_find_what_the_first_would(model, tmp_path):
    parts = [draw_ratings(seed, 7 * seed, 20, 30) for seed in (3, 4)]
    found = [model.fold_in(part) for part in (NEW, *parts, NEW)]
    model.save(tmp_path / "run")
    for part, each in zip((NEW, *parts, NEW), found, strict=True):
        alone = tux.load(tmp_path / "run").fold_in(part)
        for name in each.columns:
            assert each[name].tolist() == alone[name].tolist()


def test_other_threads_may_ask(model):
    expected = model.fold_in(NEW)["f"]
    with ThreadPoolExecutor(3) as pool:
        found = [*pool.map(lambda _: model.fold_in(NEW)["f"], range(6))]
    assert all(np.array_equal(each, expected) for each in found)


def test_a_run_that_has_been_asked_can_be_copied(model):
    model.fold_in(NEW)
    again = copy.deepcopy(model)
    assert np.array_equal(again.fold_in(NEW)["f"], model.fold_in(NEW)["f"])


SUMMED = """
from tux import Context, Edge, GlobalSync, Program, Score, Vertex, shared, total, uniform, value


def add(page, tau):
    tau.added += page.x


def keep(tau):
    tau.calls += 1
    tau.whole = tau.added


def find(edges, vertices, out, tau):
    out[0], out[1], out[2] = tau.whole, tau.calls, len(vertices)
    for edge in edges:
        out[3] += edge.page.x


class Summed(Program):
    epochs = 1
    page = Vertex(x=shared("f8", init=uniform()))
    link = Edge("page", "page")
    tau = Context(whole=value("f8"), calls=value("f8", kept=False), added=total())

    def stages(self):
        return []

    def fold_in(self, role):
        assert role == "new_page"
        return [GlobalSync(keep, aggregate=add, over="page"), Score(find, role, width=4, name="y")]
"""


def test_stages_before_the_last_run_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "summed.py").write_text(SUMMED)
    links = np.array([(0, 1), (1, 2), (2, 3)])
    run = tux.run(find("summed.py").program(), links, jit=False, progress=False)
    x = run.vertices["page"]["x"]
    for new, pages in (([(9, 0), (2, 9)], [0, 2]), ([(8, 3), (8, 9)], [3])):
        found = run.fold_in(new)
        assert found.columns == ["page", "y"]
        expected = [x.sum(), 1, 4, x[pages].sum()]
        np.testing.assert_allclose(found["y"][0], expected, rtol=1e-6)
