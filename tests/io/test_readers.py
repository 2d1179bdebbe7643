"""Commands on a user's files, and their messages."""

from pathlib import Path

import pytest

from tux.cli.main import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return the folder that commands are given in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tux(capsys):
    """Return a function that runs a command, and gives its exit code and what it wrote to standard
    output and to standard error.
    """

    def run(*argv):
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


def test_many_bad_rows_are_told_at_the_end(tux, here):
    rows = [f"{at % 9},{at % 7},{at % 5}" for at in range(300)]
    for bad, end in (
        (3, "keeps it\n"),
        (4, "keeps it; 4 of 304 rows (1%) were bad and left out\n"),
    ):
        (here / "bad.csv").write_text("\n".join([*rows, *["x"] * bad]) + "\n")
        code, out, _ = tux(
            "run", "mf", "bad.csv", "--epochs", 1, "--rank", 2, "--no-jit", "--on-bad-row", "skip"
        )
        assert code == 0 and out.endswith(end)
    documents = ["1 1:1 2:1", "0 2:1 3:2 1:3"] + ["0 x"] * 3
    (here / "d.svm").write_text("\n".join(documents) + "\n")
    code, out, _ = tux(
        "run",
        "lda",
        "d.svm",
        "--form",
        "svm",
        "--epochs",
        1,
        "--topics",
        2,
        "--no-jit",
        "--on-bad-row",
        "skip",
        "--out",
        "o",
    )
    assert (
        code == 0
        and out.splitlines()[-1] == "written to o; 3 of 5 rows (60%) were bad and left out"
    )


# ---- which columns

ROWS = "".join(f"{at % 9},{1000 + at},{at % 5},{at % 7}\n" for at in range(60))


def test_a_time_stamp_is_never_an_item(tux, here):
    (here / "x.csv").write_text("u,ts,stars,film\n" + ROWS)
    code, out, _ = tux("run", "mf", "x.csv", "--epochs", 1, "--rank", 2, "--no-jit")
    assert code == 0 and "9 users, 7 items" in out
    assert "columns: user from u, item from film, value from stars" in out


@pytest.mark.parametrize(
    "names", ["u,when,stars,film_title", "item,when,who,stars", "who,when,film,stars"]
)
def test_a_guess_that_contradicts_the_header_is_refused(tux, here, names):
    (here / "x.csv").write_text(f"{names}\n{ROWS}")
    code, _, err = tux("run", "mf", "x.csv", "--epochs", 1, "--rank", 2, "--no-jit")
    assert code == 3 and "may be any of the columns" in err and "say --columns" in err


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("user,when,stars,item\n", "columns: user from user, item from item, value from stars\n"),
        ("a,b,c,d\n", "columns: user from a, item from b, value from c\n"),
        ("", "columns: user from column 1, item from column 2, value from column 3\n"),
    ],
)
def test_the_columns_taken_are_told(tux, here, head, told):
    (here / "x.csv").write_text(head + ROWS)
    code, out, _ = tux("run", "mf", "x.csv", "--epochs", 1, "--rank", 2, "--no-jit")
    assert code == 0 and told in out
    (here / "y.csv").write_text("user,item,value\n1,2,3\n1,3,4\n2,3,5\n")
    code, out, _ = tux("run", "mf", "y.csv", "--epochs", 1, "--rank", 2, "--no-jit")
    assert code == 0 and "columns:" not in out


# ---- graphs

PAIRS = [(user, item) for user in range(1, 9) for item in range(1, 21) if (user + item) % 3]


def run_walks(tux, text, name="g.txt"):
    """Run walks on a file with this text. Return the exit code, the output and the messages."""
    Path(name).write_text(text)
    return tux(
        "run", "walks", name, "--epochs", 1, "--num-walks", 1, "--walk-length", 2, "--no-jit"
    )


def test_users_and_items_are_not_merged_silently(tux, here):
    pairs = "".join(f"{user} {item}\n" for user, item in PAIRS)
    code, _, err = run_walks(tux, "user item\n" + pairs)
    assert code == 3 and "are of two types" in err and "8 ids, such as 1," in err
    for text in (pairs, "".join(f"{user} {item} 3\n" for user, item in PAIRS)):
        code, _, err = run_walks(tux, text)
        assert code == 0 and "sides count their ids from 1 to 8 and from 1 to 20" in err
    for head in ("user item\n", ""):
        code, _, err = run_walks(tux, head + "".join(f"u{user} i{item}\n" for user, item in PAIRS))
        assert code == 0 and not err


def test_a_graph_of_one_type_raises_no_doubt(tux, here):
    ring = "".join(f"{at} {(at + step) % 12}\n" for at in range(12) for step in (1, 2))
    tree = "".join(f"{(at - 1) // 2} {at}\n" for at in range(1, 16))
    for text in (ring, tree, "user friend\n" + ring):
        code, _, err = run_walks(tux, text)
        assert code == 0 and not err


MATRIX = "%%MatrixMarket matrix coordinate pattern general\n% one\n3 3 2\n1 2\n2 3\n"


@pytest.mark.parametrize("before", ["", "\ufeff", "% written by a program\n\n", "# a comment\n"])
def test_a_matrix_is_one_whatever_stands_before_its_banner(tux, here, before):
    code, out, _ = run_walks(tux, before + MATRIX)
    assert code == 0 and "3 nodes, 2 links" in out
    code, _, err = run_walks(tux, before + MATRIX.replace("2 3\n", "2 4\n"))
    assert code == 3 and f"g.txt:{5 + before.count(chr(10))}" in err


def test_a_matrix_after_other_lines_is_no_list_of_edges(tux, here):
    code, _, err = run_walks(tux, "a matrix\n" + MATRIX)
    assert code == 3 and "line 1 stands before the banner" in err and "g.txt:2" in err


def test_a_metis_graph_with_a_byte_order_mark(tux, here):
    code, out, _ = run_walks(tux, "\ufeff3 2\n2\n1 3\n2\n", "g.graph")
    assert code == 0 and "3 nodes, 4 links" in out


def test_labels_of_other_ids_are_told_before_training(tux, here):
    (here / "g.txt").write_text(
        "".join(f"{at} {(at + step) % 12}\n" for at in range(12) for step in (1, 2))
    )
    run = (
        "run",
        "deepwalk",
        "g.txt",
        "--epochs",
        1,
        "--no-jit",
        "--dimensions",
        2,
        "--num-walks",
        1,
        "--walk-length",
        2,
        "--labels",
        "l.txt",
    )
    (here / "l.txt").write_text("".join(f"x{at} {at % 2}\n" for at in range(9)))
    code, out, err = tux(*run)
    assert code == 3 and "no id of l.txt is one of the graph" in err and "epoch" not in out
    (here / "l.txt").write_text("".join(f"{at + 5} {at % 2}\n" for at in range(9)))
    code, _, err = tux(*run)
    assert code == 0 and "2 of 9 nodes with labels in l.txt are not in the graph" in err


# ---- what a run is told once, and advice

LINES = ["red green blue", "blue green tree", "tree red red cat", "cat tree green"] * 3
TABLE = "age,city,clicked,w\n" + "".join(
    f"{at % 11},{'abc'[at % 3]},{at % 2},1\n" for at in range(40)
)


def test_plain_text_needs_to_be_said_once(tux, here):
    (here / "d.txt").write_text("\n".join(LINES) + "\n")
    (here / "stop.txt").write_text("cat\n")
    run = ("run", "lda", "d.txt", "--topics", 2, "--epochs", 1, "--no-jit")
    code, _, err = tux(*run)
    assert code == 3 and "say --form text" in err
    assert tux(*run, "--form", "text", "--stop", "stop.txt", "--out", "o")[0] == 0
    (here / "new.txt").write_text("red tree cat\nblue\n")
    code, out, err = tux("predict", "o", "new.txt")
    assert (
        code == 0 and out.startswith("document,topic_0,topic_1\n1,") and len(out.splitlines()) == 3
    )
    assert not err  # the stop word is none that the model does not know


def test_words_of_numbers_need_to_be_named_once(tux, here):
    (here / "vocab.txt").write_text("red\ngreen\nblue\n")
    (here / "d.ldac").write_text("2 0:1 2:1\n1 1:1\n" * 4)
    run = (
        "run",
        "lda",
        "d.ldac",
        "--vocab",
        "vocab.txt",
        "--topics",
        2,
        "--epochs",
        1,
        "--no-jit",
        "--out",
        "o",
    )
    assert tux(*run)[0] == 0
    code, out, _ = tux("predict", "o", "d.ldac")
    assert code == 0 and len(out.splitlines()) == 9


@pytest.mark.slow
def test_columns_of_labels_and_weights_are_no_features_of_new_samples(tux, here):
    (here / "t.csv").write_text(TABLE)
    run = ("run", "blockpg", "t.csv", "--epochs", 1, "--no-jit")
    code, _, err = tux(*run)
    assert code == 3 and "name that of the labels with --label" in err
    assert tux(*run, "--label", "clicked", "--weight", "w", "--out", "o")[0] == 0
    (here / "bare.csv").write_text("age,city\n3,a\n4,b\n")
    for name, rows in (("t.csv", 40), ("bare.csv", 2)):
        code, out, err = tux("predict", "o", name)
        assert code == 0 and len(out.splitlines()) == rows + 1 and not err


def test_classes_that_the_file_does_not_have_are_the_fault_of_the_flags(tux, here):
    (here / "t.csv").write_text(TABLE)
    run = ("run", "blockpg", "t.csv", "--label", "clicked", "--negative", "no", "--positive", "yes")
    code, _, err = tux(*run)
    assert code == 2 and "the classes are to be no and yes" in err and "It has '0', '1'" in err
    assert "t.csv:2" in err and "Correct the file" not in err


def test_held_out_edges_that_nobody_looks_at_are_refused(tux, here):
    (here / "g.txt").write_text("1 2\n2 3\n")
    code, _, err = tux("run", "walks", "g.txt", "--test", "g.txt")
    assert code == 2 and "--test has no use" in err
    assert (
        "--test" not in tux("run", "walks", "--help")[1]
        and "--test" in tux("run", "mf", "--help")[1]
    )


def test_info_shows_how_a_model_was_judged(tux, here):
    (here / "g.txt").write_text(
        "".join(f"{at} {(at + step) % 12}\n" for at in range(12) for step in (1, 2))
    )
    (here / "l.txt").write_text("".join(f"{at} {at % 2}\n" for at in range(12)))
    run = (
        "run",
        "deepwalk",
        "g.txt",
        "--epochs",
        1,
        "--no-jit",
        "--dimensions",
        2,
        "--num-walks",
        1,
        "--walk-length",
        2,
    )
    code, out, _ = tux(*run, "--labels", "l.txt", "--out", "o")
    assert code == 0
    (judged,) = [line for line in tux("info", "o")[1].splitlines() if line.startswith("scores")]
    assert "micro" in judged and all(line in out for line in judged.split(None, 1)[1].split(", "))


def test_a_folder_that_is_not_there_is_told_as_that(tux, here):
    (here / "x.csv").write_text("user,item,value\n1,2,3\n1,3,4\n2,3,5\n")
    assert tux("run", "mf", "x.csv", "--epochs", 1, "--rank", 2, "--no-jit", "--out", "o")[0] == 0
    code, _, err = tux("predict", "o", "--pairs", "x.csv", "--out", "no/dir.csv")
    assert code == 2 and "there is no folder no" in err
