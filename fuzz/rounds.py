"""Messages between loaders: the file of a round, and what its arrays mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import numpy as np

from fuzz import mutations
from fuzz.parser import Parser
from tux.arrays.arrow import STRING
from tux.parallel_load.algorithm.columns import MessageColumns
from tux.parallel_load.algorithm.kinds import pack_ids, unpack_ids
from tux.parallel_load.algorithm.mailbox import Mailbox

IDS = np.array(["u1", "été", "", "77"], STRING)
NUMBERS = np.array([3, 0, 9], np.int32)
COUNTS = np.array([[1, 2], [3, 4]])


def _sample(box: Mailbox) -> bytes:
    """Return the file of a message of all kinds of arrays."""
    path = box.path(0, 0)
    box._write(path, [[NUMBERS, *pack_ids(IDS), COUNTS, np.ones(3, np.float32)]])
    return path.read_bytes()


def _input(rng: Random, samples: Sequence[bytes]) -> bytes:
    """Change any bytes of the file, or the table of its arrays."""
    content = rng.choice(samples)
    size = int.from_bytes(content[:8], "little")
    body = content[Mailbox._base(size) :]
    if rng.random() < 0.4:
        return mutations.damage_binary(rng, samples)
    if rng.random() < 0.3:
        body = mutations.change_behind(rng, body, 0)
    table = msgspec.json.decode(content[8 : 8 + size])
    if rng.random() < 0.8:
        table = mutations.change_json(rng, table)
    try:
        head = msgspec.json.encode(table)
    except (OverflowError, UnicodeEncodeError, TypeError):  # which no table can have
        return mutations.damage_binary(rng, samples)
    start = len(head).to_bytes(8, "little") + head
    return start.ljust(Mailbox._base(len(head)), b"\0") + body


def parsers(folder: Path) -> dict[str, Parser]:
    """Return all parsers of this file by name; they write into `folder`."""
    box = Mailbox(folder, 1, 0)

    def read(content: bytes) -> object:
        box.path(0, 0).write_bytes(content)
        columns = MessageColumns(box._receive(0, 0), 0)
        numbers = columns.numbers(len(NUMBERS), below=10)
        ids = unpack_ids(columns, STRING)
        values = columns.table((2, 2)), columns.like(np.dtype(np.float32), 3)
        return [each.tolist() for each in (numbers, ids, *values)]

    return {"rounds": Parser([_sample(box)], read, _input)}
