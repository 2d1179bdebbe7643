"""Runs that begin with a model: what its numbers mean stays: classes, categories, seed words, and
the length of fields that grow.
"""

import numpy as np
import pytest
from scipy import sparse
from support.machines.watchers import RecordingSilent
from support.messages import message

import tux
from tux import (
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Vertex,
    data,
    metric,
    param,
    total,
    value,
)
from tux.apps.lda.seeds import labels_of, seeds_of
from tux.base.errors import TuxError, UsageError

QUIET = {"jit": False, "progress": False}


def draw_classes(kinds, n=40):
    """Draw a table of samples whose class follows from the larger of the features."""
    rng = np.random.default_rng(len(kinds))
    number = rng.integers(0, len(kinds), n)
    x = rng.normal(size=(n, 3)) + 3 * np.eye(3)[number]
    columns = dict(zip("uvw", x.T, strict=True))
    return {"label": [kinds[k] for k in number], **columns}


@pytest.mark.parametrize("kinds", [["no", "yes"], ["a", "b", "c"]])
def test_classes_stay(kinds):
    p = tux.Linear(loss="softmax" if len(kinds) > 2 else "logistic")
    old = tux.run(p, draw_classes(kinds), epochs=10, **QUIET)
    new = tux.run(old.program, draw_classes(kinds[:1], 5), from_run=old, epochs=3, **QUIET)
    before, after = (run.vertices["feature"]["w"] for run in (old, new))
    assert after.shape == before.shape and not np.array_equal(before, after)
    columns = draw_classes(kinds)
    found = [np.asarray(run.predict(columns)) for run in (old, new)]
    assert np.abs(found[0] - found[1]).max() < 0.2
    with pytest.raises(TuxError, match="maybe"):
        tux.run(old.program, draw_classes([*kinds, "maybe"][-2:]), from_run=old, **QUIET)


@pytest.mark.parametrize("form", ["matrix", "array", "table", "file"])
def test_features_that_new_samples_do_not_have_keep_their_weights(form, tmp_path):
    def give(x, y, name):
        if form == "table":
            return {"label": y, **dict(zip("uvw", x.T, strict=True))}
        if form == "file":
            rows = [[f"{k + 1}:{v}" for k, v in enumerate(row) if v] for row in x.tolist()]
            lines = (" ".join([f"{y[at]:+g}", *row]) for at, row in enumerate(rows))
            (tmp_path / name).write_text("\n".join(lines) + "\n")
            return str(tmp_path / name)
        return (sparse.csr_array(x) if form == "matrix" else x, y)

    x = np.array([[1.0, 0, 2], [0, 3, 1], [1, 1, 0], [2, 0, 0]])
    y = np.array([1.0, -1, 1, -1])
    old = tux.run(tux.Linear(), give(x, y, "old.svm"), epochs=3, **QUIET)
    fewer = x[:2] * [1, 0, 1]
    new = tux.run(old.program, give(fewer, y[:2], "new.svm"), from_run=old, epochs=3, **QUIET)
    before, after = (run.vertices["feature"] for run in (old, new))
    assert after.ids.tolist() == before.ids.tolist()
    same = before["w"] == after["w"]
    assert same.ravel().tolist() == [False, True, False]


def count(user, edges):
    for edge in edges:
        user.total += edge.value


class SumsOfTowns(Program):
    """Sums of users that live in towns."""

    epochs = 1
    user = Vertex(whole=True, town=data("i4"), total=tux.shared())
    item = Vertex()
    rating = Edge("user", "item", value=data("f4"))

    def setup_from(self):
        return []

    def stages(self):
        return [Exchange(count)]


def test_categories_would_be_numbered_anew():
    ratings = {"user": ["a", "b"], "item": [1, 2], "value": [1.0, 2.0]}
    tables = {"user": {"user": ["a", "b"], "town": ["Rome", "Oslo"]}}
    old = tux.run(SumsOfTowns(), ratings, vertices=tables, **QUIET)
    with pytest.raises(UsageError, match=message("tables-of-vertices-with-words")):
        tux.run(SumsOfTowns(), ratings, vertices=tables, from_run=old, **QUIET)


def test_a_linear_model_keeps_its_loss():
    x, y = np.eye(4), np.array([-1.0, 1.0, 1.0, -1.0])
    old = tux.run(tux.Linear(), (x, y), epochs=2, **QUIET)
    with pytest.raises(UsageError, match=message("of-a-model-cannot-change", "loss", "model")):
        tux.run(tux.Linear(loss="squared"), (x, y), from_run=old, epochs=2, **QUIET)


def test_a_linear_model_of_numbers_goes_on_with_another_loss_of_numbers():
    x, y = np.eye(4), np.array([-1.0, 2.0, 1.0, -3.0])
    old = tux.run(tux.Linear(loss="squared"), (x, y), epochs=2, **QUIET)
    new = tux.run(tux.Linear(loss="huber"), (x, y), from_run=old, epochs=0, **QUIET)
    assert new.vertices["feature"]["w"].tolist() == old.vertices["feature"]["w"].tolist()


def test_seed_words_stay(tmp_path):
    (tmp_path / "seeds.txt").write_text("trees: elm oak\nfish: cod\n")
    texts = [["oak", "elm", "oak"], ["cod", "eel", "cod"], ["elm", "cod"]]
    more = [["ash", "oak"], ["cod", "bass"]]
    p = tux.LDA(topics=2, seeds=str(tmp_path / "seeds.txt"), sampler="sparse")
    old = tux.run(p, texts, epochs=2, **QUIET)
    new = tux.run(old.program, more, from_run=old, epochs=2, **QUIET)
    assert seeds_of(new.program) == seeds_of(old.program)
    assert labels_of(new.program).tolist() == ["trees", "fish"]
    counted = [run.context["n"].sum() for run in (old, new)]
    assert counted[1] - counted[0] == pytest.approx(4)
    (tmp_path / "seeds.txt").write_text("trees: oak\nfish: cod\n")
    for other in (p, tux.LDA(topics=2, sampler="sparse")):
        with pytest.raises(UsageError, match=message("of-a-model-cannot-change", "seeds")):
            tux.run(other, more, from_run=old, epochs=2, **QUIET)


def fill(tau, p):
    tau.entries[int(tau.filled) :] = p.mark
    tau.filled = p.length


class Lengthened(Program):
    """A context with as many entries as the parameter says."""

    epochs = 1
    length: int = param(2, "entries", low=1)
    mark: float = param(0.0, "number of new entries")
    page = Vertex(seen=value("i4"))
    link = Edge("page", "page")
    tau = Context(entries=value("f8", "length", 2, init=7, grows=True), filled=value("f8"))

    def setup_from(self):
        return []

    def stages(self):
        return [GlobalSync(fill)]


@pytest.mark.parametrize("in_folder", [False, True])
def test_entries_that_both_have_are_taken(tmp_path, in_folder):
    out = {"out": tmp_path / "old"} if in_folder else {}
    old = tux.run(Lengthened(mark=1.0), [(0, 1), (1, 2)], **QUIET, **out)
    start = tmp_path / "old" if in_folder else old
    for length, expected in ((4, [1, 1, 2, 2]), (1, [1]), (2, [1, 1])):
        p = Lengthened(mark=2.0, length=length)
        new = tux.run(p, [(1, 2)], from_run=start, **QUIET)
        assert new.context["entries"].reshape(-1, 2).tolist() == [[x, x] for x in expected]
    begun = tux.run(Lengthened(length=3), [(1, 2)], from_run=start, epochs=0, **QUIET)
    assert begun.context["entries"].ravel().tolist() == [1, 1, 1, 1, 7, 7]


def add_both(user, item, rating, tau):
    tau.n += 1


def set_both(tau):
    tau.both = tau.n


def set_one(tau):
    tau.one = tau.n


class Partly(Program):
    """Metrics of which one has a value in runs that begin with a model alone."""

    epochs = 1
    user = item = Vertex()
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(one=metric(), both=metric(), n=total())

    def setup_from(self):
        return []

    def stages(self, cluster):
        return [Exchange(add_both), GlobalSync(set_both if cluster.from_model else set_one)]


def test_what_has_no_value_is_judged_by_the_stages_of_the_run():
    ratings = {"user": ["a", "b"], "item": [1, 2], "value": [1.0, 2.0]}
    told = RecordingSilent()
    old = tux.run(Partly(), ratings, jit=False, progress=told)
    assert any("both has no value" in line for line in told.warnings)
    told = RecordingSilent()
    tux.run(Partly(), ratings, from_run=old, jit=False, progress=told)
    assert any("one has no value" in line for line in told.warnings)
    assert not any("both has no value" in line for line in told.warnings)
