"""K-means beside Lloyd's algorithm in numpy, on sparse samples and on points, on one worker and
several.
"""

from types import SimpleNamespace as Row

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.machines.team import Team

import tux
from tux.apps.kmeans import PointKMeans, SparseKMeans
from tux.apps.kmeans.lloyd import center_drifts, drift_of_others
from tux.apps.kmeans.nearest import doubt, least, may_stay
from tux.apps.kmeans.passes import distances
from tux.apps.kmeans.report import centers, describe_center
from tux.apps.kmeans.start import is_candidate
from tux.arrays.edges import EdgeData

KINDS = [SparseKMeans, PointKMeans]


def make_points(n=60, features=5, clusters=4, seed=0, far=0.0):
    """Draw points around some centers, a third of whose numbers are 0, as float64 that 32 bits
    hold.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(clusters, features))[rng.integers(clusters, size=n)] * 4
    x = np.where(rng.uniform(size=x.shape) < 0.3, 0.0, x + rng.normal(size=x.shape)) + far
    return x.astype("f4").astype("f8")


def edges_of(x):
    row, column = np.nonzero(x)
    vertices = {"sample": np.arange(len(x)), "feature": np.arange(x.shape[1])}
    fields = {"value": x[row, column].astype("f4")}
    return EdgeData.of(("sample", "feature"), row, column, fields, vertices=vertices)


def train(kind, x, epochs=1, *, k=1, jit=False, **parameters):
    """Return a team that has been trained."""
    parameters = {"n_clusters": 4, "tol": 0.0, **parameters}
    if kind is PointKMeans:
        parameters["dims"] = x.shape[1]
    data = edges_of(x) if kind is SparseKMeans else tux.points(x.astype("f4"), kind="sample")
    by = "source" if kind is SparseKMeans else "random"
    return Team(kind(**parameters), data, k=k, by=by, jit=jit).train(epochs)


def centers_of(team):
    """Return the centers, (clusters, features); of empty clusters 0."""
    size = np.asarray(team.tau.size)
    if isinstance(team.program, SparseKMeans):
        return team.gather("feature", "s").T / np.maximum(size, 1)[:, None]
    return np.array(team.tau.center)


def squares(x, center):
    return ((x[:, None] - center[None]) ** 2).sum(axis=2)


def lloyd(x, center, moves):
    """Move the centers to the means of their samples so many times. Return (inertia, centers)."""
    for _ in range(moves):
        label = squares(x, center).argmin(axis=1)
        center = np.stack(
            [x[label == c].mean(axis=0) if (label == c).any() else center[c] for c in range(4)]
        )
    return squares(x, center).min(axis=1).sum(), center


def test_the_least_of_several():
    near = np.array([3, 2, np.inf, 2, 0.5, 0.5], np.float32)
    assert least(near) == 4
    assert least(near[:4]) == 1
    assert least(near[2:3]) == 0


def test_the_farthest_move_of_another_center():
    assert drift_of_others(np.array([1.0, 3.0, 2.0])) == pytest.approx([3, 2, 3])
    assert drift_of_others(np.array([1.0, 3.0, 2.0]))[0] >= 3
    assert drift_of_others(np.array([5.0])) == pytest.approx([0], abs=1e-9)


def test_a_sample_that_may_stay():
    tau = Row(retreat=np.array([1.0]))
    assert may_stay(Row(below=4.0, held=0), 8.9, tau)
    assert not may_stay(Row(below=4.0, held=0), 9.1, tau)
    assert not may_stay(Row(below=0.5, held=0), 0.0, tau)


@pytest.mark.parametrize("retreat", [3e-8, 1.7e-6, 0.0])
def test_a_bound_stays_below_what_many_small_moves_leave_of_it(retreat):
    tau = Row(retreat=np.array([retreat], "f4"))
    sample = Row(below=np.float32(1.3), held=0)
    for moves in range(1, 500):
        assert may_stay(sample, 1.0, tau)
        sample.below = np.float32(sample.below)
        assert sample.below <= np.float32(1.3) - moves * np.float64(tau.retreat[0])
    assert sample.below > 1.299


@pytest.mark.parametrize(("entries", "x"), [(10_000, 0.1), (3_000, 0.3), (2, 1e-21)])
def test_a_distance_in_32_bits_is_as_near_to_the_true_one_as_is_said(entries, x):
    """Equal terms of a sum are rounded alike; small ones lose bits."""
    x, c = np.float32(x), np.float32(1.01 * x)
    edges = [Row(value=x, feature=Row(s=np.array([c])))] * entries
    square, norm = (entries * np.float64(v) ** 2 for v in (x, c))
    tau = Row(norm=np.array([norm], "f4"), share=np.array([-2], "f4"))
    near = distances(edges, square, tau, Row(n_clusters=1))[0]
    true = entries * (np.float64(x) - c) ** 2
    assert abs(near - true) <= doubt(square, near, entries)


@pytest.mark.parametrize("size", [(1000, 1000), (10**5, 10**5 + 1), (1, 50), (9, 4)])
def test_how_far_a_center_has_moved(size):
    """Of small moves far from the origin, too, no digits are lost."""
    rng = np.random.default_rng(0)
    old = (size[0] * (100 + rng.normal(size=7))).astype("f4").astype("f8")
    new = (old * size[1] / size[0] + rng.normal(size=7)).astype("f4").astype("f8")
    tau = Row(square=(old**2).sum(), grown=(new**2 - old**2).sum())
    tau.crossed = (old * new - old**2).sum()
    tau.size, tau.members = (np.array([float(n)]) for n in size)
    moved = (new / size[1] - old / size[0]).astype("longdouble")
    assert np.sqrt(center_drifts(tau)) == pytest.approx(np.sqrt((moved**2).sum()), rel=1e-5)


def test_centers_of_empty_clusters_have_not_moved_and_new_ones_are_anywhere():
    tau = Row(size=np.array([0.0, 2.0, 0.0]), members=np.array([1.0, 0.0, 0.0]))
    tau.square, tau.grown, tau.crossed = np.zeros((3, 3))
    assert center_drifts(tau).tolist() == [np.inf, 0, 0]


def test_a_candidate():
    tau = Row(lowest=np.array([0.5, np.inf]))
    assert is_candidate(Row(number=0.5, group=0), tau)
    assert not is_candidate(Row(number=0.6, group=0), tau)
    assert not is_candidate(Row(number=np.inf, group=1), tau)  # it lies on a center


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", ["k-means++", "random"])
def test_lloyd(kind, start):
    x = make_points()
    begun = centers_of(train(kind, x, 1, init=start))
    for moves in (1, 2, 4):
        team = train(kind, x, 1 + moves, init=start)
        inertia, center = lloyd(x, begun, len(team.records[0]) - 1)
        assert team.history("inertia")[-1] == pytest.approx(inertia, rel=1e-6)
        assert centers_of(team) == pytest.approx(center, rel=1e-5, abs=1e-5)
        label = team.gather("sample", "cluster")
        assert np.array_equal(label, squares(x, center).argmin(axis=1))
        assert team.gather("sample", "distance") ** 2 == pytest.approx(
            squares(x, center).min(axis=1), rel=1e-4, abs=1e-4
        )


def test_points_far_from_the_origin():
    """Inner products of 32 bits are those of points less their mean."""
    x = make_points(far=10_000.0)
    begun = centers_of(train(PointKMeans, x, 1))
    team = train(PointKMeans, x, 4)
    assert team.history("inertia")[-1] == pytest.approx(
        lloyd(x, begun, len(team.records[0]) - 1)[0], rel=1e-6
    )


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parameters", [{}, {"init": "random"}, {"batch_size": 12}])
def test_workers_agree(kind, parameters):
    x = make_points()
    one, three = (train(kind, x, 3, k=k, **parameters) for k in (1, 3))
    assert three.history("inertia") == pytest.approx(one.history("inertia"), rel=1e-9)
    assert centers_of(three) == pytest.approx(centers_of(one), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_training_ends_where_nothing_moves(kind):
    team = train(kind, make_points(), 100)
    assert len(team.records[0]) < 100
    assert team.history("moved")[-1] == 0
    assert (np.diff(team.history("inertia")) <= 1e-9).all()
    early = train(kind, make_points(), 100, tol=1e6)
    assert len(early.records[0]) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_centers_are_samples(kind):
    """Each of them another one: as many clusters as different samples have no inertia."""
    x = make_points(n=12)
    for start in ("k-means++", "random"):
        team = train(kind, x, 1, n_clusters=12, init=start)
        assert team.history("inertia")[-1] == pytest.approx(0, abs=1e-6)
        assert np.array_equal(np.sort(team.gather("sample", "cluster")), np.arange(12))


@pytest.mark.parametrize("kind", KINDS)
def test_more_clusters_than_different_samples(kind):
    x = np.repeat(make_points(n=3), 4, axis=0)
    team = train(kind, x, 3, n_clusters=5)
    assert team.history("inertia")[-1] == pytest.approx(0, abs=1e-6)
    assert team.history("empty_clusters")[-1] == 2
    assert (np.asarray(team.tau.size) == 0).sum() == 2


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_cluster_takes_the_farthest_sample(kind):
    """Random centers of samples 0 and 1 lie on one another, so that one cluster is empty."""
    x = np.ones((8, 2))
    x[[2, 6, 7]] = [9, 9], [9.5, 9], [20, 20]
    team = train(kind, x, 9, init="random")
    assert team.history("empty_clusters")[-1] == 0
    assert len(np.unique(team.gather("sample", "cluster"))) == 4
    assert team.history("inertia")[-1] == pytest.approx(0, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_mini_batches(kind):
    x = make_points(n=200)
    best = min(lloyd(x, x[i * 4 : i * 4 + 4], 30)[0] for i in range(20))
    team = train(kind, x, 4, batch_size=20)
    assert team.history("inertia")[-1] < 1.3 * best
    # means of the first center and of all samples that have joined since
    assert np.asarray(team.tau.size).sum() == 4 * len(x) + 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [0, 12])
def test_centers_and_sizes_of_a_report(kind, batch):
    team = train(kind, make_points(), 3, batch_size=batch)
    named = {"size": np.asarray(team.tau.size)[None]}
    label = team.gather("sample", "cluster")
    fields = {"tau": named, "sample": {"cluster": label[:, None]}}
    if kind is SparseKMeans:
        fields["feature"] = {"s": team.gather("feature", "s")}
    else:
        named["center"] = np.asarray(team.tau.center)[None]
    model = Row(fields=fields, ids={"feature": np.arange(5)})
    shown, names = centers(team.program, model)
    assert shown == pytest.approx(centers_of(team), rel=1e-6)
    assert len(names) == 5
    table = team.program.report.tables(team.program, model)["clusters"]
    assert (np.diff(table["samples"]) <= 0).all()
    assert all(
        (label == c).sum() == n for c, n in zip(table["cluster"], table["samples"], strict=True)
    )
    exported = team.program.report.exports()["centers"](team.program, model)
    assert exported["size"].tolist() == np.bincount(label, minlength=4).tolist()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_compiled_it_is_as_good_as_scikit_learn(kind):
    """From the same centers the inertia is the same; over 20 seeds, k-means++ is no worse."""
    cluster = pytest.importorskip("sklearn.cluster", reason="scikit-learn is not installed")
    x = make_points(n=2000, features=12, clusters=15)
    mine, theirs = [], []
    for seed in range(20):
        data = edges_of(x) if kind is SparseKMeans else tux.points(x, kind="sample")
        program = kind(n_clusters=10, tol=0.0)
        first, last = (tux.run(program, data, epochs=n, seed=seed) for n in (1, 6))
        if kind is SparseKMeans:
            begun = (first.vertices["feature"]["s"] / first.context["size"][0]).T
        else:
            begun = first.context["center"][0].reshape(10, -1)
        moves = max(len(last.history["inertia"]) - 1, 1)
        same = cluster.KMeans(10, init=begun, n_init=1, max_iter=moves, tol=0).fit(x)
        assert last.history["inertia"][-1] == pytest.approx(same.inertia_, rel=1e-6)
        mine.append(first.history["inertia"][-1])
        other = cluster.KMeans(10, n_init=1, max_iter=1, tol=0, random_state=seed).fit(x)
        theirs.append(other.inertia_)
    assert np.mean(mine) <= np.mean(theirs) * 1.02


def test_a_center_below_zero_is_described_by_its_coordinates_too():
    names = np.array(["x", "z", "w"])
    assert describe_center(np.array([-0.5, -1.5, 0.0]), names) == "z:-1.5 x:-0.5"
    assert describe_center(np.array([0.0, 2.0, 1.0]), names) == "z:2 w:1"
    assert describe_center(np.full(3, np.nan), names) == "0"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("far", [2e3, 1e5])
def test_samples_far_from_the_origin_are_with_their_nearest_centers(kind, far):
    rng = np.random.default_rng(5)
    blobs = np.array([[0, 0], [8, 0], [0, 8], [8, 8]])[rng.integers(4, size=200)]
    x = (rng.normal(size=(200, 2)) + blobs + [far, 3.0]).astype("f4").astype("f8")
    team = train(kind, x, 4)
    distances = squares(x, centers_of(team))
    cluster = team.gather("sample", "cluster")
    own = distances[np.arange(len(x)), cluster]
    nearest = distances.min(axis=1)
    assert np.all(own <= nearest * (1 + 1e-3) + 1e-3)
    assert team.tau.inertia == pytest.approx(nearest.sum(), rel=1e-3)
    assert nearest.sum() < 2.5 * len(x)  # the blobs are found


def test_groups_of_points_far_from_each_other():
    rng = np.random.default_rng(6)
    groups = np.array([[0, 0], [8, 0], [1e5, 1e5], [1e5 + 8, 1e5]])[rng.integers(4, size=200)]
    x = (rng.normal(size=(200, 2)) + groups).astype("f4").astype("f8")
    team = train(PointKMeans, x, 4)
    distances = squares(x, centers_of(team))
    own = distances[np.arange(len(x)), team.gather("sample", "cluster")]
    assert np.all(own <= distances.min(axis=1) * (1 + 1e-9) + 1e-9)
    assert own.sum() < 2.5 * len(x)


@pytest.mark.parametrize("kind", KINDS)
def test_new_samples_far_from_the_origin(kind):
    rng = np.random.default_rng(7)
    blobs = np.array([[0, 0], [8, 0], [0, 8], [8, 8]])[rng.integers(4, size=200)]
    x = (rng.normal(size=(200, 2)) + blobs + [2e4, 3.0]).astype("f4").astype("f8")
    program = kind(n_clusters=4, tol=0.0)
    run = tux.run(program, csr_array(x) if kind is SparseKMeans else x, progress=False)
    found = np.asarray(run.predict(csr_array(x) if kind is SparseKMeans else x)).ravel()
    assert np.array_equal(found.astype(int), np.asarray(run.vertices["sample"]["cluster"]).ravel())
    assert run.history["inertia"][-1] < 2.5 * len(x)


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_sample_whose_square_32_bits_do_not_hold(kind):
    x = np.array([[1.0, 2.0], [1.5, 2.0], [9.0, 8.0], [9.5, 8.0]])
    form = csr_array if kind is SparseKMeans else np.asarray
    run = tux.run(kind(n_clusters=2, tol=0.0), form(x), progress=False)
    near = np.asarray(run.predict(form(np.vstack([x, [[1e20, 1e20], [-1e20, -1e20]]])))).ravel()
    assert set(near.astype(int).tolist()) == {0, 1}  # 64 bits do not tell these apart, either
