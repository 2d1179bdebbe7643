"""Damage to what commands have written and others read: the folder of a run that has ended, parts
of a graph, and compiled kernels.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from faults.damage import one_bit
from faults.room import Room, WrongOutcome
from faults.running import below
from faults.scenario import Observation, Scenario
from tux.arrays.arrow import read_parquet
from tux.base.checksums import SUMS, check_sums, files_below
from tux.base.errors import DataError
from tux.run_folder.folder import read_metrics

FLIPS = 1000
"""Bits that are flipped in a folder, one after the other."""
COMMANDS = 2
"""Flips of which the user's commands are seen too."""
KINDS = (".nbc", (".nbc", ".nbi", ".py"), ".nbc")
"""Ends of the names of the files of compiled code that are damaged, one way after the other."""
UNSEALED = ("timeline.jsonl", "checkpoints/", SUMS)
"""Names of a run's files, or beginnings, of which `B2SUMS` has no checksum."""


def damage_run(room: Room) -> Observation:
    """Flip bits of a run that has ended: `--verify` tells each. Who reads the model or the records
    gets an error, never other numbers.
    """
    room.expect(room.train(), 0)
    out = room.folder / "out"
    names = [name for name in files_below(out) if not name.startswith(UNSEALED)]
    whole = {name: _read(out / name) for name in names}

    def told_wrong(name: str) -> str:
        try:
            found = _read(out / name)
        except DataError:
            return ""
        return "" if _are_equal(found, whole[name]) else "it is read otherwise"

    scores = room.folder / "scores.csv"
    predict = ("predict", out, "--pairs", room.whole.folder / "test.csv", "--out", scores)

    def expect_told(name: str) -> None:
        room.expect(room.command("info", out, "--verify"), 3, "error: ")
        if name.endswith(".parquet"):  # read whole, or refused
            told = room.code(room.command(*predict))
            if told not in (0, 3):
                raise WrongOutcome(f"predict ended with {told}{room.last_output()}")

    return flip_each(room, out, names, told_wrong, expect_told)


def damage_parts(room: Room) -> Observation:
    """Flip bits of a graph in parts: `--verify` tells each, and no run begins."""
    parts = room.folder / "parts"
    data = room.whole.folder / "train.csv"
    made = room.command("partition", data, "--parts", 2, "--method", "bicut", "--out", parts)
    room.expect(made, 0)
    names = [name for name in files_below(parts) if not name.startswith(UNSEALED)]

    def expect_refused(name: str) -> None:
        room.expect(room.command("info", parts, "--verify"), 3, "error: ")
        room.expect(room.command("run", "mf", parts, "--no-jit", "--epochs", 1), 3, "error: ")

    return flip_each(room, parts, names, lambda name: "", expect_refused)


def flip_each(
    room: Room,
    folder: Path,
    names: list[str],
    told_wrong: Callable[[str], str],
    expect_told: Callable[[str], None],
) -> Observation:
    """Flip bits of the files `names` of a folder, each put back after what follows: its checksums,
    `told_wrong`, which says what is wrong with what is read, and a few times `expect_told`.
    """
    sizes = [(folder / name).stat().st_size for name in names]
    wrong = []
    for count in range(FLIPS):
        [name] = room.draw.choices(names, sizes)
        path = folder / name
        bit = room.draw.randrange(8 * path.stat().st_size)
        one_bit(path, bit)
        try:
            check_sums(folder)
            wrong.append(f"bit {bit} of {name}: its checksum is the same")
        except DataError:
            pass
        if why := told_wrong(name):
            wrong.append(f"bit {bit} of {name}: {why}")
        if count < COMMANDS:
            expect_told(name)
        one_bit(path, bit)
    check_sums(folder)  # all is put back
    return Observation(wrong=tuple(wrong[:5]), faults=FLIPS)


def _read(path: Path) -> object:
    """Read a file of a run: columns of a model, or records; other files as bytes. Raises
    DataError.
    """
    if path.suffix == ".parquet":
        return read_parquet(path)
    if path.name == "metrics.jsonl":
        return read_metrics(path.parent)
    return b""  # compared by their checksums alone


def _are_equal(found: object, whole: object) -> bool:
    """Return whether columns or records are the same."""
    if not (isinstance(found, dict) and isinstance(whole, dict)):
        return found == whole
    return list(found) == list(whole) and all(
        found[name].dtype == whole[name].dtype and np.array_equal(found[name], whole[name])
        for name in whole
    )


def damage_kernels(room: Room) -> Observation:
    """Damage all compiled kernels of a program in three ways: each time they are compiled anew, and
    the run has the same bytes.
    """
    cache = room.folder / "cache"
    env = {"TUX_CACHE_DIR": str(cache)}
    room.expect(room.train(out="first", env=env), 0)
    wrong, seconds, count = room.differences("first"), [], 0
    for number in range(3):
        kernels = [Path(path) for path in sorted(below(cache)) if path.endswith(KINDS[number])]
        before = [path.read_bytes() for path in kernels]
        for at, (path, content) in enumerate(zip(kernels, before, strict=True)):
            if number == 0:
                one_bit(path, room.draw.randrange(8 * len(content)))
            elif number == 1:
                os.truncate(path, room.draw.randrange(len(content)))
            else:  # the file of the kernel before
                path.write_bytes(before[at - 1])
        count += sum(
            path.read_bytes() != content for path, content in zip(kernels, before, strict=True)
        )
        start = time.monotonic()
        command = room.train(out=f"anew{number}", env=env)
        room.expect(command, 0)
        seconds.append(time.monotonic() - start)
        wrong += room.differences(f"anew{number}")
        if "is compiled anew" not in command.output()[1]:
            wrong.append(f"the command does not tell it{room.last_output()}")
    return Observation(wrong=tuple(wrong), faults=count, recovered=max(seconds))


def scenarios() -> list[Scenario]:
    """Return all scenarios of this file."""
    return [
        Scenario(
            "run-flips",
            "single bits of the folder of a run that has ended",
            "`--verify` tells each; models and records are read whole or not at all",
            damage_run,
            limit=300.0,
        ),
        Scenario(
            "part-flips",
            "single bits of a folder of tux partition",
            "`--verify` tells each, and no run begins (exit code 3)",
            damage_parts,
            limit=300.0,
        ),
        Scenario(
            "kernels-damaged",
            "compiled kernels damaged: a bit, cut, exchanged",
            "they are compiled anew, with a warning; the same bytes",
            damage_kernels,
            limit=600.0,
        ),
    ]
