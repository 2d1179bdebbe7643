"""States as files: what is read is what was written, and fits one part of one graph."""

import msgspec
import pytest
from support.machines.keeping import EPOCHS, ExactMeetings, RandomWalks, run
from support.machines.team import SMALL, cut_up
from support.messages import message

from tux.base.errors import DataError, Refused
from tux.checkpoint import shard
from tux.checkpoint.saved import SavedState, epoch_in, load, open_state, save
from tux.checkpoint.schedule import CheckpointInterval
from tux.graph import store


@pytest.mark.parametrize("make", [ExactMeetings, RandomWalks])
def test_a_run_goes_on_from_files(make, tmp_path):
    expected, _, keeper = run(make, k=2, slack=1, seed=1, every=CheckpointInterval(seconds=0.2))
    _, states = next(each for each in keeper.kept if each[0].turns and each[0].epoch)
    paths = [tmp_path / str(rank) for rank in range(2)]
    files = [
        SavedState(str(path), save(path, state, "p"))
        for path, state in zip(paths, states, strict=True)
    ]
    read = [load(each, "p") for each in files]
    for one, other in zip(read, states, strict=True):
        assert one.head == other.head and one.arrays.keys() == other.arrays.keys()
        for name, array in other.arrays.items():
            assert array.dtype == one.arrays[name].dtype
            assert array.tobytes() == one.arrays[name].tobytes()
    assert epoch_in(files[0]) == states[0].head.epoch
    assert run(make, k=2, slack=1, seed=2, states=read)[0] == expected


@pytest.mark.parametrize("load", [load, open_state])
def test_a_state_of_another_part_or_version_is_refused(load, tmp_path):
    _, _, keeper = run(ExactMeetings, k=2, slack=0, seed=1, every=CheckpointInterval(epochs=EPOCHS))
    path, (_, (state, _)) = tmp_path / "file", keeper.kept[0]
    saved = SavedState(str(path), save(path, state, "one"))
    with pytest.raises(Refused, match="its edges are cut in another way"):
        load(saved, "other")
    with pytest.raises(DataError, match="is damaged"):
        load(msgspec.structs.replace(saved, digest=shard.Digest(saved.digest.size, "0")), "one")
    flip_last_byte(path)
    with pytest.raises(DataError, match=message("of-a-checkpoint-is-damaged")):
        load(saved, "one")
    later = SavedState(str(path), shard.write(path, {"state": {"epochs": 3}, "part": "one"}, {}))
    with pytest.raises(Refused, match=message("the-checkpoint-is-not-of-2")):
        load(later, "one")


def flip_last_byte(path):
    """Damage the last array of a file, or its padding."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_the_digest_of_a_part_is_that_of_its_arrays(tmp_path):
    cuts = {"one": [0, 0, 1, 1, 1], "again": [0, 0, 1, 1, 1], "other": [0, 1, 1, 1, 1]}
    digests = {}
    for name, by in cuts.items():
        folder = tmp_path / name
        folder.mkdir()
        store.save(folder, cut_up(SMALL, by=by), SMALL.ends)
        digests[name] = [store.digest(folder, number) for number in range(2)]
    assert digests["one"] == digests["again"]
    assert len({*digests["one"], *digests["other"]}) == 4
