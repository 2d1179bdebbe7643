"""Checkpoints that are damaged on the disk: bits, ends, files that are swapped or missing."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from faults.recovery import expect_end
from faults.room import Room, WrongOutcome
from faults.scenario import Observation, Scenario
from tux.checkpoint.store import find_newest_checkpoint

FLIPS = 1000
"""Bits of one checkpoint that are flipped, one after the other, at each time."""
RESUMES = 2
"""Damages with which the user resumes, at each time."""
PAGE = 4096

Damage = Callable[[Path, Path, Room], None]
"""Damages the newest checkpoint, given the one before."""


def kill_with_checkpoints(room: Room) -> tuple[Path, Path]:
    """Kill a run that has two checkpoints; return (the newest, the one before)."""
    hold = {"moment": "clock", "who": "worker 1", "do": "hold"}
    command = room.train(plan=[hold | {"name": f"{n}", "epoch": 2 * n} for n in (1, 2)])
    for count in (1, 2):  # each is waited for, so that none is left out
        room.await_entry(f"{count}")
        room.until(lambda: len(checkpoint_folders(room)) >= count, "checkpoints")  # noqa: B023
        if count == 1:
            room.go("1")
    command.process.kill()
    room.code(command)
    room.until(lambda: not command.leftovers(), "the workers to end")
    one, two = checkpoint_folders(room)
    return two, one


def checkpoint_folders(room: Room) -> list[Path]:
    """Return the folders of checkpoints, in ascending order."""
    return sorted((room.folder / "out" / "checkpoints").glob("[0-9]*"))


def files(checkpoint: Path) -> list[Path]:
    """Return the files of a checkpoint."""
    return sorted(path for path in checkpoint.iterdir() if path.is_file())


def one_bit(path: Path, bit: int) -> None:
    """Flip a bit of a file."""
    with open(path, "r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


def flip_bits(last: Path, before: Path, room: Room) -> Iterator[str]:
    """Flip single bits, anywhere in a checkpoint; each is put back after what follows."""
    paths = files(last)
    sizes = [path.stat().st_size for path in paths]
    for _ in range(FLIPS):
        [path] = room.draw.choices(paths, sizes)
        bit = room.draw.randrange(8 * path.stat().st_size)
        one_bit(path, bit)
        yield f"bit {bit} of {path.name}"
        one_bit(path, bit)


def truncate_files(last: Path, before: Path, room: Room) -> Iterator[str]:
    """Cut files at a page, or two bytes early, where the last file of a manifest ends its line."""
    for path in files(last):
        content = path.read_bytes()
        for size in {*range(0, len(content), PAGE), len(content) - 2}:
            os.truncate(path, size)
            yield f"{path.name} of {size} bytes"
            path.write_bytes(content)


def exchange_files(last: Path, before: Path, room: Room) -> Iterator[str]:
    """Take files away, or put those of the other worker or of the checkpoint before in their
    place.
    """
    aside = room.folder / "aside"
    for path in files(last):
        others = [each for each in files(last) if each != path]
        for other in (None, before / path.name, *others):
            shutil.copy2(path, aside)
            path.unlink()
            if other:
                shutil.copy2(other, path)
            yield f"{other or 'nothing'} in place of {path.name}"
            shutil.copy2(aside, path)
            aside.unlink()


def damage_checkpoints(
    damage: Callable[[Path, Path, Room], Iterator[str]], room: Room
) -> Observation:
    """Damage checkpoints, and expect that they are left out and the one before is found; with some
    damages the user resumes, in a copy of the folder.
    """
    last, before = kill_with_checkpoints(room)
    wrong = []
    copies = []
    # how many there are is not known before: some of the first twelve
    resumed = set(room.draw.sample(range(12), RESUMES))
    count = 0
    for what in damage(last, before, room):
        found = find_newest_checkpoint(room.folder / "out")
        if found.checkpoint is None or found.checkpoint.path.name != before.name:
            wrong.append(f"{what} is not noticed")
        elif [each.path.name for each in found.left_out] != [last.name]:
            wrong.append(f"{what}: left out is {found.left_out}")
        if count in resumed:
            copies.append((f"copy{count}", what))
            shutil.copytree(room.folder / "out", room.folder / copies[-1][0])
        count += 1
    if find_newest_checkpoint(room.folder / "out").left_out:
        raise WrongOutcome("what was put back is not whole")
    seconds = []
    for copy, what in copies:
        start = time.monotonic()
        command = room.resume(copy)
        wrong += [f"{what}: {each}" for each in expect_end(room, command, copy).wrong]
        seconds.append(time.monotonic() - start)
        if "is damaged and left out" not in command.output()[1]:
            wrong.append(f"{what}: the command does not tell it{room.last_output()}")
    return Observation(wrong=tuple(wrong), recovered=max(seconds), faults=count)


def damage_all(room: Room) -> Observation:
    """Damage all checkpoints, and expect that nothing is changed, and that the user is told."""
    for each in kill_with_checkpoints(room):
        path = room.draw.choice(files(each))
        one_bit(path, room.draw.randrange(8 * path.stat().st_size))
    records = (room.folder / "out" / "metrics.jsonl").read_bytes()
    room.expect(room.resume(), 3, "error: there is no whole checkpoint in")
    same = records == (room.folder / "out" / "metrics.jsonl").read_bytes()
    return Observation(wrong=() if same else ("records were removed",))


def scenarios() -> list[Scenario]:
    """Return all scenarios of this file."""
    left_out = "damage is told, and the checkpoint before is used; the same bytes"
    kinds = {
        "bit-flips": ("single bits of a checkpoint", flip_bits),
        "truncations": ("files of a checkpoint cut", truncate_files),
        "exchanges": ("files of a checkpoint missing or exchanged", exchange_files),
    }
    return [
        *(
            Scenario(name, words, left_out, partial(damage_checkpoints, damage), times=1)
            for name, (words, damage) in kinds.items()
        ),
        Scenario(
            "all-damaged",
            "all checkpoints damaged",
            "exit code 3; it says so, and changes nothing",
            damage_all,
        ),
    ]
