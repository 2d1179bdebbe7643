"""The file of seed words (`tux.apps.lda.seeds`): a topic a line, perhaps a label and a colon."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from itertools import chain

from tux.apps.lda.seeds import check_numbers
from tux.base.errors import DataError, UsageError
from tux.base.text import plural
from tux.io.source.text import read_words
from tux.program.params import INLINE

LINE = re.compile(r"(?:([^:]*[^:\s])\s*:(?=\s|$))?(.*)")  # a label and a colon, or none; words
PART = 50  # of a topic of mean size: what a seed word weighs by default
HEAVIEST = 1_000_000  # what a seed word may weigh
SHOWN = 10  # unknown words that are named


def with_seeds(program, ids, tokens):
    """Return the program with the numbers of its seed words, by the `ids` of words, in place of the
    name of their file, and with their weight, by how many `tokens` there are (0: not known). It
    warns of what is odd. Raises UsageError for more lines than topics, DataError if no word is
    known.
    """
    path = program.seeds
    if not path:
        if program.seed_weight:
            raise UsageError("--seed-weight without --seeds FILE", do="leave it out")
        return program
    if path.startswith(INLINE):
        check_numbers(program, len(ids), tokens)
        return program
    lines = read_words(path)
    if len(lines) > program.topics:
        raise UsageError(
            f"{path} has {len(lines)} lines, of a topic each, and topics are {program.topics}",
            do=f"--topics {len(lines)}, or more",
        )
    found, unknown = _find_words(lines, ids)
    if not any(numbers for _, numbers in found):
        raise DataError(f"{path} has no word of the data", do="Give words as the data have them.")
    _warn_of_seeds(path, found, unknown)
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    if not program.seed_weight and not tokens:
        raise UsageError(
            "seed words weigh by the size of the data, which is not known of a partitioned folder",
            do="--seed-weight 100, or another number",
        )
    weight = program.seed_weight or min(max(tokens // (PART * program.topics), 1), HEAVIEST)
    program = program.replace_parameters(seeds=INLINE + text, seed_weight=weight)
    check_numbers(program, len(ids), tokens)
    return program


def _warn_of_seeds(path, found, unknown):
    """Warn of seed words that the data do not have, and of a label of several topics."""
    if unknown:
        more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
        words = plural(len(unknown), "seed word")
        are = "is" if len(unknown) == 1 else "are"
        warnings.warn(
            f"{words} of {path} {are} not in the data: {', '.join(unknown[:SHOWN])}{more}",
            stacklevel=3,
        )
    labels = Counter(label for label, _ in found if label)
    if repeated := [label for label, count in labels.items() if count > 1]:
        shown = ", ".join(repeated[:SHOWN])
        warnings.warn(f"several topics of {path} have one label: {shown}", stacklevel=3)


def _find_words(lines, ids):
    """Return the label of each line and the numbers of its words, and the words without a
    number.
    """
    read = [LINE.fullmatch(line).groups() for line in lines]
    words = [list(dict.fromkeys(filter(None, re.split(r"[\s,]+", own)))) for _, own in read]
    every = list(dict.fromkeys(chain(*words)))
    numbers = dict(zip(every, ids.indices_of(every).tolist(), strict=True))
    found = [
        (label or "", sorted({numbers[word] for word in own} - {-1}))
        for (label, _), own in zip(read, words, strict=True)
    ]
    return found, [word for word in every if numbers[word] < 0]
