"""Advice of messages and summaries names what helps: flags that mean something, and what a run
has found.
"""

import pytest

from tux.cli.main import main


@pytest.fixture
def run_command(tmp_path, capsys, monkeypatch):
    """Return a function that runs a command in an empty folder, and gives its exit code and all
    that it says.
    """
    monkeypatch.chdir(tmp_path)

    def run(*argv):
        code = main(list(argv))
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


def write_file(path, text):
    path.write_text(text)
    return str(path)


def test_plain_text_without_its_form(tmp_path, run_command):
    text = write_file(tmp_path / "texts.txt", "the cat sat\nthe dog, sat on a mat\na b c d e f g\n")
    code, out = run_command("run", "lda", text)
    assert code == 3 and "--form text" in out
    assert "--form text" not in run_command("run", "mf", text)[1]


def test_samples_whose_labels_are_not_found(tmp_path, run_command):
    table = write_file(tmp_path / "table.csv", "a,b,click\n1,2,0\n3,4,1\n2,2,1\n")
    code, out = run_command("run", "blockpg", table)
    assert code == 3 and "--label" in out and "click" in out


def test_classes_that_are_not_in_the_file(tmp_path, run_command):
    samples = write_file(
        tmp_path / "samples.svm",
        "".join(f"{label} 1:1 2:{label + 2}\n" for label in (-1, 1, 1, -1)),
    )
    code, out = run_command("run", "blockpg", samples, "--negative", "no", "--positive", "yes")
    assert code == 2 and "--negative and --positive" in out and "'-1', '1'" in out


def test_held_out_edges_mean_nothing_to_walks(tmp_path, run_command):
    links = write_file(tmp_path / "links.txt", "a b\nb c\n")
    code, out = run_command("run", "walks", links, "--test", links)
    assert code == 2 and "does not judge its model" in out and not (tmp_path / "out").exists()
    assert (
        "--test" not in run_command("run", "walks", "--help")[1]
        and "--test" in run_command("run", "mf", "--help")[1]
    )


@pytest.mark.slow
def test_info_tells_the_scores(tmp_path, run_command):
    links = write_file(
        tmp_path / "links.txt",
        "".join(f"{a} {(a * 7 + 3) % 20}\n{a} {(a + 1) % 20}\n" for a in range(20)),
    )
    labels = write_file(tmp_path / "labels.txt", "".join(f"{a} {a % 3}\n" for a in range(20)))
    assert (
        run_command(
            "run", "deepwalk", links, "--labels", labels, "--dimensions", "4", "--out", "run1"
        )[0]
        == 0
    )
    code, out = run_command("info", "run1")
    assert code == 0 and "micro_f1_50 0." in out and "macro_f1_90" in out


@pytest.mark.long
def test_a_sparse_regression_tells_its_intercept_and_a_path_cut_short(tmp_path, run_command):
    code, out = run_command("run", "blockpg", "--fit-intercept", "--path", "20", "--epochs", "4")
    assert code == 0 and "(intercept)" in out and "inf" not in out.split()
    assert "the path has ended at l1" in out and "--epochs" in out
    code, out = run_command("run", "blockpg", "--epochs", "4")
    assert code == 0 and "(intercept)" not in out and "the path has ended" not in out


def test_a_number_that_does_not_exist_is_a_stroke(tmp_path, run_command):
    """The second topic has one word, and so no coherence."""
    from tux.cli.run import _cell

    assert _cell(float("nan")) == "-" and _cell(0.5) == "0.5" and _cell("nan") == "nan"


@pytest.mark.parametrize("command", ["run mf", "partition --parts 2"])
def test_an_output_folder_that_is_a_file(tmp_path, run_command, command):
    ratings = write_file(tmp_path / "train.csv", "user,item,rating\n1,2,3\n2,3,4\n")
    name, *rest = command.split()
    code, out = run_command(name, *rest, ratings, "--out", ratings)
    assert code == 2 and "train.csv is a file" in out and "new folder" in out


def test_skipping_is_not_advised_where_no_row_can_be_left_out(tmp_path, run_command):
    pairs = write_file(tmp_path / "pairs.csv", "1,2\n2,3,4,5\n1,2\n")
    code, out = run_command("partition", pairs, "--parts", "2", "--method", "random")
    assert code == 3 and "columns instead of" in out
    assert "--on-bad-row" not in out and "Correct the file." in out


def test_flags_are_not_alike_by_their_dashes(run_command):
    assert "did you mean" not in run_command("run", "walks", "g.txt", "--label", "x")[1]
    assert (
        "did you mean --walk-length?"
        in run_command("run", "walks", "g.txt", "--walk-lenght", "9")[1]
    )


def test_metrics_of_another_kind_are_told_by_their_file(tmp_path, run_command):
    ratings = write_file(tmp_path / "train.csv", "user,item,rating\n1,2,3\n2,3,4\n")
    assert (
        run_command("run", "mf", ratings, "--rank", "2", "--no-jit", "--epochs", "1", "--out", "r")[
            0
        ]
        == 0
    )
    (tmp_path / "r" / "metrics.jsonl").write_text('{"epoch": 1}\n')
    code, out = run_command("info", "r")
    assert code == 3 and "metrics.jsonl" in out and "run.json" not in out


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("app", "flags", "advises_step"),
    [
        ("linear", ["--solver", "lbfgs"], False),
        ("linear", ["--solver", "newton"], False),
        ("linear", ["--solver", "adam"], True),
        ("blockpg", [], False),
        ("gbdt", [], False),
    ],
)
def test_a_smaller_step_is_advised_where_steps_have_a_size(
    tmp_path, run_command, app, flags, advises_step
):
    """The square of a label overflows."""
    lines = [f"{k % 7} 1:{k % 3} 2:{k % 5}\n" for k in range(30)]
    samples = write_file(tmp_path / "samples.svm", "".join(["1e200 1:1 2:0.5\n", *lines]))
    words = ["--loss", "squared", "--no-jit", "--epochs", "3", *flags]
    code, out = run_command("run", app, samples, *words)
    assert code == 3 and ("--learning-rate" in out) == advises_step
    assert advises_step or "too large" in out
