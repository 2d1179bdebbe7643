"""Synthetic samples: exact sizes, labels of the stated model, a truth that can be found again,
and files that hold what was made.
"""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from tux.base.errors import DiskError, UsageError
from tux.cli.main import main
from tux.io.samples.samples import read_samples
from tux.synthetic import clicks as synthetic_clicks
from tux.synthetic.clicks import clicks, write_clicks


@settings(max_examples=examples(50), deadline=None)
@given(
    st.integers(1, 60),
    st.integers(1, 50),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 1.5),
    st.integers(-(2**70), 2**70),
)
def test_sizes_are_exact(samples, features, share, true, tail, seed):
    each = 1 + share * (max(1, features // 2) - 1)
    count = max(1, round(true * features))
    made = clicks(samples, features, each, count, seed, tail=tail)
    assert (
        len(made) == samples
        and made.bounds[0] == 0
        and made.bounds[-1] == len(made.feature) == round(samples * each)
    )
    lengths = np.diff(made.bounds)
    assert lengths.min() >= 1 and lengths.max() <= max(1, features // 2)
    sample = np.repeat(np.arange(samples), lengths)
    assert (np.diff(sample * (features + 1) + made.feature) > 0).all()  # in order, and none twice
    assert made.feature.min() >= 1 and made.feature.max() <= features
    assert set(made.label) <= {-1, 1} and not made.test.any()
    assert len(made.weights) == features and np.count_nonzero(made.weights) <= count
    margin = np.bincount(sample, made.weights[made.feature - 1].astype(float), minlength=samples)
    assert np.allclose(made.margin, margin, atol=1e-4)


def test_same_seed_same_samples():
    one, again, other = (clicks(500, 200, 10, 20, seed, 0.3) for seed in (3, 3, 4))
    for name in ("bounds", "feature", "label", "margin", "test", "weights"):
        assert np.array_equal(getattr(one, name), getattr(again, name)) and not np.array_equal(
            getattr(one, name), getattr(other, name)
        )
    whole = clicks(500, 200, 10, 20, 3)
    # what is held out changes nothing else
    assert np.array_equal(one.feature, whole.feature) and np.array_equal(one.label, whole.label)


def test_labels_follow_the_model():
    made = clicks(40_000, 500, 20, 60)
    assert abs(made.margin.mean()) < 0.5 and made.margin.std() == pytest.approx(2, rel=0.15)
    assert clicks(20_000, 500, 20, 60, signal=0.5).margin.std() == pytest.approx(0.5, rel=0.15)
    chance = 1 / (1 + np.exp(-made.margin.astype(float)))
    for low in np.arange(0, 1, 0.1):
        part = (chance >= low) & (chance < low + 0.1)
        deviation = np.sqrt((chance[part] * (1 - chance[part])).sum())
        assert abs((made.label[part] > 0).sum() - chance[part].sum()) < 4.5 * deviation
    entropy = -np.mean(chance * np.log(chance) + (1 - chance) * np.log(1 - chance))
    assert made.logloss() == pytest.approx(entropy, abs=0.01)
    held = clicks(40_000, 500, 20, 60, test_share=0.5)
    losses = np.log1p(np.exp(-held.label * held.margin.astype(float)))
    assert held.logloss() == pytest.approx(
        losses[held.test].mean()
    ) and held.logloss() != pytest.approx(losses.mean(), abs=1e-6)


def test_frequencies_have_a_tail():
    made = clicks(20_000, 5_000, 20, 10)
    frequency = np.bincount(made.feature, minlength=5_001)[1:]
    ranked = np.sort(frequency)[::-1]
    law = 1 / (np.arange(1, 5_001) + 2.7)
    assert np.allclose(
        ranked[20:300] / ranked[20:300].sum(), law[20:300] / law[20:300].sum(), rtol=0.25
    )
    # whatever its number, a feature may be frequent
    assert abs(np.corrcoef(frequency, np.arange(5_000))[0, 1]) < 0.1
    flat = np.bincount(clicks(20_000, 100, 5, 10, tail=0).feature)[1:]
    assert abs(flat / 1000 - 1).max() < 0.15
    logs = np.log(np.diff(made.bounds))
    assert logs.std() == pytest.approx(0.5, rel=0.15)


def test_the_truth_can_be_found():
    made = clicks(10_000, 60, 8, 15, tail=0.3)
    x = np.zeros((len(made), 60), np.float32)
    x[np.repeat(np.arange(len(made)), np.diff(made.bounds)), made.feature - 1] = 1
    together = np.array([np.corrcoef(column, made.label)[0, 1] for column in x.T])
    true = made.weights != 0
    assert true.sum() == 15 and np.corrcoef(together[true], made.weights[true])[0, 1] > 0.9
    found = np.zeros(60)
    for _ in range(6):  # Newton's method on the logistic loss
        chance = 1 / (1 + np.exp(-x @ found))
        found += np.linalg.solve(
            np.einsum("ij,i,ik->jk", x, chance * (1 - chance), x, optimize=True),
            x.T @ ((made.label > 0) - chance),
        )
    assert (
        np.abs(found - made.weights).max() < 0.4 and np.corrcoef(found, made.weights)[0, 1] > 0.99
    )


def equal(one, other):
    """Return whether two sets of samples are the same."""
    assert one.edges.digest() == other.edges.digest() and one.classes == other.classes
    assert np.array_equal(one.label, other.label) and np.array_equal(one.weight, other.weight)
    return one.edges.unseen == other.edges.unseen


@pytest.mark.parametrize("ending", [".svm", ".libsvm.gz"])
def test_files_hold_the_samples(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(synthetic_clicks, "CHUNK", 700)
    made = clicks(300, 1_500, 12, 50, test_share=0.2)
    train, test = (tmp_path / f"{name}{ending}" for name in ("train", "test"))
    assert (
        write_clicks(made, train, test) == ((~made.test).sum(), made.test.sum())
        and 30 < made.test.sum() < 90
    )
    known, held_out = made.split()
    read = read_samples(train)
    assert equal(read, known) and held_out is not None
    assert (
        equal(read_samples(test, against=read.edges.ids, classes=read.classes), held_out)
        and held_out.edges.unseen["feature"] > 0
    )
    content = test.read_bytes()
    lines = (gzip.decompress(content) if ending.endswith("gz") else content).decode().splitlines()
    at = int(np.flatnonzero(made.test)[0])
    row = made.feature[made.bounds[at] : made.bounds[at + 1]].tolist()
    assert lines[0] == " ".join([f"{made.label[at]:+d}", *(f"{feature}:1" for feature in row)])
    first = train.read_bytes()
    write_clicks(made, train, test)
    # where gzip would write the time
    assert train.read_bytes() == first and (ending == ".svm" or first[4:8] == bytes(4))


def test_split_into_edges():
    known, held_out = clicks(50, 40, 5, 10).split(("row", "key"), {"x": "f8"})
    assert (
        held_out is None
        and len(known.edges) == 250
        and known.edges.ends == ("row", "key")
        and known.edges.fields["x"].dtype == np.float64
    )
    assert clicks(50, 40, 5, 10).split(fields={})[0].edges.fields == {}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"samples": 0}, "samples is 0"),
        ({"features": 2**31}, "features is 2,147,483,648"),
        ({"true_weights": 21}, "true_weights is 21"),
        ({"entries_per_sample": 0.5}, "0.5 entries for each sample"),
        ({"entries_per_sample": 11}, "11 entries for each sample"),
        ({"entries_per_sample": float("nan")}, "nan entries"),
        ({"test_share": 1}, "test share is 1"),
        ({"tail": -1}, "tail is -1"),
        ({"signal": float("nan")}, "signal is nan"),
    ],
)
def test_impossible_requests(change, says):
    with pytest.raises(UsageError, match=says) as told:
        clicks(
            **({"samples": 10, "features": 20, "entries_per_sample": 3, "true_weights": 5} | change)
        )
    assert told.value.do


def test_files_that_cannot_be(tmp_path):
    whole, cut = clicks(50, 20, 3, 5), clicks(50, 20, 3, 5, test_share=0.5)
    for made, path, test, says in (
        (whole, "a.csv", None, "kind of file"),
        (whole, "a.svm.zst", None, "kind of file"),
        (cut, "a.svm", "./a.svm", "both"),
        (cut, "a.svm", None, "no test file"),
        (whole, "a.svm", "b.svm", "no test share"),
    ):
        with pytest.raises(UsageError, match=says):
            write_clicks(made, tmp_path / path, test and tmp_path / test)
    with pytest.raises(DiskError):
        write_clicks(whole, tmp_path / "none" / "a.svm")
    assert not list(tmp_path.iterdir())


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert (
        main(
            "generate clicks --samples 400 --features 100 --entries 5 --seed 2 --out a.svm --test "
            "b.svm.gz".split()
        )
        == 0
    )
    made = clicks(400, 100, 5, 10, 2, 0.1)
    train, test = (len(rows) for rows in made.rows())
    told = (
        f"a.svm: {train} samples\nb.svm.gz: {test} samples\nthe truth itself has a logloss of "
        f"{made.logloss():.4f} on those held out\n"
    )
    assert capsys.readouterr().out == told
    assert equal(read_samples("a.svm"), made.split()[0])
    assert (
        main("generate clicks --out a.csv".split()) == 2
        and "end its name in .svm" in capsys.readouterr().err
    )
    assert main("generate clicks --features 10 --weights 11 --entries 2 --out c.svm".split()) == 2
