"""The traits that must be the same on all machines of a job: version, program, data and flags. A
difference is described in one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tux.base.errors import Refused
from tux.base.text import flag_of
from tux.base.version import VERSION

DIGEST = 8  # characters of a digest that are shown


def traits(
    program: str,
    source: str,
    parameters: Mapping[str, Any],
    options: Mapping[str, Any],
    digests: Mapping[str, str],
) -> dict[str, str]:
    """Collect the traits that must be equal on all machines, by the name under which the user knows
    them.

    `program` is its name and `source` the digest of its files; `digests` are those of the data, by
    name.
    """
    out = {"tux": VERSION, "program": program, "program's source": source[:DIGEST]}
    out |= {name: digest[:DIGEST] if digest else "none" for name, digest in digests.items()}
    out |= {flag_of(name): str(value) for name, value in parameters.items()}
    out |= {
        flag_of(name): str(not value if name == "jit" else value) for name, value in options.items()
    }
    return out


def differences(first: Mapping[str, str], other: Mapping[str, str]) -> str:
    """Describe in one line how the traits of another machine differ from those of machine 0; "" if
    they do not.
    """
    names = [name for name in {**first, **other} if first.get(name) != other.get(name)]
    parts = [
        f"{name} is {other.get(name, 'missing')}, and {first.get(name, 'missing')} on machine 0"
        for name in names
    ]
    return "; ".join(parts)


def duplicate_error(number: int, role: str) -> Refused:
    """Make the error of two processes that are the same member; `role`: the word for a member."""
    return Refused(
        f"two processes say that they are {role} {number}",
        do="give each machine its own --node-rank, and start each once",
    )
