"""The words of the command line that say what a program, its data and its options say in Python."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from tux.arrays import stores
from tux.arrays.piped import STANDARD
from tux.backends.contract import FOLDER
from tux.base.errors import UsageError
from tux.base.text import flag_of
from tux.inputs.by_type import held_out_data, name_files, split_by_type
from tux.inputs.origin import whole_parameters
from tux.io.samples.crossed import join_crossed
from tux.options.options import OPTIONS, RunOptions
from tux.options.rules import PATHS, SECONDS, SWITCH
from tux.program.params import settable
from tux.program.program import Program

FLAGS = {
    name: option
    for name, option in OPTIONS.items()
    if option.help and name not in ("out", "vertices", "cross")
}
"""The options whose flag and value say them."""


def words_of(
    program: Program, data: Any, test: Any, options: RunOptions, threads: int
) -> list[str]:
    """Return the words that follow ``tux run APP``, without --out. Paths of files become absolute;
    data of several edge types are named by type. UsageError for data in memory.
    """
    test = held_out_data(program, split_by_type(program, test) or test)
    if named := split_by_type(program, data):
        words = name_files(named, _path)
    else:
        words = [_path(data)] if data is not None else []
    if test is not None:
        words.append(f"--test={_path(test)}")
    chosen = {name: getattr(options, name) for name in FLAGS} | {"threads": threads}
    for name, value in chosen.items():
        flag, rule = flag_of(name), FLAGS[name].rule
        if value == FLAGS[name].default:
            continue
        if rule in PATHS:
            value = _path(value)
        if rule is SECONDS:
            value = math.ceil(value)
        words.append(flag if rule is SWITCH else f"{flag}={value}")
    for kind, table in (options.vertices or {}).items():
        words.append(f"--vertices={kind}={_path(table)}")
    words += [f"--cross={join_crossed(names)}" for names in options.cross or ()]
    whole = whole_parameters(program, program.parameters)
    return words + _parameters({name: whole[name] for name in settable(program.params)})


def _parameters(chosen: Mapping[str, Any]) -> list[str]:
    """Return the flags of a program's parameters."""
    words = []
    for name, value in chosen.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None and value != "":
            words.append(f"--{flag}={value}")
    return words


def _path(value: Any) -> str:
    """Return a file as an absolute path; what is no local path stays as it is."""
    if isinstance(value, list | tuple) and all(isinstance(x, str | os.PathLike) for x in value):
        raise UsageError(
            "machines take one file, folder or pattern, not a list",
            do="put the files into one folder, or name them by a pattern such as part-*.csv",
        )
    if not isinstance(value, str | os.PathLike):
        raise UsageError(
            f"{type(value).__name__} is in the memory of this process, which machines do not share",
            do="write it to a file that each machine can read, and name the file; or give rows "
            "that the engine holds: a ray.data.Dataset, a DataFrame of Spark",
        )
    text = stores.local_path(value)
    if text == STANDARD:
        raise UsageError(
            "standard input cannot be read on several machines", do="name a file that all can read"
        )
    return text if "://" in text or text.startswith(f"{FOLDER}/") else os.path.abspath(text)
