"""Words for messages: the closest known name, numbers with their nouns, names of files."""

from __future__ import annotations

import csv
import difflib
import os
import re
from collections.abc import Iterable, Sequence
from io import StringIO

IRREGULAR = {
    **{"vertex": "vertices", "index": "indices", "matrix": "matrices", "epoch": "epochs"},
    **{"alias": "aliases", "bias": "biases", "gas": "gases", "canvas": "canvases"},
}
NEAR = 0.5  # similarity, by `difflib`, of a wrong word and the one that may be meant
LONGEST = 2000  # characters of a line of a message
_COMMAND = re.compile(
    r"(\btux (?:run|predict|partition|export|serve|info|check|watch|generate)\b"
    r"(?:(?![;,]|\.(?:\s|$)).)*)"
)
"""A command of the command line, which stays as it is."""
_FLAG = re.compile(
    r"--([a-z]+(?:-[a-z]+)*)"
    r"(?: (?:(\d+(?:\.\d+)?)|([^\s,]+(?:,[^\s,.]+)+)|([A-Z]+\b(?:[=:][A-Z]+)*)"
    r"|([a-z][\w-]*(?::\w+)?)))?"
)
"""A flag and what stands behind it: a number, several words, a placeholder, or a word."""
_WORDED = {"by", "form", "format", "log", "loss", "method", "on", "on-bad-row", "partitioner"}
_WORDED |= {"penalty", "solver"}
"""Flags whose value is a word."""
_PROSE = {"and", "as", "cuts", "has", "is", "means", "needs", "or", "out", "to", "with", "without"}
"""Words behind a flag that are no value of it."""
_SWITCHES = {"no-jit": "jit=False"} | {
    name: f"{name}=True" for name in ("check", "insecure", "profile", "racing")
}
_SAID = {
    "--debug shows the traceback": "__cause__ is what was raised",
    "tux predict DIR --nearest ID": "run.similar(IDS)",
}
"""What a message says on the command line, and in Python."""
FLAGS = {"deadline": "--timeout", "from_run": "--from", "jit": "--no-jit"}
"""Flags of options that have another name in Python; the others are `--name`."""

_ARGUMENTS = {flag: name for name, flag in FLAGS.items()} | {"--nnodes": "machines"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def one_line(text: str, longest: int = LONGEST) -> str:
    """Write a message as one line of at most `longest` characters, whatever words of files are in
    it.

    Control characters, ends of lines and halves of surrogate pairs are written as in Python, and
    the middle of a longer text is left out.
    """
    text = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    if len(text) <= longest:
        return text
    return f"{text[: longest * 3 // 4]} ... {text[5 - longest // 4 :]}"


def flag_of(name: str) -> str:
    """Return the flag of an option or a parameter."""
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


def flags_to_arguments(text: str) -> str:
    """Replace the flags that a message names by arguments of Python, ``--loss softmax`` by
    ``loss="softmax"`` and ``--step`` alone by ``step=...``. Commands, ``tux run ...``, stay.
    """

    def argument(found: re.Match[str]) -> str:
        flag, number, names, _, word = found.groups()
        name = _ARGUMENTS.get(f"--{flag}", flag.replace("-", "_"))
        if word and (flag not in _WORDED or word in _PROSE):
            return f"{_SWITCHES.get(flag, f'{name}=...')} {word}"
        value = f'"{names or word}"' if names or word else number or "..."
        return _SWITCHES.get(flag, f"{name}={value}")

    for said, in_python in _SAID.items():
        text = text.replace(said, in_python)
    pieces = _COMMAND.split(text)
    return "".join(
        piece if at % 2 else _FLAG.sub(argument, piece) for at, piece in enumerate(pieces)
    )


def did_you_mean(word: str, among: Iterable[str], near: float = NEAR) -> str:
    """Return ``did you mean X?`` for the closest of the known words, or ""."""
    return f"did you mean {found}? " if (found := nearest_word(word, among, near)) else ""


def nearest_word(word: str, among: Iterable[str], near: float = NEAR) -> str:
    """Return the closest of the known words; "" if none is close. The dashes of flags do not make
    them alike, nor does the case of letters make them different.
    """
    known = {name.lstrip("-").lower(): name for name in among}
    found = difflib.get_close_matches(word.lstrip("-").lower(), known, 1, near)
    return known[found[0]] if found else ""


def data_name(data: object) -> str:
    """Return the name of the data in messages: the name of their file, "standard input", or "the
    data" if they come from no file. For several files it is the name of the first and the number of
    others. Of data by name, those that come from no file have this name.
    """
    if isinstance(data, dict):
        files = {name: data_name(each) for name, each in data.items()}
        return ", ".join(name if file == "the data" else file for name, file in files.items())
    paths = isinstance(data, list | tuple) and all(isinstance(p, str | os.PathLike) for p in data)
    if isinstance(data, list | tuple) and data and paths:
        first = data_name(data[0])
        return first if len(data) == 1 else f"{first} and {plural(len(data) - 1, 'other')}"
    if not isinstance(data, str | os.PathLike):
        return "the data"
    name = os.path.basename(os.fspath(data).rstrip("/"))
    return "standard input" if name == "-" else name


def plural(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 user``, ``2,000 users``, ``3 categories``."""
    return f"1 {noun}" if count == 1 else f"{count:,} {plural_noun(noun)}"


def plural_noun(noun: str) -> str:
    """Return the plural of a noun. A noun that ends in s, as types of a program may be called, is a
    plural already if it is not like bus, class or axis: ``likes``, but ``classes``.
    """
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    if noun.endswith("is") and len(noun) > 3:
        return f"{noun[:-2]}es"
    if noun.endswith("s") and not noun.endswith(("ss", "us")):
        return noun
    return f"{noun}{'es' if noun.endswith(('s', 'x', 'z', 'ch', 'sh')) else 's'}"


def list_numbers(values: Iterable[int]) -> str:
    """Return numbers in ascending order as text, as in "0, 2, 5"."""
    return ", ".join(map(str, sorted(values)))


def join_class_names(classes: Sequence[str]) -> str:
    """Write labels of classes as the text of a parameter, which `tux.program.input.class_names`
    reads.
    """
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(classes)
    return line.getvalue()
