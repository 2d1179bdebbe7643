"""A program and its options as words mean the same when ``tux run`` reads them."""

import pytest
from support.programs.typed_programs import SocialShop

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.gbdt.gbdt import GBDT
from tux.apps.lda.lda import LDA
from tux.apps.mf.mf import MF
from tux.backends.words import words_of
from tux.base.errors import UsageError
from tux.cli.flags import parameters
from tux.cli.run import _options
from tux.cli.run_flags import run_flags
from tux.options.options import RunOptions
from tux.program import sources

CASES = [
    (MF(), {}),
    (
        MF(rank=7, learning_rate=0.037, batch_size=3),
        {"seed": -4, "epochs": 2, "eval_every": 2, "patience": 5},
    ),
    (MF(), {"workers": 3, "slack": 2, "partitioner": "dbh", "deadline": 30.0}),
    (MF(), {"jit": False, "check": True, "on_bad_row": "skip", "columns": "a,b,c"}),
    (MF(), {"judge_top": 20}),
    (MF(), {"checkpoint_every": "30s", "keep": 4, "restarts": 0, "out": "o"}),
    (MF(), {"vertices": {"user": "/a b/users.csv", "item": "/items=1.csv"}}),
    (GBDT(max_iter=3), {}),
    (LDA(), {"form": "docword", "vocab": "/v.txt", "stop": "/s.txt"}),
    (BlockPG(), {"label": "-y", "weight": "w", "labels": "/l.npy", "form": "table"}),
    (BlockPG(), {"cross": (("a", "b c"), ("d:e", "-f", 'say "x"'))}),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_words_mean_what_the_options_mean(number):
    program, chosen = CASES[number]
    options = RunOptions(**chosen)
    words = words_of(program, "/data file", "/test", options, 1)
    source = sources.source_of(program)
    args = run_flags(source, source.name).parse([*words, "--out", "o"])
    read = _options(args, program, None, [])
    for name, value in chosen.items():
        assert getattr(read, name) == value, name
    assert (args.data, args.test, read.threads) == ("/data file", "/test", 1)
    again = source.program(**parameters(args, source.program, pytest.fail))
    assert again.parameters == program.parameters


def test_paths_become_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = words_of(MF(), "r.csv", "t.csv", RunOptions(), 2)
    assert words[:3] == [f"{tmp_path}/r.csv", f"--test={tmp_path}/t.csv", "--threads=2"]
    assert words_of(MF(), "s3://bucket/r", None, RunOptions(), 2)[0] == "s3://bucket/r"
    assert words_of(MF(), "{a}.csv", None, RunOptions(), 2)[0] == f"{tmp_path}/{{a}}.csv"
    words = words_of(BlockPG(groups="g.tsv"), "x.svm", None, RunOptions(), 2)
    assert f"--groups={tmp_path}/g.tsv" in words


@pytest.mark.parametrize(
    "data", ["-", object(), ["a.csv", "b.csv"]], ids=["standard input", "memory", "list"]
)
def test_what_machines_cannot_read_is_refused(data):
    with pytest.raises(UsageError):
        words_of(MF(), data, None, RunOptions(), 1)


def test_data_of_several_edge_types_are_named_by_type(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = {"bought": "b.csv", "tagged": ["t1.csv", "t2.csv"], "friend": "/f"}
    texts = ["bought=b.csv", "tagged=t1.csv", "tagged=t2.csv", "friend=/f"]
    expected = [f"bought={tmp_path}/b.csv", f"tagged={tmp_path}/t1.csv"]
    expected += [f"tagged={tmp_path}/t2.csv", "friend=/f"]
    for given in (named, texts):
        words = words_of(SocialShop(), given, {"bought": "test.csv"}, RunOptions(), 1)
        assert words[:5] == [*expected, f"--test={tmp_path}/test.csv"]
    with pytest.raises(UsageError, match="memory of this process"):
        words_of(SocialShop(), {**named, "friend": [("a", "b")]}, None, RunOptions(), 1)
