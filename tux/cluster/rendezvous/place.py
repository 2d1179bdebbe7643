"""The place of this command in a job of several machines: from flags, or from the environment of
torchrun, Slurm or Open MPI.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from tux.base.errors import DataError, UsageError

PORT = 29400
"""The port at which machine 0 listens when nothing names another."""


class VariableNames(NamedTuple):
    """The names that a tool that starts processes gives to its variables: for the number of
    processes (the first that is set counts), for the number of this one, and for the place where
    they meet, if it has that.
    """

    machines: tuple[str, ...]
    rank: str
    host: str = ""
    port: str = ""


LAUNCHERS: list[tuple[tuple[str, ...], VariableNames]] = [
    (
        ("TORCHELASTIC_RUN_ID",),
        VariableNames(("WORLD_SIZE",), "RANK", "MASTER_ADDR", "MASTER_PORT"),
    ),
    (
        ("SLURM_STEP_ID", "SLURM_PROCID"),
        # SLURM_NTASKS may be that of the allocation, of which a shell within it is one task.
        VariableNames(
            ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), "SLURM_PROCID", "SLURM_LAUNCH_NODE_IPADDR"
        ),
    ),
    (("OMPI_COMM_WORLD_SIZE",), VariableNames(("OMPI_COMM_WORLD_SIZE",), "OMPI_COMM_WORLD_RANK")),
]
"""By the variables that tell that a tool has started this process, its names of the others."""

REJOIN = 60.0
"""Seconds for which a machine asks machine 0 to let it join again, when workers were lost."""


@dataclass(frozen=True)
class Place:
    """The place of machine `rank` of `machines`, which meet at `host`:`port` on machine 0. `secret`
    (32 bytes) encrypts the job; None: plaintext. `said` tells which variables of the environment
    say so, "" if flags do.
    """

    machines: int
    rank: int
    host: str
    port: int
    secret: bytes | None
    rejoin: float = REJOIN  # seconds for which this machine asks to join again
    said: str = ""

    @property
    def launcher(self) -> str:
        """The address at which machine 0's launcher listens."""
        return f"tcp://{self.host}:{self.port}"

    def own(self) -> str:
        """Return the address of this machine as the others see it: of the interface that leads to
        machine 0. Workers bind any port of it.
        """
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((self.host, self.port))
            except OSError as error:
                raise UsageError(
                    f"cannot reach {self.host}: {error.strerror or error}",
                    do="check --rdzv HOST:PORT",
                ) from None
            return f"tcp://{probe.getsockname()[0]}:*"


def find_place(
    machines: int | None,
    rank: int | None,
    meeting: str | None,
    key_file: str | None,
    *,
    insecure: bool,
    rejoin: float | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Place | None:
    """Find the place that the flags name, or else the environment; None for a job on one machine.

    Raises UsageError for flags that do not fit together, or where there is no key and the address
    is not this machine's own.
    """
    launched = _environment(environment) if machines is None else None
    if launched is None:
        return _make_place(
            machines, rank, meeting, key_file, environment, insecure=insecure, rejoin=rejoin
        )
    if rank not in (None, launched.rank):
        raise UsageError(
            f"--node-rank {rank}, but the environment says {launched.rank}",
            where=launched.said,
            do="leave it out, or add --nnodes N",
        )
    try:
        place = _make_place(
            launched.machines,
            launched.rank,
            meeting or launched.meeting,
            key_file,
            environment,
            insecure=insecure,
            rejoin=rejoin,
        )
    except UsageError as error:
        error.where = error.where or launched.said
        error.do = f"{error.do}; or say --nnodes 1 to train on this machine alone"
        raise
    return place and replace(place, said=launched.said)


def _make_place(
    machines: int | None,
    rank: int | None,
    meeting: str | None,
    key_file: str | None,
    environment: Mapping[str, str],
    *,
    insecure: bool,
    rejoin: float | None,
) -> Place | None:
    """Make the place of a machine whose numbers are known; see `find`."""
    if machines is None:
        _refuse_flags_of_several(rank, meeting, key_file, insecure=insecure, rejoin=rejoin)
        return None
    if machines == 1 and not rank:
        return None
    if rank is None:
        raise UsageError(
            f"--nnodes {machines} without --node-rank: which of the machines is this?",
            do=f"add --node-rank N, from 0 to {machines - 1}, another one on each machine",
        )
    if not 0 <= rank < machines:
        raise UsageError(
            f"--node-rank {rank} of --nnodes {machines}",
            do=f"number the machines 0 to {machines - 1}",
        )
    address, port = _address(meeting)
    secret = _secret(key_file, environment)
    if secret is None and not insecure and not address.startswith("127."):
        raise UsageError(
            "a job on several machines needs a key",
            do=(
                "give all machines the same --key-file (any file of 32 bytes or more), or say "
                "--insecure"
            ),
        )
    return Place(machines, rank, address, port, secret, rejoin or REJOIN)


def _refuse_flags_of_several(
    rank: int | None,
    meeting: str | None,
    key_file: str | None,
    *,
    insecure: bool,
    rejoin: float | None,
) -> None:
    """Raise UsageError where flags of several machines are set for a job on one."""
    values = {
        "--node-rank": rank,
        "--rdzv": meeting,
        "--key-file": key_file,
        "--insecure": insecure or None,
        "--rejoin": rejoin,
    }
    if flags := [flag for flag, value in values.items() if value is not None]:
        raise UsageError(
            f"{' and '.join(flags)} without --nnodes: this would train alone",
            do="add --nnodes N, the number of machines; or leave out what is for several machines",
        )


def _address(meeting: str | None) -> tuple[str, int]:
    """Return the numeric address and the port of HOST:PORT, where machine 0 listens."""
    if not meeting:
        raise UsageError(
            "no meeting point is named",
            do="add --rdzv HOST:PORT, an address of machine 0 that the others reach",
        )
    host, _, port = meeting.rpartition(":") if ":" in meeting else (meeting, "", str(PORT))
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(f"--rdzv {meeting} is no HOST:PORT", do=f"e.g. --rdzv 10.0.0.1:{PORT}")
    try:
        return socket.gethostbyname(host), int(port)
    except OSError:
        raise UsageError(
            f"--rdzv {meeting}: no such host", do="name an address of machine 0"
        ) from None


def _secret(key_file: str | None, environment: Mapping[str, str]) -> bytes | None:
    """Read 32 bytes from the key file, or from $TUX_JOB_KEY; None if there is neither."""
    try:
        raw = (
            Path(key_file).read_bytes() if key_file else environment.get("TUX_JOB_KEY", "").encode()
        )
    except OSError as error:
        raise DataError(f"the key cannot be read: {error.strerror}", where=str(key_file)) from None
    if key_file and len(raw) < 32:
        raise UsageError(
            f"the key has {len(raw)} bytes",
            do="make one of at least 32, e.g. head -c 32 /dev/urandom > job.key",
        )
    return hashlib.blake2b(raw, digest_size=32).digest() if raw else None


class AssignedPlace(NamedTuple):
    """The place of this process according to a tool that starts one process a machine; `said` names
    the variables of the environment that tell it.
    """

    machines: int
    rank: int
    meeting: str  # HOST:PORT, or "" if the tool does not say
    said: str


def _environment(environment: Mapping[str, str]) -> AssignedPlace | None:
    """Read the place that torchrun, Slurm or Open MPI has set for this process; None if none of
    them has. UsageError for a variable that is missing or is no number.
    """
    for sign, names in LAUNCHERS:
        if all(name in environment for name in sign):
            return _read_assigned(environment, names, sign[0])
    return None


def _read_assigned(
    environment: Mapping[str, str], names: VariableNames, sign: str
) -> AssignedPlace:
    """Read the place that one tool has set, whose variables have these `names`; `sign` is the
    variable that tells that it was this tool.
    """
    machines = next((name for name in names.machines if name in environment), names.machines[-1])
    host, port = (environment.get(name, "") if name else "" for name in (names.host, names.port))
    meeting = f"{host}:{port}" if port and host else "" if names.port else host
    told = [each for each in (machines, names.rank, names.host, names.port) if each]
    return AssignedPlace(
        _number(environment, machines, sign),
        _number(environment, names.rank, sign),
        meeting,
        "environment: "
        + ", ".join(
            f"{each}={environment[each]}" if each in environment else f"{each} is not set"
            for each in told
        ),
    )


def _number(environment: Mapping[str, str], name: str, sign: str) -> int:
    """Read a whole number of the environment."""
    text = environment.get(name)
    if text is not None and re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    wrong = "is not set" if text is None else f"is {text!r}, which is no whole number"
    raise UsageError(
        f"{sign} is set, so this is one of several processes, but {name} {wrong}",
        do=f"set {name}; or say --nnodes 1 to train on this machine alone, or --nnodes N "
        "--node-rank R",
    )
