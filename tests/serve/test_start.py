"""Checks before anything is loaded: who may ask, and where the server listens."""

import pytest
from support.messages import message
from support.serving import TOKEN, Asking

import tux as api
from tux.base.errors import UsageError
from tux.cli.main import main
from tux.serve import start
from tux.serve.app import ServerApp
from tux.serve.start import check_access, check_libraries, read_token


def test_a_token_is_one_long_word(tmp_path):
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert read_token(file) == TOKEN and read_token(None) == ""
    for text in ("", "short", "two words that are long", "x" * 15, "mot-secret-tr\u00e8s-long-ici"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match="token"):
            read_token(file)
    with pytest.raises(UsageError, match=message("no-token-can-be-read")):
        read_token(tmp_path / "none")


def test_elsewhere_a_token_is_needed():
    for host in ("127.0.0.1", "::1", "localhost", "127.8.9.1"):
        check_access(host, "")
    for host in ("0.0.0.0", "::", "10.0.0.1", "example.org"):
        with pytest.raises(UsageError, match=message("is-reached-from-other-machines", host)):
            check_access(host, "")
        check_access(host, TOKEN)


def test_libraries_that_are_missing_are_named(monkeypatch):
    monkeypatch.setattr(start, "find_spec", lambda name: name != "httptools" or None)
    with pytest.raises(UsageError, match=message("the-server-needs-the-library", "httptools")):
        check_libraries()


@pytest.fixture
def complete(monkeypatch):
    """Have all libraries be there."""
    monkeypatch.setattr(start, "find_spec", lambda name: True)


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        ("none --port 0", 3, "none is no folder of a run"),
        ("als --port 70000", 2, "at most 65,535"),
        ("als --host 0.0.0.0", 2, "--token-file FILE"),
        ("als --token-file none", 2, "no token can be read from none"),
        ("als --token-file ratings.csv", 2, "holds no token"),
        ("als --exclude none.csv", 3, "none.csv"),
        ("deepwalk --exclude links.txt", 2, "inner products"),
        ("als --prot 1", 2, "did you mean --port?"),
        ("", 2, "RUN"),
    ],
)
def test_mistakes(runs, monkeypatch, capsys, complete, flags, code, words):
    monkeypatch.chdir(runs)
    assert main(["serve", *flags.split()]) == code
    said = capsys.readouterr().err
    assert words in said and "Traceback" not in said


def test_a_program_about_which_nothing_can_be_asked(tmp_path, monkeypatch, capsys, complete):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.svm").write_text("".join(f"{k % 2} 1:{k} 2:1\n" for k in range(9)))
    run = api.run(api.BlockPG(), "train.svm", epochs=1, jit=False, progress=False, out="run1")
    assert main(["serve", "run1"]) == 2
    assert "BlockPG has nothing to serve" in capsys.readouterr().err
    with pytest.raises(UsageError, match=message("has-nothing-to-serve-no")):
        run.serve(0)


def test_help(capsys):
    assert main(["serve", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(flag in out for flag in ("--port", "--host", "--token-file", "--exclude"))
    assert main(["--help"]) == 0 and "serve" in capsys.readouterr().out


def test_a_run_in_memory_answers_too(runs, monkeypatch):
    """By the same application, with what it has in memory."""
    served = []
    monkeypatch.setattr(start, "find_spec", lambda name: True)
    monkeypatch.setattr("tux.api.serving.serve", lambda *given: served.append(given))
    api.load(runs / "als").serve(0, exclude={"user": [3], "item": ["film 3"]})
    ((current, host, port, token, *_),) = served
    assert (host, port, token, current.refresh()) == ("127.0.0.1", 0, "", False)
    found = Asking(ServerApp(current, tell=pytest.fail))("/top?id=3&n=40").json["ids"]
    assert len(found) == 39 and "film 3" not in found
