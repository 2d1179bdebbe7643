"""The text of `tux run APP --help`, and its order."""

from tux.cli.main import main


def output_of(capsys, *argv):
    """Run a command, and return all that it says."""
    main(argv)
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_help_of_an_app_shows_what_means_something_to_it(capsys):
    """In the order in which users ask. What means nothing is not shown; given all the same, it
    is told as what it is.
    """
    shown = {
        app: " ".join(output_of(capsys, "run", app, "--help").split())
        for app in ("mf", "blockpg", "lda", "deepwalk")
    }
    for app, flags in (
        ("mf", "--columns --patience"),
        ("blockpg", "--label --groups"),
        ("lda", "--vocab --columns"),
        ("deepwalk", "--labels"),
    ):
        assert all(f" {flag} " in shown[app] for flag in flags.split()), app
        places = [
            shown[app].index(f" {name}: ")
            for name in ("data", "the run", "workers", "several machines", "other")
        ]
        assert (
            places == sorted(places) and places[0] < shown[app].index(" parameters of ") < places[1]
        )
    for app, flags in (
        ("mf", "--form --labels"),
        ("blockpg", "--columns --patience --no-fit-intercept --vocab"),
        ("lda", "--label --patience"),
    ):
        assert not [flag for flag in flags.split() if f" {flag} " in shown[app]], app
    assert (
        "--eval-every" not in shown["deepwalk"]
        and "of the table's columns document,word,count" in shown["lda"]
    )
    assert "[default ]" not in shown["blockpg"] and "--negative LABEL" in shown["blockpg"]
    assert "samples have no columns" in output_of(
        capsys, "run", "blockpg", "x.svm", "--columns", "1,2,3"
    )
    assert "monitors no metric" in output_of(capsys, "run", "blockpg", "--patience", "2")


def test_help_of_run_names_the_apps(capsys):
    out = output_of(capsys, "run", "--help")
    assert all(
        word in out
        for word in ("blockpg", "Sparse logistic regression", "file.py", "usage: tux run APP")
    )


def test_names_in_lists_have_a_column_of_their_own(capsys):
    """However long they are."""
    lines = output_of(capsys, "run", "--help").splitlines()
    rows = [line for line in lines if line.startswith("  ") and line[2] != " "]
    at = {
        row.index(row.split(None, 1)[1]) for row in rows if "usage" not in row and "tux" not in row
    }
    assert any(row.startswith("  kmeans_points  ") for row in rows) and len(at) == 1
