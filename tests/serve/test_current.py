"""A model that takes the place of another one in a run's folder, and what is wrong with it."""

import os
import shutil
import threading

import pytest
from support.serving import RANK, Asking, train, write_ratings

from tux.base.errors import DataError
from tux.serve.answering import load_model
from tux.serve.app import ServerApp
from tux.serve.current import CurrentModel, marks_of


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a folder with two models, `a` and `b`."""
    folder = tmp_path_factory.mktemp("models")
    for seed, name in enumerate("ab"):
        write_ratings(folder / f"{name}.csv", seed)
        train("als", folder / f"{name}.csv", folder / name, rank=RANK)
    return folder


@pytest.fixture
def here(models, tmp_path):
    """Return a folder in which `run` is the model `a`."""
    shutil.copytree(models / "a", tmp_path / "run")
    return tmp_path


@pytest.fixture
def lines():
    return []


@pytest.fixture
def current(here, lines):
    return CurrentModel(here / "run", load_model, lines.append)


def best(current):
    """Return the best items for a user."""
    return Asking(ServerApp(current, tell=pytest.fail))("/top?id=3").json["ids"]


def replace_folder(models, here):
    """Put the model `b` in the place of the run, as `mv` does."""
    shutil.copytree(models / "b", here / "new")
    (here / "run").rename(here / "old")
    (here / "new").rename(here / "run")


def test_nothing_new(current, lines):
    assert not current.refresh() and current.count == 1 and lines == []


def test_another_folder_of_the_name(current, here, models, lines):
    before = best(current)
    replace_folder(models, here)
    assert current.refresh() and current.count == 2 and best(current) != before
    assert best(current) == best(CurrentModel(models / "b", load_model, print))
    assert lines == [f"{here / 'run'} has another model, which answers from now on"]
    assert not current.refresh()


def test_a_link_that_leads_elsewhere(models, tmp_path, lines):
    (tmp_path / "now").symlink_to(models / "a")
    current = CurrentModel(tmp_path / "now", load_model, lines.append)
    before = best(current)
    (tmp_path / "next").symlink_to(models / "b")
    os.replace(tmp_path / "next", tmp_path / "now")
    assert current.refresh() and best(current) != before


def test_files_that_are_written_anew(current, here, models):
    before = best(current)
    for file in [*(models / "b" / "model").iterdir(), models / "b" / "run.json"]:
        target = here / "run" / file.relative_to(models / "b")
        shutil.copy(file, target)
    assert current.refresh() and best(current) != before


def test_a_folder_that_is_gone_and_comes_again(current, here, models, lines):
    before = best(current)
    shutil.rmtree(here / "run" / "model")
    assert not current.refresh() and not current.refresh() and best(current) == before
    assert lines == [f"{here / 'run'} has no model now; the one before goes on to answer"]
    shutil.copytree(models / "b" / "model", here / "run" / "model")
    assert current.refresh() and best(current) != before


def test_files_of_two_models_keep_the_old_one(current, here, models, lines):
    before = best(current)
    shutil.copy(models / "b" / "model" / "user.parquet", here / "run" / "model")
    assert not current.refresh() and not current.refresh() and best(current) == before
    assert len(lines) == 1 and "are files of two models, at " in lines[0]
    shutil.copytree(models / "b" / "model", here / "run" / "model", dirs_exist_ok=True)
    assert current.refresh() and best(current) != before


@pytest.mark.parametrize("file", ["model/item.parquet", "run.json"])
def test_a_broken_model_keeps_the_old_one(current, here, models, lines, file):
    before = best(current)
    whole = (here / "run" / file).read_bytes()
    (here / "run" / file).write_bytes(whole[: len(whole) // 2])
    assert not current.refresh() and not current.refresh() and best(current) == before
    assert len(lines) == 1 and "cannot be loaded, and the one before goes on" in lines[0]
    assert current.count == 1 and "\n" not in lines[0]
    (here / "run" / file).write_bytes(whole)
    assert current.refresh() and best(current) == before


def test_files_that_change_while_they_are_read_are_read_again(here, models, lines):
    """Else users of one model would meet items of another."""
    changing = []

    def load(folder):
        model = load_model(folder)
        if changing:
            changing.pop()()
        return model

    current = CurrentModel(here / "run", load, lines.append)
    before = best(current)
    os.utime(here / "run" / "run.json")
    changing.append(
        lambda: shutil.copytree(models / "b" / "model", here / "run/model", dirs_exist_ok=True)
    )
    assert not current.refresh() and best(current) == before and lines == []
    assert current.refresh() and current.count == 2


def test_nothing_is_read_after_it_is_loaded(here):
    """The files may be those of another model then."""
    model = load_model(here / "run")
    shutil.rmtree(here / "run")
    client = Asking(ServerApp(CurrentModel.__new__(CurrentModel), tell=pytest.fail))
    client.app._current.model = model
    assert client("/similar?id=3&of=user").status == 200
    assert client("/fold-in", {"pairs": [["film 3", 4]], "of": "user"}).status == 200
    assert client("/fold-in", {"pairs": [[3, 4]], "of": "item"}).status == 200


def test_the_first_model_must_be_whole(here, lines):
    (here / "run" / "model" / "item.parquet").unlink()
    with pytest.raises(DataError):
        CurrentModel(here / "run", load_model, lines.append)
    assert marks_of(here / "nothing") is None


def test_no_request_is_lost_while_models_are_replaced(current, here, models):
    """Threads ask all the time; each answer is that of one of the two models."""
    answers = {name: best(CurrentModel(models / name, load_model, print)) for name in "ab"}
    client, found, ended = Asking(ServerApp(current, tell=pytest.fail)), [], threading.Event()

    def ask():
        while not ended.is_set():
            found.append(client("/top?id=3"))

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for each in asking:
        each.start()
    try:
        for name in "baba":
            shutil.copytree(models / name, here / "new")
            (here / "run").rename(here / f"old {current.count}")
            (here / "new").rename(here / "run")
            assert current.refresh()
            before = len(found)
            while len(found) < before + 20:
                assert all(each.is_alive() for each in asking)
    finally:
        ended.set()
        for each in asking:
            each.join()
    assert {each.status for each in found} == {200}
    assert {tuple(each.json["ids"]) for each in found} == {tuple(each) for each in answers.values()}
