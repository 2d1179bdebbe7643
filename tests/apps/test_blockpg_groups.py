"""BlockPG in blocks of whole groups of features: from memory, files and the command line."""

import json

import numpy as np
import pytest
from support.apps.app_samples import weights
from support.machines.blockpg_team import MADE, result_of
from support.machines.team import Team
from support.oracles import blockpg_oracle as oracle

from tux.apps.blockpg.blockpg import BlockPG
from tux.arrays.edges import EdgeData
from tux.base.errors import UsageError
from tux.cli.main import main
from tux.graph.cut import cut
from tux.graph.store import save
from tux.options.options import RunOptions
from tux.runs.session import run

TEN = np.arange(40) // 4  # groups of MADE's features
FEW = np.array([*[0] * 12, *[1] * 9, *range(2, 21)])


def train_groups(group, data=MADE, k=1, slack=0, **parameters):
    given = data.edges()
    given = EdgeData(
        given.ends, given.ids, given.src, given.dst, given.fields,
        vertex_fields={**given.vertex_fields, "feature": {"together": group}},
    )  # fmt: skip
    program = BlockPG(**{"tol": 1e-13, "groups": "a file"} | parameters)
    return Team(program, given, k=k, by="source", slack=slack, delivery=k + slack, jit=True).train(
        600, every=1000
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "k", "slack", "blocks"),
    [(TEN, 1, 0, 0), (FEW, 2, 0, 0)]
    + [
        pytest.param(*c, marks=pytest.mark.long)
        for c in ((FEW, 1, 0, 3), (TEN, 2, 0, 4), (FEW, 3, 2, 4))
    ],
    ids=lambda value: "" if isinstance(value, int) else "ten" if value is TEN else "few",
)
def test_the_optimum_by_groups(group, k, slack, blocks):
    team = train_groups(group, k=k, slack=slack, blocks=blocks)
    said, w, b = result_of(team)
    best, _, _ = oracle.solve(MADE, 1.0)
    assert said == pytest.approx(oracle.objective(MADE, w, 1.0), rel=1e-9)
    assert best * (1 - 1e-10) <= said <= best * (1 + 1e-6)
    objective = np.array(team.history("objective"))
    assert (np.diff(objective) <= 1e-11 * objective[:-1]).all()


@pytest.mark.long
def test_the_optimum_where_a_group_says_the_same_over():
    """Four groups, each of ten features that are nearly one."""
    rng = np.random.default_rng(2)
    data = MADE._replace(
        x=(np.repeat(rng.normal(size=(150, 4)), 10, axis=1) + 0.3 * rng.normal(size=(150, 40)))
        .astype("f4")
        .astype("f8")
    )
    best, _, _ = oracle.solve(data, 1.0)
    for k in (1, 2):
        assert (
            best * (1 - 1e-10)
            <= result_of(train_groups(np.arange(40) // 10, data, k=k, tol=1e-10))[0]
            <= best * (1 + 1e-6)
        )


@pytest.mark.slow
@pytest.mark.parametrize(("group", "blocks"), [(TEN, 10), (FEW, 21)])
def test_a_block_is_a_group(group, blocks):
    """With one worker a block is a clock; what else takes clocks is the same with groups of one
    feature.
    """
    clocks = [
        team.records[0][0]["clock"] for team in (train_groups(group), train_groups(np.arange(40)))
    ]
    assert clocks[1] - clocks[0] == 40 - blocks


# From files and the command line.


@pytest.fixture
def persons(tmp_path):
    """Return samples of words and numbers, and groups of the former."""
    rng = np.random.default_rng(1)
    colour, town = (
        rng.choice(["red", "green", "blue"], 200),
        rng.choice(["Ems", "Ulm", "Bad Ems"], 200),
    )
    size = rng.normal(size=200)
    spam = np.where(
        size + (colour == "red") + (town == "Ulm") + rng.normal(size=200) > 0.8, "spam", "ham"
    )
    rows = [f"{c},{t},{s:.4f},{k}" for c, t, s, k in zip(colour, town, size, spam, strict=True)]
    (tmp_path / "mail.csv").write_text("\n".join(["colour,town,size,class", *rows]) + "\n")
    pairs = [
        f"{name}={word}\t{name}"
        for name, words in (("colour", colour), ("town", town))
        for word in sorted(set(words))
    ]
    (tmp_path / "groups.tsv").write_text("\n".join([*pairs, "shape=round\tshape"]) + "\n")
    return tmp_path


@pytest.mark.long
def test_a_run_by_groups(persons, capsys):
    base = ["run", "blockpg", str(persons / "mail.csv"), "--tol", "1e-12", "--fit-intercept"]
    assert main([*base, "--out", str(persons / "alone")]) == 0
    capsys.readouterr()
    for k in (1, 2):
        more = [
            "--groups",
            str(persons / "groups.tsv"),
            "--workers",
            str(k),
            "--out",
            str(persons / f"out{k}"),
        ]
        assert main([*base, *more]) == 0
        told = capsys.readouterr()
        assert (
            "2 groups of features" in told.out
            and "1 of 7 features of groups.tsv is not in the data" in told.err
        )
        assert weights(persons / f"out{k}") == pytest.approx(weights(persons / "alone"), abs=1e-3)
    record = json.loads((persons / "out2" / "run.json").read_text())
    assert record["parameters"]["groups"] == str(persons / "groups.tsv") and record["sizes"][
        "groups"
    ] == {"feature": 2}
    (persons / "groups.tsv").unlink()  # a model does not need it
    assert main(["predict", str(persons / "out2"), str(persons / "mail.csv")]) == 0


@pytest.mark.slow
def test_generated_data_have_groups_too(tmp_path):
    (tmp_path / "groups.txt").write_text("1 a\n2 a\n3 b\n4 b\n5 b\n")
    result = run(
        BlockPG(groups=str(tmp_path / "groups.txt"), l1=20.0), options=RunOptions(epochs=2)
    )
    assert (
        np.bincount(result.worker.graph.vertices["feature"].data["together"])[:2] == [2, 3]
    ).all()


def test_a_folder_in_parts_has_its_order_already(tmp_path):
    save(
        tmp_path,
        cut(MADE.edges(), None, np.zeros(len(MADE.edges()), np.int16), 2, 0),
        ("sample", "feature"),
    )
    with pytest.raises(UsageError, match="knows no groups"):
        run(BlockPG(groups="groups.txt"), tmp_path)


def test_a_bad_file_of_groups_ends_the_run(persons, capsys):
    (persons / "groups.tsv").write_text("colour=red\tcolour\ncolour=blue\n")
    assert (
        main(["run", "blockpg", str(persons / "mail.csv"), "--groups", str(persons / "groups.tsv")])
        == 3
    )
    assert "groups.tsv:2" in capsys.readouterr().err
