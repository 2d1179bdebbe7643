"""Labels far from 0, such as times in seconds, are learned as their distances are: predictions for
y + 1.7e9 are those for y, and 1.7e9.
"""

import re

import numpy as np
import pytest

import tux
from tux.cli.main import main
from tux.options.watcher import NullWatcher

FAR = 1.7e9
TOLERANCE = 1e-4  # 32 bits would be wrong by up to 64; blockpg keeps slopes in them
MODELS = {
    "gbdt": lambda: tux.GBDT(loss="squared", max_iter=6, max_depth=3),
    "gbdt quantile": lambda: tux.GBDT(loss="quantile", max_iter=6, max_depth=3),
    "blockpg": lambda: tux.BlockPG(loss="squared", l1=5.0, fit_intercept=True),
    "linear": lambda: tux.Linear(loss="squared", fit_intercept=True),
    "linear adam": lambda: adam(fit_intercept=True),
}


def adam(**parameters):
    return tux.Linear(loss="squared", solver="adam", **parameters)


def times(n=300, seed=5):
    """Return samples (n, 4), and whole numbers (n,) that depend on them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).round(3)
    return x, np.rint(x @ [20.0, -7.0, 0.0, 3.0] + 5 * rng.normal(size=n))


class Heard(NullWatcher):
    """Keeps warnings."""

    def __init__(self):
        self.warnings = []

    def warn(self, text):
        self.warnings.append(text)


def run(program, data, **options):
    heard = Heard()
    return tux.run(program, data, progress=heard, **{"epochs": 20} | options), heard.warnings


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("workers", [1, 2])
def test_predictions_of_arrays_are_those_of_near_labels(name, workers):
    x, y = times()
    near, _ = run(MODELS[name](), (x, y), workers=workers)
    far, warnings = run(MODELS[name](), (x, y + FAR), workers=workers)
    assert far.predict(x) - FAR == pytest.approx(near.predict(x), abs=TOLERANCE)
    assert not any("label" in text for text in warnings)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gbdt", "blockpg", "linear"])
def test_predictions_of_files_are_those_of_arrays(name, tmp_path):
    x, y = times()
    rows = "".join(
        f"{','.join(map(repr, row))},{label!r}\n"
        for row, label in zip(x.tolist(), (y + FAR).tolist(), strict=True)
    )
    (tmp_path / "t.csv").write_text("a,b,c,d,y\n" + rows)
    data = str(tmp_path / "t.csv")
    held, _ = run(MODELS[name](), (x, y + FAR))
    read, _ = run(MODELS[name](), data, test=data, out=str(tmp_path / "out"))
    assert read.predict(data) == pytest.approx(held.predict(x), rel=1e-14)
    error = np.sqrt(np.mean((held.predict(x) - FAR - y) ** 2))
    assert read.history["test_rmse"][-1] == pytest.approx(error, rel=1e-3)
    text = tmp_path / "scores.csv"
    opened = tux.load(tmp_path / "out")
    assert opened.predict(data).tolist() == read.predict(data).tolist()
    assert main(["predict", str(tmp_path / "out"), data, "--out", str(text)]) == 0
    written = [float(line.split(",")[-1]) for line in text.read_text().splitlines()[1:]]
    assert written == pytest.approx(held.predict(x), rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("model", [tux.Lasso(alpha=0.1), tux.BoostedTreesRegressor(max_iter=5)])
def test_estimators_take_numbers_of_64_bits(model):
    x, y = times()
    near = model.fit(x, y).predict(x)
    assert model.fit(x, y + FAR).predict(x) - FAR == pytest.approx(near, abs=TOLERANCE)


@pytest.mark.parametrize("program", [adam(), tux.Linear(loss="huber"), tux.BlockPG(loss="squared")])
def test_labels_that_no_intercept_reaches_are_told(program):
    x, y = times(50)
    _, warnings = run(program, (x, y + FAR), jit=False, epochs=0)
    assert any(re.search("far from 0, .* give --fit-intercept", text) for text in warnings)
    _, warnings = run(program, (x, y), jit=False, epochs=0)
    assert not warnings


def test_a_field_of_32_bits_is_told():
    class Narrow(tux.Samples):
        def numeric(self, program):
            return True

    class Means(tux.Program):
        input = Narrow()
        sample = tux.Vertex(label=tux.data("f4"))
        feature = tux.Vertex()
        entry = tux.Edge("sample", "feature", value=tux.data("f4"))

        def stages(self):
            return []

    x, y = times(50)
    _, warnings = run(Means(), (x, y + FAR), jit=False)
    assert any('declare label=data("f8") in Means' in text for text in warnings)
    _, warnings = run(Means(), (x, y), jit=False)
    assert not warnings
