"""Lists on disk of a run that stops: whoever goes on from a checkpoint ends with the same file; a
checkpoint whose lists are damaged is left out; and what nobody needs is removed.
"""

import json
import shutil
from pathlib import Path

import pytest
from support.machines.run_folders import drop_times
from support.machines.watchers import RecordingSilent
from support.messages import message
from support.programs.programs import random_pairs

from tux.apps.deepwalk import walks
from tux.apps.deepwalk.walks import Walks
from tux.base.background import Background
from tux.base.errors import DataError, DiskError, Refused
from tux.checkpoint import segments, spool
from tux.checkpoint import store as checkpoints
from tux.checkpoint.store import Checkpoint, find_newest_checkpoint
from tux.options.options import RunOptions
from tux.run_folder.folder import read_metrics
from tux.runs.session import resume, run

EPOCHS, LENGTH = 2, 6


@pytest.fixture(scope="module")
def links(tmp_path_factory):
    path = tmp_path_factory.mktemp("links") / "links.txt"
    path.write_text("".join(f"{a} {b}\n" for a, b in zip(*random_pairs(9, 9, 25), strict=True)))
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # each checkpoint is written before training goes on, so that none is left out
    monkeypatch.setattr(Background, "start", lambda self, work: bool(work()))
    monkeypatch.setattr(walks, "AT_ONCE", 5 * LENGTH)  # several blocks in each round
    return tmp_path


def train(links, out, every="0.000001s", **options):
    options = {"epochs": EPOCHS, "keep": 1000, "jit": False} | options
    options = RunOptions(out=out, checkpoint_every=every, threads=1, **options)
    return run(Walks(num_walks=2, walk_length=LENGTH), str(links), options=options)


def numbers(out):
    return sorted(path.name for path in Path(out, "checkpoints").iterdir() if path.name[0] == "0")


def checkpoint(out, number):
    """Return a checkpoint of a run, by its number."""
    path = Path(out, "checkpoints", number)
    return Checkpoint(path, checkpoints._manifest(path / checkpoints.MANIFEST))


def as_stopped(whole, out, number):
    """Make a run look as if it had been killed behind a checkpoint of the `whole` one."""
    shutil.copytree(whole, out)
    for name in ("walks.txt", "model"):
        path = Path(out, name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    noted = json.loads(Path(out, "run.json").read_text())
    noted["results"] = None
    del noted["digest"]  # it is changed on purpose
    Path(out, "run.json").write_text(json.dumps(noted))
    for each in numbers(out):
        if each > number:
            shutil.rmtree(Path(out, "checkpoints", each))


def is_like(out, whole):
    assert Path(out, "walks.txt").read_bytes() == Path(whole, "walks.txt").read_bytes()
    assert drop_times(read_metrics(out)) == drop_times(read_metrics(whole))


def files(out):
    return {path.name: path.stat().st_size for path in Path(out, "checkpoints", "lists").iterdir()}


@pytest.mark.slow
def test_from_any_mark_a_run_ends_with_the_same_file(here, links):
    train(links, "whole", every="1")
    train(links, "kept")
    is_like("kept", "whole")
    (total,) = files("kept").values()
    assert len(numbers("kept")) > 3 * EPOCHS
    for number in numbers("kept"):
        as_stopped("kept", number, number)
        named = segments.segments_of_shard(checkpoint("kept", number).shard(0))
        before = {each.name: total for each in named}
        nobodys = Path(number, "checkpoints", "lists", "0000-0123456789abcdef")
        nobodys.write_bytes(b"of no checkpoint")
        resume(number)
        is_like(number, "whole")
        after = files(number)
        assert not nobodys.exists()
        # what there was is as it was: a new file has what follows
        assert {name: size for name, size in after.items() if name in before} == before
        assert len(after) == len(named) + (sum(each.size for each in named) < total)


def test_more_epochs_write_more_lists(here, links):
    train(links, "whole", epochs=3)
    train(links, "part", every="1")
    resume("part", epochs=3)
    is_like("part", "whole")


def damage_byte(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def test_a_checkpoint_whose_lists_are_damaged_is_left_out(here, links):
    train(links, "whole")
    older, newer = numbers("whole")[1:3]
    (name,) = files("whole")
    size = [
        segments.segments_of_shard(checkpoint("whole", each).shard(0))[-1].size
        for each in (older, newer)
    ]
    assert size[0] < size[1]
    as_stopped("whole", "part", newer)
    path = Path("part", "checkpoints", "lists", name)
    damage_byte(path, size[1] + 1)  # behind both
    assert find_newest_checkpoint("part").checkpoint.path.name == newer
    damage_byte(path, size[1] - 1)
    told = RecordingSilent()
    resume("part", watch=told)
    is_like("part", "whole")
    assert f"{newer} is damaged and left out: {name} of a checkpoint is" in told.warnings[0]

    as_stopped("whole", "cut", newer)
    with open(Path("cut", "checkpoints", "lists", name), "rb+") as file:
        file.truncate(size[1] - 1)
    resume("cut")
    is_like("cut", "whole")

    as_stopped("whole", "gone", newer)
    Path("gone", "checkpoints", "lists", name).unlink()
    before = numbers("gone")
    with pytest.raises(DataError, match=message("there-is-no-whole-checkpoint")):
        resume("gone")
    assert numbers("gone") == before, "nothing is changed"


def test_other_workers_are_refused(here, links):
    train(links, "out", every="1")
    as_stopped("out", "part", numbers("out")[0])
    with pytest.raises(Refused, match="lists on disk stay with the worker that wrote them"):
        resume("part", workers=2)


def test_a_full_disk_ends_the_run_which_goes_on_later(here, links, monkeypatch):
    train(links, "whole", every="1")
    whole, opened = segments.create_file, []

    def create_on_full_disk(path):
        opened.append(path)
        file = whole(path)
        if len(opened) > 1:
            file.close()
            return open("/dev/full", "wb", buffering=0)
        return file

    monkeypatch.setattr(spool, "create_file", create_on_full_disk)
    train(links, "part", every="1", epochs=1)
    with pytest.raises(
        DiskError, match="file of lists in .* cannot be written: No space"
    ) as caught:
        resume("part", epochs=EPOCHS)
    assert caught.value.exit_code == 6 and "tux run --resume part" in caught.value.do
    monkeypatch.setattr(spool, "create_file", whole)
    resume("part", epochs=EPOCHS)
    is_like("part", "whole")
